"""The local search against the released algorithm, which scores every neighbour from nothing."""

from __future__ import annotations

import numpy as np
import pytest

from reprise.intersort import (
    erdos_renyi_dag,
    local_search,
    oracle_distances,
    order_score,
    pair_weights,
    sort_ranking,
)

GAIN = 1e-12


def problem(d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return a start and the weights of noisy distances, half of the variables targets."""
    rng = np.random.default_rng(seed)
    A = erdos_renyi_dag(d, 1.5, rng=rng)
    D = np.abs(oracle_distances(A) * rng.gamma(2, 0.4, (d, d)) + rng.normal(0.13, 0.08, (d, d)))
    targets = np.sort(rng.choice(d, d // 2, replace=False))
    known = np.zeros_like(D)
    known[targets] = D[targets]
    np.fill_diagonal(known, 0)
    return sort_ranking(known, eps=0.3), pair_weights(D, targets, eps=0.3)


def released(start: np.ndarray, W: np.ndarray) -> tuple[list[int], int]:
    """First improvement with restart as the release does it: O(d^2) for each of d (d - 1) moves."""
    order, n_moves = start.tolist(), 0
    best = order_score(order, W)
    a = b = 0
    while a < len(order):
        moved = order[:a] + order[a + 1 :]
        moved.insert(b, order[a])
        score = slow_score(moved, W)
        if score > best + GAIN:
            order, best, n_moves, a, b = moved, score, n_moves + 1, 0, 0
            continue
        b += 1
        if b == len(order):
            a, b = a + 1, 0
    return order, n_moves


def slow_score(order: list[int], W: np.ndarray) -> float:
    """Return the score as a double loop over positions."""
    return sum(W[i, j] for k, i in enumerate(order) for j in order[k + 1 :])


@pytest.mark.parametrize("size", [8, 12, 16])
@pytest.mark.parametrize("role", ["ours", "peer:released search"])
@pytest.mark.benchmark(group="intersort: local search, first improvement", max_time=0.5)
def test_first_improvement(benchmark, role: str, size: int) -> None:
    start, W = problem(size)
    if role == "ours":
        found = benchmark(local_search, start, W)
        order, n_moves = found.order.tolist(), found.n_moves
    else:
        order, n_moves = benchmark.pedantic(released, (start, W), rounds=1)
    want = local_search(start, W)
    assert order == want.order.tolist()
    assert n_moves == want.n_moves


@pytest.mark.parametrize("size", [300, 1_000, 3_000])
@pytest.mark.benchmark(group="intersort: local search, sweeps", max_time=0.5)
def test_sweeps(benchmark, size: int) -> None:
    start, W = problem(size)
    found = benchmark.pedantic(local_search, (start, W), {"rule": "sweep"}, rounds=2)
    assert found.converged


@pytest.mark.parametrize("size", [250, 500, 1_000])
@pytest.mark.benchmark(group="intersort: SORTRANKING", max_time=0.5)
def test_sort_ranking(benchmark, size: int) -> None:
    D = np.random.default_rng(0).random((size, size)) ** 8
    order = benchmark(sort_ranking, D, eps=0.3)
    assert sorted(order) == list(range(size))
