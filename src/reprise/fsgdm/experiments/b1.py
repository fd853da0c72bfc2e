"""B1 (beyond the paper): is it the filter, or the step size?

The effective learning rate of a slow gradient is lr_t v_t / (1 - u_t). One control gives
Standard-SGDM the effective learning rate of FSGDM at each step, the other FSGDM that of Standard.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from reprise.fsgdm.schedules import coefficients
from reprise.fsgdm.systems import three
from reprise.fsgdm.train import Recipe, n_steps, row, train

if TYPE_CHECKING:
    from reprise.fsgdm.experiments.configs import B1


def gain_ratio(sigma: int, n_stages: int, c: float) -> np.ndarray:
    """Return FSGDM's low-frequency gain over Standard's at each step, shape (sigma,)."""
    t = np.arange(1, sigma + 1)
    gains = []
    for name in ("FSGDM", "Standard"):
        u, v = coefficients(three(name, c=c)[0], t, sigma, n_stages)
        gains.append(v / (1 - u))
    return gains[0] / gains[1]


def cells(config: B1, rows: Sequence[Mapping[str, object]]) -> list[B1]:
    """Return one cell per arm."""
    return [replace(config, arms=(arm,)) for arm in config.arms]


def run(config: B1, seed: int) -> list[dict[str, object]]:
    """Train each arm; one row per run."""
    rows = []
    for arm in config.arms:
        schedule, first_step = three(arm.split(" as ")[0], c=config.c)
        recipe = Recipe.of(config.setting, schedule, first_step)
        ratio = gain_ratio(n_steps(recipe), recipe.n_stages, config.c)
        factor = {"Standard as FSGDM": ratio, "FSGDM as Standard": 1 / ratio}.get(arm)
        rows.append({"arm": arm, "seed": seed, **row(train(recipe, seed, factor=factor))})
    return rows
