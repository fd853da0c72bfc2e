"""The filter in its loop: momentum on a quadratic, where the gradient answers to the step.

`g_t = h x_{t-1} + n_t`, `m_t = u m_{t-1} + v g_t`, `x_t = x_{t-1} - lr m_t`, with curvature h and
gradient noise n. The characteristic polynomial is z^2 - (1 + u - lr v h) z + u.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reprise.fsgdm.filters import _check


def _check_loop(v: float, lr: float, h: float) -> None:
    for name, value in (("v", v), ("lr", lr), ("h", h)):
        if not value > 0:
            raise ValueError(f"`{name}` must be positive, got {value}")


def poles(u: float, v: float, lr: float, h: float) -> NDArray[np.complex128]:
    """Return the two poles of the loop, shape (2,); it is stable when both lie inside the circle.

    Raises
    ------
    ValueError
        For |u| >= 1, or v, lr or h <= 0.
    """
    _check(u)
    _check_loop(v, lr, h)
    return np.roots([1.0, -(1 + u - lr * v * h), u]).astype(np.complex128)


def critical_step(u: float, v: float) -> float:
    """Return the largest stable lr * h, 2 (1 + u) / v (Beyond 3)."""
    _check(u)
    if not v > 0:
        raise ValueError(f"`v` must be positive, got {v}")
    return 2 * (1 + u) / v


def loop_gain(u: float, v: float, lr: float, h: float, omega: ArrayLike) -> NDArray[np.float64]:
    """Return the gain from gradient noise to the buffer m with the loop closed, shape (F,).

    `|v (1 - e^{-iw})| / |(1 - e^{-iw}) (1 - u e^{-iw}) + lr v h e^{-iw}|`: zero at w = 0, where
    the loop cancels any constant push, and peaked where the open loop's gain says nothing.

    Parameters
    ----------
    u, v : coefficients
    lr : learning rate
    h : curvature, so that lr * h has no unit
    omega : shape (F,), radians per step in [0, pi]
    """
    omega = _check(u, omega)
    _check_loop(v, lr, h)
    back = np.exp(-1j * omega)
    return np.abs(v * (1 - back) / ((1 - back) * (1 - u * back) + lr * v * h * back))
