"""The momentum systems that the chapter compares, by name."""

from __future__ import annotations

from reprise.fsgdm.optim import FirstStep
from reprise.fsgdm.schedules import Schedule


def three(name: str, *, c: float = 0.033, v: float = 1.0) -> tuple[Schedule, FirstStep]:
    """Return the schedule and first buffer of "EMA", "Standard" or "FSGDM" (Method 1 and 3).

    Raises
    ------
    ValueError
        For another name.
    """
    if name == "EMA":
        return Schedule("fixed", u=0.9, family="LP"), "scaled"
    if name == "Standard":
        return Schedule("fixed", u=0.9, family="LPG"), "scaled"
    if name == "FSGDM":
        return Schedule("rising", mu=c, family="LPG", v=v), "gradient"
    raise ValueError(f"`name` must be 'EMA', 'Standard' or 'FSGDM', got {name!r}")


def study(family: str, sequence: str, value: float) -> Schedule:
    """Return a system of the paper's study: `value` is u when fixed, else mu/Sigma."""
    if sequence == "fixed":
        return Schedule("fixed", u=value, family=family)
    return Schedule(sequence, mu=value, family=family)
