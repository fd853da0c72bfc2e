"""The chapter's image problems: splits, scaling, and augmentation as one gather per epoch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from reprise import datasets

PROBLEMS = ("fashion", "mnist", "digits")
VALIDATION_SHARE = 0.1
SPLIT_SEED = 0  # one split for every run: seeds differ in weights, batches and crops only


@dataclass(frozen=True)
class Images:
    """A problem's three splits: standardised images (n, 1, side, side) float32, labels (n,)."""

    train_x: Tensor
    train_y: Tensor
    validation_x: Tensor
    validation_y: Tensor
    test_x: Tensor
    test_y: Tensor
    pad: int  # pixels of zero padding for the random crop
    flip: bool  # whether mirrored images are still of their class
    n_classes: int = 10

    @property
    def side(self) -> int:
        """Height and width in pixels."""
        return self.train_x.shape[-1]


def _pool(images: np.ndarray) -> np.ndarray:
    """Return the means of 2x2 blocks: (n, 28, 28) -> (n, 14, 14)."""
    n, height, width = images.shape
    return images.reshape(n, height // 2, 2, width // 2, 2).mean((2, 4))


def _stratified(labels: np.ndarray, n_test: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.model_selection import train_test_split

    return train_test_split(
        np.arange(len(labels)), test_size=n_test, stratify=labels, random_state=seed
    )


@lru_cache(maxsize=4)
def load(problem: str, n_train: int | None = None, n_test: int | None = None) -> Images:
    """Return a problem's splits; a tenth of the training images is held out for validation.

    Parameters
    ----------
    problem : "fashion" (14x14, flips), "mnist" (14x14) or "digits" (8x8)
    n_train : fashion: how many training images, validation included; None: all
    n_test : fashion: the first n of the test images; None: all

    Raises
    ------
    ValueError
        For an unknown problem, or sizes asked of a problem that has fixed ones.
    """
    if problem not in PROBLEMS:
        raise ValueError(f"`problem` must be one of {PROBLEMS}, got {problem!r}")
    if problem != "fashion" and (n_train is not None or n_test is not None):
        raise ValueError(f"`n_train`, `n_test`: {problem} has a fixed split, got {n_train, n_test}")
    if problem == "fashion":
        x, y = datasets.fashion_mnist("train", n_train, seed=SPLIT_SEED)
        test_x, test_y = datasets.fashion_mnist("test")
        x, test_x = _pool(x), _pool(test_x[:n_test])
        test_y = test_y[:n_test]
    else:
        x, y = datasets.mnist_5k() if problem == "mnist" else datasets.digits()
        x = _pool(x) if problem == "mnist" else x.astype(np.float64)
        train, test = _stratified(y, 1000 if problem == "mnist" else 450, SPLIT_SEED)
        x, y, test_x, test_y = x[train], y[train], x[test], y[test]
    kept, held = _stratified(y, round(VALIDATION_SHARE * len(y)), SPLIT_SEED)
    mean, std = x[kept].mean(), x[kept].std()

    def images(a: np.ndarray) -> Tensor:
        return torch.from_numpy(((a - mean) / std).astype(np.float32)[:, None])

    def labels(a: np.ndarray) -> Tensor:
        return torch.from_numpy(a.astype(np.int64))

    return Images(
        images(x[kept]), labels(y[kept]), images(x[held]), labels(y[held]),
        images(test_x), labels(test_y),
        pad=1 if problem == "digits" else 2,
        flip=problem == "fashion",
    )  # fmt: skip


def epoch(data: Images, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return the training images in a new order, each with a new random crop and flip.

    All images of the epoch are cut out of the padded ones in a single gather. What is drawn
    depends on the generator alone, so that runs with one seed see the same images whatever the
    optimizer.

    Returns
    -------
    images (n, 1, side, side), labels (n,)
    """
    n, side = len(data.train_y), data.side
    order = torch.randperm(n, generator=generator)
    top, left = torch.randint(2 * data.pad + 1, (2, n), generator=generator)
    mirrored = torch.rand(n, generator=generator) < 0.5
    p = data.pad
    padded = torch.nn.functional.pad(data.train_x, (p, p, p, p), value=_background(data))
    windows = padded.unfold(2, side, 1).unfold(3, side, 1)  # (n, 1, 2p+1, 2p+1, side, side)
    x = windows[order, :, top, left]
    if data.flip:
        x = torch.where(mirrored[:, None, None, None], x.flip(-1), x)
    return x, data.train_y[order]


def _background(data: Images) -> float:
    """Return the standardised value of black, which the padding takes."""
    return float(data.train_x.min())
