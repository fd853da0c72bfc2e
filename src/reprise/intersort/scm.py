"""Random structural causal models and samples of them, with hard stochastic interventions.

A variable is `x_j = f_j(parents, noise)`. Under do(X_k := N~_k) it takes a value drawn anew in
every row, sign included, whatever its parents are: a target's mean goes to 0 and its spread grows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reprise.intersort.data import OBSERVATIONAL, InterventionalData
from reprise.intersort.graphs import Graph, require_graph, topological_order
from reprise.intersort.score import require_square, require_targets

Kind = Literal["linear", "rff", "nn"]
Noise = Literal["gauss", "laplace", "hetero"]
KINDS = ("linear", "rff", "nn")
NOISES = ("gauss", "laplace", "hetero")
N_FEATURES = 100  # of a random Fourier feature function
N_HIDDEN = 10
LEAK = 0.25

Matrix = NDArray[np.float64]
Function = Callable[[Matrix], Matrix]  # [n, parents] -> [n]
Batches = Iterator[tuple[int, Matrix]]


def linear_weights(A: ArrayLike, *, rng: np.random.Generator) -> Matrix:
    """Return B, [d, d]: B[i, j] is +-U(1, 3) on an edge i -> j, else 0."""
    A = require_graph(A)
    return A * _signed(1.0, 3.0, A.shape, rng)


def total_effects(B: ArrayLike) -> Matrix:
    """Return (I - B)^-1, [d, d]: how far x_j moves with x_i, along all paths; diagonal 1.

    Raises
    ------
    ValueError
        When B isn't square and finite, or its graph has a cycle.
    """
    B = require_square("B", B)
    topological_order(B != 0)
    return np.linalg.inv(np.eye(len(B)) - B)


def simulate_scm(
    A: ArrayLike,
    *,
    kind: Kind,
    noise: Noise,
    targets: ArrayLike | None,
    n_obs: int = 5000,
    n_int: int = 100,
    do_high: float = 5.0,
    rng: np.random.Generator,
) -> InterventionalData:
    """Draw a random model on a graph and sample it, observed and under each intervention.

    Parameters
    ----------
    A : the DAG, [d, d]
    kind : "linear" (weights +-U(1, 3)) or "rff" (random Fourier features), both with a bias
        U(-3, 3) and additive noise; "nn" (a random network of parents and noise, no bias)
    noise : "gauss" or "laplace", with a scale U(.2, 2) for each variable; "hetero": Gaussian with
        scale^2 = log(1 + exp(h(parents))), h a random Fourier feature function
    targets : variables to intervene on, one at a time; None: all
    n_obs, n_int : observational rows; rows of each target
    do_high : an intervention sets linear and rff variables to +-U(1, do_high), in every row anew;
        nn variables to N(2, 1)
    rng : source of randomness. Model, observational rows and each target have streams of their
        own: another choice of targets leaves the rest of the data the same.

    Raises
    ------
    ValueError
        For a cyclic A, an unknown kind or noise, targets out of range or twice, n_obs < 2,
        n_int < 1, do_high <= 1.
    """
    X_obs, batches = iter_scm(
        A,
        kind=kind,
        noise=noise,
        targets=targets,
        n_obs=n_obs,
        n_int=n_int,
        do_high=do_high,
        rng=rng,
    )
    return collect(X_obs, batches)


def iter_scm(
    A: ArrayLike,
    *,
    kind: Kind,
    noise: Noise,
    targets: ArrayLike | None,
    n_obs: int = 5000,
    n_int: int = 100,
    do_high: float = 5.0,
    rng: np.random.Generator,
) -> tuple[Matrix, Batches]:
    """Return the same data as `simulate_scm`, but a target at a time: (X_obs, (target, rows)...).

    For `wasserstein_stream`, where all samples wouldn't fit into memory.
    """
    A = require_graph(A)
    d = len(A)
    order = topological_order(A)
    for name, value, known in (("kind", kind, KINDS), ("noise", noise, NOISES)):
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}")
    chosen = require_targets(targets, d)
    require_sizes(n_obs, n_int)
    if not do_high > 1:
        raise ValueError(f"do_high must be > 1, got {do_high}")
    own, *streams = rng.spawn(d + 2)
    model = _draw(A, order, kind, noise, own)

    def force(n: int, stream: np.random.Generator) -> Matrix:
        if kind == "nn":
            return stream.normal(2.0, 1.0, n)
        return _signed(1.0, do_high, n, stream)

    def batches() -> Batches:
        for k in chosen.tolist():
            forced = force(n_int, streams[k])
            yield k, model.sample(n_int, streams[k], k, forced)

    return model.sample(n_obs, streams[d]), batches()


def collect(X_obs: Matrix, batches: Batches, mock: Sequence[Matrix] = ()) -> InterventionalData:
    """Return observational rows and those of each target as one data set."""
    parts, target = [X_obs], [np.full(len(X_obs), OBSERVATIONAL)]
    for k, rows in batches:
        parts.append(rows)
        target.append(np.full(len(rows), k))
    return InterventionalData(np.concatenate(parts), np.concatenate(target), tuple(mock))


def require_sizes(n_obs: int, n_int: int) -> None:
    """Raise `ValueError` unless n_obs >= 2 and n_int >= 1."""
    if n_obs < 2:
        raise ValueError(f"n_obs must be >= 2, got {n_obs}")
    if n_int < 1:
        raise ValueError(f"n_int must be >= 1, got {n_int}")


# --- the model --------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Variable:
    """How one variable comes from its parents and a standardised noise."""

    parents: NDArray[np.intp]
    laplace: bool
    spread: Function
    value: Callable[[Matrix, Matrix], Matrix]


@dataclass(frozen=True)
class _Model:
    order: NDArray[np.intp]
    variables: Sequence[_Variable]

    def sample(
        self,
        n: int,
        rng: np.random.Generator,
        target: int | None = None,
        forced: Matrix | None = None,
    ) -> Matrix:
        X = np.empty((n, len(self.order)))
        for j in self.order.tolist():
            if j == target:
                X[:, j] = forced
                continue
            own = self.variables[j]
            parents = X[:, own.parents]
            z = rng.laplace(size=n) if own.laplace else rng.standard_normal(n)
            X[:, j] = own.value(parents, own.spread(parents) * z)
        return X


def _draw(
    A: Graph, order: NDArray[np.intp], kind: Kind, noise: Noise, rng: np.random.Generator
) -> _Model:
    B = linear_weights(A, rng=rng)
    variables = []
    for j in range(len(A)):
        parents = np.flatnonzero(A[:, j])
        spread = _hetero(len(parents), rng) if noise == "hetero" else _constant(rng.uniform(0.2, 2))
        if kind == "nn":
            value = _network(len(parents), rng)
        else:
            f = _linear(B[parents, j]) if kind == "linear" else _mechanism(len(parents), rng)
            value = _additive(f, rng.uniform(-3, 3))
        variables.append(_Variable(parents, noise == "laplace", spread, value))
    return _Model(order, variables)


def _signed(low: float, high: float, size: object, rng: np.random.Generator) -> Matrix:
    return rng.choice([-1.0, 1.0], size=size) * rng.uniform(low, high, size=size)


def _constant(scale: float) -> Function:
    return lambda parents: np.full(len(parents), scale)


def _linear(weights: Matrix) -> Function:
    return lambda parents: parents @ weights


def _mechanism(n_parents: int, rng: np.random.Generator) -> Function:
    if not n_parents:
        return _constant(0.0)
    return _fourier(n_parents, rng.uniform(7, 10), rng.uniform(10, 20), rng)


def _fourier(n_parents: int, length: float, c: float, rng: np.random.Generator) -> Function:
    """Return sqrt(2) c / sqrt(100) * sum of w cos(omega x + b): a draw from a Gaussian process."""
    omega = rng.normal(0, 1 / length, (n_parents, N_FEATURES))
    w, b = rng.standard_normal(N_FEATURES), rng.uniform(0, 2 * np.pi, N_FEATURES)
    factor = np.sqrt(2 / N_FEATURES) * c
    return lambda parents: factor * np.cos(parents @ omega + b) @ w


def _hetero(n_parents: int, rng: np.random.Generator) -> Function:
    h = _fourier(n_parents, 10.0, 2.0, rng)
    return lambda parents: np.sqrt(np.logaddexp(0.0, h(parents)))


def _additive(f: Function, bias: float) -> Callable[[Matrix, Matrix], Matrix]:
    return lambda parents, noise: bias + f(parents) + noise


def _network(n_parents: int, rng: np.random.Generator) -> Callable[[Matrix, Matrix], Matrix]:
    W1 = rng.standard_normal((n_parents + 1, N_HIDDEN))
    w2 = rng.standard_normal(N_HIDDEN)

    def value(parents: Matrix, noise: Matrix) -> Matrix:
        hidden = np.column_stack([parents, noise]) @ W1
        return np.where(hidden > 0, hidden, LEAK * hidden) @ w2

    return value
