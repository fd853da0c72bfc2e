"""B2 (beyond the paper): the spectrum of real gradients, early, in the middle and late."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from reprise.fsgdm.filters import half_power_frequency
from reprise.fsgdm.spectrum import (
    flat_gradient,
    power_spectrum,
    random_directions,
    share_above,
    thirds,
)
from reprise.fsgdm.systems import three
from reprise.fsgdm.train import Recipe, train

if TYPE_CHECKING:
    from reprise.fsgdm.experiments.configs import B2

DIRECTIONS_SEED = 7  # the same directions for every run


def cells(config: B2, rows: Sequence[Mapping[str, object]]) -> list[B2]:
    """Return one cell per optimizer."""
    return [replace(config, optimizers=(name,)) for name in config.optimizers]


def projections(config: B2, name: str, seed: int) -> np.ndarray:
    """Return the gradient of each step along the fixed directions, (Sigma, n_directions)."""
    schedule, first_step = three(name, c=config.c)
    found: list[torch.Tensor] = []
    directions: list[torch.Tensor] = []

    def watch(t: int, net: torch.nn.Module) -> None:
        gradient = flat_gradient(net)
        if not directions:
            directions.append(
                random_directions(len(gradient), config.n_directions, seed=DIRECTIONS_SEED)
            )
        found.append(directions[0] @ gradient)

    train(Recipe.of(config.setting, schedule, first_step), seed, watch=watch)
    return torch.stack(found).double().numpy()


def run(config: B2, seed: int) -> list[dict[str, object]]:
    """Return per optimizer and third of training the power density at each frequency.

    `above_half_power` repeats on each row of a spectrum: the share of its power above the
    half-power frequency of u = 0.9.
    """
    rows = []
    threshold = half_power_frequency(0.9)
    for name in config.optimizers:
        for part, x in thirds(projections(config, name, seed)).items():
            omega, power = power_spectrum(x, segment=config.segment)
            share = share_above(omega, power, threshold)
            rows += [
                {
                    "optimizer": name,
                    "part": part,
                    "frequency": float(w),
                    "seed": seed,
                    "power": float(p),
                    "above_half_power": share,
                }
                for w, p in zip(omega, power, strict=True)
            ]
    return rows
