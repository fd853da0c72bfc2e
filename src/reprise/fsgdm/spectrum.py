"""The spectrum of a training run's gradients along a few fixed directions."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import signal
from torch import nn

Array = NDArray[np.float64]
PARTS = ("early", "middle", "late")


def random_directions(n_parameters: int, n_directions: int, *, seed: int) -> torch.Tensor:
    """Return unit vectors drawn uniformly, shape (n_directions, n_parameters), float32."""
    generator = torch.Generator().manual_seed(seed)
    directions = torch.randn(n_directions, n_parameters, generator=generator)
    return directions / directions.norm(dim=1, keepdim=True)


def flat_gradient(net: nn.Module) -> torch.Tensor:
    """Return all gradients of a net as one vector, (n_parameters,)."""
    return torch.cat([p.grad.reshape(-1) for p in net.parameters()])


def power_spectrum(x: Array, *, segment: int) -> tuple[Array, Array]:
    """Return Welch's one-sided power density of real series, averaged over them.

    Each segment (Hann window, half overlapped) loses its mean only through the zero frequency,
    which is kept: slow parts of the gradient are the point here.

    Parameters
    ----------
    x : shape (T, K), K series over optimizer steps
    segment : steps per segment, at most T

    Returns
    -------
    omega : shape (segment // 2 + 1,), radians per step in [0, pi]
    power : the same shape; integrates over omega / (2 pi) to the mean square of x

    Raises
    ------
    ValueError
        When a segment is longer than the series.
    """
    if segment > len(x):
        raise ValueError(f"`segment` must be at most {len(x)}, the length of x, got {segment}")
    frequency, density = signal.welch(
        x, nperseg=segment, detrend=False, axis=0, window="hann", scaling="density"
    )
    return 2 * np.pi * frequency, density.mean(1)


def share_above(omega: Array, power: Array, threshold: float) -> float:
    """Return the share of the power at frequencies above a threshold (trapezoid rule).

    Parameters
    ----------
    omega, power : as `power_spectrum` returns
    threshold : radians per step
    """
    total = np.trapezoid(power, omega)
    grid = np.unique(np.append(omega[omega > threshold], threshold))
    above = np.trapezoid(np.interp(grid, omega, power), grid)
    return float(above / total)


def thirds(x: Array) -> dict[str, Array]:
    """Return the first, middle and last third of a series along its first axis."""
    n = len(x) // 3
    return {"early": x[:n], "middle": x[n : 2 * n], "late": x[2 * n : 3 * n]}
