"""E4 (second lines of C2 and C6): each optimizer at its own best learning rate.

All get the same grid and the same tuning seeds; the best by mean validation accuracy runs again
with fresh seeds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING

from reprise.fsgdm.systems import three
from reprise.fsgdm.train import Recipe, row, train

if TYPE_CHECKING:
    from reprise.fsgdm.experiments.configs import E4

FRESH = 100  # the first of the fresh seeds


def best_lr(
    rows: Sequence[Mapping[str, object]], optimizer: str, lrs: Sequence[float], n_tune: int
) -> float | None:
    """Return the learning rate of the best mean validation accuracy; None while runs are missing.

    The smaller one wins a tie.
    """
    found: dict[float, list[float]] = defaultdict(list)
    for r in rows:
        if r["optimizer"] == optimizer and r["phase"] == "tune":
            found[r["lr"]].append(r["validation"])
    if any(len(found[lr]) < n_tune for lr in lrs):
        return None
    return min(lrs, key=lambda lr: (-fmean(found[lr]), lr))


def cells(config: E4, rows: Sequence[Mapping[str, object]]) -> list[E4]:
    """Return the grid to tune on and, for what is tuned, a cell of fresh seeds at the best."""
    found = []
    for name in config.optimizers:
        one = replace(config, optimizers=(name,))
        found += [
            replace(one, lrs=(lr,), phase="tune", n_seeds=config.n_tune, n_tune=1)
            for lr in config.lrs
        ]
        best = best_lr(rows, name, config.lrs, config.n_tune)
        if best is not None:
            found.append(replace(one, lrs=(best,), phase="final", n_tune=1))
    return found


def seeds(cell: E4) -> Iterable[int]:
    """Return 0, 1, ... to tune, FRESH, FRESH + 1, ... to judge."""
    first = 0 if cell.phase == "tune" else FRESH
    return range(first, first + cell.n_seeds)


def run(config: E4, seed: int) -> list[dict[str, object]]:
    """Train with each optimizer at each learning rate of a cell; one row per run."""
    rows = []
    for name in config.optimizers:
        for lr in config.lrs:
            schedule, first_step = three(name, c=config.c, v=config.v)
            recipe = replace(Recipe.of(config.setting, schedule, first_step), lr=lr)
            key = {"optimizer": name, "lr": lr, "phase": config.phase, "seed": seed}
            rows.append({**key, **row(train(recipe, seed))})
    return rows
