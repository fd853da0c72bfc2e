"""E5 (claim C7): last-epoch accuracy over the plane of c and v."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from reprise.fsgdm.systems import three
from reprise.fsgdm.train import Recipe, row, train

if TYPE_CHECKING:
    from reprise.fsgdm.experiments.configs import E5


def cells(config: E5, rows: Sequence[Mapping[str, object]]) -> list[E5]:
    """Return one cell per setting, c and v."""
    return [
        replace(config, settings=(setting,), cs=(c,), vs=(v,))
        for setting in config.settings
        for c in config.cs
        for v in config.vs
    ]


def run(config: E5, seed: int) -> list[dict[str, object]]:
    """Train FSGDM at each c and v; one row per run."""
    rows = []
    for setting in config.settings:
        for c in config.cs:
            for v in config.vs:
                schedule, first_step = three("FSGDM", c=c, v=v)
                trained = train(Recipe.of(setting, schedule, first_step), seed)
                key = {"problem": setting.problem, "net": setting.net, "c": c, "v": v}
                rows.append({**key, "seed": seed, **row(trained)})
    return rows
