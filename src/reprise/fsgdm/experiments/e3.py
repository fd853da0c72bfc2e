"""E3 (claims C3, C4, C5): the study of four families with rising, fixed and falling u."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from reprise.fsgdm.systems import study
from reprise.fsgdm.train import Recipe, row, train

if TYPE_CHECKING:
    from reprise.fsgdm.experiments.configs import E3


def cells(config: E3, rows: Sequence[Mapping[str, object]]) -> list[E3]:
    """Return one cell per setting and system; the net without residuals has its own seeds."""
    return [
        replace(
            config,
            settings=(setting,),
            systems=(system,),
            n_seeds=config.n_seeds_vgg if setting.net == "vgg_mini" else config.n_seeds,
            n_seeds_vgg=1,
        )
        for setting in config.settings
        for system in config.systems
    ]


def run(config: E3, seed: int) -> list[dict[str, object]]:
    """Train each setting with each system; one row per run."""
    return [
        {
            "problem": setting.problem,
            "net": setting.net,
            "family": system.family,
            "sequence": system.sequence,
            "value": system.value,
            "seed": seed,
            **row(train(Recipe.of(setting, study(*_plain(system))), seed)),
        }
        for setting in config.settings
        for system in config.systems
    ]


def _plain(system: object) -> tuple[str, str, float]:
    return system.family, system.sequence, system.value
