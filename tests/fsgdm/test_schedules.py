from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reprise.fsgdm.schedules import (
    Schedule,
    c_from_gain,
    coefficients,
    cosine,
    fsgdm_u,
    stage_start,
)

DEFAULTS = {"c": 0.033, "sigma": 117_000, "n_stages": 300}


@pytest.mark.parametrize(
    ("t", "u"),
    [
        (1, 0),
        (389, 0),
        (390, 0.09174311926605505),
        (391, 0.09174311926605505),
        (780, 0.16806722689075632),
        (58_500, 0.9380863039399625),
        (117_000, 0.968054211035818),
    ],
)
def test_u_has_the_released_values(t, u) -> None:
    assert fsgdm_u(t, **DEFAULTS) == pytest.approx(u, abs=1e-15)


@pytest.mark.parametrize("sigma", [300, 3000, 117_000])
def test_stages_do_not_know_how_long_training_takes(sigma) -> None:
    # Proposition 1.
    k = np.arange(301)
    u = fsgdm_u(k * (sigma // 300), 0.033, sigma, 300)
    np.testing.assert_allclose(u, k / (k + 0.033 * 300), rtol=0, atol=1e-15)


def test_more_stages_than_asked_when_sigma_is_no_multiple() -> None:
    starts = stage_start(np.arange(1, 11), 10, 4)
    assert starts.tolist() == [0, 2, 2, 4, 4, 6, 6, 8, 8, 10]
    # mu = c Sigma = 1: of the whole training, not of the four stages asked for.
    assert fsgdm_u(10, 0.1, 10, 4) == pytest.approx(10 / 11)
    u, _ = coefficients(Schedule("rising", mu=0.1), 10, 10, 4)
    assert u == fsgdm_u(10, 0.1, 10, 4)


def test_falling_starts_below_one_and_ends_where_rising_starts() -> None:
    t = np.arange(1, 301)
    up, _ = coefficients(Schedule("rising", mu=0.01), t, 300, 300)
    down, _ = coefficients(Schedule("falling", mu=0.01), t, 300, 300)
    np.testing.assert_allclose(up + down, 1, rtol=1e-14)
    long, _ = coefficients(Schedule("falling", mu=0.01), np.arange(1, 3001), 3000, 300)
    assert long[0] == pytest.approx(30 / 31)
    assert (long < 1).all()


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["rising", "falling"]),
    st.sampled_from(["LP", "HP", "LPG", "HPG"]),
    st.floats(1e-4, 10),
    st.integers(1, 50),
    st.integers(1, 20),
)
def test_coefficients_are_monotone_stagewise_constant_and_coupled(
    kind, family, mu, n_stages, delta
) -> None:
    sigma = n_stages * delta
    t = np.arange(1, sigma + 1)
    u, v = coefficients(Schedule(kind, mu=mu, family=family), t, sigma, n_stages)
    size = np.abs(u)
    assert (np.diff(size) >= 0).all() if kind == "rising" else (np.diff(size) <= 0).all()
    assert ((size >= 0) & (size < 1)).all()
    assert (u <= 0).all() if family in ("HP", "HPG") else (u >= 0).all()
    np.testing.assert_allclose(v, 1 - size if family in ("LP", "HP") else 1)
    stage = t // delta
    assert all(len(set(u[stage == s])) == 1 for s in np.unique(stage))
    one = [coefficients(Schedule(kind, mu=mu, family=family), int(s), sigma, n_stages) for s in t]
    np.testing.assert_array_equal(np.array(one), np.stack([u, v], 1))


def test_fixed_systems_are_constant() -> None:
    assert coefficients(Schedule("fixed", u=0.9, family="HP"), 7, 100, 10) == (
        -0.9,
        pytest.approx(0.1),
    )
    u, v = coefficients(Schedule("fixed", u=0.9, v=2.0), np.arange(5), 100, 10)
    assert u.tolist() == [0.9] * 5
    assert v.tolist() == [2.0] * 5


def test_final_gain_gives_c_back() -> None:
    assert c_from_gain(1 + 1 / 0.033) == pytest.approx(0.033)
    for v in (0.1, 1.0, 3.0):
        assert v * (1 + 1 / c_from_gain(30.992, v)) == pytest.approx(30.992)


def test_mean_effective_learning_rate_is_that_of_standard_momentum() -> None:
    x = (np.arange(200_000) + 0.5) / 200_000
    mean = np.mean((1 + x / 0.033) * (1 + np.cos(np.pi * x)) / 2)
    assert mean == pytest.approx(0.5 + (0.25 - 1 / np.pi**2) / 0.033, rel=1e-6)
    assert mean == pytest.approx(5.0054, rel=1e-4)
    # The same from the code, in 300 stages.
    t = np.arange(1, 30_001)
    u = fsgdm_u(t, 0.033, 30_000, 300)
    assert np.mean(cosine(t, 30_000, 300) / (1 - u)) == pytest.approx(5.0054, rel=0.01)


def test_cosine_goes_from_one_to_zero_by_stages() -> None:
    values = cosine(np.arange(0, 101), 100, 10)
    assert values[0] == 1
    assert values[9] == 1
    assert values[50] == pytest.approx(0.5)
    assert values[100] == pytest.approx(0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Schedule("sideways", mu=1), "`kind` must be one of.*'sideways'"),
        (lambda: Schedule("fixed", u=1.0), r"`u` must lie in \[0, 1\).*got 1.0"),
        (lambda: Schedule("fixed", u=-0.5), r"`u` must lie in \[0, 1\).*got -0.5"),
        (lambda: Schedule("fixed"), r"`u` must lie in \[0, 1\).*got None"),
        (lambda: Schedule("fixed", u=0.5, mu=1), "`mu` belongs to rising"),
        (lambda: Schedule("rising"), "`mu` must be positive.*got None"),
        (lambda: Schedule("falling", mu=0), "`mu` must be positive.*got 0"),
        (lambda: Schedule("rising", mu=1, u=0.3), "`u` belongs to fixed"),
        (lambda: Schedule("rising", mu=1, family="BP"), "`family` must be one of.*'BP'"),
        (lambda: Schedule("rising", mu=1, v=-1.0), "`v` must be positive.*uphill.*got -1.0"),
        (lambda: Schedule("rising", mu=1, family="LP", v=2.0), "LP couples it, got 2.0"),
        (lambda: fsgdm_u(1, 0, 300, 300), "`c` must be positive, got 0"),
        (lambda: fsgdm_u(1, 0.033, 100, 300), "`sigma` must be at least n_stages=300.*got 100"),
        (lambda: fsgdm_u(1, 0.033, 100, 0), "`n_stages` must be at least 1, got 0"),
        (lambda: fsgdm_u(-1, 0.033, 300, 300), "`t` must not be negative, got -1"),
        (lambda: c_from_gain(1.0), "`gain` must exceed v=1.0"),
        (lambda: c_from_gain(3.0, 0.0), "`v` must be positive, got 0.0"),
    ],
)
def test_bad_input_is_refused_by_name(call, message) -> None:
    with pytest.raises(ValueError, match=message):
        call()
