"""Directed acyclic graphs: generators, ancestors, all small ones, and the error of an order.

A graph is an adjacency matrix `A`, int8 [d, d]: `A[i, j] = 1` means i -> j. An order is a list of
the d variable indices, causes first.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import ArrayLike, NDArray

Graph = NDArray[np.int8]


def erdos_renyi_dag(d: int, edges_per_var: float, *, rng: np.random.Generator) -> Graph:
    """Return a random DAG in which each pair is an edge with probability min(2e / (d - 1), .99).

    Parameters
    ----------
    d : number of variables, >= 1
    edges_per_var : e, expected edges per variable, >= 0
    rng : source of randomness

    Returns
    -------
    int8 [d, d], the variables relabelled at random: their index says nothing of their place.

    Raises
    ------
    ValueError
        For d < 1 or a negative `edges_per_var`.
    """
    _require_size(d)
    if not edges_per_var >= 0:
        raise ValueError(f"edges_per_var must be >= 0, got {edges_per_var}")
    p = min(2 * edges_per_var / (d - 1), 0.99) if d > 1 else 0.0
    A = np.triu(rng.random((d, d)) < p, k=1).astype(np.int8)
    return relabel(A, rng.permutation(d))


def scale_free_dag(d: int, m: int, *, transpose: bool = False, rng: np.random.Generator) -> Graph:
    """Return a Barabasi-Albert DAG: a new node gets min(m, existing) distinct older parents.

    A parent is drawn with probability proportional to its out-degree + 1, so that out-degrees
    follow a power law.

    Parameters
    ----------
    d : number of variables, >= 1
    m : edges that a new node brings, >= 1
    transpose : turn all edges: a power law of the in-degrees
    rng : source of randomness

    Returns
    -------
    int8 [d, d], the variables relabelled at random.

    Raises
    ------
    ValueError
        For d < 1 or m < 1.
    """
    _require_size(d)
    if m < 1:
        raise ValueError(f"m must be >= 1, got {m}")
    A = np.zeros((d, d), dtype=np.int8)
    for j in range(1, d):
        weight = A[:j].sum(axis=1) + 1.0
        A[rng.choice(j, size=min(m, j), replace=False, p=weight / weight.sum()), j] = 1
    return relabel(A.T if transpose else A, rng.permutation(d))


def relabel(A: ArrayLike, names: ArrayLike) -> Graph:
    """Return the graph in which variable i is called `names[i]`."""
    A, names = np.asarray(A, dtype=np.int8), np.asarray(names)
    out = np.zeros_like(A)
    out[np.ix_(names, names)] = A
    return out


def all_dags(d: int) -> list[Graph]:
    """Return one DAG per relabelling class, the edgeless one first: 1, 2, 6, 31, 302 for d = 1..5.

    Raises
    ------
    ValueError
        Unless 1 <= d <= 5.
    """
    if not 1 <= d <= 5:
        raise ValueError(f"d must be in 1..5, got {d}: there are too many graphs beyond")
    rows, columns = np.triu_indices(d, k=1)
    codes = np.arange(2 ** len(rows))
    bits = ((codes[:, None] >> np.arange(len(rows))) & 1).astype(np.int64)
    # Every DAG is upper triangular under some names; the smallest code under all names is its own.
    canonical = np.full(len(codes), np.iinfo(np.int64).max)
    for names in itertools.permutations(range(d)):
        own = np.array(names)
        canonical = np.minimum(canonical, bits @ (1 << (own[rows] * d + own[columns])))
    _, first = np.unique(canonical, return_index=True)
    found = []
    for code in np.sort(first):
        A = np.zeros((d, d), dtype=np.int8)
        A[rows, columns] = bits[code]
        found.append(A)
    return found


def ancestor_matrix(A: ArrayLike) -> NDArray[np.bool_]:
    """Return R, bool [d, d]: R[i, j] where a directed path leads from i to j; diagonal False.

    Raises
    ------
    ValueError
        When A isn't a square 0/1 matrix, or has a cycle.
    """
    A = require_graph(A)
    d = len(A)
    R = A.astype(np.float32)
    for _ in range(max(1, int(np.ceil(np.log2(max(d, 2)))))):
        R = np.minimum(R + R @ R, 1.0)
    if np.diagonal(R).any():
        on = int(np.flatnonzero(np.diagonal(R))[0])
        raise ValueError(f"A must be acyclic: variable {on} is on a cycle")
    return R > 0


def topological_order(A: ArrayLike) -> NDArray[np.intp]:
    """Return an order in which causes stand first; by the number of ancestors, then by index."""
    return np.argsort(ancestor_matrix(A).sum(axis=0), kind="stable")


def positions(order: ArrayLike, d: int | None = None) -> NDArray[np.intp]:
    """Return the place of each variable in an order.

    Raises
    ------
    ValueError
        When the order is no permutation of 0..d-1.
    """
    order = np.asarray(order)
    n = order.size if d is None else d
    if order.shape != (n,) or not np.array_equal(np.sort(order), np.arange(n)):
        raise ValueError(f"order must be a permutation of 0..{n - 1}, got {order.tolist()}")
    place = np.empty(n, dtype=np.intp)
    place[order.astype(np.intp)] = np.arange(n)
    return place


def d_top(A: ArrayLike, order: ArrayLike) -> int:
    """Return D_top: the number of edges i -> j with j before i in the order.

    >>> d_top([[0, 1], [0, 0]], [1, 0])
    1
    """
    A = require_graph(A)
    place = positions(order, len(A))
    causes, effects = np.nonzero(A)
    return int((place[effects] < place[causes]).sum())


def false_negative_rate(A: ArrayLike, order: ArrayLike) -> float:
    """Return D_top / |E|; nan for a graph without edges."""
    n_edges = int(require_graph(A).sum())
    wrong = d_top(A, order)
    return wrong / n_edges if n_edges else float("nan")


def require_graph(A: ArrayLike) -> Graph:
    """Return A as int8, or raise `ValueError` unless it is a square 0/1 matrix, diagonal 0."""
    given = np.asarray(A)
    if given.ndim != 2 or given.shape[0] != given.shape[1]:
        raise ValueError(f"A must be a square matrix, got shape {given.shape}")
    if not np.isin(given, (0, 1)).all():
        raise ValueError("A must hold only 0 and 1")
    if np.diagonal(given).any():
        on = int(np.flatnonzero(np.diagonal(given))[0])
        raise ValueError(f"A must be acyclic: variable {on} is its own cause")
    return given.astype(np.int8)


def _require_size(d: int) -> None:
    if d < 1:
        raise ValueError(f"d must be >= 1, got {d}")
