import numpy as np
import pytest

from reprise.intersort import erdos_renyi_dag, grn_trajectory, simulate_grn
from reprise.intersort.grn import DECAY

ONE = np.zeros((1, 1))
CHAIN = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
K = np.array([[0, 3.0, 0], [0, 0, -2.0], [0, 0, 0]])


def rng(seed=0):
    return np.random.default_rng(seed)


def test_a_master_regulator_has_the_moments_of_its_linear_equation():
    x = grn_trajectory(ONE, ONE, [[2.0]], n_steps=2_000_000, q=0.3, clip=False, rng=rng())[:, 0, 0]
    assert x.mean() == pytest.approx(2.5, rel=0.01)
    assert x.var() == pytest.approx(0.3**2 * 2.5, rel=0.05)
    lag = np.corrcoef(x[:-15], x[15:])[0, 1]
    assert lag == pytest.approx(np.exp(-DECAY * 0.15), abs=0.01)


def test_knocking_out_the_head_of_a_chain():
    """The repressor of the third gene goes, and it rises to |K| / decay."""
    wild, knocked = [], []
    for seed in range(300):
        options = {"K": K, "b": np.full((3, 1), 2.0), "n_obs": 300, "n_int": 300}
        data = simulate_grn(CHAIN, targets=[0], cell_types=1, rng=rng(seed), **options)
        wild.append(data.observational.mean(axis=0))
        knocked.append(data.rows(0).mean(axis=0))
        assert (data.rows(0)[:, :2] == 0).all()
    assert np.mean(wild, axis=0)[1:] == pytest.approx([1.79, 1.60], abs=0.07)
    assert np.mean(knocked, axis=0)[2] == pytest.approx(2.58, abs=0.05)


def test_without_noise_expression_stays_at_the_steady_state():
    b = np.full((3, 2), 2.0)
    x = grn_trajectory(CHAIN, K, b, n_steps=50, q=0.0, rng=rng())
    # Each regulator is at its own half response.
    assert np.allclose(x, np.array([2.5, 3 * 0.5 / DECAY, 2 * 0.5 / DECAY])[:, None])
    x = grn_trajectory(CHAIN, K, b, n_steps=50, q=0.0, ko=1, rng=rng())
    assert np.allclose(x, np.array([2.5, 0.0, 2 / DECAY])[:, None])


def test_a_wild_type_half_response_lets_effects_reach_further():
    chain = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    strong = np.array([[0, 4.0, 0], [0, 0, 4.0], [0, 0, 0]])
    # The head isn't its only regulator: gene 1 falls, but not to nothing.
    A = np.zeros((4, 4), int)
    A[:3, :3], A[3, 1] = chain, 1
    both = np.zeros((4, 4))
    both[:3, :3], both[3, 1] = strong, 4.0
    shift = {}
    for how in ("per_experiment", "wild_type"):
        data = simulate_grn(
            A, K=both, targets=[0], half_response=how, n_int=2000, n_obs=2000, rng=rng(1)
        )
        shift[how] = (data.observational.mean(axis=0) - data.rows(0).mean(axis=0))[2]
    assert shift["wild_type"] > 0.5
    assert abs(shift["per_experiment"]) < shift["wild_type"] / 3


def test_shapes_streams_and_mocks():
    A = erdos_renyi_dag(6, 1, rng=rng())
    options = {"n_obs": 53, "n_int": 12}
    full = simulate_grn(A, targets=None, n_mock=2, rng=rng(1), **options)
    few = simulate_grn(A, targets=[4, 2], n_mock=2, rng=rng(1), **options)
    assert full.X.shape == (53 + 6 * 12, 6)
    assert np.array_equal(few.X, full.restrict([2, 4]).X)
    assert [batch.shape for batch in full.mock] == [(12, 6)] * 2
    assert not np.array_equal(full.mock[0], full.mock[1])
    assert (full.X >= 0).all()
    for k in range(6):
        assert (full.rows(k)[:, k] == 0).all()


def test_measured_cells_are_counts_with_dropout():
    A = erdos_renyi_dag(20, 1, rng=rng())
    options = {"targets": [0], "n_obs": 400, "n_int": 50, "n_mock": 1}
    clean = simulate_grn(A, rng=rng(1), **options)
    counts = simulate_grn(A, tech_noise="10x", rng=rng(1), **options)
    assert np.array_equal(counts.X, np.round(counts.X))
    assert counts.mock[0].shape == (50, 20)
    assert (counts.X == 0).mean() > (clean.X == 0).mean() + 0.2
    assert (counts.rows(0)[:, 0] == 0).all()
    assert 30 < np.median(counts.X.sum(axis=1)) < 400


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"targets": [3]}, "targets must be in 0..2, got 3"),
        ({"n_obs": 4}, "n_obs must be >= cell_types = 5, got 4"),
        ({"n_int": 4}, "n_int must be >= cell_types = 5, got 4"),
        ({"cell_types": 0}, "cell_types must be >= 1, got 0"),
        ({"q": -1.0}, "q must be >= 0"),
        ({"n_mock": -1}, "n_mock must be >= 0, got -1"),
        ({"half_response": "x"}, "half_response must be one of .*'x'"),
        ({"tech_noise": "x"}, "tech_noise must be None or '10x'"),
        ({"K": np.zeros((2, 2))}, r"K must be \[3, 3\]"),
        ({"b": np.zeros((3, 2))}, r"b must be \[3, 5\]"),
        ({"b": np.full((3, 5), -1.0)}, "b must be >= 0, got -1.0"),
        ({"A": [[0, 1], [1, 0]]}, "on a cycle"),
    ],
)
def test_bad_networks_are_named(change, message):
    given = {"A": CHAIN, "targets": None, "rng": rng()} | change
    with pytest.raises(ValueError, match=message):
        simulate_grn(given.pop("A"), **given)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_steps": 0}, "n_steps must be >= 1, got 0"),
        ({"dt": 0.0}, "dt must be > 0"),
        ({"ko": 1}, "targets must be in 0..0, got 1"),
    ],
)
def test_bad_trajectories_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        grn_trajectory(ONE, ONE, [[1.0]], **({"n_steps": 5, "rng": rng()} | change))
