"""Gene expression of a regulatory network: SERGIO's steady-state simulator, with knock-outs.

A gene's expression x in a cell type follows the chemical Langevin equation with production P and
decay .8 x. P is a constant b for a master regulator (no parents), else the sum over its regulators
p of |K_pg| hill(x_p), with hill(x) = x^2 / (h_p^2 + x^2) or, for a repressor (K < 0), one minus
that; the half response h_p is the regulator's mean expression.

Two things follow from how cells are sampled. They are read from one trajectory, and so they are
autocorrelated. And h_p is estimated anew in each experiment, so that a regulator that falls to half
still works at half response: effects beyond children nearly vanish, unless
`half_response="wild_type"`.
"""

from __future__ import annotations

from typing import Literal

import numba
import numpy as np
from numpy.typing import ArrayLike, NDArray

from reprise.intersort.data import InterventionalData
from reprise.intersort.graphs import Graph, require_graph, topological_order
from reprise.intersort.scm import Batches, collect, require_sizes
from reprise.intersort.score import require_at_least_zero, require_square, require_targets

DECAY = 0.8
STEPS_PER_CELL = 15
DT = 0.01
HALF_RESPONSES = ("per_experiment", "wild_type")
# Of the droplet technology "10x": share of outlier genes, their factor's and the cells' totals'
# lognormal parameters, and the dropout's slope and midpoint (a percentile).
OUTLIERS, OUTLIER_FACTOR, TOTALS, DROPOUT = 0.01, (3.0, 1.0), (6.0, 0.3), (8.0, 74.0)

Matrix = NDArray[np.float64]


def simulate_grn(
    A: ArrayLike,
    *,
    targets: ArrayLike | None,
    K: ArrayLike | None = None,
    b: ArrayLike | None = None,
    q: float = 1.0,
    clip: bool = True,
    n_obs: int = 5000,
    n_int: int = 100,
    cell_types: int = 5,
    half_response: Literal["per_experiment", "wild_type"] = "per_experiment",
    tech_noise: Literal["10x"] | None = None,
    n_mock: int = 0,
    rng: np.random.Generator,
) -> InterventionalData:
    """Draw a network on a graph and sample cells of the wild type and of each knock-out.

    Parameters
    ----------
    A : the DAG, A[p, g] = 1 where p regulates g
    targets : genes to knock out (production 0), one at a time; None: all
    K : strengths, [d, d]; None: +-U(1, 5), the share of activations Beta(1, 1) per regulator
    b : production of master regulators, [d, cell_types]; None: U(1, 3)
    q : strength of the noise, >= 0
    clip : keep expression >= 0 at every step
    n_obs, n_int : cells of the wild type and of each knock-out, spread over the cell types
    cell_types : number of them, >= 1
    half_response : where the h of the regulators comes from: each experiment, or the wild type
    tech_noise : "10x" adds outlier genes, library sizes, dropout and Poisson counts, in this order
    n_mock : further wild-type batches of n_int cells, as non-targeting controls are
    rng : source of randomness; network, wild type, each knock-out and each mock have streams of
        their own

    Raises
    ------
    ValueError
        For a cyclic A, targets out of range or twice, fewer cells than cell types, shapes of K or b
        that don't fit, negative q or b, an unknown `half_response` or `tech_noise`.
    """
    A = require_graph(A)
    d = len(A)
    order = topological_order(A)
    chosen = require_targets(targets, d)
    require_sizes(n_obs, n_int)
    if cell_types < 1:
        raise ValueError(f"cell_types must be >= 1, got {cell_types}")
    for name, n in (("n_obs", n_obs), ("n_int", n_int)):
        if n < cell_types:
            raise ValueError(f"{name} must be >= cell_types = {cell_types}, got {n}")
    if n_mock < 0:
        raise ValueError(f"n_mock must be >= 0, got {n_mock}")
    require_at_least_zero("q", q)
    if half_response not in HALF_RESPONSES:
        raise ValueError(
            f"half_response must be one of {', '.join(HALF_RESPONSES)}, got {half_response!r}"
        )
    if tech_noise not in (None, "10x"):
        raise ValueError(f"tech_noise must be None or '10x', got {tech_noise!r}")
    own, technical, *streams = rng.spawn(d + 3 + n_mock)
    drawn = _draw_strengths(A, own), own.uniform(1, 3, (d, cell_types))
    K = drawn[0] if K is None else _require_strengths(K, A)
    b = drawn[1] if b is None else _require_production(b, d, cell_types)

    def experiment(
        n: int, stream: np.random.Generator, ko: int = -1, half: Matrix | None = None
    ) -> tuple[Matrix, Matrix]:
        cells = np.full(cell_types, n // cell_types)
        cells[: n % cell_types] += 1
        n_steps = STEPS_PER_CELL * int(cells.max())
        times = [stream.integers(n_steps, size=c) for c in cells]
        x, half = _run(A, order, K, b, n_steps, ko, q, DT, clip, half, times, stream)
        return np.concatenate([x[t, :, k] for k, t in enumerate(times)]), half

    X_obs, wild = experiment(n_obs, streams[d])
    fixed = wild if half_response == "wild_type" else None

    def batches() -> Batches:
        for k in chosen.tolist():
            yield k, experiment(n_int, streams[k], k, fixed)[0]

    mock = [experiment(n_int, stream, half=fixed)[0] for stream in streams[d + 1 :]]
    data = collect(X_obs, batches(), mock)
    return data if tech_noise is None else _measured(data, technical)


def grn_trajectory(
    A: ArrayLike,
    K: ArrayLike,
    b: ArrayLike,
    *,
    n_steps: int,
    ko: int | None = None,
    q: float = 1.0,
    dt: float = DT,
    clip: bool = True,
    rng: np.random.Generator,
) -> Matrix:
    """Return the expression at every step, [n_steps, d, cell_types]; h_p is the whole run's mean.

    Parameters
    ----------
    A, K, b, q, clip : of `simulate_grn`
    n_steps : >= 1
    ko : the gene that is knocked out
    dt : length of a step, > 0

    Raises
    ------
    ValueError
        For n_steps < 1, dt <= 0, a ko that is no gene, or what `simulate_grn` refuses.
    """
    A = require_graph(A)
    order = topological_order(A)
    K = _require_strengths(K, A)
    b = _require_production(b, len(A), None)
    if n_steps < 1:
        raise ValueError(f"n_steps must be >= 1, got {n_steps}")
    if not dt > 0:
        raise ValueError(f"dt must be > 0, got {dt}")
    require_at_least_zero("q", q)
    gene = -1 if ko is None else int(require_targets([ko], len(A))[0])
    times = [np.arange(n_steps)] * b.shape[1]
    return _run(A, order, K, b, n_steps, gene, q, dt, clip, None, times, rng)[0]


def _run(
    A: Graph,
    order: NDArray[np.intp],
    K: Matrix,
    b: Matrix,
    n_steps: int,
    ko: int,
    q: float,
    dt: float,
    clip: bool,
    half: Matrix | None,
    times: list[NDArray[np.int64]],
    rng: np.random.Generator,
) -> tuple[Matrix, Matrix]:
    """Return the trajectories of all genes and the half response of each.

    Genes are run one after another, causes first: a regulator's whole trajectory is there when its
    targets need it.
    """
    d, types = b.shape
    x = np.empty((d, n_steps, types))
    means = np.zeros((d, types))  # over the cells that are read
    halves = np.zeros(d) if half is None else half
    for g in order.tolist():
        parents = np.flatnonzero(A[:, g])
        strength = K[parents, g]
        if g == ko:
            constant, parents, strength = np.zeros(types), parents[:0], strength[:0]
        elif len(parents):
            constant = np.zeros(types)
        else:
            constant = b[g]
        at_means = _production(constant, means[parents], halves[parents], strength)
        noise = rng.standard_normal((n_steps, 2, types))
        x[g] = _langevin(
            at_means / DECAY, constant, x[parents], halves[parents], strength, q, dt, clip, noise
        )
        means[g] = [x[g, t, k].mean() for k, t in enumerate(times)]
        if half is None:
            halves[g] = np.concatenate([x[g, t, k] for k, t in enumerate(times)]).mean()
    return x.transpose(1, 0, 2), halves


@numba.njit(cache=True)
def _regulated(x: float, half: float, strength: float) -> float:
    """Return |K| hill(x), or |K| (1 - hill(x)) of a repressor: what a regulator adds to P."""
    square = x**2
    whole = half**2 + square
    hill = square / whole if whole > 0 else 0.0
    return strength * hill if strength > 0 else -strength * (1 - hill)


@numba.njit(cache=True)
def _production(constant: NDArray, x: NDArray, half: NDArray, strength: NDArray) -> NDArray:
    """Return P, [types], at regulators x [regulators, types]."""
    made = constant.copy()
    for p in range(len(strength)):
        for k in range(len(made)):
            made[k] += _regulated(x[p, k], half[p], strength[p])
    return made


@numba.njit(cache=True)
def _langevin(
    start: NDArray,
    constant: NDArray,
    regulators: NDArray,
    half: NDArray,
    strength: NDArray,
    q: float,
    dt: float,
    clip: bool,
    noise: NDArray,
) -> NDArray:
    """Return one gene's trajectory, [n_steps, types]."""
    n_steps, _, types = noise.shape
    x = np.empty((n_steps, types))
    x[0] = start
    root = np.sqrt(dt) * q
    for t in range(1, n_steps):
        for k in range(types):
            now = x[t - 1, k]
            made = constant[k]
            for p in range(len(strength)):
                made += _regulated(regulators[p, t - 1, k], half[p], strength[p])
            lost = DECAY * now
            shake = np.sqrt(made) * noise[t, 0, k] + np.sqrt(max(lost, 0.0)) * noise[t, 1, k]
            then = now + dt * (made - lost) + root * shake
            x[t, k] = max(then, 0.0) if clip else then
    return x


# --- the network ------------------------------------------------------------------------------


def _draw_strengths(A: Graph, rng: np.random.Generator) -> Matrix:
    d = len(A)
    activates = rng.random((d, d)) < rng.beta(1, 1, size=(d, 1))
    return A * np.where(activates, 1.0, -1.0) * rng.uniform(1, 5, (d, d))


def _require_strengths(K: ArrayLike, A: Graph) -> Matrix:
    K = require_square("K", K)
    if K.shape != A.shape:
        raise ValueError(f"K must be [{len(A)}, {len(A)}] as A, got shape {K.shape}")
    return K * A


def _require_production(b: ArrayLike, d: int, types: int | None) -> Matrix:
    b = np.asarray(b, dtype=np.float64)
    if b.ndim != 2 or b.shape[0] != d or (types is not None and b.shape[1] != types):
        want = "cell types" if types is None else types
        raise ValueError(f"b must be [{d}, {want}], got shape {b.shape}")
    if not (b >= 0).all():
        raise ValueError(f"b must be >= 0, got {b.min()}")
    return b


def _measured(data: InterventionalData, rng: np.random.Generator) -> InterventionalData:
    """Return counts as a droplet technology would give them."""
    d = data.X.shape[1]
    outlier = rng.random(d) < OUTLIERS
    factor = np.where(outlier, rng.lognormal(*OUTLIER_FACTOR, size=d), 1.0)

    def scaled(X: Matrix) -> Matrix:
        X = X * factor
        total = X.sum(axis=1, keepdims=True)
        return X * rng.lognormal(*TOTALS, size=(len(X), 1)) / np.where(total > 0, total, 1.0)

    slope, percentile = DROPOUT
    X = scaled(data.X)
    middle = np.percentile(np.log1p(X[data.target < 0]), percentile)

    def counted(X: Matrix) -> Matrix:
        seen = rng.random(X.shape) < 1 / (1 + np.exp(-slope * (np.log1p(X) - middle)))
        return rng.poisson(X * seen).astype(np.float64)

    mock = tuple(counted(scaled(batch)) for batch in data.mock)
    return InterventionalData(counted(X), data.target, mock)
