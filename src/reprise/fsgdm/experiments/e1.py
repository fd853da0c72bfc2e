"""E1 (claim C1): drive the real optimizer with sinusoidal gradients and fit gain and phase."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from reprise.fsgdm.filters import magnitude, phase
from reprise.fsgdm.optim import MomentumSGD
from reprise.fsgdm.schedules import Schedule

if TYPE_CHECKING:
    from reprise.fsgdm.experiments.configs import E1

FIT = 1000  # last steps that are fitted; the transient is u^4000 by then


def buffers(schedule: Schedule, omega: np.ndarray, n_steps: int) -> np.ndarray:
    """Return the optimizer's buffer over time when coordinate i gets cos(omega_i t).

    Parameters
    ----------
    schedule : the momentum system
    omega : shape (F,), radians per step
    n_steps : steps taken, t = 1, 2, ...

    Returns
    -------
    shape (n_steps, F), float64
    """
    x = torch.nn.Parameter(torch.zeros(len(omega), dtype=torch.float64))
    optimizer = MomentumSGD([x], 0.0, schedule=schedule, sigma=n_steps, n_stages=1)
    gradients = torch.from_numpy(np.cos(np.outer(np.arange(1, n_steps + 1), omega)))
    found = np.empty((n_steps, len(omega)))
    for t in range(n_steps):
        x.grad = gradients[t]
        optimizer.step()
        found[t] = optimizer.state[x]["momentum_buffer"].numpy()
    return found


def fit(m: np.ndarray, omega: float, first: int) -> complex:
    """Return the amplitude A e^{i phase} of `m_t = A cos(omega t + phase)` by least squares.

    Parameters
    ----------
    m : shape (T,), at t = first, first + 1, ...
    omega : radians per step; at 0 and pi only the cosine can be told
    """
    t = np.arange(first, first + len(m))
    columns = [np.cos(omega * t)]
    if 1e-9 < omega < np.pi - 1e-9:
        columns.append(-np.sin(omega * t))
    solution = np.linalg.lstsq(np.stack(columns, 1), m, rcond=None)[0]
    return complex(*solution) if len(solution) == 2 else complex(solution[0])


def run(config: E1, seed: int) -> list[dict[str, object]]:
    """Return one row per coupling, u and frequency k pi / (F - 1): gain and phase, both ways."""
    omega = np.arange(config.n_frequencies) * np.pi / (config.n_frequencies - 1)
    rows = []
    for coupling, low, high in (("orthodox", "LP", "HP"), ("unorthodox", "LPG", "HPG")):
        for u in config.us:
            schedule = Schedule("fixed", u=abs(u), family=low if u >= 0 else high)
            v = 1 - abs(u) if coupling == "orthodox" else 1.0
            m = buffers(schedule, omega, config.n_steps)
            for k, w in enumerate(omega):
                h = fit(m[-FIT:, k], w, config.n_steps - FIT + 1)
                rows.append(
                    {
                        "coupling": coupling,
                        "u": u,
                        "k": k,
                        "omega": float(w),
                        "gain": float(magnitude(u, v, w)),
                        "measured": abs(h),
                        "phase": float(phase(u, v, w)),
                        "measured_phase": float(np.angle(h)),
                    }
                )
    return rows
