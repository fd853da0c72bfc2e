from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from reprise import estimate
from reprise.estimate import Estimate

VALUES = st.lists(st.floats(-100, 100), min_size=2, max_size=12)


def test_mean_is_the_t_interval_of_scipy() -> None:
    x = np.random.default_rng(0).normal(size=7)
    ours = estimate.mean(x)
    low, high = stats.t.interval(0.95, 6, x.mean(), stats.sem(x))
    assert (ours.value, ours.low, ours.high) == pytest.approx((x.mean(), low, high))
    assert (ours.se, ours.df, ours.n) == (pytest.approx(stats.sem(x)), 6, 7)


def test_paired_difference_is_the_paired_t_test() -> None:
    a, b = np.random.default_rng(1).normal(size=(2, 9))
    ours = estimate.paired_difference(a, b)
    peer = stats.ttest_rel(a, b).confidence_interval()
    assert (ours.low, ours.high) == pytest.approx(tuple(peer))


def test_difference_is_that_of_welch() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=6), rng.normal(scale=3, size=10)
    ours = estimate.difference(a, b)
    peer = stats.ttest_ind(a, b, equal_var=False).confidence_interval()
    assert (ours.low, ours.high) == pytest.approx(tuple(peer))


def test_ratio_is_geometric_and_inverts() -> None:
    ours = estimate.ratio([2.0, 8.0, 4.0], [1.0, 2.0, 1.0])
    assert ours.value == pytest.approx(32 ** (1 / 3))
    back = estimate.ratio([1.0, 2.0, 1.0], [2.0, 8.0, 4.0])
    assert (back.low, back.high) == pytest.approx((1 / ours.high, 1 / ours.low))


def test_slope_of_a_power_law_is_its_exponent() -> None:
    x = np.array([1.0, 2, 4, 8])
    y = np.outer([1.0, 3.0, 5.0], x**-1.7)
    ours = estimate.slope(x, y)
    assert ours.value == pytest.approx(-1.7)
    assert ours.se == pytest.approx(0, abs=1e-12)


def test_wilson_is_that_of_statsmodels() -> None:
    ours = estimate.wilson(3, 10)
    assert (ours.low, ours.high) == pytest.approx(proportion_confint(3, 10, method="wilson"))
    assert estimate.wilson(0, 10).low == 0


def test_bootstrap_of_a_mean_is_close_to_its_t_interval() -> None:
    x = np.random.default_rng(3).normal(size=400)
    boot = estimate.bootstrap(x, rng=np.random.default_rng(0))
    t = estimate.mean(x)
    # The ends' Monte Carlo error is a few percent of the width with 9999 resamples.
    assert (boot.low, boot.high) == pytest.approx((t.low, t.high), abs=0.1 * (t.high - t.low))
    again = estimate.bootstrap(x, rng=np.random.default_rng(0))
    assert again == boot


@settings(max_examples=60, deadline=None)
@given(VALUES, st.floats(-10, 10), st.floats(0.1, 10))
def test_mean_moves_and_scales_with_its_data(x, shift, scale) -> None:
    x = np.array(x)
    a, b = estimate.mean(x), estimate.mean(scale * x + shift)
    atol = 1e-9 * (1 + np.abs(x).max() * scale)
    assert b.low == pytest.approx(scale * a.low + shift, rel=1e-9, abs=atol * 1e3)
    assert b.high == pytest.approx(scale * a.high + shift, rel=1e-9, abs=atol * 1e3)


@settings(max_examples=40, deadline=None)
@given(VALUES, st.randoms(use_true_random=False))
def test_order_of_seeds_and_side_of_pairs_do_not_matter(x, random) -> None:
    x = np.array(x)
    order = list(range(len(x)))
    random.shuffle(order)
    a, b = estimate.mean(x), estimate.mean(x[order])
    assert (a.low, a.high) == pytest.approx((b.low, b.high), abs=1e-9)
    d, r = estimate.paired_difference(x, x[::-1]), estimate.paired_difference(x[::-1], x)
    assert (d.low, d.high) == pytest.approx((-r.high, -r.low), abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(VALUES)
def test_a_higher_level_gives_a_wider_interval(x) -> None:
    e = estimate.mean(np.array(x))
    assume(e.se > 1e-6)
    wide = e.at(0.99)
    assert wide.low < e.low < e.high < wide.high
    assert e.at(0.95) is e
    assert wide.at(0.95).low == pytest.approx(e.low)


def test_a_ratio_at_another_level_is_the_interval_of_its_logs() -> None:
    a, b = np.exp(np.random.default_rng(4).normal(size=(2, 6)))
    ours = estimate.ratio(a, b).at(0.99)
    made = estimate.ratio(a, b, level=0.99)
    assert (ours.value, ours.low, ours.high) == pytest.approx((made.value, made.low, made.high))
    assert ours.level == 0.99


def test_paired_aligns_a_table_by_seed() -> None:
    rows = pd.DataFrame(
        {"seed": [0, 1, 2, 2, 1, 0], "who": list("aaabbb"), "x": [1.0, 2, 3, 3.5, 2.2, 1.1]}
    )
    e = estimate.paired(rows, "x", "who", "a", "b")
    assert e.value == pytest.approx(np.mean([-0.1, -0.2, -0.5]))
    with pytest.raises(ValueError, match="must have the same"):
        estimate.paired(rows.iloc[1:], "x", "who", "a", "b")
    with pytest.raises(ValueError, match="twice"):
        estimate.paired(pd.concat([rows, rows.iloc[:1]]), "x", "who", "a", "b")


@pytest.mark.parametrize(
    ("e", "text"),
    [
        (Estimate(0.1171, 0.0823, 0.1519), "0.117 [0.082, 0.152]"),
        (Estimate(12.34, 8.1, 16.5, unit="points"), "12.3 [8.1, 16.5] points"),
        (Estimate(1234.0, 900.0, 1500.0), "1234 [900, 1500]"),
        (estimate.exact(1.23456e-14), "1.235e-14"),
        (Estimate(-0.5, -0.75, -0.25), "−0.50 [−0.75, −0.25]"),
        (Estimate(1.0, 1.0, 1.0), "1.000 [1.000, 1.000]"),
    ],
)
def test_text_has_as_many_digits_as_the_interval_allows(e, text) -> None:
    assert e.text() == text


def test_exact_numbers_have_no_interval() -> None:
    e = estimate.exact(3)
    assert (e.low, e.high, e.exact, e.se) == (3, 3, True, None)
    assert e.at(0.5) is e


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: estimate.mean([1.0]), "`x` must be a vector of at least 2"),
        (lambda: estimate.mean([1.0, math.nan]), "`x` must be finite, got nan"),
        (lambda: estimate.mean([[1.0, 2.0]]), "`x` must be a vector"),
        (lambda: estimate.paired_difference([1, 2], [1, 2, 3]), "must be pairs, got 2 and 3"),
        (lambda: estimate.ratio([1, 2], [1, 2, 3]), "must be pairs, got 2 and 3"),
        (lambda: estimate.ratio([1, -2], [1, 2]), "`a` must be positive for a ratio, got -2"),
        (lambda: estimate.ratio([1, 2], [0, 2]), "`b` must be positive"),
        (lambda: estimate.slope([1, 2], [[1, 2, 3]]), r"`y` must have shape \(seeds, 2\)"),
        (lambda: estimate.slope([1, 2], [[1, 0], [1, 2]]), "`y` must be positive on log axes"),
        (
            lambda: estimate.bootstrap(np.ones(19), rng=np.random.default_rng(0)),
            "at least 20 values",
        ),
        (lambda: estimate.wilson(3, 2), "got 3 of 2"),
        (lambda: Estimate(math.nan, 0, 1), "`value` must be a number"),
        (lambda: Estimate(2, 0, 1), "must hold, got 0, 2, 1"),
        (lambda: Estimate(0, 0, 0, level=1.0), r"`level` must lie in \(0, 1\), got 1.0"),
        (lambda: Estimate(0, 0, 0, n=0), "`n` must be at least 1, got 0"),
        (lambda: estimate.wilson(1, 2).at(0.9), "can't be remade at 0.9"),
    ],
)
def test_bad_input_is_refused_by_name(call, message) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_constant_samples_have_an_interval_of_no_width() -> None:
    assert estimate.mean([2.0, 2.0]).low == 2
    assert estimate.difference([1.0, 1.0], [0.0, 0.0]).high == 1
    assert estimate.bootstrap(np.ones(30), rng=np.random.default_rng(0)).high == 1
