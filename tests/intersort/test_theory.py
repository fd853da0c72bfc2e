import numpy as np
import pytest

from reprise.intersort import (
    all_dags,
    all_optima,
    ancestor_matrix,
    bound_b0,
    bound_diff,
    bound_int,
    bound_parents,
    d_top,
    erdos_renyi_dag,
    expected_error,
    oracle_distances,
    order_score,
    pair_weights,
    undecided_edges,
)
from reprise.intersort.theory import errors_by_targets, target_probabilities

EDGE = np.array([[0, 1], [0, 0]])


def graph(d, *edges):
    A = np.zeros((d, d), dtype=np.int8)
    for i, j in edges:
        A[i, j] = 1
    return A


@pytest.mark.parametrize(
    ("A", "p", "b0", "b_int", "b_diff"),
    [
        (np.diag([1, 1, 1], k=1), 0.25, 1.6875, 1.6875, 1.6875),
        (np.diag([1, 1, 1], k=1), 0.5, 0.75, 0.75, 0.75),
        (np.triu(np.ones((4, 4), int), k=1), 0.25, 3.375, 2.84765625, 2.84765625),
        (np.triu(np.ones((4, 4), int), k=1), 0.5, 1.5, 1.0625, 1.0625),
        (graph(3, (0, 2), (1, 2)), 0.25, 1.125, 1.125, 0.84375),
        (graph(3, (0, 2), (1, 2)), 0.5, 0.5, 0.5, 0.25),
    ],
)
def test_bounds_of_small_graphs(A, p, b0, b_int, b_diff):
    assert bound_b0(A, p) == b0
    assert bound_int(A, p) == b_int
    assert bound_diff(A, p) == b_diff


def test_the_parents_bound_of_the_graph_that_exceeds_it():
    A = graph(6, (0, 1), (0, 4), (1, 2), (2, 3), (2, 4), (3, 4))[:5, :5]
    assert bound_parents(A, 0.75) == pytest.approx(0.2109, abs=5e-5)
    worth = errors_by_targets(A, A, eps=0.3, c=0.5) * target_probabilities(5, 0.75)[:, None]
    assert worth.sum(axis=0)[1] == pytest.approx(0.2395, abs=5e-5)


def test_one_edge_is_wrong_only_when_neither_end_was_touched():
    D = oracle_distances(EDGE)
    options = {"eps": 0.3, "c": 0.5}
    assert expected_error(EDGE, D, 0.25, ties="worst", **options) == 0.5625
    assert expected_error(EDGE, D, 0.25, **options) == 0.28125
    assert expected_error(EDGE, D, 0.25, ties="best", **options) == 0
    # The negative term is what protects an edge whose effect was a target.
    options["positive_part"] = True
    assert expected_error(EDGE, D, 0.25, ties="worst", **options) == 0.75
    assert expected_error(EDGE, D, 0.25, **options) == 0.375


def test_enumeration_is_that_of_all_optima_set_by_set():
    rng = np.random.default_rng(0)
    A = erdos_renyi_dag(4, 1.2, rng=rng)
    D = np.where(ancestor_matrix(A), rng.uniform(0.31, 2, (4, 4)), rng.uniform(0, 0.29, (4, 4)))
    found = errors_by_targets(A, D, eps=0.3, c=0.5)
    for code in range(16):
        targets = [i for i in range(4) if code >> i & 1]
        optima = all_optima(pair_weights(D, targets, eps=0.3, c=0.5))
        errors = [d_top(A, order) for order in optima]
        assert found[code].tolist() == pytest.approx([min(errors), np.mean(errors), max(errors)])
    assert target_probabilities(4, 0.3).sum() == pytest.approx(1)
    assert target_probabilities(4, 0.3)[5] == pytest.approx(0.3**2 * 0.7**2)


def test_the_bounds_on_all_graphs_of_five_nodes():
    """B_0 and B_int hold for the worst tie; B_diff on all but 5, and for uniform ties on all."""
    grid = np.arange(1, 10) / 10
    weights = np.array([target_probabilities(5, p) for p in grid])
    over, most = 0, 0.0
    for A in all_dags(5)[1:]:
        best, uniform, worst = (
            weights @ errors_by_targets(A, oracle_distances(A), eps=0.3, c=0.5)
        ).T
        diff = np.array([bound_diff(A, p) for p in grid])
        assert (best <= 1e-12).all()
        assert (worst <= np.array([bound_int(A, p) for p in grid]) + 1e-12).all()
        assert (worst <= np.array([bound_b0(A, p) for p in grid]) + 1e-12).all()
        assert (uniform <= diff + 1e-12).all()
        over += (worst > diff + 1e-9).any()
        most = max(most, (worst - diff).max())
    assert over == 5
    assert most == pytest.approx(0.035, abs=1e-3)


def test_no_optimum_reverses_an_edge_that_is_decided():
    rng = np.random.default_rng(1)
    for _ in range(60):
        d = int(rng.integers(4, 7))
        A = erdos_renyi_dag(d, 1.2, rng=rng)
        strong, weak = rng.uniform(0.31, 2, (d, d)), rng.uniform(0, 0.29, (d, d))
        D = np.where(ancestor_matrix(A), strong, weak)
        targets = np.flatnonzero(rng.random(d) < 0.4)
        free = {tuple(edge) for edge in undecided_edges(A, targets).tolist()}
        for order in all_optima(pair_weights(D, targets, eps=0.3, c=0.3)):
            place = np.argsort(order)
            wrong = {(i, j) for i, j in np.argwhere(A).tolist() if place[j] < place[i]}
            assert wrong <= free


def test_the_bound_with_the_difference_set_fails_for_one_of_four_ties():
    A = graph(5, (0, 2), (2, 3), (1, 3), (1, 4))
    W = pair_weights(oracle_distances(A), [0, 1], eps=0.3, c=0.5)
    optima = all_optima(W)
    assert order_score(optima[0], W) == pytest.approx(12.2)
    assert optima.tolist() == [[0, 2, 1, 3, 4], [0, 2, 1, 4, 3], [1, 4, 0, 2, 3], [1, 4, 0, 3, 2]]
    assert d_top(A, [1, 4, 0, 3, 2]) == 1
    # 1 is a target in AN(3) but not in AN(2), and still 2 -> 3 can be reversed.
    assert undecided_edges(A, [0, 1]).tolist() == [[2, 3]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bound_b0(EDGE, 1.2), r"p must be in \[0, 1\], got 1.2"),
        (lambda: bound_int([[0, 1], [1, 0]], 0.5), "on a cycle"),
        (lambda: bound_parents(EDGE, -0.1), "p must be in"),
        (lambda: undecided_edges(EDGE, [2]), "targets must be in 0..1, got 2"),
        (lambda: expected_error(EDGE, EDGE, 0.5, eps=1, c=1, ties="x"), "ties must be one of"),
        (lambda: errors_by_targets(EDGE, np.eye(3), eps=1, c=1), r"D must be \[2, 2\]"),
        (lambda: errors_by_targets(np.zeros((7, 7)), np.zeros((7, 7)), eps=1, c=1), "d <= 6"),
    ],
)
def test_bad_theory_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
