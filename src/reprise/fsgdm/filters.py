"""Momentum as a first-order filter over training time: responses, gains, exact memory."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def _check(u: float, omega: ArrayLike = 0.0) -> Array:
    if not abs(u) < 1:
        raise ValueError(f"`u` must lie strictly between -1 and 1 (a stable filter), got {u}")
    omega = np.asarray(omega, dtype=np.float64)
    outside = ~((omega >= 0) & (omega <= np.pi))
    if outside.any():
        raise ValueError(
            f"`omega` must lie in [0, pi] radians per step, got {omega[outside].flat[0]}"
        )
    return omega


def transfer(u: float, v: float, omega: ArrayLike) -> NDArray[np.complex128]:
    """Return the response H = v / (1 - u e^{-i omega}) of `m_t = u m_{t-1} + v g_t` (Method 1).

    Parameters
    ----------
    u : momentum coefficient, |u| < 1
    v : gradient coefficient
    omega : shape (F,), in [0, pi] radians per optimizer step; 0 a constant gradient, pi one that
        flips its sign at each step

    Raises
    ------
    ValueError
        For |u| >= 1 or a frequency outside [0, pi].
    """
    omega = _check(u, omega)
    return v / (1 - u * np.exp(-1j * omega))


def magnitude(u: float, v: float, omega: ArrayLike) -> Array:
    """Return the gain |H| = |v| / sqrt(1 - 2 u cos(omega) + u^2), shape (F,) (Method 1).

    Examples
    --------
    >>> float(magnitude(0.9, 1, 0).round(6)), float(magnitude(0.9, 1, math.pi).round(6))
    (10.0, 0.526316)
    """
    omega = _check(u, omega)
    # Equal to the formula, without its cancellation where |u| is near 1 and the response peaks:
    # at omega = 0 for a low-pass, at pi for a high-pass.
    from_peak = np.sin(omega / 2) if u >= 0 else np.cos(omega / 2)
    square = (1 - abs(u)) ** 2 + 4 * abs(u) * from_peak**2
    return abs(v) / np.sqrt(square)


def phase(u: float, v: float, omega: ArrayLike) -> Array:
    """Return the phase of H in radians, shape (F,): negative when the output lags (Method 1)."""
    omega = _check(u, omega)
    lag = np.arctan2(u * np.sin(omega), 1 - u * np.cos(omega))
    return (0.0 if v >= 0 else np.pi) - lag


def dc_gain(u: float, v: float) -> float:
    """Return the signed gain v / (1 - u) of a constant gradient."""
    _check(u)
    return v / (1 - u)


def nyquist_gain(u: float, v: float) -> float:
    """Return the signed gain v / (1 + u) of a gradient that flips at each step."""
    _check(u)
    return v / (1 + u)


def noise_gain(u: float, v: float) -> float:
    """Return v^2 / (1 - u^2): the variance of m per variance of a white gradient (Method 4)."""
    _check(u)
    return v**2 / (1 - u**2)


def half_power_frequency(u: float) -> float:
    """Return where a low-pass falls to half of its power at 0, in radians per step (Method 4).

    `cos w = (4u - 1 - u^2) / (2u)`; nan when the response never falls that far below pi, for
    u < 3 - 2 sqrt(2) = 0.17157.
    """
    _check(u)
    if u < 3 - 2 * math.sqrt(2):
        return math.nan
    # 1 - cos w = (1-u)^2 / (2u): the half-angle form stays exact as u nears 1.
    return 2 * math.asin(min(1.0, (1 - u) / (2 * math.sqrt(u))))


def is_orthodox(u: float, v: float) -> bool:
    """Return whether no frequency is amplified: |H| <= 1 everywhere, that is |v| <= 1 - |u|."""
    _check(u)
    return abs(v) <= 1 - abs(u) + 1e-12


def _sequences(u: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
    u, v = (np.asarray(x, dtype=np.float64) for x in (u, v))
    if u.ndim != 1 or u.shape != v.shape:
        raise ValueError(f"`u` and `v` must be vectors of one length, got {u.shape}, {v.shape}")
    return u, v


def impulse_response(u: ArrayLike, v: ArrayLike) -> Array:
    """Return the exact memory h(n, j) = v_j prod_{i=j+1..n} u_i of changing coefficients.

    Method 4: `m_n = sum_j h(n, j) g_j` from a zero buffer; no quasi-stationary approximation.

    Parameters
    ----------
    u, v : shape (T,), the coefficients of each step; u_0 meets the zero buffer

    Returns
    -------
    shape (T, T), lower triangular
    """
    u, v = _sequences(u, v)
    h = np.zeros((len(u), len(u)))
    row = np.zeros(len(u))
    for n in range(len(u)):
        row = u[n] * row
        row[n] = v[n]
        h[n] = row
    return h


def filter_sequence(g: ArrayLike, u: ArrayLike, v: ArrayLike) -> Array:
    """Return m of `m_t = u_t m_{t-1} + v_t g_t` from a zero buffer (Method 1).

    Parameters
    ----------
    g : shape (T, ...), gradients over time
    u, v : shape (T,)

    Returns
    -------
    shape (T, ...)
    """
    u, v = _sequences(u, v)
    g = np.asarray(g, dtype=np.float64)
    if g.shape[:1] != u.shape:
        raise ValueError(f"`g` must have {len(u)} steps first, as `u`, got shape {g.shape}")
    m = np.empty_like(g)
    last = np.zeros(g.shape[1:])
    for t in range(len(u)):
        last = u[t] * last + v[t] * g[t]
        m[t] = last
    return m
