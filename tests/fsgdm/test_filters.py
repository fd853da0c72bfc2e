from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import signal

from reprise.fsgdm import filters

GRID = np.linspace(0, np.pi, 257)
U = st.floats(-0.99, 0.99)
V = st.floats(0.01, 10)


@pytest.mark.parametrize(
    ("u", "v", "omega", "gain"),
    [
        (0.9, 1, np.pi / 8, 2.6080532594871806),
        (0.9, 0.1, np.pi / 8, 0.2608053259487181),
        (-0.9, 1, np.pi / 8, 0.5365975202405548),
        (0.5, 1, np.pi / 2, 0.8944271909999159),
    ],
)
def test_magnitude_has_its_known_values(u, v, omega, gain) -> None:
    assert filters.magnitude(u, v, omega) == pytest.approx(gain, rel=1e-14)


@pytest.mark.parametrize("u", [0.9999, -0.9999, 0.99, -0.99, 0.5, -0.5])
def test_magnitude_keeps_its_digits_at_the_peak_of_a_nearly_unstable_filter(u) -> None:
    # 50 digits as oracle: the plain formula loses 8 of them here.
    with mpmath.workdps(50):
        exact = [
            1 / mpmath.sqrt(1 - 2 * mpmath.mpf(u) * mpmath.cos(mpmath.mpf(w)) + mpmath.mpf(u) ** 2)
            for w in GRID
        ]
    np.testing.assert_allclose(filters.magnitude(u, 1, GRID), np.array(exact, float), rtol=2e-15)


def test_a_negative_v_turns_the_response_by_pi() -> None:
    for u in (0.6, -0.6):
        turned = np.exp(1j * filters.phase(u, -2.0, GRID))
        np.testing.assert_allclose(turned, -np.exp(1j * filters.phase(u, 2.0, GRID)), atol=1e-14)
        assert filters.dc_gain(u, -2.0) == -filters.dc_gain(u, 2.0)
        assert filters.nyquist_gain(u, -2.0) == -filters.nyquist_gain(u, 2.0)
        np.testing.assert_array_equal(
            filters.magnitude(u, -2.0, GRID), filters.magnitude(u, 2.0, GRID)
        )


def test_phase_has_its_known_values() -> None:
    assert filters.phase(0.9, 1, np.pi / 8) == pytest.approx(-1.1157778218943708, rel=1e-13)
    assert filters.phase(-0.9, 1, np.pi / 8) == pytest.approx(0.18588085133208, rel=1e-12)


def test_standard_and_coupled_momentum_have_their_known_gains() -> None:
    assert filters.dc_gain(0.9, 1) == pytest.approx(10)
    assert filters.nyquist_gain(0.9, 1) == pytest.approx(0.5263157894736842)
    assert filters.dc_gain(0.9, 0.1) == pytest.approx(1)
    assert filters.nyquist_gain(0.9, 0.1) == pytest.approx(0.05263157894736842)
    assert filters.noise_gain(0.9, 1) == pytest.approx(5.263157894736843)
    assert filters.noise_gain(0.9, 0.1) == pytest.approx(0.05263157894736844)


def test_response_is_that_of_scipy() -> None:
    rng = np.random.default_rng(0)
    for u, v in zip(rng.uniform(-0.99, 0.99, 200), rng.uniform(0.01, 5, 200), strict=True):
        _, h = signal.freqz([v], [1, -u], worN=GRID)
        np.testing.assert_allclose(filters.transfer(u, v, GRID), h, rtol=1e-10)
        np.testing.assert_allclose(filters.magnitude(u, v, GRID), np.abs(h), rtol=1e-10)
        np.testing.assert_allclose(filters.phase(u, v, GRID), np.angle(h), rtol=1e-9, atol=1e-12)


@settings(max_examples=50, deadline=None)
@given(U, V)
def test_changing_the_sign_of_u_mirrors_the_response(u, v) -> None:
    mirrored = filters.magnitude(-u, v, np.pi - GRID)
    np.testing.assert_allclose(filters.magnitude(u, v, GRID), mirrored, rtol=1e-9)


@settings(max_examples=50, deadline=None)
@given(U)
def test_coupled_gains_reach_one_at_one_end_and_never_exceed_it(u) -> None:
    gains = filters.magnitude(u, 1 - abs(u), GRID)
    assert gains.max() <= 1 + 1e-12
    assert gains[0 if u >= 0 else -1] == pytest.approx(1)
    assert filters.is_orthodox(u, 1 - abs(u))
    decoupled = filters.magnitude(u, 1, GRID)
    assert decoupled.max() == pytest.approx(1 / (1 - abs(u)))
    # The bound leaves room for rounding, 1e-12.
    assert filters.is_orthodox(u, 1) == (abs(u) <= 1e-12)
    assert filters.is_orthodox(u, -(1 - abs(u)))
    assert not filters.is_orthodox(u, -(1 - abs(u)) - 1e-6)


@settings(max_examples=30, deadline=None)
@given(U, V)
def test_noise_gain_is_the_mean_square_gain(u, v) -> None:
    # Parseval: sum of h^2 = mean of |H|^2 over the circle.
    omega = (np.arange(20_000) + 0.5) * np.pi / 20_000
    mean = np.mean(filters.magnitude(u, v, omega) ** 2)
    assert filters.noise_gain(u, v) == pytest.approx(mean, rel=1e-6)


@pytest.mark.parametrize(
    ("u", "omega"),
    [(0.9, 0.10545811702189975), (0.968, 0.03252605889), (0.99, 0.01005042045)],
)
def test_half_power_frequency_has_its_known_values(u, omega) -> None:
    assert filters.half_power_frequency(u) == pytest.approx(omega, rel=1e-9)


@settings(max_examples=50, deadline=None)
@given(st.floats(0.172, 0.999))
def test_power_is_halved_at_the_half_power_frequency(u) -> None:
    omega = filters.half_power_frequency(u)
    ratio = filters.magnitude(u, 1, omega) ** 2 / filters.dc_gain(u, 1) ** 2
    assert ratio == pytest.approx(0.5, rel=1e-9)


def test_half_power_frequency_is_nan_where_the_response_never_falls_so_far() -> None:
    assert math.isnan(filters.half_power_frequency(0.1))
    assert math.isnan(filters.half_power_frequency(-0.9))
    assert filters.half_power_frequency(3 - 2 * math.sqrt(2)) == pytest.approx(np.pi)


def test_constant_gradient_under_a_rising_u_grows_linearly() -> None:
    t = np.arange(6)
    m = filters.filter_sequence(np.ones(6), t / (t + 3), np.ones(6))
    np.testing.assert_allclose(m, [1, 1.25, 1.5, 1.75, 2, 2.25], rtol=1e-14)


def test_impulse_response_of_mu_one_is_a_ramp() -> None:
    t = np.arange(8)
    h = filters.impulse_response(t / (t + 1), np.ones(8))
    n, j = np.tril_indices(8)
    np.testing.assert_allclose(h[n, j], (j + 1) / (n + 1), rtol=1e-13)
    assert (np.triu(h, 1) == 0).all()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 40))
def test_filtering_is_linear_and_is_its_impulse_response(seed, n) -> None:
    rng = np.random.default_rng(seed)
    u, v = rng.uniform(-1, 1, n), rng.normal(size=n)
    g1, g2 = rng.normal(size=(2, n, 3))
    both = filters.filter_sequence(2 * g1 - 3 * g2, u, v)
    apart = 2 * filters.filter_sequence(g1, u, v) - 3 * filters.filter_sequence(g2, u, v)
    np.testing.assert_allclose(both, apart, atol=1e-12)
    np.testing.assert_allclose(
        filters.impulse_response(u, v) @ g1, filters.filter_sequence(g1, u, v), atol=1e-12
    )


def test_constant_coefficients_filter_as_scipy_does() -> None:
    g = np.random.default_rng(1).normal(size=200)
    ours = filters.filter_sequence(g, np.full(200, 0.8), np.full(200, 0.3))
    np.testing.assert_allclose(ours, signal.lfilter([0.3], [1, -0.8], g), rtol=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: filters.magnitude(1.0, 1, 0.1), "`u` must lie strictly between -1 and 1.*got 1.0"),
        (lambda: filters.phase(-1.5, 1, 0.1), "`u` must lie strictly.*got -1.5"),
        (lambda: filters.dc_gain(1, 1), "`u` must lie strictly"),
        (lambda: filters.nyquist_gain(-1, 1), "`u` must lie strictly"),
        (lambda: filters.noise_gain(float("nan"), 1), "`u` must lie strictly"),
        (lambda: filters.transfer(0.9, 1, [0.1, 4.0]), r"`omega` must lie in \[0, pi\].*got 4.0"),
        (lambda: filters.magnitude(0.9, 1, -0.1), "`omega` must lie.*got -0.1"),
        (lambda: filters.impulse_response([0.1], [1, 2]), "must be vectors of one length"),
        (lambda: filters.filter_sequence([1, 2], [0.1], [1]), "`g` must have 1 steps first"),
    ],
)
def test_bad_input_is_refused_by_name(call, message) -> None:
    with pytest.raises(ValueError, match=message):
        call()
