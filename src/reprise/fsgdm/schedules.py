"""How the momentum coefficients change during training: families, sequences, stages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

Kind = Literal["rising", "falling", "fixed"]
Family = Literal["LP", "HP", "LPG", "HPG"]
Steps = int | NDArray[np.int64]
Coefficient = float | NDArray[np.float64]

HIGH_PASS = ("HP", "HPG")
COUPLED = ("LP", "HP")


@dataclass(frozen=True)
class Schedule:
    """A momentum system of the paper's study (Method 2): a family and a sequence of u.

    Attributes
    ----------
    kind : whether u rises, falls or stays
    mu : mu/Sigma, how fast u rises or falls, relative to the length of training (= c for FSGDM)
    u : the constant coefficient in [0, 1) when `kind` is "fixed"; the family gives the sign
    family : LP and HP couple v = 1-|u|, LPG and HPG have their own v
    v : gradient coefficient of the gain families
    """

    kind: Kind
    mu: float | None = None
    u: float | None = None
    family: Family = "LPG"
    v: float = 1.0

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ValueError(f"`kind` must be one of {get_args(Kind)}, got {self.kind!r}")
        if self.family not in get_args(Family):
            raise ValueError(f"`family` must be one of {get_args(Family)}, got {self.family!r}")
        if self.kind == "fixed":
            if self.u is None or not 0 <= self.u < 1:
                raise ValueError(
                    f"`u` must lie in [0, 1) for a fixed sequence (the family gives the sign), "
                    f"got {self.u}"
                )
            if self.mu is not None:
                raise ValueError(f"`mu` belongs to rising and falling sequences, got {self.mu}")
        else:
            if self.mu is None or not 0 < self.mu < float("inf"):
                raise ValueError(f"`mu` must be positive (mu/Sigma), got {self.mu}")
            if self.u is not None:
                raise ValueError(f"`u` belongs to fixed sequences, got {self.u}")
        if not 0 < self.v < float("inf"):
            raise ValueError(
                f"`v` must be positive (v < 0 turns the phase by pi: steps uphill), got {self.v}"
            )
        if self.family in COUPLED and self.v != 1.0:
            raise ValueError(f"`v` belongs to LPG and HPG; {self.family} couples it, got {self.v}")


def stage_start(t: Steps, sigma: int, n_stages: int) -> Steps:
    """Return tau = floor(t/delta) delta with delta = floor(Sigma/N), for a step or an array.

    When Sigma isn't a multiple of N there are more than N stages, as in the released optimizer.

    Raises
    ------
    ValueError
        For n_stages < 1, sigma < n_stages, or t < 0.
    """
    if n_stages < 1:
        raise ValueError(f"`n_stages` must be at least 1, got {n_stages}")
    if sigma < n_stages:
        raise ValueError(
            f"`sigma` must be at least n_stages={n_stages} (a stage lasts sigma // n_stages "
            f"steps), got {sigma}"
        )
    if np.any(np.less(t, 0)):
        raise ValueError(f"`t` must not be negative, got {np.min(t)}")
    delta = sigma // n_stages
    return (t // delta) * delta


def coefficients(
    s: Schedule, t: Steps, sigma: int, n_stages: int
) -> tuple[Coefficient, Coefficient]:
    """Return (u_t, v_t) of a system, u with the sign of its family (Method 2).

    Parameters
    ----------
    s : the system
    t : optimizer steps >= 0 (the optimizers count from 1), an int or shape (T,)
    sigma : number of optimizer steps of the whole training
    n_stages : number of stages with constant coefficients

    Returns
    -------
    u, v : floats, or arrays like `t`
    """
    tau = stage_start(t, sigma, n_stages)
    if s.kind == "fixed":
        u = s.u if np.ndim(t) == 0 else np.full(np.shape(t), s.u)
    else:
        mu = s.mu * sigma
        if s.kind == "rising":
            u = tau / (tau + mu)
        else:
            # tau = 0 would make the first stage a pure integrator (or a buffer without input).
            u = mu / (np.maximum(tau, 1) + mu)
    if s.family in COUPLED:
        v = 1 - u
    else:
        v = s.v if np.ndim(t) == 0 else np.full(np.shape(t), s.v)
    return (-u if s.family in HIGH_PASS else u), v


def fsgdm_u(t: Steps, c: float, sigma: int, n_stages: int) -> Coefficient:
    """Return FSGDM's u_t = tau / (tau + c Sigma) (Method 3).

    Raises
    ------
    ValueError
        For c <= 0, and as `stage_start`.
    """
    if not c > 0:
        raise ValueError(f"`c` must be positive, got {c}")
    tau = stage_start(t, sigma, n_stages)
    return tau / (tau + c * sigma)


def c_from_gain(gain: float, v: float = 1.0) -> float:
    """Return the c whose low-frequency gain at the end of training is `gain`: v / (G - v).

    Solves v (1 + 1/c) = G. The released rule of thumb is G = 30.992.

    Raises
    ------
    ValueError
        Unless gain > v > 0.
    """
    if not v > 0:
        raise ValueError(f"`v` must be positive, got {v}")
    if not gain > v:
        raise ValueError(f"`gain` must exceed v={v}: the gain grows from v, got {gain}")
    return v / (gain - v)


def cosine(t: Steps, sigma: int, n_stages: int) -> Coefficient:
    """Return the factor (1 + cos(pi tau / Sigma)) / 2 of a learning rate annealed per stage."""
    return (1 + np.cos(np.pi * stage_start(t, sigma, n_stages) / sigma)) / 2
