import numpy as np
import pytest
from scipy import stats

from reprise.intersort import (
    ancestor_matrix,
    erdos_renyi_dag,
    iter_scm,
    linear_weights,
    simulate_scm,
    standardize,
    total_effects,
    wasserstein_matrix,
    wasserstein_stream,
)

A = np.array([[0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 1, 0]])  # 2 is the sink


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("noise", ["gauss", "laplace", "hetero"])
@pytest.mark.parametrize("kind", ["linear", "rff", "nn"])
def test_interventions_move_descendants_and_nobody_else(kind, noise):
    options = {"kind": kind, "noise": noise, "n_obs": 4000, "n_int": 1000, "rng": rng(1)}
    data = simulate_scm(A, targets=None, **options)
    assert data.X.shape == (8000, 4)
    assert data.targets.tolist() == [0, 1, 2, 3]
    R = ancestor_matrix(A)
    for i in range(4):
        for j in range(4):
            if i != j and not R[i, j]:
                same = stats.ks_2samp(data.observational[:, j], data.rows(i)[:, j])
                assert same.pvalue > 1e-4, (i, j)
    D = wasserstein_matrix(standardize(data))
    children = A.astype(bool)
    assert D[children].mean() > 3 * D[~R & ~np.eye(4, dtype=bool)].mean()


def test_linear_data_are_regressed_to_their_weights():
    data = simulate_scm(A, kind="linear", noise="laplace", targets=[], n_obs=40_000, rng=rng(2))
    design = np.column_stack([data.X[:, [0, 1, 3]], np.ones(len(data.X))])
    weights, *_ = np.linalg.lstsq(design, data.X[:, 2], rcond=None)
    assert (np.abs(weights[:3]) > 0.95).all()
    assert (np.abs(weights[:3]) < 3.05).all()
    assert abs(weights[3]) < 3.1
    rest = data.X[:, 2] - design @ weights
    assert stats.kurtosis(rest) == pytest.approx(3, abs=0.5)  # Laplace
    assert 0.2 < np.abs(rest).mean() < 2
    scales = [
        np.abs(r - np.median(r)).mean() for r in (data.X[:, 0], data.X[:, 3])
    ]  # of a Laplace variable: its scale
    assert all(0.19 < s < 2.05 for s in scales)


def test_the_noise_of_hetero_data_depends_on_the_parents():
    chain = np.array([[0, 1], [0, 0]])
    found = []
    for seed in range(6):
        data = simulate_scm(
            chain, kind="linear", noise="hetero", targets=[0], n_int=20_000, rng=rng(seed)
        )
        rows = data.rows(0)
        fit = np.polyfit(rows[:, 0], rows[:, 1], 1)
        rest = np.abs(rows[:, 1] - np.polyval(fit, rows[:, 0]))
        low, high = rows[:, 0] < -3, rows[:, 0] > 3
        found.append(abs(np.log(rest[low].mean() / rest[high].mean())))
    assert max(found) > 0.15


@pytest.mark.parametrize("kind", ["linear", "rff", "nn"])
def test_a_target_is_set_anew_in_every_row(kind):
    data = simulate_scm(
        A, kind=kind, noise="gauss", targets=[2], n_obs=10, n_int=20_000, do_high=3.0, rng=rng()
    )
    forced = data.rows(2)[:, 2]
    if kind == "nn":
        assert stats.kstest(forced, stats.norm(2, 1).cdf).pvalue > 1e-3
    else:
        assert stats.kstest(np.abs(forced), stats.uniform(1, 2).cdf).pvalue > 1e-3
        assert np.mean(forced > 0) == pytest.approx(0.5, abs=0.02)
    assert abs(np.corrcoef(forced, data.rows(2)[:, 0])[0, 1]) < 0.03


def test_other_targets_leave_the_rest_of_the_data_the_same():
    options = {"kind": "rff", "noise": "hetero", "n_obs": 50, "n_int": 5}
    full = simulate_scm(A, targets=None, rng=rng(4), **options)
    few = simulate_scm(A, targets=[3, 1], rng=rng(4), **options)
    want = full.restrict([1, 3])
    assert np.array_equal(few.X, want.X)
    assert np.array_equal(few.target, want.target)
    other = simulate_scm(A, targets=[3, 1], rng=rng(5), **options)
    assert not np.array_equal(few.X, other.X)


def test_a_stream_is_the_same_data():
    options = {"kind": "nn", "noise": "gauss", "n_obs": 200, "n_int": 20, "targets": [0, 3]}
    data = simulate_scm(A, rng=rng(6), **options)
    X_obs, batches = iter_scm(A, rng=rng(6), **options)
    D = wasserstein_stream(X_obs, batches)
    assert np.allclose(D, wasserstein_matrix(standardize(data)), atol=1e-12)


def test_total_effects_are_sums_over_paths():
    B = np.zeros((3, 3))
    B[0, 1], B[1, 2], B[0, 2] = 2.0, 3.0, -1.0
    assert total_effects(B)[0].tolist() == pytest.approx([1, 2, 5])
    graph = erdos_renyi_dag(12, 1.5, rng=rng())
    weights = linear_weights(graph, rng=rng(1))
    assert (np.abs(weights[graph == 1]) >= 1).all()
    assert np.abs(weights).max() <= 3
    power, total = np.eye(12), np.zeros((12, 12))
    for _ in range(12):
        total += power
        power = power @ weights
    assert np.allclose(total_effects(weights), total)
    assert np.array_equal(
        np.abs(total_effects(weights)) > 1e-9, ancestor_matrix(graph) | np.eye(12, dtype=bool)
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "cubic"}, "kind must be one of linear, rff, nn, got 'cubic'"),
        ({"noise": "none"}, "noise must be one of"),
        ({"targets": [4]}, "targets must be in 0..3, got 4"),
        ({"targets": [1, 1]}, "named once, got 1 twice"),
        ({"n_obs": 1}, "n_obs must be >= 2, got 1"),
        ({"n_int": 0}, "n_int must be >= 1, got 0"),
        ({"do_high": 1.0}, "do_high must be > 1, got 1.0"),
        ({"A": [[0, 1], [1, 0]]}, "on a cycle"),
    ],
)
def test_bad_simulations_are_named(change, message):
    given = {"A": A, "kind": "linear", "noise": "gauss", "targets": None, "rng": rng()} | change
    with pytest.raises(ValueError, match=message):
        simulate_scm(given.pop("A"), **given)
    with pytest.raises(ValueError, match="on a cycle"):
        total_effects([[0, 1], [1, 0]])
