import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance

from reprise.intersort import (
    Intersort,
    InterventionalData,
    choose_eps,
    mock_distances,
    null_distances,
    oracle_distances,
    standardize,
    wasserstein,
    wasserstein_matrix,
    wasserstein_stream,
)


def sample(seed=0, d=6, n_obs=300, n_int=20, targets=(0, 2, 5), n_mock=0):
    """A chain 0 -> 1 -> ... with interventions."""
    rng = np.random.default_rng(seed)

    def draw(n, target=None):
        X = rng.normal(size=(n, d))
        for j in range(d):
            if j == target:
                X[:, j] = rng.normal(4, 1, size=n)
            elif j:
                X[:, j] += 1.5 * X[:, j - 1]
        return X

    X = [draw(n_obs), *(draw(n_int, t) for t in targets)]
    target = [-1] * n_obs + [t for t in targets for _ in range(n_int)]
    mock = tuple(draw(n_int) for _ in range(n_mock))
    return InterventionalData(np.concatenate(X), np.array(target), mock)


@pytest.mark.parametrize(
    ("x", "y", "distance"),
    [
        ([0, 1, 3], [5, 6, 8], 5),
        ([0, 1, 2, 3], [1, 1], 1),
        (range(10), [4.5], 2.5),
        ([0, 0, 1], [0, 1], 1 / 6),
    ],
)
def test_distances_of_small_samples(x, y, distance):
    assert wasserstein(list(x), y) == pytest.approx(distance, abs=1e-15)


@settings(deadline=None)  # the first call compiles
@given(st.integers(1, 40), st.integers(1, 40), st.booleans(), st.integers(0, 2**32 - 1))
def test_the_distance_is_scipys(n, m, ties, seed):
    rng = np.random.default_rng(seed)
    x, y, z = rng.normal(size=n), rng.normal(0.5, 2, size=m), rng.normal(size=m)
    if ties:
        x, y, z = np.round(x), np.round(y), np.round(z)
    own = wasserstein(x, y)
    assert own == pytest.approx(wasserstein_distance(x, y), abs=1e-12)
    assert wasserstein(y, x) == pytest.approx(own, abs=1e-12)
    assert wasserstein(x, x) == pytest.approx(0, abs=1e-12)
    assert own <= wasserstein(x, z) + wasserstein(z, y) + 1e-12
    assert wasserstein(-3 * x + 1, -3 * y + 1) == pytest.approx(3 * own, abs=1e-11)


def test_a_large_sample_far_from_zero_keeps_its_digits():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=5000), rng.normal(size=100)
    want = wasserstein_distance(x, y)
    assert wasserstein(x, y) == pytest.approx(want, abs=1e-12)
    assert wasserstein(x + 1e6, y + 1e6) == pytest.approx(want, abs=1e-9)


def test_the_matrix_is_scipys_pair_by_pair():
    data = standardize(sample())
    D = wasserstein_matrix(data)
    for i in range(6):
        for j in range(6):
            want = 0.0
            if i in (0, 2, 5) and i != j:
                want = wasserstein_distance(data.observational[:, j], data.rows(i)[:, j])
            assert D[i, j] == pytest.approx(want, abs=1e-12)


def test_a_stream_gives_the_same_matrix():
    data = sample()
    batches = ((i, data.rows(i)) for i in (5, 0, 2))
    streamed = wasserstein_stream(data.observational, batches)
    assert np.allclose(streamed, wasserstein_matrix(standardize(data)), rtol=0, atol=1e-12)


def test_standardised_observations_have_mean_0_and_deviation_1():
    data = sample(n_mock=2)
    X = data.X.copy()
    X[data.target == -1, 3] = 0.1  # constant: its scale is kept
    raw = InterventionalData(X, data.target, data.mock)
    found = standardize(raw)
    free = [0, 1, 2, 4, 5]
    assert np.allclose(found.observational[:, free].mean(axis=0), 0, atol=1e-12)
    assert np.allclose(found.observational[:, free].std(axis=0), 1)
    assert np.allclose(found.X[:, 3], X[:, 3] - 0.1)
    assert np.allclose(found.mock[0][:, 3], data.mock[0][:, 3] - 0.1)
    assert np.array_equal(raw.X, X)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_scale_and_sign_of_a_variable_change_nothing(seed):
    rng = np.random.default_rng(seed)
    data = sample(3)
    scale = rng.uniform(0.1, 10, 6) * rng.choice([-1, 1], 6)
    other = InterventionalData(data.X * scale + rng.normal(0, 5, 6), data.target)
    one, two = Intersort().fit(data), Intersort().fit(other)
    assert np.allclose(one.D_, two.D_, rtol=1e-9, atol=1e-12)
    assert np.array_equal(one.order_, two.order_)


@pytest.mark.parametrize("seed", range(5))
def test_other_names_give_the_same_order_under_them(seed):
    data = sample(seed, targets=tuple(range(6)))
    names = np.random.default_rng(seed).permutation(6)  # variable i is called names[i]
    X = np.empty_like(data.X)
    X[:, names] = data.X
    target = np.where(data.target < 0, -1, names[data.target])
    one, two = Intersort().fit(data), Intersort().fit(InterventionalData(X, target))
    assert two.score_ == pytest.approx(one.score_, abs=1e-9)
    assert np.array_equal(two.order_, names[one.order_])


def test_the_noise_floor_of_normal_samples():
    rng = np.random.default_rng(0)
    for n_int, mean, near in ((100, 0.129, 0.01), (20, 0.281, 0.02), (500, 0.060, 0.005)):
        found = [wasserstein(rng.normal(size=5000), rng.normal(size=n_int)) for _ in range(400)]
        assert np.mean(found) == pytest.approx(mean, abs=near)
        if n_int == 100:
            assert np.quantile(found, 0.95) == pytest.approx(0.215, abs=0.025)
            assert choose_eps(found) == pytest.approx(0.272, abs=0.05)


def test_the_null_is_that_of_chance_and_mocks_give_another():
    data = standardize(sample(n_mock=3))
    null = null_distances(data.observational, 20, 30, rng=np.random.default_rng(0))
    again = null_distances(data.observational, 20, 30, rng=np.random.default_rng(0))
    assert null.shape == (30, 6)
    assert np.array_equal(null, again)
    assert 0.15 < null.mean() < 0.45
    mocks = mock_distances(data)
    assert mocks.shape == (3, 6)
    want = wasserstein_distance(data.observational[:, 2], data.mock[1][:, 2])
    assert mocks[1, 2] == pytest.approx(want, abs=1e-12)
    assert Intersort(eps="auto").fit(data).eps_ == pytest.approx(choose_eps(mocks))
    by_rows = Intersort(eps="auto").fit(sample()).eps_
    null = null_distances(standardize(sample()).observational, 20, 40, rng=np.random.default_rng(0))
    assert by_rows == choose_eps(null)


def test_oracle_distances_mark_descendants_of_targets():
    chain = np.diag([1, 1], k=1)
    assert oracle_distances(chain).tolist() == [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
    assert oracle_distances(chain, [1]).tolist() == [[0, 0, 0], [0, 0, 1], [0, 0, 0]]


def test_a_chain_is_found_and_the_data_stay_as_they_were():
    data = sample(targets=tuple(range(6)), n_int=50)
    X = data.X.copy()
    one, two = Intersort().fit(data), Intersort().fit(data)
    assert one.order_.tolist() == [0, 1, 2, 3, 4, 5]
    assert np.array_equal(one.D_, two.D_)
    assert np.array_equal(data.X, X)
    assert not np.array_equal(one.D_, Intersort(standardize=False).fit(data).D_)


def test_frames_keep_their_names_and_the_report_says_which_pairs_decided():
    data = sample()
    names = list("abcdef")
    frame = pd.DataFrame(data.X, columns=names)
    labels = ["ctrl" if t < 0 else names[t] for t in data.target]
    found = Intersort().fit(frame, labels, control="ctrl")
    assert found.ordered_names_ == [names[i] for i in Intersort().fit(data).order_]

    class Annotated:
        X, var_names = data.X, pd.Index(names)
        obs = pd.DataFrame({"gene": [None if x == "ctrl" else x for x in labels]})

    assert Intersort().fit(Annotated(), "gene").ordered_names_ == found.ordered_names_
    assert np.array_equal(Intersort().fit(data.X, data.target).order_, found.order_)
    report = found.report()
    assert len(report) == (found.eps_ < found.D_).sum()
    assert report.distance.is_monotonic_decreasing
    place = {name: k for k, name in enumerate(found.ordered_names_)}
    for row in report.itertuples():
        i, j = names.index(row.cause), names.index(row.effect)
        assert row.distance == found.D_[i, j] > found.eps_
        assert row.respected == (place[row.cause] < place[row.effect])
        assert np.isnan(row.reverse) == (j not in (0, 2, 5))
        sign = 1 if row.respected else -1
        assert row.worth == pytest.approx(sign * (found.W_[i, j] - found.W_[j, i]))


def test_restriction_drops_the_rows_of_other_targets():
    data = sample()
    few = data.restrict([2])
    assert few.targets.tolist() == [2]
    assert len(few.X) == 320
    assert np.array_equal(few.rows(2), data.rows(2))


ROWS = np.zeros((4, 2))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: InterventionalData(ROWS, np.array([-1, -1, 0, 2])), "got 2 in row 3"),
        (lambda: InterventionalData(ROWS, np.array([-1, -1, 0, -2])), "got -2 in row 3"),
        (lambda: InterventionalData(ROWS, np.array([-1, 0, 0, 1])), "observational rows .* got 1"),
        (lambda: InterventionalData(ROWS, np.array([-1, -1])), "one entry a row, 4"),
        (lambda: InterventionalData(ROWS, np.full(4, -1.0)), "target must hold integers"),
        (lambda: InterventionalData(ROWS[0], np.array([-1])), "X must be"),
        (lambda: InterventionalData(ROWS, np.full(4, -1), (ROWS[:, :1],)), "mock must be"),
        (lambda: InterventionalData(ROWS, np.full(4, -1), names=("a",)), "names must be 2"),
        (
            lambda: InterventionalData(
                np.where(np.eye(4, 2) > 0, np.nan, 0), np.array([-1, -1, 0, 1])
            ),
            "X must be finite, got nan in row 0, column 0",
        ),
        (lambda: sample().restrict([1]), "got 1, which was never one"),
        (lambda: wasserstein_stream(ROWS[:1], []), "at least 2 rows"),
        (lambda: wasserstein_stream(ROWS, [(0, ROWS[:0])]), "got none of target 0"),
        (lambda: wasserstein_stream(ROWS, [(2, ROWS)]), "targets must be in 0..1, got 2"),
        (lambda: wasserstein_stream(ROWS, [(0, ROWS), (0, ROWS)]), "got 0 twice"),
        (lambda: null_distances(ROWS, 4, 1, rng=None), "n_int must be in 1..3, got 4"),
        (lambda: null_distances(ROWS, 2, 0, rng=None), "n_draws must be >= 1"),
        (lambda: mock_distances(sample()), "mock interventions"),
        (lambda: choose_eps([]), "null must hold"),
        (lambda: choose_eps([1.0], alpha=1), r"alpha must be in \(0, 1\), got 1"),
        (lambda: wasserstein([1.0, np.inf], [1.0]), "x must be finite"),
        (lambda: Intersort().fit(ROWS), "perturbation must name"),
        (
            lambda: Intersort().fit(pd.DataFrame(ROWS, columns=["a", "b"]), ["a", "x", "", ""]),
            "must be a column or None, got 'x' in row 1",
        ),
        (
            lambda: Intersort().fit(pd.DataFrame(ROWS, columns=["a", "a"]), [None] * 4),
            "name each variable once, got 'a' twice",
        ),
    ],
)
def test_bad_data_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
