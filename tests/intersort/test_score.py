import numpy as np
import pytest

from reprise.intersort import all_optima, d_top, move_gains, order_score, pair_weights

D4 = np.array([[0, 1.2, 0.5, 0.1], [0.2, 0, 0.9, 0.05], [0.15, 0.1, 0, 0.35], [0.6, 0.05, 0.1, 0]])


@pytest.mark.parametrize(
    ("order", "c", "score"),
    [
        ([0, 1, 2, 3], 0, 1.3),
        ([0, 1, 2, 3], 0.5, 9.3),
        ([3, 2, 1, 0], 0, -0.6),
        ([3, 2, 1, 0], 0.5, 1.4),
    ],
)
def test_the_score_of_four_variables(order, c, score):
    W = pair_weights(D4, None, eps=0.3, c=c)
    assert order_score(order, W) == pytest.approx(score, abs=1e-12)


@pytest.mark.parametrize(
    ("targets", "c", "score", "optima"),
    [
        (None, 0, 1.55, ["3012"]),
        (None, 0.5, 9.55, ["3012"]),
        ([0, 3], 0, 0.95, ["2301", "3012", "3021"]),
        ([0, 3], 0.5, 6.95, ["3012", "3021"]),
        ([1, 2], 0, 0.6, ["0312", "3012"]),
        ([1, 2], 0.5, 4.4, ["0123"]),
    ],
)
def test_the_optima_of_four_variables(targets, c, score, optima):
    W = pair_weights(D4, targets, eps=0.3, c=c)
    found = all_optima(W)
    assert ["".join(map(str, order)) for order in found] == optima
    assert order_score(found[0], W) == pytest.approx(score, abs=1e-12)


def counterexample():
    D = np.zeros((3, 3))
    D[0, 1], D[1, 0], D[1, 2], D[2, 0] = 0.31, 0.29, 0.29, 0.29
    return D


@pytest.mark.parametrize(
    ("c", "score", "optima", "errors"),
    [
        (0, -0.03, [[1, 2, 0]], 1),
        (0.12, 0.06, [[0, 1, 2], [2, 0, 1]], 0),
        (0.5, 1.2, [[0, 1, 2], [2, 0, 1]], 0),
    ],
)
def test_without_the_factor_the_optimum_of_a_faithful_case_is_wrong(c, score, optima, errors):
    A = np.zeros((3, 3))
    A[0, 1] = 1
    W = pair_weights(counterexample(), None, eps=0.3, c=c)
    found = all_optima(W)
    assert d_top(A, found[0]) == errors
    assert found.tolist() == optima
    assert order_score(found[0], W) == pytest.approx(score, abs=1e-12)


def test_the_gains_of_moves_are_those_of_scoring_again():
    rng = np.random.default_rng(0)
    for _ in range(50):
        d = int(rng.integers(2, 9))
        W, order = rng.normal(size=(d, d)), rng.permutation(d)
        gains = move_gains(order, W)
        for a in range(d):
            for b in range(d):
                moved = np.insert(np.delete(order, a), b, order[a])
                want = order_score(moved, W) - order_score(order, W)
                assert gains[a, b] == pytest.approx(want, abs=1e-10)


def test_a_positive_part_never_costs_anything():
    W = pair_weights(D4, [0, 3], eps=0.3, c=0.5, positive_part=True)
    assert (W >= 0).all()
    full = pair_weights(D4, [0, 3], eps=0.3, c=0.5)
    assert np.array_equal(W[full > 0], full[full > 0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"eps": -0.1}, "eps must be >= 0, got -0.1"),
        ({"eps": float("nan")}, "eps must be >= 0"),
        ({"c": -1}, "c must be >= 0, got -1"),
        ({"targets": [0, 4]}, "targets must be in 0..3, got 4"),
        ({"targets": [-1]}, "targets must be in 0..3, got -1"),
        ({"targets": [1, 1]}, "targets must be named once, got 1 twice"),
        ({"targets": [0.5]}, "targets must be a list of indices"),
        ({"D": D4[:3]}, "square"),
        ({"D": -D4}, r"D must be >= 0, got -1.2 at \(0, 1\)"),
        ({"D": D4 * np.nan}, "D must be finite"),
    ],
)
def test_bad_weights_are_named(change, message):
    given = {"D": D4, "targets": None, "eps": 0.3} | change
    with pytest.raises(ValueError, match=message):
        pair_weights(given.pop("D"), given.pop("targets"), **given)
