"""Other ways to an order: from a partially directed graph, by extremes, by variance, by chance.

In a graph `P`, `P[i, j] = 1, P[j, i] = 0` is i -> j, and 1 both ways is an edge without direction.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reprise.intersort.data import InterventionalData
from reprise.intersort.graphs import Graph, topological_order

Conversion = Literal["oriented", "extension"]
CONVERSIONS = ("oriented", "extension")
Order = NDArray[np.intp]


def random_order(d: int, *, rng: np.random.Generator) -> Order:
    """Return a random order: half of the edges are wrong on average."""
    if d < 1:
        raise ValueError(f"d must be >= 1, got {d}")
    return rng.permutation(d)


def variance_order(data: InterventionalData) -> Order:
    """Return the variables by ascending observational variance, ties by index.

    Meant for raw data: where causes have less variance than their effects, it needs no method.
    """
    return np.argsort(data.observational.var(axis=0), kind="stable")


def ease_order(data: InterventionalData) -> Order:
    """Return EASE's order, from the extremes of the observational rows.

    `Gamma[i, j]` is the mean rank share of X_j over the k = floor(n^0.4) rows with the largest
    X_i: a cause drags its effects along, not the other way round. Repeatedly the variable is taken
    that the remaining ones drag least.
    """
    X = data.observational
    n, d = X.shape
    by = np.argsort(X, axis=0, kind="stable")
    F = np.empty((n, d))
    np.put_along_axis(F, by, (np.arange(1, n + 1) / n)[:, None], axis=0)
    k = max(1, int(n**0.4))
    gamma = F[by[-k:].T].mean(axis=1)  # [i, j]
    np.fill_diagonal(gamma, -np.inf)
    left = list(range(d))
    order = []
    while left:
        dragged = gamma[np.ix_(left, left)].max(axis=0)
        order.append(left.pop(int(np.argmin(dragged))))
    return np.array(order, dtype=np.intp)


def cpdag_to_order(P: ArrayLike, conversion: Conversion) -> Order:
    """Return an order of a partially directed graph.

    Parameters
    ----------
    P : 0/1, [d, d]
    conversion : "oriented" keeps the directed edges alone, without those that close a cycle, in
        index order; "extension" directs the rest so that no new collider arises (Dor and Tarsi),
        and falls back to "oriented" where that can't be done

    Raises
    ------
    ValueError
        For a P that isn't a square 0/1 matrix, or an unknown conversion.
    """
    if conversion not in CONVERSIONS:
        raise ValueError(f"conversion must be one of {', '.join(CONVERSIONS)}, got {conversion!r}")
    P = _require_partial(P)
    extended = consistent_extension(P) if conversion == "extension" else None
    return topological_order(_oriented(P) if extended is None else extended)


def consistent_extension(P: ArrayLike) -> Graph | None:
    """Return a DAG with P's directed edges, its skeleton and its colliders, or None.

    Dor and Tarsi's algorithm: take away, again and again, a node without outgoing edges whose
    undirected neighbours are adjacent to all that is adjacent to it; its edges point to it.

    Raises
    ------
    ValueError
        For a P that isn't a square 0/1 matrix.
    """
    P = _require_partial(P)
    A = np.zeros_like(P)
    left = list(range(len(P)))
    while left:
        own = P[np.ix_(left, left)].astype(bool)
        either = own | own.T
        for at in range(len(left)):
            if (own[at] & ~own[:, at]).any():
                continue
            near = either[at]
            free = np.flatnonzero(own[at] & own[:, at])
            if all((near <= (either[y] | (np.arange(len(left)) == y))).all() for y in free):
                A[np.array(left)[near], left[at]] = 1
                left.pop(at)
                break
        else:
            return None
    return A


def _oriented(P: Graph) -> Graph:
    """Return the directed edges, in index order, without those that would close a cycle."""
    d = len(P)
    A = np.zeros_like(P)
    reach = np.eye(d, dtype=bool)  # [i, j]: a path from i to j
    for i, j in np.argwhere((P == 1) & (P.T == 0)):
        if not reach[j, i]:
            A[i, j] = 1
            reach |= np.outer(reach[:, i], reach[j])
    return A


def _require_partial(P: ArrayLike) -> Graph:
    P = np.asarray(P)
    if P.ndim != 2 or P.shape[0] != P.shape[1]:
        raise ValueError(f"P must be a square matrix, got shape {P.shape}")
    if not np.isin(P, (0, 1)).all() or np.diagonal(P).any():
        raise ValueError("P must hold only 0 and 1, and 0 on its diagonal")
    return P.astype(np.int8)
