"""Optimal orders: by dynamic programming, by integer programming, and all of them by trying.

The local search promises no optimum; these do, and tell what of an error is the search's.
"""

from __future__ import annotations

import functools
import itertools
import time
from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, milp

from reprise.intersort.score import Matrix, order_score, require_square

Order = NDArray[np.intp]
DP_LIMIT = 18
ENUMERATION_LIMIT = 7
MOST_ROWS = 5000  # rows that a round adds
VIOLATED = 1e-6


@dataclass(frozen=True)
class ExactResult:
    """What integer programming found.

    Attributes
    ----------
    order : variable indices, causes first
    score : its S
    upper_bound : no order has a higher S
    gap : upper_bound - score
    proven : the order is an optimum, to the solver's precision
    """

    order: Order
    score: float
    upper_bound: float
    gap: float
    proven: bool


def exact_order_dp(W: ArrayLike) -> tuple[Order, float]:
    """Return an optimal order and its score, by dynamic programming over sets: O(2^d d).

    The best order of a set ends with one of its variables, which stands behind the rest.

    Raises
    ------
    ValueError
        For a W that isn't square and finite, or d > 18: use `exact_order_milp`.
    """
    W = require_square("W", W)
    d = len(W)
    if d > DP_LIMIT:
        raise ValueError(f"W must have d <= {DP_LIMIT}, got {d}: use exact_order_milp")
    into = np.zeros((2**d, d))  # [set, v]: what v gains behind the whole set
    for bit in range(d):
        into[2**bit : 2 ** (bit + 1)] = into[: 2**bit] + W[bit]
    last = _dp(into)
    order = np.empty(d, dtype=np.intp)
    rest = 2**d - 1
    for place in range(d - 1, -1, -1):
        order[place] = last[rest]
        rest ^= 1 << int(order[place])
    return order, order_score(order, W)


@numba.njit(cache=True)
def _dp(into: NDArray) -> NDArray:
    """Return which variable stands last in the best order of each set."""
    size, d = into.shape
    best = np.full(size, -np.inf)
    best[0] = 0.0
    last = np.zeros(size, np.int8)
    for own in range(1, size):
        for v in range(d):
            if own >> v & 1:
                rest = own ^ (1 << v)
                score = best[rest] + into[rest, v]
                if score > best[own]:
                    best[own] = score
                    last[own] = v
    return last


def exact_order_milp(W: ArrayLike, *, time_limit: float = 60) -> ExactResult:
    """Return an optimal order by integer programming (HiGHS), or the best bound in the time given.

    A binary variable per pair i < j says whether i stands before j; an order has no cycle of
    three. Rows that forbid one are added only where it is violated, first to the linear
    relaxation, whose optimum is an order nearly always.

    Parameters
    ----------
    W : weights of `pair_weights`, [d, d]
    time_limit : seconds, > 0; when they are over, `proven` is False

    Raises
    ------
    ValueError
        For a W that isn't square and finite, or a time limit that isn't > 0.
    RuntimeError
        When the solver fails.
    """
    W = require_square("W", W)
    if not time_limit > 0:
        raise ValueError(f"time_limit must be > 0 seconds, got {time_limit}")
    d = len(W)
    if d == 1:
        return ExactResult(np.zeros(1, dtype=np.intp), 0.0, 0.0, 0.0, True)
    end = time.monotonic() + time_limit
    i, j = np.triu_indices(d, k=1)
    gain, base = W[i, j] - W[j, i], float(W[j, i].sum())
    column = np.zeros((d, d), dtype=np.intp)
    column[i, j] = np.arange(len(i))
    first, second, third = (
        np.array(list(itertools.combinations(range(d), 3)), np.intp).reshape(-1, 3).T
    )
    triples = np.stack([column[first, second], column[second, third], column[first, third]])
    rows = np.zeros(triples.shape[1], dtype=bool)
    # No order is better than to win every pair.
    bound, x, integral, over = (
        float(np.abs(gain).sum() + gain.sum()) / 2,
        (gain > 0) * 1.0,
        0,
        False,
    )
    while True:
        sums = x[triples[0]] + x[triples[1]] - x[triples[2]]
        violation = np.maximum(sums - 1, -sums)
        violation[rows] = 0.0
        if (worst := np.flatnonzero(violation > VIOLATED)).size:
            rows[worst[np.argsort(-violation[worst], kind="stable")[:MOST_ROWS]]] = True
        elif np.abs(x - np.round(x)).max() > VIOLATED:
            integral = 1
        else:
            break
        left = end - time.monotonic()
        solved = _solve(gain, triples[:, rows], integral, left) if left > 0 else None
        if solved is not None and solved.status == 0:
            bound = min(bound, -solved.fun if not integral else -_dual(solved))
            x = solved.x
        else:
            if solved is not None and solved.status != 1:
                raise RuntimeError(f"the solver failed: {solved.message}")
            if solved is not None and integral:
                bound = min(bound, -_dual(solved))
                x = x if solved.x is None else solved.x
            over = True
            break
    before = np.zeros((d, d))
    before[i, j], before[j, i] = x, 1 - x
    order = np.argsort(-before.sum(axis=1), kind="stable")
    score, upper = order_score(order, W), base + bound
    if not over:
        ranked = np.round(before[np.ix_(order, order)])
        assert np.triu(ranked, k=1).sum() == len(i), "a solution without 3-cycles is an order"
    gap = max(upper - score, 0.0)
    proven = gap <= 1e-6 * max(1.0, abs(upper))
    return ExactResult(order, score, max(upper, score), gap, bool(proven))


def _solve(gain: Matrix, triples: NDArray, integral: int, seconds: float) -> OptimizeResult:
    """Maximise gain . x over 0..1 with 0 <= x_ij + x_jk - x_ik <= 1 for the triples."""
    n, m = len(gain), triples.shape[1]
    rows = np.tile(np.arange(m), 3)
    values = np.repeat([1.0, 1.0, -1.0], m)
    A = sparse.csr_array((values, (rows, triples.ravel())), shape=(m, n))
    return milp(
        -gain,
        integrality=np.full(n, integral),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(A, 0, 1) if m else (),
        options={"time_limit": seconds, "mip_rel_gap": 0.0},
    )


def _dual(solved: OptimizeResult) -> float:
    """Return the solver's bound on the minimum; -inf where it has none."""
    bound = solved.get("mip_dual_bound")
    return -np.inf if bound is None else float(bound)


@functools.cache
def all_orders(d: int) -> tuple[Order, NDArray[np.float64]]:
    """Return all orders of d variables, [d!, d], and who stands before whom, [d!, d, d]."""
    orders = np.array(list(itertools.permutations(range(d))), dtype=np.intp)
    place = np.argsort(orders, axis=1)
    before = (place[:, :, None] < place[:, None, :]).astype(np.float64)
    for shared in (orders, before):
        shared.flags.writeable = False
    return orders, before


def all_optima(W: ArrayLike, *, tol: float = 1e-9) -> Order:
    """Return every order whose score is within `tol` of the best, [k, d], in lexicographic order.

    Raises
    ------
    ValueError
        For a W that isn't square and finite, or d > 7: use `exact_order_dp` or `exact_order_milp`
        for one optimum.
    """
    W = require_square("W", W)
    if len(W) > ENUMERATION_LIMIT:
        raise ValueError(
            f"W must have d <= {ENUMERATION_LIMIT}, got {len(W)}: exact_order_dp and "
            "exact_order_milp give one optimum"
        )
    orders, before = all_orders(len(W))
    scores = before.reshape(len(orders), -1) @ W.ravel()
    return orders[scores >= scores.max() - tol]
