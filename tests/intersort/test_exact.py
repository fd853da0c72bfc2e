import numpy as np
import pytest

from reprise.intersort import (
    all_optima,
    exact_order_dp,
    exact_order_milp,
    local_search,
    order_score,
)
from reprise.intersort.exact import all_orders


def weights(seed, d):
    W = np.random.default_rng(seed).normal(size=(d, d))
    np.fill_diagonal(W, 0)
    return W


@pytest.mark.parametrize("solve", ["dp", "milp"])
@pytest.mark.parametrize(
    ("seed", "order", "score"),
    [
        (5, [1, 2, 0, 5, 6, 3, 4], -0.4076353193434057),
        (6, [6, 12, 11, 8, 10, 9, 1, 4, 3, 5, 2, 13, 14, 0, 7], 40.855864215733035),
    ],
)
def test_two_problems_with_known_optima(solve, seed, order, score):
    W = weights(seed, len(order))
    if solve == "dp":
        found, value = exact_order_dp(W)
    else:
        result = exact_order_milp(W)
        found, value = result.order, result.score
        assert result.proven
        assert result.gap <= 1e-6
    assert found.tolist() == order
    assert value == pytest.approx(score, abs=1e-9)


def test_the_three_ways_agree_and_no_search_is_better():
    for seed in range(20):
        W = weights(seed, 1 + seed % 7)
        (optimum, *_) = all_optima(W)
        best = order_score(optimum, W)
        assert exact_order_dp(W)[1] == pytest.approx(best, abs=1e-9)
        assert exact_order_milp(W).score == pytest.approx(best, abs=1e-7)
        orders, _ = all_orders(len(W))
        assert max(order_score(order, W) for order in orders) == pytest.approx(best, abs=1e-9)
        assert local_search(range(len(W)), W).score <= best + 1e-9


def test_a_problem_whose_relaxation_is_no_order_is_solved():
    """Tournaments of coin flips make fractional relaxations."""
    rng = np.random.default_rng(0)
    W = np.triu(rng.choice([-1.0, 1.0], size=(13, 13)), k=1)
    found = exact_order_milp(W)
    assert found.proven
    assert found.score == pytest.approx(exact_order_dp(W)[1], abs=1e-7)


def test_a_time_limit_leaves_an_order_and_a_bound():
    W = weights(0, 18)
    found = exact_order_milp(W, time_limit=1e-6)
    assert not found.proven
    assert sorted(found.order) == list(range(18))
    assert found.score <= exact_order_dp(W)[1] <= found.upper_bound
    assert found.gap == pytest.approx(found.upper_bound - found.score)


def test_ties_are_all_found():
    assert len(all_optima(np.zeros((4, 4)))) == 24


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: exact_order_dp(np.zeros((19, 19))), "d <= 18, got 19: use exact_order_milp"),
        (lambda: all_optima(np.zeros((8, 8))), "d <= 7, got 8: exact_order_dp"),
        (lambda: exact_order_milp(np.zeros((3, 3)), time_limit=0), "time_limit must be > 0"),
        (lambda: exact_order_milp(np.full((3, 3), np.inf)), "W must be finite"),
    ],
)
def test_bad_problems_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
