"""The score of an order (Method 3): a linear ordering problem over pairs of variables.

Symbols: D[i, j] distance of variable j between observation and do(i); I the targets; eps the
threshold; c the weight of an exceeded threshold; d the number of variables.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reprise.intersort.graphs import positions

Matrix = NDArray[np.float64]


def pair_weights(
    D: ArrayLike,
    targets: ArrayLike | None,
    *,
    eps: float,
    c: float = 0.5,
    positive_part: bool = False,
) -> Matrix:
    """Return W, what each pair adds to the score when i stands before j.

    `W[i, j] = D[i, j] - eps + c d 1[D[i, j] > eps]` for i in I and j != i, else 0.

    Parameters
    ----------
    D : distances, [d, d]
    targets : indices of the variables that were intervened on; None: all
    eps : threshold, >= 0
    c : >= 0; 0.5 is the paper's score, 0 what its released code optimises
    positive_part : (D - eps)_+ in place of D - eps, as a later paper writes it. It is another
        score: nothing is drawn in front of a target that doesn't move it.

    Raises
    ------
    ValueError
        For a D that isn't square and finite, negative eps or c, a target that is out of range
        or named twice.
    """
    D = require_distances(D)
    d = len(D)
    require_at_least_zero("eps", eps)
    require_at_least_zero("c", c)
    rows = require_targets(targets, d)
    gain = np.maximum(D - eps, 0.0) if positive_part else D - eps
    gain = gain + c * d * (eps < D)
    W = np.zeros((d, d))
    W[rows] = gain[rows]
    np.fill_diagonal(W, 0.0)
    return W


def order_score(order: ArrayLike, W: ArrayLike) -> float:
    """Return S(order): the sum of `W[i, j]` over all pairs with i before j."""
    W = require_square("W", W)
    order = np.asarray(order)
    positions(order, len(W))
    return float(np.triu(W[np.ix_(order, order)], k=1).sum())


def move_gains(order: ArrayLike, W: ArrayLike) -> Matrix:
    """Return G, [d, d]: what S gains when the variable at position a moves to position b.

    To jump over the elements between them turns those pairs and no others, so a row is a running
    sum, and all d (d - 1) moves cost O(d^2) (Method 6, fact 3).
    """
    W = require_square("W", W)
    order = np.asarray(order)
    positions(order, len(W))
    own = W[np.ix_(order, order)]
    turn = own - own.T  # [a, k]: what it is worth that a stands before k, not after
    # To the left, over b..a-1: these now come after a. To the right, over a+1..b: before it.
    left = np.cumsum(np.tril(turn, k=-1)[:, ::-1], axis=1)[:, ::-1]
    right = -np.cumsum(np.triu(turn, k=1), axis=1)
    return np.tril(left, k=-1) + np.triu(right, k=1)


# --- what is asked of the arguments -----------------------------------------------------------


def require_square(name: str, M: ArrayLike) -> Matrix:
    """Return M as float64 [d, d], or raise `ValueError`."""
    M = np.asarray(M, dtype=np.float64)
    if M.ndim != 2 or M.shape[0] != M.shape[1]:
        raise ValueError(f"{name} must be a square matrix, got shape {M.shape}")
    if not np.isfinite(M).all():
        row, column = np.argwhere(~np.isfinite(M))[0]
        raise ValueError(f"{name} must be finite, got {M[row, column]} at ({row}, {column})")
    return M


def require_distances(D: ArrayLike) -> Matrix:
    """Return D as float64 [d, d], or raise `ValueError`: square, finite, nowhere negative."""
    D = require_square("D", D)
    if (D < 0).any():
        row, column = np.argwhere(D < 0)[0]
        raise ValueError(f"D must be >= 0, got {D[row, column]} at ({row}, {column})")
    return D


def require_at_least_zero(name: str, value: float) -> None:
    """Raise `ValueError` for a negative or undefined number."""
    if not value >= 0:
        raise ValueError(f"{name} must be >= 0, got {value}")


def require_targets(targets: ArrayLike | None, d: int) -> NDArray[np.intp]:
    """Return targets as sorted indices (None: all), or raise `ValueError`."""
    if targets is None:
        return np.arange(d)
    given = np.asarray(targets)
    if given.size == 0:
        return np.empty(0, dtype=np.intp)
    if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer):
        raise ValueError(f"targets must be a list of indices, got {targets!r}")
    found, counts = np.unique(given, return_counts=True)
    if found[0] < 0 or found[-1] >= d:
        wrong = found[0] if found[0] < 0 else found[-1]
        raise ValueError(f"targets must be in 0..{d - 1}, got {wrong}")
    if (counts > 1).any():
        raise ValueError(f"targets must be named once, got {found[counts > 1][0]} twice")
    return found.astype(np.intp)
