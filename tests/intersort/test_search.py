import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reprise.intersort import (
    Intersort,
    d_top,
    erdos_renyi_dag,
    fan_out_order,
    local_search,
    move_gains,
    oracle_distances,
    order_score,
    pair_weights,
    sort_ranking,
    topological_order,
)

D4 = np.array([[0, 1.2, 0.5, 0.1], [0.2, 0, 0.9, 0.05], [0.15, 0.1, 0, 0.35], [0.6, 0.05, 0.1, 0]])


def rows(D, targets):
    out = np.zeros_like(D)
    out[targets] = D[targets]
    return out


def by_checking_each_edge(D, eps):
    """SORTRANKING with a check of the whole graph for every candidate."""
    d = len(D)
    graph = nx.DiGraph()
    graph.add_nodes_from(range(d))
    pairs = [(i, j) for i in range(d) for j in range(d) if i != j and D[i, j] > eps]
    for i, j in sorted(pairs, key=lambda pair: (-D[pair], pair)):
        graph.add_edge(i, j)
        if not nx.is_directed_acyclic_graph(graph):
            graph.remove_edge(i, j)
    return list(nx.topological_sort(graph))


def by_scoring_again(order, W, bar=None):
    """First improvement that scores every neighbour from nothing, as the paper's release does."""
    order, n = list(order), 0
    best = order_score(order, W) if bar is None else bar
    while True:
        for a in range(len(order)):
            for b in range(len(order)):
                moved = order[:a] + order[a + 1 :]
                moved.insert(b, order[a])
                score = order_score(moved, W)
                if b != a and score > best + 1e-12:
                    order, best, n = moved, score, n + 1
                    break
            else:
                continue
            break
        else:
            return order, n


@pytest.mark.parametrize(
    ("targets", "order"),
    [([0, 1, 2, 3], [3, 0, 1, 2]), ([0, 3], [3, 0, 1, 2]), ([1, 2], [0, 1, 2, 3])],
)
def test_sort_ranking_of_four_variables(targets, order):
    assert sort_ranking(rows(D4, targets), eps=0.3).tolist() == order


def test_sort_ranking_is_that_of_checking_each_edge():
    rng = np.random.default_rng(0)
    for k in range(100):
        d = int(rng.integers(1, 21))
        D = rng.random((d, d))
        if k % 3 == 0:
            D = np.round(D, 1)  # ties
        assert sort_ranking(D, eps=0.3).tolist() == by_checking_each_edge(D, 0.3)


def test_sort_ranking_of_more_than_one_word_of_bits():
    D = np.random.default_rng(1).random((150, 150)) ** 8
    assert sort_ranking(D, eps=0.3).tolist() == by_checking_each_edge(D, 0.3)


def test_fan_out_counts_what_moves():
    assert fan_out_order(D4, eps=0.3).tolist() == [0, 1, 2, 3]
    assert fan_out_order(D4[::-1, ::-1], eps=0.3).tolist() == [3, 0, 1, 2]


@pytest.mark.parametrize(
    ("targets", "c", "order", "n_moves"),
    [
        ([0, 3], 0, [2, 3, 0, 1], 3),
        ([0, 3], 0.5, [3, 0, 1, 2], 4),
        ([1, 2], 0, [3, 0, 1, 2], 4),
        ([1, 2], 0.5, [0, 1, 2, 3], 4),
        ([0, 1, 2, 3], 0, [3, 0, 1, 2], 6),
        ([0, 1, 2, 3], 0.5, [3, 0, 1, 2], 6),
    ],
)
def test_the_local_search_of_four_variables(targets, c, order, n_moves):
    found = local_search([3, 2, 1, 0], pair_weights(D4, targets, eps=0.3, c=c))
    assert found.order.tolist() == order
    assert found.n_moves == n_moves
    assert found.converged


def test_the_search_takes_the_moves_of_scoring_again():
    rng = np.random.default_rng(2)
    for _ in range(20):
        d = int(rng.integers(2, 9))
        W, start = rng.normal(size=(d, d)), rng.permutation(d)
        found = local_search(start, W)
        assert (found.order.tolist(), found.n_moves) == by_scoring_again(start, W)


@pytest.mark.parametrize("rule", ["first", "best", "sweep"])
@settings(deadline=None)  # the first call compiles
@given(d=st.integers(1, 12), seed=st.integers(0, 2**32 - 1))
def test_a_search_ends_where_no_move_improves(rule, d, seed):
    rng = np.random.default_rng(seed)
    W, start = rng.normal(size=(d, d)), rng.permutation(d)
    np.fill_diagonal(W, 0)
    kept = start.copy()
    found = local_search(start, W, rule=rule)
    assert np.array_equal(start, kept)
    assert found.converged
    assert found.score == pytest.approx(order_score(found.order, W), abs=1e-12)
    assert found.score >= order_score(start, W) - 1e-12
    assert move_gains(found.order, W).max() <= 1e-9
    if found.n_moves:
        short = local_search(start, W, rule=rule, max_moves=found.n_moves - 1)
        assert not short.converged
        assert short.n_moves == found.n_moves - 1
        assert short.score < found.score


@pytest.mark.parametrize(
    ("targets", "released", "ours"),
    [([1, 2], [3, 0, 1, 2], [0, 3, 1, 2]), ([0], [3, 0, 2, 1], [3, 2, 0, 1])],
)
def test_the_release_scores_start_and_moves_at_different_thresholds(targets, released, ours):
    options = {"eps": 0.5, "c": 0.0, "start": [2, 1, 0, 3]}
    bug = Intersort(compat_eps_bug=True, **options).fit_distances(D4, targets)
    assert bug.order_.tolist() == released
    assert Intersort(**options).fit_distances(D4, targets).order_.tolist() == ours
    bar = order_score([2, 1, 0, 3], pair_weights(D4, targets, eps=0.5, c=0))
    W = pair_weights(D4, targets, eps=0.3, c=0)
    assert by_scoring_again([2, 1, 0, 3], W, bar)[0] == released


def test_the_ties_of_the_score_can_be_spent():
    rng = np.random.default_rng(7)
    plain, reverse = [], []
    for _ in range(200):
        A = erdos_renyi_dag(10, 1.5, rng=rng)
        targets = np.flatnonzero(rng.random(10) < 0.25)
        D, true = oracle_distances(A, targets), topological_order(A)
        assert d_top(A, Intersort().fit_distances(D, targets, tie_order=true).order_) == 0
        plain.append(d_top(A, Intersort().fit_distances(D, targets).order_))
        turned = Intersort().fit_distances(D, targets, tie_order=true[::-1])
        reverse.append(d_top(A, turned.order_))
    assert np.mean(plain) == pytest.approx(np.mean(reverse) / 2, rel=0.15)


def test_nothing_leaks_when_all_distances_are_zero():
    rng = np.random.default_rng(0)
    order = Intersort().fit_distances(np.zeros((10, 10)), []).order_
    assert order.tolist() == list(range(10))
    share, told = [], []
    for _ in range(400):
        A = erdos_renyi_dag(10, 1.5, rng=rng)
        if not A.sum():
            continue
        share.append(d_top(A, order) / A.sum())
        by = topological_order(A)
        told.append(d_top(A[np.ix_(by, by)], order))
    assert np.mean(share) == pytest.approx(0.5, abs=0.03)
    assert max(told) == 0  # numbered by their true place, the index order is the truth


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sort_ranking(D4, eps=-1), "eps must be >= 0, got -1"),
        (lambda: fan_out_order(D4[0], eps=1), "square"),
        (lambda: local_search([0, 1, 2, 2], D4), "permutation"),
        (lambda: local_search([0, 1, 2, 3], D4, rule="last"), "rule must be one of .*'last'"),
        (lambda: local_search([0, 1, 2, 3], D4, max_moves=-1), "max_moves must be >= 0"),
        (lambda: local_search([0, 1, 2, 3], D4, rule="best", W_start=D4), "W_start needs rule"),
        (lambda: Intersort(eps=-1), "eps must be >= 0, got -1"),
        (lambda: Intersort(eps="all"), "eps must be a number or 'auto', got 'all'"),
        (lambda: Intersort(c=-1), "c must be >= 0"),
        (lambda: Intersort(start="x"), "start must be one of"),
        (lambda: Intersort(rule="x"), "rule must be auto or one of"),
        (lambda: Intersort(rule="best", compat_eps_bug=True), "compat_eps_bug needs rule"),
        (lambda: Intersort(eps="auto").fit_distances(D4), "eps must be a number"),
        (lambda: Intersort().fit_distances(D4, tie_order=[0, 1]), "permutation"),
    ],
)
def test_bad_searches_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
