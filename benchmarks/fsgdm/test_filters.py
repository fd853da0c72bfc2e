"""The filter with changing coefficients against scipy's, which knows constant ones only."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import signal

from reprise.fsgdm.filters import filter_sequence, impulse_response


@pytest.mark.parametrize("size", [1_000, 4_000, 16_000])
@pytest.mark.parametrize("role", ["ours", "peer:scipy lfilter"])
@pytest.mark.benchmark(group="fsgdm: filter 64 gradients over time", max_time=0.5)
def test_filter_sequence(benchmark, role: str, size: int) -> None:
    g = np.random.default_rng(0).normal(size=(size, 64))
    if role == "ours":
        found = benchmark(filter_sequence, g, np.full(size, 0.9), np.ones(size))
    else:
        found = benchmark(signal.lfilter, [1.0], [1.0, -0.9], g, axis=0)
    np.testing.assert_allclose(found[1:], 0.9 * found[:-1] + g[1:], atol=1e-9)


@pytest.mark.parametrize("size", [250, 500, 1_000])
@pytest.mark.parametrize("role", ["ours", "peer:filtered impulses"])
@pytest.mark.benchmark(group="fsgdm: impulse response of changing coefficients", max_time=0.5)
def test_impulse_response(benchmark, role: str, size: int) -> None:
    t = np.arange(size)
    u, v = t / (t + 10), np.ones(size)
    if role == "ours":
        found = benchmark(impulse_response, u, v)
    else:
        found = benchmark(filter_sequence, np.eye(size), u, v)
    np.testing.assert_allclose(found[-1, -3:], [u[-1] * u[-2], u[-1], 1.0])
