"""SORTRANKING, the local search, and an order without a score (Method 6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numba
import numpy as np
from numpy.typing import ArrayLike, NDArray

from reprise.intersort.graphs import positions
from reprise.intersort.score import (
    order_score,
    require_at_least_zero,
    require_distances,
    require_square,
)

Order = NDArray[np.intp]
Rule = Literal["first", "best", "sweep"]
RULES = ("first", "best", "sweep")
# A move must gain more than rounding can feign, else the search may go round in circles on ties.
LEAST_GAIN = 1e-12


@dataclass(frozen=True)
class SearchResult:
    """Where a local search ended.

    Attributes
    ----------
    order : variable indices, causes first
    score : its S
    n_moves : accepted moves
    converged : no single move improves; False when `max_moves` stopped the search
    """

    order: Order
    score: float
    n_moves: int
    converged: bool


def sort_ranking(D: ArrayLike, *, eps: float) -> Order:
    """Return SORTRANKING's order: the largest distances first, as long as they make no cycle.

    Pairs with D[i, j] > eps are taken in descending order (ties: by flat index) as edges i -> j
    of a graph, except for those that would close a cycle. The order is topological, by
    generations, as `networkx.topological_sort` has it. What has no incoming edge stands first, in
    index order: variables must not be numbered by their true place.

    Reachability is kept in bit sets, so that a candidate costs a look-up, and an edge that says
    something new d/64 words for each ancestor.

    Raises
    ------
    ValueError
        For a D that isn't square, finite and >= 0, or a negative eps.
    """
    D = require_distances(D)
    require_at_least_zero("eps", eps)
    off = D.copy()
    np.fill_diagonal(off, -np.inf)
    flat = off.ravel()
    candidates = np.flatnonzero(flat > eps)
    candidates = candidates[np.argsort(-flat[candidates], kind="stable")]
    causes, effects = np.divmod(candidates, len(D))
    kept = _acyclic(causes, effects, len(D))
    return _by_generations(causes[kept], effects[kept], len(D))


def fan_out_order(D: ArrayLike, *, eps: float) -> Order:
    """Return the order by the number of variables that move, descending; ties by index.

    A control that needs neither score nor search.

    Raises
    ------
    ValueError
        For a D that isn't square, finite and >= 0, or a negative eps.
    """
    D = require_distances(D)
    require_at_least_zero("eps", eps)
    moved = (eps < D) & ~np.eye(len(D), dtype=bool)
    return np.argsort(-moved.sum(axis=1), kind="stable")


def local_search(
    order: ArrayLike,
    W: ArrayLike,
    *,
    rule: Rule = "first",
    max_moves: int | None = None,
    W_start: ArrayLike | None = None,
) -> SearchResult:
    """Improve an order by moving one variable at a time until no move improves it.

    Parameters
    ----------
    order : where to start
    W : weights of `pair_weights`, [d, d]
    rule : "first": positions a, then b, in ascending order, take the first move that improves,
        start again (the paper's). "best": take the best of all moves. "sweep": each variable in
        index order to its best place, until a pass moves none; far fewer moves at large d.
    max_moves : stop after so many; None: never
    W_start : weights by which the start alone is scored, so that the first move must beat that
        score (the released code, whose threshold differs between start and moves); rule "first"

    Raises
    ------
    ValueError
        For an order that is no permutation, a W that isn't square and finite, an unknown rule, a
        negative `max_moves`, or `W_start` with another rule.
    """
    W = require_square("W", W)
    order = np.array(order)
    positions(order, len(W))
    order = order.astype(np.intp)
    if rule not in RULES:
        raise ValueError(f"rule must be one of {', '.join(RULES)}, got {rule!r}")
    if max_moves is not None and max_moves < 0:
        raise ValueError(f"max_moves must be >= 0, got {max_moves}")
    if W_start is not None and rule != "first":
        raise ValueError(f"W_start needs rule 'first', got {rule!r}")
    bar = 0.0 if W_start is None else order_score(order, W_start) - order_score(order, W)
    most = np.iinfo(np.int64).max if max_moves is None else max_moves
    turn = np.ascontiguousarray(W - W.T)
    search = {"first": _first, "best": _best, "sweep": _sweep}[rule]
    arguments = (order, turn, most, bar) if rule == "first" else (order, turn, most)
    n_moves, converged = search(*arguments)
    return SearchResult(order, order_score(order, W), int(n_moves), bool(converged))


# --- compiled ---------------------------------------------------------------------------------
# `turn[u, v]` is what S gains when u stands before v, not after it.


@numba.njit(cache=True)
def _acyclic(causes: NDArray, effects: NDArray, d: int) -> NDArray:
    """Return which edges are kept when each is added unless it closes a cycle."""
    words = (d + 63) // 64
    one = np.uint64(1)
    below = np.zeros((d, words), np.uint64)  # the variable itself and its descendants
    above = np.zeros((d, words), np.uint64)  # and its ancestors
    for i in range(d):
        below[i, i // 64] = one << np.uint64(i % 64)
        above[i, i // 64] = one << np.uint64(i % 64)
    kept = np.zeros(len(causes), np.bool_)
    for edge in range(len(causes)):
        i, j = causes[edge], effects[edge]
        if (below[j, i // 64] >> np.uint64(i % 64)) & one:
            continue
        kept[edge] = True
        if (below[i, j // 64] >> np.uint64(j % 64)) & one:
            continue
        for k in range(d):
            if (above[i, k // 64] >> np.uint64(k % 64)) & one:
                for w in range(words):
                    below[k, w] |= below[j, w]
            if (below[j, k // 64] >> np.uint64(k % 64)) & one:
                for w in range(words):
                    above[k, w] |= above[i, w]
    return kept


@numba.njit(cache=True)
def _by_generations(causes: NDArray, effects: NDArray, d: int) -> NDArray:
    """Return the topological order by generations (Kahn), successors as their edges came."""
    waits = np.zeros(d, np.int64)
    start = np.zeros(d + 1, np.int64)
    for edge in range(len(causes)):
        waits[effects[edge]] += 1
        start[causes[edge] + 1] += 1
    start = np.cumsum(start)
    fill = start[:-1].copy()
    successors = np.empty(len(causes), np.intp)
    for edge in range(len(causes)):
        successors[fill[causes[edge]]] = effects[edge]
        fill[causes[edge]] += 1
    order = np.empty(d, np.intp)
    n = 0
    for i in range(d):
        if waits[i] == 0:
            order[n] = i
            n += 1
    head = 0
    while head < n:
        i = order[head]
        head += 1
        for at in range(start[i], start[i + 1]):
            j = successors[at]
            waits[j] -= 1
            if waits[j] == 0:
                order[n] = j
                n += 1
    return order


@numba.njit(cache=True)
def _move(order: NDArray, a: int, b: int) -> None:
    """Take the element at position a out and put it in at position b, in place."""
    v = order[a]
    if b < a:
        for k in range(a, b, -1):
            order[k] = order[k - 1]
    else:
        for k in range(a, b):
            order[k] = order[k + 1]
    order[b] = v


@numba.njit(cache=True)
def _first(order: NDArray, turn: NDArray, most: int, bar: float) -> tuple[int, bool]:
    d, n_moves, a = len(order), 0, 0
    while a < d:
        row = turn[order[a]]
        found = -1
        gain = 0.0
        for b in range(a - 1, -1, -1):  # the scan goes up: the last one found here comes first
            gain += row[order[b]]
            if gain - bar > LEAST_GAIN:
                found = b
        if found < 0:
            gain = 0.0
            for b in range(a + 1, d):
                gain -= row[order[b]]
                if gain - bar > LEAST_GAIN:
                    found = b
                    break
        if found < 0:
            a += 1
            continue
        if n_moves >= most:
            return n_moves, False
        _move(order, a, found)
        n_moves += 1
        bar = 0.0
        a = 0
    return n_moves, True


@numba.njit(cache=True)
def _best_place(order: NDArray, turn: NDArray, a: int) -> tuple[int, float]:
    """Return the best new position of what stands at position a (ties: the first), its gain."""
    row = turn[order[a]]
    place, best, gain = a, 0.0, 0.0
    for b in range(a - 1, -1, -1):
        gain += row[order[b]]
        if gain >= best:
            place, best = b, gain
    gain = 0.0
    for b in range(a + 1, len(order)):
        gain -= row[order[b]]
        if gain > best:
            place, best = b, gain
    return place, best


@numba.njit(cache=True)
def _best(order: NDArray, turn: NDArray, most: int) -> tuple[int, bool]:
    n_moves = 0
    while True:
        start, end, best = -1, -1, LEAST_GAIN
        for a in range(len(order)):
            b, gain = _best_place(order, turn, a)
            if gain > best:
                start, end, best = a, b, gain
        if start < 0:
            return n_moves, True
        if n_moves >= most:
            return n_moves, False
        _move(order, start, end)
        n_moves += 1


@numba.njit(cache=True)
def _sweep(order: NDArray, turn: NDArray, most: int) -> tuple[int, bool]:
    d, n_moves = len(order), 0
    while True:
        before = n_moves
        for v in range(d):
            a = 0
            while order[a] != v:
                a += 1
            b, gain = _best_place(order, turn, a)
            if gain > LEAST_GAIN:
                if n_moves >= most:
                    return n_moves, False
                _move(order, a, b)
                n_moves += 1
        if n_moves == before:
            return n_moves, True
