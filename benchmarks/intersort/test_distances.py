"""Wasserstein distances of all pairs against scipy's, pair by pair."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import wasserstein_distance

from reprise.intersort import InterventionalData, wasserstein_matrix


def data(d: int, n_obs: int = 5000, n_int: int = 100) -> InterventionalData:
    rng = np.random.default_rng(0)
    target = np.repeat([-1, *range(d)], [n_obs, *[n_int] * d])
    return InterventionalData(rng.normal(size=(len(target), d)), target)


def by_scipy(own: InterventionalData) -> np.ndarray:
    d = own.X.shape[1]
    D = np.zeros((d, d))
    for i in own.targets:
        rows = own.rows(i)
        for j in range(d):
            if i != j:
                D[i, j] = wasserstein_distance(own.observational[:, j], rows[:, j])
    return D


@pytest.mark.parametrize("size", [10, 20, 40])
@pytest.mark.parametrize("role", ["ours", "peer:scipy wasserstein_distance"])
@pytest.mark.benchmark(group="intersort: distances of all pairs", max_time=0.5)
def test_wasserstein_matrix(benchmark, role: str, size: int) -> None:
    own = data(size)
    if role == "ours":
        found = benchmark(wasserstein_matrix, own)
    else:
        found = benchmark.pedantic(by_scipy, (own,), rounds=1)
    np.testing.assert_allclose(found, wasserstein_matrix(own), atol=1e-12)
    assert found[0, 1] == pytest.approx(
        wasserstein_distance(own.observational[:, 1], own.rows(0)[:, 1]), abs=1e-12
    )
