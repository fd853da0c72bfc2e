import itertools

import numpy as np
import pytest

from reprise.intersort import (
    InterventionalData,
    all_dags,
    ancestor_matrix,
    consistent_extension,
    cpdag_to_order,
    d_top,
    ease_order,
    erdos_renyi_dag,
    random_order,
    variance_order,
)


def colliders(A):
    """Return a -> z <- b with a and b not adjacent."""
    A = np.asarray(A)
    return {
        (a, z, b)
        for z in range(len(A))
        for a, b in itertools.combinations(np.flatnonzero(A[:, z]).tolist(), 2)
        if not A[a, b] and not A[b, a]
    }


def pattern(A):
    """Return A with the direction of its colliders only."""
    P = np.maximum(A, A.T)
    for a, z, b in colliders(A):
        P[z, a] = P[z, b] = 0
    return P


def observed(X):
    return InterventionalData(X, np.full(len(X), -1))


def test_a_chain_without_directions_gets_no_new_collider():
    chain = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    allowed = ([0, 1, 2], [2, 1, 0], [1, 0, 2], [1, 2, 0])
    assert cpdag_to_order(chain, "extension").tolist() in allowed
    assert cpdag_to_order(chain, "oriented").tolist() == [0, 1, 2]


@pytest.mark.parametrize("A", all_dags(4) + all_dags(5)[::7])
def test_an_extension_has_skeleton_and_colliders_of_the_graph(A):
    found = consistent_extension(pattern(A))
    ancestor_matrix(found)
    assert np.array_equal(found + found.T, A + A.T)
    assert colliders(found) == colliders(A)
    order = cpdag_to_order(pattern(A), "extension")
    assert d_top(found, order) == 0


def test_a_graph_with_directions_alone_is_kept():
    A = erdos_renyi_dag(12, 2, rng=np.random.default_rng(0))
    assert np.array_equal(consistent_extension(A), A)
    for conversion in ("oriented", "extension"):
        assert d_top(A, cpdag_to_order(A, conversion)) == 0


def test_where_there_is_no_extension_the_directed_edges_decide():
    # A square without directions: each way makes a collider.
    P = np.zeros((4, 4), int)
    for i, j in ((0, 1), (1, 2), (2, 3), (3, 0)):
        P[i, j] = P[j, i] = 1
    assert consistent_extension(P) is None
    assert cpdag_to_order(P, "extension").tolist() == [0, 1, 2, 3]


def test_the_edge_that_closes_a_cycle_is_dropped():
    cycle = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    assert cpdag_to_order(cycle, "oriented").tolist() == [0, 1, 2]


def test_ease_finds_heavy_tailed_causes_in_a_chain_and_a_fork():
    rng = np.random.default_rng(0)
    n, wrong = 5000, []
    for _ in range(10):
        A = np.zeros((5, 5), int)
        names = rng.permutation(5)
        X = rng.pareto(1.5, size=(n, 5)) + 1
        own = X.copy()
        for i, j in ((0, 1), (1, 2), (0, 3), (3, 4)):
            own[:, j] += own[:, i]
            A[names[i], names[j]] = 1
        data = np.empty_like(own)
        data[:, names] = own
        wrong.append(d_top(A, ease_order(observed(data))))
    assert np.mean(wrong) < 0.5


def test_ease_of_four_rows_by_hand():
    """k = 1: the row with the largest X_i alone."""
    X = np.array([[4.0, 3.0], [1.0, 4.0], [2.0, 1.0], [3.0, 2.0]])
    # Gamma[0, 1] = rank share of 3.0 in the second column = .75; Gamma[1, 0] = that of 1.0 = .25.
    assert ease_order(observed(X)).tolist() == [0, 1]
    assert ease_order(observed(X[:, ::-1])).tolist() == [1, 0]


def test_controls():
    rng = np.random.default_rng(0)
    assert variance_order(observed(rng.normal(size=(500, 3)) * [3, 1, 2])).tolist() == [1, 2, 0]
    A = erdos_renyi_dag(10, 2, rng=rng)
    share = [d_top(A, random_order(10, rng=rng)) / A.sum() for _ in range(2000)]
    assert np.mean(share) == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: random_order(0, rng=None), "d must be >= 1, got 0"),
        (lambda: cpdag_to_order([[0, 1], [1, 0]], "x"), "conversion must be one of .*'x'"),
        (lambda: cpdag_to_order([[0, 1]], "oriented"), "P must be a square matrix"),
        (lambda: consistent_extension([[0, 2], [0, 0]]), "only 0 and 1"),
        (lambda: consistent_extension([[1, 0], [0, 0]]), "0 on its diagonal"),
    ],
)
def test_bad_graphs_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
