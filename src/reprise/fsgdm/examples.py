"""Runs small enough to follow by eye."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from reprise.fsgdm.optim import FSGDM, MomentumSGD
from reprise.fsgdm.schedules import Schedule


def quadratic(seed: int, dim: int = 20) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a positive definite matrix with eigenvalues in (0.05, 1) and a start, float64."""
    g = torch.Generator().manual_seed(seed)
    q, _ = torch.linalg.qr(torch.randn(dim, dim, generator=g, dtype=torch.float64))
    values = torch.linspace(0.05, 1, dim, dtype=torch.float64)
    return q @ torch.diag(values) @ q.T, torch.randn(dim, generator=g, dtype=torch.float64)


def descend(
    schedule: Schedule, lr: float, *, n_steps: int = 100, seed: int = 0
) -> NDArray[np.float64]:
    """Return the iterates on a random quadratic with weight decay 5e-4, (n_steps, dim)."""
    matrix, start = quadratic(seed)
    x = torch.nn.Parameter(start.clone())
    optimizer = MomentumSGD(
        [x], lr, schedule=schedule, sigma=n_steps, n_stages=1, weight_decay=5e-4
    )
    found = []
    for _ in range(n_steps):
        optimizer.zero_grad()
        (x @ matrix @ x / 2).backward()
        optimizer.step()
        found.append(x.detach().clone())
    return torch.stack(found).numpy()


def trace(*, c: float, n_steps: int, n_stages: int, lr: float) -> pd.DataFrame:
    """Return FSGDM's steps on f(x) = x^2 / 2 from x = 1: u, gradient, buffer and x by step."""
    x = torch.nn.Parameter(torch.tensor(1.0, dtype=torch.float64))
    optimizer = FSGDM([x], lr, sigma=n_steps, n_stages=n_stages, c=c)
    rows = []
    for t in range(1, n_steps + 1):
        optimizer.zero_grad()
        (x**2 / 2).backward()
        u, _ = optimizer.coefficients()
        gradient = x.grad.item()
        optimizer.step()
        buffer = optimizer.state[x]["momentum_buffer"].item()
        rows.append({"t": t, "u": u, "gradient": gradient, "buffer m": buffer, "x": x.item()})
    return pd.DataFrame(rows).set_index("t")
