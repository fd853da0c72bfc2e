"""E2 (claims C2, C6): EMA-SGDM, Standard-SGDM and FSGDM at one learning rate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from reprise.fsgdm.systems import three
from reprise.fsgdm.train import Recipe, row, train

if TYPE_CHECKING:
    from reprise.fsgdm.experiments.configs import E2


def cells(config: E2, rows: Sequence[Mapping[str, object]]) -> list[E2]:
    """Return one cell per setting and optimizer."""
    return [
        replace(config, settings=(setting,), optimizers=(name,))
        for setting in config.settings
        for name in config.optimizers
    ]


def run(config: E2, seed: int) -> list[dict[str, object]]:
    """Train each setting with each optimizer.

    Returns
    -------
    Per run one row for each point of the training-loss curve, accuracies left empty but in the
    last, whose `step` is Sigma.
    """
    rows = []
    for setting in config.settings:
        for name in config.optimizers:
            schedule, first_step = three(name, c=config.c, v=config.v)
            recipe = Recipe.of(setting, schedule, first_step)
            trained = train(recipe, seed)
            key = {"problem": setting.problem, "net": setting.net, "optimizer": name, "seed": seed}
            empty = {"accuracy": math.nan, "validation": math.nan, "diverged": trained.diverged}
            rows += [
                {**key, "step": int(step), **empty, "loss": float(loss)}
                for step, loss in zip(trained.steps[:-1], trained.losses[:-1], strict=True)
            ]
            rows.append({**key, "step": int(trained.steps[-1]), **row(trained)})
    return rows
