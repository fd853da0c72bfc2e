from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from reprise import estimate
from reprise.estimate import Estimate
from reprise.rules import (
    Status,
    Verdict,
    all_of,
    at_least,
    bound,
    combine,
    custom,
    equivalence,
    exact,
    sign,
    smallest_effect,
)

R, P, I, N, T = (
    Status.REPRODUCED,
    Status.PARTLY,
    Status.INCONCLUSIVE,
    Status.NOT_REPRODUCED,
    Status.NOT_TESTED,
)


def interval(low: float, high: float) -> Estimate:
    return Estimate((low + high) / 2, low, high, se=(high - low) / 4, df=9, n=10)


@pytest.mark.parametrize(
    ("rule", "low", "high", "status", "margin"),
    [
        (sign("x"), 1, 3, R, 1),
        (sign("x"), -3, -1, N, 1),
        (sign("x"), -1, 3, I, 1),
        (sign("x", -1), -3, -1, R, 1),
        (sign("x", -1), 1, 3, N, 1),
        (sign("x", -1), -4, 1, I, 1),
        (sign("x", nothing=5), -1, 3, N, 1),
        (sign("x", nothing=2), -1, 3, I, 1),
        (bound("x", above=10), 11, 13, R, 1),
        (bound("x", above=10), 7, 9, N, 1),
        (bound("x", above=10), 9, 13, I, 1),
        (bound("x", below=10), 7, 9, R, 1),
        (bound("x", below=10), 11, 13, N, 1),
        (bound("x", below=10), 9, 13, I, 1),
        (equivalence("x", 5), -1, 3, R, 2),
        (equivalence("x", 5), 6, 8, N, 1),
        (equivalence("x", 5), -8, -6, N, 1),
        (equivalence("x", 5), 3, 6, I, 1),
        (equivalence("x", 5), 4.75, 8, I, 0.25),  # nearer to lying outside than inside
        (equivalence("x", 5), -8, -4.75, I, 0.25),
        (equivalence("x", 5), -6, 7, I, 2),  # both ends would have to come in
        (sign("x", nothing=5), -5.25, 4, I, 0.25),  # nearer to 'no effect' than to a sign
    ],
)
def test_interval_rules_give_each_of_their_verdicts(rule, low, high, status, margin) -> None:
    verdict = rule({"x": interval(low, high)})
    assert verdict.status is status
    assert verdict.margin == pytest.approx(margin)
    assert rule({}).status is T
    assert "needs x" in rule({}).reason


def test_exact_rule_compares_with_its_target() -> None:
    assert exact("x", atol=1e-3)({"x": estimate.exact(1e-4)}).status is R
    assert exact("x", atol=1e-3)({"x": estimate.exact(-2e-3)}).status is N
    assert exact("x", target=2, atol=0.1)({"x": estimate.exact(2.05)}).status is R
    assert exact("x")({"x": estimate.exact(0)}).smallest_effect is None


KINDS = {R: interval(1, 3), N: interval(-3, -1), I: interval(-1, 1)}


@pytest.mark.parametrize(
    ("kinds", "status"),
    [
        ([R, R], R),
        ([R, N], P),
        ([R, I], P),
        ([N, N], N),
        ([N, I], N),
        ([I, I], I),
        ([R, T], T),
    ],
)
def test_all_of_holds_only_when_every_part_does(kinds, status) -> None:
    estimates = {f"x{i}": KINDS[k] for i, k in enumerate(kinds) if k is not T}
    rule = all_of(*(sign(f"x{i}") for i in range(len(kinds))))
    assert rule(estimates).status is status
    assert rule.needs == tuple(f"x{i}" for i in range(len(kinds)))


@pytest.mark.parametrize(
    ("k", "kinds", "status"),
    [
        (2, [R, R, N], R),
        (2, [R, N, I], P),
        (2, [N, N, I], N),
        (2, [N, I, I], I),
        (1, [I, I, I, R], R),
        (1, [N, N, N, N], N),
        (3, [N, I, I], N),
    ],
)
def test_at_least_counts_the_parts_that_hold(k, kinds, status) -> None:
    estimates = {f"x{i}": KINDS[kind] for i, kind in enumerate(kinds)}
    rule = at_least(k, *(sign(f"x{i}") for i in range(len(kinds))))
    assert rule(estimates).status is status


def test_at_least_takes_ratios_and_leaves_alone_what_it_does_not_ask_for() -> None:
    estimates = {f"x{i}": estimate.ratio([2, 2.1, 1.9], [1, 1, 1]) for i in range(3)}
    beside = {"share": estimate.wilson(3, 9)}  # a Wilson interval has no other level
    rule = at_least(1, *(bound(f"x{i}", above=1) for i in range(3)))
    assert rule(estimates | beside).status is R


def test_custom_rules_see_optional_estimates_too() -> None:
    rule = custom(("a",), lambda e: Verdict(R, f"{len(e)}"), optional=("b",))
    assert rule({"a": KINDS[R], "b": KINDS[R]}).reason == "2"
    assert rule({"b": KINDS[R]}).status is T


def test_combining_keeps_partly_and_the_least_margin() -> None:
    joined = combine([Verdict(P, "a", 3.0), Verdict(N, "b", 1.0), Verdict(R, "c")])
    assert joined == Verdict(P, "a; b; c", 1.0)


# --- calibration -----------------------------------------------------------------------------

DRAWS = 2000
# At a true rate of 5% the count of 2000 stays below 8% with probability 1 - 3e-9.
NOTICED = 0.08


def rate(rule, n: int, means: list[float], seed: int) -> float:
    """Return how often a rule says 'reproduced' of normal data with these true means."""
    rng = np.random.default_rng(seed)
    x = rng.normal(np.array(means)[None, :, None], 1, (DRAWS, len(means), n))
    value, se = x.mean(-1), x.std(-1, ddof=1) / np.sqrt(n)
    half = stats.t.ppf(0.975, n - 1) * se
    hits = 0
    for v, s, h in zip(value, se, half, strict=True):
        estimates = {
            f"x{i}": Estimate(v[i], v[i] - h[i], v[i] + h[i], 0.95, s[i], n - 1, n, "t")
            for i in range(len(means))
        }
        hits += rule(estimates).status is R
    return hits / DRAWS


@pytest.mark.parametrize("n", [3, 5, 10])
@pytest.mark.parametrize(
    ("rule", "means"),
    [
        (sign("x0"), [0.0]),
        (sign("x0", -1), [0.0]),
        (sign("x0", nothing=0.5), [0.0]),
        (bound("x0", above=1.5), [1.5]),
        (bound("x0", below=-2.0), [-2.0]),
        (equivalence("x0", 1.0), [1.0]),
        (equivalence("x0", 1.0), [-1.0]),
        (all_of(sign("x0"), bound("x1", above=1.0)), [0.0, 5.0]),
        (at_least(2, *(sign(f"x{i}") for i in range(3))), [0.0] * 3),
        (at_least(1, *(sign(f"x{i}") for i in range(4))), [0.0] * 4),
        (at_least(2, *(sign(f"x{i}") for i in range(6))), [0.0] * 6),
        # The hardest null of k of m: k - 1 parts hold beyond doubt, the others are at their edge.
        (at_least(2, *(sign(f"x{i}") for i in range(3))), [99.0] + [0.0] * 2),
        (at_least(2, *(sign(f"x{i}") for i in range(6))), [99.0] + [0.0] * 5),
        (at_least(3, *(sign(f"x{i}") for i in range(8))), [99.0] * 2 + [0.0] * 6),
    ],
)
def test_at_the_edge_of_its_null_a_rule_is_rarely_satisfied(rule, means, n) -> None:
    assert rate(rule, n, means, seed=n) < NOTICED


@pytest.mark.parametrize("n", [3, 5, 10])
def test_the_smallest_effect_is_seen_in_four_of_five_runs(n) -> None:
    # For a known standard error the smallest effect is a fixed number of standard errors.
    rng = np.random.default_rng(n)
    unit = Estimate(0, -1, 1, 0.95, 1 / np.sqrt(n), n - 1, n, "t")
    effect = smallest_effect(unit)
    x = rng.normal(effect, 1, (20_000, n))
    low = x.mean(1) - stats.t.ppf(0.975, n - 1) * x.std(1, ddof=1) / np.sqrt(n)
    # Standard error of the rate: 0.0028; 5 of them.
    assert np.mean(low > 0) == pytest.approx(0.8, abs=0.015)


def test_smallest_effect_needs_a_standard_error() -> None:
    assert smallest_effect(estimate.exact(1)) is None
    assert smallest_effect(estimate.wilson(5, 10)) is None


def test_bounds_and_equivalences_say_how_far_and_how_wide() -> None:
    assert bound("x", above=1)({"x": interval(2, 4)}).smallest_effect == pytest.approx(2)
    assert "distance to the bound" in bound("x", above=1)({"x": interval(2, 4)}).sees
    within = equivalence("x", 5)({"x": interval(-1, 3)})
    assert within.smallest_effect == pytest.approx(2)
    assert "margin of 5" in within.sees
    assert "half-width" in within.sees
    assert sign("x")({"x": interval(1, 3)}).sees == "smallest effect seen"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sign("x", 0), "`direction` must be 1 or -1, got 0"),
        (lambda: sign("x", nothing=0), "`nothing` must be positive, got 0"),
        (lambda: bound("x"), "`above` or `below` must be given"),
        (lambda: bound("x", above=1, below=2), "one of them"),
        (lambda: equivalence("x", -1), "`margin` must be positive, got -1"),
        (lambda: exact("x", atol=-1), "`atol` must not be negative"),
        (lambda: at_least(3, sign("x")), r"`k` must lie in 1..1.*got 3"),
        (lambda: all_of(), "at least one rule"),
    ],
)
def test_bad_rules_are_refused_by_name(call, message) -> None:
    with pytest.raises(ValueError, match=message):
        call()
