"""Images with labels as arrays: Fashion-MNIST, 5000 images of MNIST, the digits of scikit-learn."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reprise.datasets.registry import asset

_SPLITS = {"train": "train", "test": "t10k"}


def _idx(path: Path) -> np.ndarray:
    """Return the array of an IDX file of bytes (magic 0, 0, 8, dimensions; big-endian sizes)."""
    raw = path.read_bytes()
    if raw[:3] != b"\x00\x00\x08":
        raise ValueError(f"{path} is no IDX file of bytes")
    shape = np.frombuffer(raw, ">u4", count=raw[3], offset=4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(shape).copy()


def fashion_mnist(
    split: str, n: int | None = None, *, seed: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return images and labels of Fashion-MNIST (Xiao, Rasul, Vollgraf 2017).

    Parameters
    ----------
    split : "train" (60 000) or "test" (10 000)
    n : take the first n of a permutation drawn with `seed`; None: all, in the order of the file
    seed : of the permutation, needed with `n`

    Returns
    -------
    images : (n, 28, 28) uint8, 0 background to 255
    labels : (n,) int64, 0 to 9

    Raises
    ------
    ValueError
        For another split, an n outside 1..size, or n without a seed.
    MissingAsset, WrongHash
        See `asset`.
    """
    if split not in _SPLITS:
        raise ValueError(f"`split` must be 'train' or 'test', got {split!r}")
    size = {"train": 60_000, "test": 10_000}[split]
    if n is not None and not 1 <= n <= size:
        raise ValueError(f"`n` must lie in 1..{size} for {split!r}, got {n}")
    if n is not None and seed is None:
        raise ValueError(f"`seed` is needed to choose n={n} images, got None")
    folder = asset("fashion-mnist")
    images = _idx(folder / f"{_SPLITS[split]}-images-idx3-ubyte")
    labels = _idx(folder / f"{_SPLITS[split]}-labels-idx1-ubyte").astype(np.int64)
    if n is not None:
        chosen = np.random.default_rng(seed).permutation(size)[:n]
        images, labels = images[chosen], labels[chosen]
    return images, labels


def mnist_5k() -> tuple[np.ndarray, np.ndarray]:
    """Return 5000 images of MNIST, 500 a digit, sorted by digit as in the file.

    Returns
    -------
    images : (5000, 28, 28) uint8, 0 background to 255
    labels : (5000,) int64, 0 to 9
    """
    table = np.loadtxt(asset("mnist-5k"), delimiter=",", dtype=np.int64)  # (5000, 785)
    return table[:, :-1].astype(np.uint8).reshape(-1, 28, 28), table[:, -1].copy()


def digits() -> tuple[np.ndarray, np.ndarray]:
    """Return the 1797 digits that scikit-learn ships, in the order of its file.

    Returns
    -------
    images : (1797, 8, 8) uint8, 0 background to 16
    labels : (1797,) int64, 0 to 9
    """
    table = np.loadtxt(asset("digits"), delimiter=",", dtype=np.int64)  # (1797, 65)
    return table[:, :-1].astype(np.uint8).reshape(-1, 8, 8), table[:, -1].copy()
