"""E0 (claim C7a): FSGDM's stages at several lengths of training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reprise.fsgdm.schedules import fsgdm_u

if TYPE_CHECKING:
    from reprise.fsgdm.experiments.configs import E0


def run(config: E0, seed: int) -> list[dict[str, object]]:
    """Return u of each stage at each length, and how far it lies from u at the first length."""
    rows = []
    for stage in range(config.n_stages + 1):
        us = [
            float(fsgdm_u(stage * (sigma // config.n_stages), config.c, sigma, config.n_stages))
            for sigma in config.sigmas
        ]
        rows += [
            {"sigma": sigma, "stage": stage, "u": u, "difference": abs(u - us[0])}
            for sigma, u in zip(config.sigmas, us, strict=True)
        ]
    return rows
