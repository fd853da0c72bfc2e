from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from reprise.fsgdm import images
from reprise.fsgdm.images import Images, epoch, load


def toy(n: int = 50, side: int = 6, pad: int = 2, flip: bool = False) -> Images:
    x = torch.arange(n * side * side, dtype=torch.float32).reshape(n, 1, side, side)
    y = torch.arange(n)
    return Images(x, y, x[:5], y[:5], x[:5], y[:5], pad=pad, flip=flip)


def test_an_epoch_is_every_image_once_cropped_out_of_its_padding() -> None:
    data = toy()
    x, y = epoch(data, torch.Generator().manual_seed(0))
    assert sorted(y.tolist()) == list(range(50))
    padded = torch.nn.functional.pad(data.train_x, (2, 2, 2, 2), value=0.0)
    offsets = set()
    for image, label in zip(x, y, strict=True):
        fits = [
            (i, j)
            for i in range(5)
            for j in range(5)
            if torch.equal(padded[label, :, i : i + 6, j : j + 6], image)
        ]
        assert len(fits) == 1
        offsets.add(fits[0])
    assert len(offsets) > 15  # of 25, from 50 draws


@pytest.mark.parametrize("black", [-7.0, 7.0])
def test_crops_are_padded_with_black(black) -> None:
    data = toy()
    x, _ = epoch(
        replace(data, train_x=data.train_x + black), torch.Generator().manual_seed(0)
    )  # pixels of the toy start at 0
    assert x.min() == black


def test_only_clothes_are_mirrored_and_small_images_shift_less() -> None:
    fashion, digits = load("fashion", 3600, 2000), load("digits")
    assert (fashion.flip, fashion.pad) == (True, 2)
    assert (digits.flip, digits.pad) == (False, 1)


def test_flips_mirror_about_half_of_the_images() -> None:
    data = toy(n=400, pad=0, flip=True)
    x, y = epoch(data, torch.Generator().manual_seed(0))
    straight = (x == data.train_x[y]).all((1, 2, 3))
    mirrored = (x == data.train_x[y].flip(-1)).all((1, 2, 3))
    assert (straight | mirrored).all()
    # Binomial(400, 1/2): 5 standard deviations are 50.
    assert 150 < mirrored.sum() < 250


def test_an_epoch_is_fixed_by_its_generator() -> None:
    a, b, c = (epoch(toy(), torch.Generator().manual_seed(s))[0] for s in (1, 1, 2))
    assert torch.equal(a, b)
    assert not torch.equal(a, c)


def test_pooling_takes_means_of_two_by_two() -> None:
    pooled = images._pool(np.arange(16.0).reshape(1, 4, 4))
    assert pooled.tolist() == [[[2.5, 4.5], [10.5, 12.5]]]


@pytest.mark.parametrize(
    ("problem", "sizes", "side"),
    [("fashion", (3240, 360, 2000), 14), ("digits", (1212, 135, 450), 8)],
)
def test_splits_have_their_sizes_and_scale(problem, sizes, side) -> None:
    data = load(problem, *((3600, 2000) if problem == "fashion" else ()))
    found = (len(data.train_y), len(data.validation_y), len(data.test_y))
    assert found == sizes
    assert data.side == side
    assert data.train_x.mean().item() == pytest.approx(0, abs=1e-4)
    assert data.train_x.std().item() == pytest.approx(1, abs=1e-3)
    share = torch.bincount(data.validation_y, minlength=10) / len(data.validation_y)
    assert ((share > 0.07) & (share < 0.13)).all()


def test_no_image_is_in_two_splits() -> None:
    data = load("digits")
    rows = [x.flatten(1).numpy() for x in (data.train_x, data.validation_x, data.test_x)]
    sets = [{r.tobytes() for r in part} for part in rows]
    assert not sets[0] & sets[1]
    assert not sets[0] & sets[2]
    assert not sets[1] & sets[2]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("cifar",), "`problem` must be one of.*'cifar'"),
        (("digits", 100), "digits has a fixed split"),
    ],
)
def test_bad_input_is_refused_by_name(words, message) -> None:
    with pytest.raises(ValueError, match=message):
        load(*words)
