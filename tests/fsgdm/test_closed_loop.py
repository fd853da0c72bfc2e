from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reprise.fsgdm.closed_loop import critical_step, loop_gain, poles
from reprise.fsgdm.filters import magnitude


def simulate(u: float, v: float, lr: float, h: float, noise: np.ndarray) -> np.ndarray:
    x = m = 0.0
    found = np.empty(len(noise))
    for t, n in enumerate(noise):
        m = u * m + v * (h * x + n)
        x -= lr * m
        found[t] = m
    return found


@settings(max_examples=60, deadline=None)
@given(st.floats(-0.95, 0.95), st.floats(0.1, 3), st.floats(0.01, 0.99))
def test_the_loop_is_stable_just_below_its_critical_step(u, v, share) -> None:
    limit = critical_step(u, v)
    assert np.abs(poles(u, v, share * limit, 1.0)).max() < 1
    assert np.abs(poles(u, v, (2 - share) * limit, 1.0)).max() > 1
    # At the limit itself a pole sits at -1: the iterate flips for ever.
    assert np.abs(poles(u, v, limit, 1.0) + 1).min() < 1e-6


def test_heavy_ball_at_point_nine_is_stable_up_to_three_point_eight() -> None:
    assert critical_step(0.9, 1.0) == pytest.approx(3.8)
    assert critical_step(0.0, 1.0) == pytest.approx(2.0)  # gradient descent


@pytest.mark.parametrize("v", [1.0, 0.4])
@pytest.mark.parametrize("omega", [0.05, 0.4, 1.5, np.pi])
def test_a_sinusoidal_noise_comes_out_with_the_loop_gain(omega, v) -> None:
    u, lr, h = 0.9, 0.1, 0.8
    t = np.arange(6000)
    m = simulate(u, v, lr, h, np.cos(omega * t))[-2000:]
    columns = np.stack([np.cos(omega * t), np.sin(omega * t)], 1)[-2000:]
    amplitude = np.linalg.norm(np.linalg.lstsq(columns, m, rcond=None)[0])
    assert amplitude == pytest.approx(float(loop_gain(u, v, lr, h, omega)), rel=1e-6)


def test_without_curvature_the_loop_is_open() -> None:
    omega = np.linspace(0.01, np.pi, 50)
    np.testing.assert_allclose(
        loop_gain(0.9, 1.0, 0.1, 1e-12, omega), magnitude(0.9, 1.0, omega), rtol=1e-6
    )
    assert loop_gain(0.9, 1.0, 0.1, 1.0, 0.0) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: poles(1.0, 1, 0.1, 1), "`u` must lie strictly"),
        (lambda: poles(0.9, 0, 0.1, 1), "`v` must be positive, got 0"),
        (lambda: loop_gain(0.9, 1, -0.1, 1, 0.1), "`lr` must be positive, got -0.1"),
        (lambda: loop_gain(0.9, 1, 0.1, 0, 0.1), "`h` must be positive, got 0"),
        (lambda: critical_step(0.9, -1), "`v` must be positive, got -1"),
    ],
)
def test_bad_input_is_refused_by_name(call, message) -> None:
    with pytest.raises(ValueError, match=message):
        call()
