"""B3: what an optimizer step costs, beside the released package and torch's own SGD."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import TYPE_CHECKING

import torch

from reprise.fsgdm.nets import resnet8
from reprise.fsgdm.optim import FSGDM

if TYPE_CHECKING:
    from reprise.fsgdm.experiments.configs import B3

ROLES = ("ours", "fsgdm 1.0", "torch SGD")


def optimizer(role: str, params: list[torch.nn.Parameter]) -> torch.optim.Optimizer:
    """Return FSGDM by us, by its authors, or torch's momentum SGD, which sets the limit."""
    import fsgdm as released

    if role == "ours":
        return FSGDM(params, 1e-6, sigma=117_000, n_stages=300, weight_decay=5e-4)
    if role == "fsgdm 1.0":
        return released.FSGDM(params, lr=1e-6)
    if role == "torch SGD":
        return torch.optim.SGD(params, 1e-6, momentum=0.9, weight_decay=5e-4, foreach=True)
    raise ValueError(f"`role` must be one of {ROLES}, got {role!r}")


def _shapes(config: B3) -> dict[str, list[tuple[int, ...]]]:
    nets = {
        f"resnet8, width {w}": [p.shape for p in resnet8(w).parameters()] for w in config.widths
    }
    return nets | {f"one tensor of {n}": [(n,)] for n in config.sizes}


def _steps(role: str, shapes: list[tuple[int, ...]], seed: int) -> Callable[[], object]:
    generator = torch.Generator().manual_seed(seed)
    params = [torch.nn.Parameter(torch.randn(s, generator=generator)) for s in shapes]
    for p in params:
        p.grad = torch.randn(p.shape, generator=generator)
    return optimizer(role, params).step


def run(config: B3, seed: int) -> list[dict[str, object]]:
    """Time steps of all three in turn, so that what disturbs one disturbs the others as well.

    Returns
    -------
    Per set of tensors and role one row with the median microseconds of a step.
    """
    rows = []
    for name, shapes in _shapes(config).items():
        steps = {role: _steps(role, shapes, seed) for role in ROLES}
        seconds: dict[str, list[float]] = {role: [] for role in ROLES}
        for repeat in range(config.n_repeats + 3):
            for role, step in steps.items():
                start = time.perf_counter()
                step()
                if repeat >= 3:  # the first ones make buffers and warm caches
                    seconds[role].append(time.perf_counter() - start)
        n = sum(torch.Size(s).numel() for s in shapes)
        rows += [
            {
                "tensors": name,
                "role": role,
                "n_parameters": n,
                "microseconds": 1e6 * median(seconds[role]),
            }
            for role in ROLES
        ]
    return rows
