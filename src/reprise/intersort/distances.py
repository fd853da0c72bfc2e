"""How far each intervention moves each marginal (Method 2), and how far chance alone would."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numba
import numpy as np
from numpy.typing import ArrayLike, NDArray

from reprise.intersort.data import InterventionalData, require_rows
from reprise.intersort.graphs import ancestor_matrix
from reprise.intersort.score import require_targets

Matrix = NDArray[np.float64]


def standardize(data: InterventionalData) -> InterventionalData:
    """Return the data with the observational rows' mean 0 and standard deviation 1 (ddof 0).

    The same map is applied to all rows. A column that is constant in the observational rows keeps
    its scale.
    """
    mean, scale = _moments(data.observational)
    mock = tuple((batch - mean) / scale for batch in data.mock)
    return replace(data, X=(data.X - mean) / scale, mock=mock)


def wasserstein(x: ArrayLike, y: ArrayLike) -> float:
    """Return W_1 of two samples: the area between their empirical distribution functions.

    >>> wasserstein([0, 1, 3], [5, 6, 8])
    5.0
    """
    x, y = (np.asarray(v, dtype=np.float64).reshape(-1, 1) for v in (x, y))
    return float(_Reference(require_rows("x", x)).to(require_rows("y", y))[0])


def wasserstein_matrix(data: InterventionalData) -> Matrix:
    """Return D, [d, d]: D[i, j] = W_1(observational X_j, X_j under do(i)), as the data are.

    Diagonal and rows of variables that are no target are 0.
    """
    batches = ((int(i), data.rows(i)) for i in data.targets)
    return _rows(_Reference(data.observational), batches, data.X.shape[1])


def wasserstein_stream(X_obs: ArrayLike, batches: Iterable[tuple[int, ArrayLike]]) -> Matrix:
    """Return `wasserstein_matrix` of standardised data whose targets arrive one by one.

    Parameters
    ----------
    X_obs : observational rows, [n_obs, d]
    batches : (target, rows [n_int, d]); one is held in memory at a time

    Raises
    ------
    ValueError
        For fewer than 2 observational rows, a target out of range or twice, a batch without rows
        or with values that aren't finite.
    """
    X_obs = require_rows("X_obs", X_obs)
    if len(X_obs) < 2:
        raise ValueError(f"X_obs must have at least 2 rows, got {len(X_obs)}")
    mean, scale = _moments(X_obs)
    seen: set[int] = set()

    def ready() -> Iterable[tuple[int, Matrix]]:
        for target, rows in batches:
            (i,) = require_targets([target], X_obs.shape[1])
            if i in seen:
                raise ValueError(f"batches must name a target once, got {i} twice")
            seen.add(int(i))
            rows = require_rows("batches", rows, X_obs.shape[1])
            if not len(rows):
                raise ValueError(f"batches must hold rows, got none of target {i}")
            yield int(i), (rows - mean) / scale

    return _rows(_Reference((X_obs - mean) / scale), ready(), X_obs.shape[1])


def oracle_distances(A: ArrayLike, targets: ArrayLike | None = None) -> Matrix:
    """Return D of perfect knowledge: 1 where i is a target and i ~> j, else 0.

    Parameters
    ----------
    A : the DAG
    targets : indices; None: all

    Raises
    ------
    ValueError
        For a cyclic A or targets out of range.
    """
    R = ancestor_matrix(A)
    D = np.zeros(R.shape)
    rows = require_targets(targets, len(R))
    D[rows] = R[rows]
    return D


def null_distances(
    X_obs: ArrayLike, n_int: int, n_draws: int, *, rng: np.random.Generator
) -> Matrix:
    """Return W_1 of random observational rows to the rest of them: what chance alone moves.

    It takes the rows for independent; those of autocorrelated cells are nearer than chance would
    have them, and mock interventions are the honest null.

    Parameters
    ----------
    X_obs : [n_obs, d], standardised where the distances are to be
    n_int : rows of a draw
    n_draws : draws
    rng : source of randomness

    Returns
    -------
    [n_draws, d]

    Raises
    ------
    ValueError
        Unless 1 <= n_int < n_obs and n_draws >= 1.
    """
    X_obs = require_rows("X_obs", X_obs)
    if not 1 <= n_int < len(X_obs):
        raise ValueError(f"n_int must be in 1..{len(X_obs) - 1}, got {n_int}")
    if n_draws < 1:
        raise ValueError(f"n_draws must be >= 1, got {n_draws}")
    found = np.empty((n_draws, X_obs.shape[1]))
    for draw in range(n_draws):
        taken = np.zeros(len(X_obs), dtype=bool)
        taken[rng.choice(len(X_obs), size=n_int, replace=False)] = True
        found[draw] = _Reference(X_obs[~taken]).to(X_obs[taken])
    return found


def mock_distances(data: InterventionalData) -> Matrix:
    """Return W_1 of the observational rows to each mock intervention, [n_mock, d].

    Raises
    ------
    ValueError
        When the data hold no mock interventions.
    """
    if not data.mock:
        raise ValueError("data must hold mock interventions, got none")
    reference = _Reference(data.observational)
    return np.array([reference.to(batch) for batch in data.mock])


def choose_eps(null: ArrayLike, *, alpha: float = 0.01) -> float:
    """Return the threshold that a share `alpha` of the null distances exceeds.

    Parameters
    ----------
    null : from `null_distances` or `mock_distances`, any shape; pooled
    alpha : in (0, 1)

    Raises
    ------
    ValueError
        For an empty or undefined null, or alpha outside (0, 1).
    """
    null = np.asarray(null, dtype=np.float64)
    if not null.size or not np.isfinite(null).all():
        raise ValueError(f"null must hold finite distances, got {null.size} values")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be in (0, 1), got {alpha}")
    return float(np.quantile(null, 1 - alpha))


# --- one column against one sample ------------------------------------------------------------


def _moments(X: Matrix) -> tuple[Matrix, Matrix]:
    mean, scale = X.mean(axis=0), X.std(axis=0)
    # Rounding gives a constant column a tiny spread.
    constant = np.ptp(X, axis=0) == 0
    return np.where(constant, X[0], mean), np.where(constant, 1.0, scale)


def _rows(reference: _Reference, batches: Iterable[tuple[int, Matrix]], d: int) -> Matrix:
    D = np.zeros((d, d))
    for i, rows in batches:
        D[i] = reference.to(rows)
        D[i, i] = 0.0
    return D


class _Reference:
    """The observational sample, sorted once, with running sums for every later comparison."""

    def __init__(self, X: Matrix) -> None:
        columns = np.sort(np.ascontiguousarray(X.T), axis=1)
        # Sums of numbers near 0 keep their digits; W_1 doesn't see the shift.
        self.shift = columns[:, columns.shape[1] // 2].copy()
        self.columns = columns - self.shift[:, None]
        self.sums = np.zeros((len(columns), columns.shape[1] + 1))
        np.cumsum(self.columns, axis=1, out=self.sums[:, 1:])

    def to(self, rows: Matrix) -> Matrix:
        """Return W_1 of each column to that of other rows, [d]."""
        other = np.sort(np.ascontiguousarray(rows.T) - self.shift[:, None], axis=1)
        return _areas(self.columns, self.sums, other)


@numba.njit(cache=True)
def _areas(columns: NDArray, sums: NDArray, other: NDArray) -> NDArray:
    """Return the area between the quantile functions of sorted samples, row by row.

    On the k-th of m blocks of probability the other sample's quantile is y_k; ours crosses it once
    there, at a place found by halving. Left and right of it the area is a difference of running
    sums of ours, at fractions of a sample where n isn't a multiple of m.
    """
    d, n = columns.shape
    m = other.shape[1]
    found = np.empty(d)
    for j in range(d):
        x, s, y = columns[j], sums[j], other[j]
        area = 0.0
        low_at, low_sum = 0.0, 0.0
        low = 0
        for k in range(m):
            # The block's end, n (k + 1) / m, in whole samples and a rest.
            whole, rest = divmod((k + 1) * n, m)
            high_at = whole + rest / m
            high_sum = s[whole] + (rest / m * x[whole] if rest else 0.0)
            left, right = low, min(whole + 1, n)
            while left < right:
                middle = (left + right) // 2
                if x[middle] < y[k]:
                    left = middle + 1
                else:
                    right = middle
            if left <= low_at:
                cut_at, cut_sum = low_at, low_sum
            elif left >= high_at:
                cut_at, cut_sum = high_at, high_sum
            else:
                cut_at, cut_sum = float(left), s[left]
            area += y[k] * (2 * cut_at - low_at - high_at) + low_sum + high_sum - 2 * cut_sum
            low, low_at, low_sum = whole, high_at, high_sum
        found[j] = max(area / n, 0.0)
    return found
