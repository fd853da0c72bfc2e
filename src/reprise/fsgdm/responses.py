"""Exact curves as tidy frames: responses, filtered toys, effective learning rates, loops."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from reprise.fsgdm.closed_loop import loop_gain
from reprise.fsgdm.filters import filter_sequence, half_power_frequency, magnitude
from reprise.fsgdm.schedules import Schedule, coefficients, cosine

LOWEST = np.pi / 1000  # radians per step: a period of 2000 steps


def _grid(n: int, lowest: float = LOWEST) -> np.ndarray:
    return np.minimum(np.geomspace(lowest, np.pi, n), np.pi)


def frequency_responses(
    c: float = 0.033, v: float = 1.0, *, n_stages: int = 300, every: int = 10, n_omega: int = 121
) -> pd.DataFrame:
    """Return the gain over frequency of EMA-SGDM, Standard-SGDM and the stages of FSGDM.

    Parameters
    ----------
    c, v : of FSGDM
    n_stages : stages of a training; the length of a stage doesn't matter (Proposition 1)
    every : one in so many stages is kept, the first and the last among them
    n_omega : frequencies, log-spaced from pi/1000 to pi

    Returns
    -------
    Columns system, progress (0 to 1), u, omega (radians per step), gain, dc (gain at 0), half_power
    (radians per step; nan where the response never falls that far). The constant systems have
    progress 0 alone.
    """
    if not 1 <= every <= n_stages:
        raise ValueError(f"`every` must lie in 1..{n_stages}, got {every}")
    omega = _grid(n_omega)
    stages = np.union1d(np.arange(0, n_stages + 1, every), [n_stages])
    rising, weight = coefficients(Schedule("rising", mu=c, v=v), stages, n_stages, n_stages)
    systems = [("EMA", 0.0, 0.9, 0.1), ("Standard", 0.0, 0.9, 1.0)]
    systems += [
        ("FSGDM", float(k / n_stages), float(u), float(w))
        for k, u, w in zip(stages, rising, weight, strict=True)
    ]
    return pd.concat(
        [
            pd.DataFrame(
                {
                    "system": name,
                    "progress": progress,
                    "u": u,
                    "omega": omega,
                    "gain": magnitude(u, w, omega),
                    "dc": w / (1 - u),
                    "half_power": half_power_frequency(u),
                }
            )
            for name, progress, u, w in systems
        ],
        ignore_index=True,
    )


def toy_gradient(
    u: float = 0.9, *, seed: int = 0, n_steps: int = 240, noise: float = 0.6
) -> pd.DataFrame:
    """Return a slow wave with white noise and what each of the four families makes of it.

    Parameters
    ----------
    u : coefficient of all families
    seed : of the noise
    n_steps : two periods of the wave
    noise : standard deviation; the wave's amplitude is 1

    Returns
    -------
    Columns family, t, gradient, output.
    """
    t = np.arange(1, n_steps + 1)
    rng = np.random.default_rng(seed)
    g = np.sin(4 * np.pi * t / n_steps) + noise * rng.standard_normal(n_steps)
    found = []
    for family in ("LP", "HP", "LPG", "HPG"):
        us, vs = coefficients(Schedule("fixed", u=u, family=family), t, n_steps, 1)
        m = filter_sequence(g, us, np.broadcast_to(vs, us.shape))
        found.append(pd.DataFrame({"family": family, "t": t, "gradient": g, "output": m}))
    return pd.concat(found, ignore_index=True)


def gain_curves(rows: pd.DataFrame | None, *, n_omega: int = 121) -> pd.DataFrame | None:
    """Return the predicted gains of the systems of e1 on a fine grid of [0, pi].

    Returns
    -------
    Columns coupling, u, omega, gain.
    """
    if rows is None:
        return None
    omega = np.linspace(0, np.pi, n_omega)
    found = []
    for (coupling, u), _ in rows.groupby(["coupling", "u"], sort=True):
        v = 1 - abs(u) if coupling == "orthodox" else 1.0
        gain = magnitude(u, v, omega)
        found.append(pd.DataFrame({"coupling": coupling, "u": u, "omega": omega, "gain": gain}))
    return pd.concat(found, ignore_index=True)


def effective_rates(c: float = 0.033, v: float = 1.0, *, n_stages: int = 300) -> pd.DataFrame:
    """Return the effective learning rate a_t v / (1 - u_t) of each stage, in units of a_0.

    Returns
    -------
    Columns system ("Standard", "FSGDM"), progress, rate.
    """
    stages = np.arange(n_stages + 1)
    annealed = cosine(stages, n_stages, n_stages)
    found = []
    for name, schedule in (
        ("Standard", Schedule("fixed", u=0.9)),
        ("FSGDM", Schedule("rising", mu=c, v=v)),
    ):
        u, w = coefficients(schedule, stages, n_stages, n_stages)
        rate = annealed * w / (1 - u)
        found.append(pd.DataFrame({"system": name, "progress": stages / n_stages, "rate": rate}))
    return pd.concat(found, ignore_index=True)


def closed_loop(
    us: Sequence[float] = (0.0, 0.9, 0.968), step: float = 0.01, *, n_omega: int = 241
) -> pd.DataFrame:
    """Return the gain from gradient noise to the buffer, in open loop and on a quadratic; v = 1.

    Parameters
    ----------
    us : momentum coefficients
    step : learning rate times curvature

    Returns
    -------
    Columns u, loop ("open", "closed"), omega, gain.
    """
    omega = _grid(n_omega)
    found = []
    for u in us:
        gains = {"open": magnitude(u, 1.0, omega), "closed": loop_gain(u, 1.0, step, 1.0, omega)}
        found += [
            pd.DataFrame({"u": u, "loop": loop, "omega": omega, "gain": gain})
            for loop, gain in gains.items()
        ]
    return pd.concat(found, ignore_index=True)
