from __future__ import annotations

import numpy as np
import pytest

from reprise import datasets


@pytest.mark.parametrize(("split", "size"), [("train", 60_000), ("test", 10_000)])
def test_fashion_mnist_has_its_known_counts(split, size):
    images, labels = datasets.fashion_mnist(split)
    assert images.shape == (size, 28, 28)
    assert images.dtype == np.uint8
    assert labels.dtype == np.int64
    assert np.bincount(labels).tolist() == [size // 10] * 10


def test_fashion_mnist_has_its_known_pixel_mean_and_spread():
    x = datasets.fashion_mnist("train")[0] / 255
    assert x.mean() == pytest.approx(0.28604, abs=5e-6)
    assert x.std() == pytest.approx(0.35302, abs=5e-6)


def test_the_first_n_of_a_permutation_are_nested_and_go_by_seed():
    images, labels = datasets.fashion_mnist("test", 50, seed=3)
    assert images.shape == (50, 28, 28)
    more, more_labels = datasets.fashion_mnist("test", 80, seed=3)
    np.testing.assert_array_equal(more[:50], images)
    np.testing.assert_array_equal(more_labels[:50], labels)
    other, _ = datasets.fashion_mnist("test", 50, seed=4)
    assert not np.array_equal(other, images)


def test_images_keep_their_labels_under_the_permutation():
    everything, labels = datasets.fashion_mnist("test")
    shuffled, shuffled_labels = datasets.fashion_mnist("test", 10_000, seed=0)
    order = np.random.default_rng(0).permutation(10_000)
    np.testing.assert_array_equal(shuffled, everything[order])
    np.testing.assert_array_equal(shuffled_labels, labels[order])


def test_arrays_can_be_written_without_harm_to_the_next_reader():
    images, labels = datasets.fashion_mnist("test")
    images[:], labels[:] = 0, 0
    assert datasets.fashion_mnist("test")[0].any()


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("validation",), {}, "`split` must be 'train' or 'test', got 'validation'"),
        (("test", 0), {"seed": 0}, r"`n` must lie in 1\.\.10000 for 'test', got 0"),
        (("test", 10_001), {"seed": 0}, "got 10001"),
        (("test", 10), {}, "`seed` is needed"),
    ],
)
def test_bad_requests_are_refused(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        datasets.fashion_mnist(*arguments, **options)


def test_mnist_5k_has_500_of_each_digit():
    images, labels = datasets.mnist_5k()
    assert images.shape == (5000, 28, 28)
    assert images.dtype == np.uint8
    assert np.bincount(labels).tolist() == [500] * 10
    assert images.mean() == pytest.approx(33.486506, abs=1e-6)
    assert images.max() == 255


def test_digits_equal_scikit_learns_own():
    load_digits = pytest.importorskip("sklearn.datasets").load_digits
    images, labels = datasets.digits()
    assert images.shape == (1797, 8, 8)
    assert (images.min(), images.max()) == (0, 16)
    np.testing.assert_array_equal(images, load_digits().images)
    np.testing.assert_array_equal(labels, load_digits().target)


def test_a_file_that_is_no_idx_file_is_refused(tmp_path):
    from reprise.datasets import images

    (tmp_path / "x").write_bytes(b"\x1f\x8b\x08\x00")
    with pytest.raises(ValueError, match="no IDX file"):
        images._idx(tmp_path / "x")
