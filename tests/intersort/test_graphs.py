import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reprise.intersort import (
    all_dags,
    ancestor_matrix,
    d_top,
    erdos_renyi_dag,
    false_negative_rate,
    scale_free_dag,
    topological_order,
)

CHAIN = np.diag([1, 1, 1], k=1)


@pytest.mark.parametrize(("d", "n"), [(1, 1), (2, 2), (3, 6), (4, 31), (5, 302)])
def test_there_is_one_dag_per_relabelling_class(d, n):
    found = all_dags(d)
    assert len(found) == n
    assert found[0].sum() == 0
    if d <= 4:
        graphs = [nx.from_numpy_array(A, create_using=nx.DiGraph) for A in found]
        assert not any(
            nx.is_isomorphic(a, b) for k, a in enumerate(graphs) for b in graphs[k + 1 :]
        )


@given(st.integers(1, 12), st.floats(0, 3), st.integers(0, 2**32 - 1))
def test_ancestors_are_networkxs_and_a_topological_order_has_no_error(d, e, seed):
    A = erdos_renyi_dag(d, e, rng=np.random.default_rng(seed))
    graph = nx.from_numpy_array(A, create_using=nx.DiGraph)
    want = np.zeros((d, d), dtype=bool)
    for i in range(d):
        want[i, list(nx.descendants(graph, i))] = True
    assert np.array_equal(ancestor_matrix(A), want)
    order = topological_order(A)
    assert d_top(A, order) == 0
    assert d_top(A, order[::-1]) == A.sum()


def test_edges_have_the_density_asked_for():
    rng = np.random.default_rng(0)
    counts = [erdos_renyi_dag(30, 2, rng=rng).sum() for _ in range(300)]
    assert np.mean(counts) == pytest.approx(60, abs=3 * 7 / np.sqrt(300))


def test_a_scale_free_dag_has_m_parents_and_unequal_out_degrees():
    rng = np.random.default_rng(0)
    A = scale_free_dag(200, 2, rng=rng)
    assert sorted(A.sum(axis=0).tolist()) == [0, 1] + [2] * 198
    assert A.sum(axis=1).max() > 15
    turned = scale_free_dag(200, 2, transpose=True, rng=np.random.default_rng(0))
    assert np.array_equal(turned, A.T)
    ancestor_matrix(A)


@pytest.mark.parametrize("make", [erdos_renyi_dag, scale_free_dag])
def test_the_index_of_a_variable_says_nothing_of_its_place(make):
    rng = np.random.default_rng(3)
    share = [false_negative_rate(make(10, 2, rng=rng), np.arange(10)) for _ in range(400)]
    assert np.nanmean(share) == pytest.approx(0.5, abs=0.04)


def test_errors_of_an_order_are_its_reversed_edges():
    assert d_top(CHAIN, [0, 1, 2, 3]) == 0
    assert d_top(CHAIN, [1, 0, 3, 2]) == 2
    assert false_negative_rate(CHAIN, [3, 2, 1, 0]) == 1.0
    assert np.isnan(false_negative_rate(np.zeros((3, 3)), [0, 1, 2]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ancestor_matrix([[0, 1], [1, 0]]), "variable 0 is on a cycle"),
        (lambda: ancestor_matrix([[1]]), "its own cause"),
        (lambda: ancestor_matrix([[0, 2], [0, 0]]), "only 0 and 1"),
        (lambda: ancestor_matrix([[0, 1]]), r"square matrix, got shape \(1, 2\)"),
        (lambda: d_top(CHAIN, [0, 1, 2, 2]), r"permutation of 0..3, got \[0, 1, 2, 2\]"),
        (lambda: d_top(CHAIN, [0, 1, 2]), r"permutation of 0..3"),
        (lambda: all_dags(6), "d must be in 1..5, got 6"),
        (lambda: erdos_renyi_dag(0, 1, rng=None), "d must be >= 1, got 0"),
        (lambda: erdos_renyi_dag(3, -1, rng=None), "edges_per_var must be >= 0, got -1"),
        (lambda: scale_free_dag(3, 0, rng=None), "m must be >= 1, got 0"),
    ],
)
def test_bad_graphs_and_orders_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
