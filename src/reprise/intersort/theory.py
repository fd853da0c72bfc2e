"""What the error of an optimum is bounded by, and what it is, under random targets (Method 5).

Each variable is a target independently with probability p. AN(j), DE(i) are ancestors and
descendants without the node itself, PA(j) parents; an edge that can't be decided may be reversed
by an optimum.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reprise.intersort.exact import all_orders
from reprise.intersort.graphs import ancestor_matrix, require_graph
from reprise.intersort.score import pair_weights, require_targets

Ties = Literal["uniform", "worst", "best"]
TIES = ("best", "uniform", "worst")
LIMIT = 6


def bound_b0(A: ArrayLike, p: float) -> float:
    """Return B_0 = |E| (1 - p)^2: neither end of the edge is a target.

    Raises
    ------
    ValueError
        For a cyclic A or p outside [0, 1]; so do all bounds.
    """
    ancestor_matrix(A)
    return _power(A, p, 2)


def bound_int(A: ArrayLike, p: float) -> float:
    """Return B_int = sum over i -> j of (1 - p)^(2 + |DE(i) & AN(j)|).

    Neither end nor anything on a directed path between them is a target.
    """
    R = ancestor_matrix(A).astype(np.int64)
    return _power(A, p, 2 + R @ R)


def bound_diff(A: ArrayLike, p: float) -> float:
    """Return B_diff = sum over i -> j of (1 - p)^(1 + |AN(j) - AN(i)|), i itself included.

    The set that the paper names. It holds for uniform ties on all graphs of five nodes, but not
    for every optimum.
    """
    R = ancestor_matrix(A).astype(np.int64)
    return _power(A, p, 1 + (1 - R).T @ R)


def bound_parents(A: ArrayLike, p: float) -> float:
    """Return B_par = sum over i -> j of (1 - p)^(1 + |PA(j) - PA(i)|): only children react."""
    ancestor_matrix(A)
    A = require_graph(A).astype(np.int64)
    return _power(A, p, 1 + (1 - A).T @ A)


def _power(A: ArrayLike, p: float, exponent: NDArray[np.int64] | int) -> float:
    """Return the sum of (1 - p)^exponent over the edges."""
    require_probability(p)
    return float((np.asarray(A) * (1.0 - p) ** exponent).sum())


def undecided_edges(A: ArrayLike, targets: ArrayLike | None) -> NDArray[np.intp]:
    """Return the edges that some optimum may reverse, [k, 2]: the condition of B_int.

    Neither i nor j is a target, nor any variable on a directed path from i to j. For a faithful D
    and c >= eps no optimum reverses another edge.

    Raises
    ------
    ValueError
        For a cyclic A or targets out of range.
    """
    R = ancestor_matrix(A)
    free = np.ones(len(R), dtype=bool)
    free[require_targets(targets, len(R))] = False
    hit = (R[:, ~free].astype(np.int64) @ R[~free].astype(np.int64)) > 0
    return np.argwhere(require_graph(A).astype(bool) & free[:, None] & free[None, :] & ~hit)


def errors_by_targets(
    A: ArrayLike, D: ArrayLike, *, eps: float, c: float, positive_part: bool = False
) -> NDArray[np.float64]:
    """Return D_top of the optima for every set of targets, [2^d, 3]: best, uniform, worst tie.

    Parameters
    ----------
    A : the DAG, d <= 6
    D : distances as if all variables were targets, [d, d]; a set takes its rows
    eps, c, positive_part : of `pair_weights`

    Returns
    -------
    Row t is the set of the variables whose bit is set in t.

    Raises
    ------
    ValueError
        For a cyclic A, d > 6, or what `pair_weights` refuses.
    """
    ancestor_matrix(A)
    A = require_graph(A)
    d = len(A)
    if d > LIMIT:
        raise ValueError(f"A must have d <= {LIMIT}, got {d}: there are 2^d target sets, d! orders")
    if np.shape(D) != A.shape:
        raise ValueError(f"D must be [{d}, {d}] as A, got shape {np.shape(D)}")
    W = pair_weights(D, None, eps=eps, c=c, positive_part=positive_part)
    before = all_orders(d)[1]
    sets = (np.arange(2**d)[:, None] >> np.arange(d)) & 1
    scores = (before * W).sum(axis=2) @ sets.T  # [order, set]: a set's score is a sum over its rows
    wrong = (before * A.T).sum(axis=(1, 2))
    optimal = scores >= scores.max(axis=0) - 1e-9
    least = np.where(optimal, wrong[:, None], np.inf).min(axis=0)
    most = np.where(optimal, wrong[:, None], -np.inf).max(axis=0)
    mean = (optimal * wrong[:, None]).sum(axis=0) / optimal.sum(axis=0)
    return np.stack([least, mean, most], axis=1)


def target_probabilities(d: int, p: float) -> NDArray[np.float64]:
    """Return the probability of each set of targets, [2^d], in the order of `errors_by_targets`."""
    require_probability(p)
    size = ((np.arange(2**d)[:, None] >> np.arange(d)) & 1).sum(axis=1)
    return p**size * (1.0 - p) ** (d - size)


def expected_error(
    A: ArrayLike,
    D: ArrayLike,
    p: float,
    *,
    eps: float,
    c: float,
    ties: Ties = "uniform",
    positive_part: bool = False,
) -> float:
    """Return E[D_top] of an optimum over random targets, exactly, over all 2^d sets.

    Parameters
    ----------
    A, D, eps, c, positive_part : of `errors_by_targets`
    p : probability that a variable is a target
    ties : which of several optima: "uniform" (one at random), "worst", "best"

    Raises
    ------
    ValueError
        For p outside [0, 1], unknown ties, or what `errors_by_targets` refuses.
    """
    require_probability(p)
    if ties not in TIES:
        raise ValueError(f"ties must be one of {', '.join(TIES)}, got {ties!r}")
    errors = errors_by_targets(A, D, eps=eps, c=c, positive_part=positive_part)
    return float(target_probabilities(len(np.asarray(A)), p) @ errors[:, TIES.index(ties)])


def require_probability(p: float) -> None:
    """Raise `ValueError` unless p is in [0, 1]."""
    if not 0 <= p <= 1:
        raise ValueError(f"p must be in [0, 1], got {p}")
