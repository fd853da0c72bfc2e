"""One optimizer step: ours, the released package, and torch's own SGD, which sets the limit."""

from __future__ import annotations

import pytest
import torch

from reprise.fsgdm.experiments import b3
from reprise.fsgdm.nets import resnet8

SIZES = {
    "resnet8, width 8": lambda: [p.shape for p in resnet8(8).parameters()],
    "resnet8, width 64": lambda: [p.shape for p in resnet8(64).parameters()],
    "one tensor of a million": lambda: [(1_000_000,)],
    "one tensor of ten millions": lambda: [(10_000_000,)],
}
ROLES = ("ours", *(f"peer:{role}" for role in b3.ROLES if role != "ours"))


@pytest.mark.parametrize("kind", SIZES)
@pytest.mark.parametrize("role", ROLES)
def test_step(benchmark, role: str, kind: str) -> None:
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(0)
    params = []
    for shape in SIZES[kind]():
        p = torch.nn.Parameter(torch.randn(shape, generator=generator))
        p.grad = torch.randn(shape, generator=generator)
        params.append(p)
    before = [p.detach().clone() for p in params]
    optimizer = b3.optimizer(role.removeprefix("peer:"), params)
    optimizer.step()
    benchmark.group = f"fsgdm: a step on {kind}"
    benchmark.extra_info.update(role=role, size=sum(p.numel() for p in params))
    benchmark(optimizer.step)
    # Every step goes against the gradient (weight decay is small), whoever takes it.
    for p, start in zip(params, before, strict=True):
        assert ((p.detach() - start) * p.grad).sum() < 0
