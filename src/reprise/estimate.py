"""A number with its interval: means, paired differences, ratios, slopes, proportions."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
LOG_RATIOS = "t-interval of log ratios"


@dataclass(frozen=True)
class Estimate:
    """A measured number and how well it is known.

    Attributes
    ----------
    value : the number
    low, high : ends of the interval; equal to `value` for an exact one
    level : confidence level of the interval
    se : standard error; None where the interval doesn't come from one
    df : degrees of freedom of a t-interval; None elsewhere
    n : how many seeds, pairs or items it rests on
    how : how it was made, in words
    unit : unit of value and interval
    """

    value: float
    low: float
    high: float
    level: float = 0.95
    se: float | None = None
    df: float | None = None
    n: int = 1
    how: str = ""
    unit: str = ""

    def __post_init__(self) -> None:
        for name in ("value", "low", "high"):
            if math.isnan(getattr(self, name)):
                raise ValueError(f"`{name}` must be a number, got nan ({self.how})")
        if not self.low <= self.value <= self.high:
            raise ValueError(
                f"`low` <= `value` <= `high` must hold, got {self.low}, {self.value}, {self.high}"
            )
        if not 0 < self.level < 1:
            raise ValueError(f"`level` must lie in (0, 1), got {self.level}")
        if self.n < 1:
            raise ValueError(f"`n` must be at least 1, got {self.n}")

    @property
    def exact(self) -> bool:
        """Whether there is no interval: nothing random went in."""
        return self.how.startswith("exact")

    def at(self, level: float) -> Estimate:
        """Return the same estimate with its t-interval (of logs, for a ratio) at another level.

        Raises
        ------
        ValueError
            When its interval doesn't come from the t distribution.
        """
        if self.exact or level == self.level:
            return self
        if self.df is None or (self.se is None and self.how != LOG_RATIOS):
            raise ValueError(f"`level`: a {self.how} interval can't be remade at {level}")
        if self.se is None:
            from scipy import stats

            old, new = (float(stats.t.ppf(0.5 + x / 2, self.df)) for x in (self.level, level))
            factor = math.exp(math.log(self.high / self.low) / 2 * new / old)
            low, high = self.value / factor, self.value * factor
            return replace(self, low=low, high=high, level=level)
        return _t(self.value, self.se, self.df, self.n, self.how, self.unit, level)

    def text(self) -> str:
        """Return value and interval in few digits: "0.117 [0.082, 0.152]"."""
        if self.exact:
            return minus(f"{self.value:.4g}{_unit(self.unit)}")
        half = (self.high - self.low) / 2
        digits = max(0, 2 - math.floor(math.log10(half)) - 1) if 0 < half < math.inf else 3
        digits = min(digits, 6)
        value, low, high = (f"{x:.{digits}f}" for x in (self.value, self.low, self.high))
        return minus(f"{value} [{low}, {high}]{_unit(self.unit)}")


def minus(text: str) -> str:
    """Return a text with true minus signs in front of its numbers, but in their exponents."""
    return re.sub(r"(?<![\w.])-(?=\d)", "−", text)


def _unit(unit: str) -> str:
    return f" {unit}" if unit else ""


def _t(value: float, se: float, df: float, n: int, how: str, unit: str, level: float) -> Estimate:
    from scipy import stats

    half = float(stats.t.ppf(0.5 + level / 2, df)) * se
    return Estimate(value, value - half, value + half, level, se, df, n, how, unit)


def _vector(x: ArrayLike, name: str, least: int = 2) -> Array:
    x = np.asarray(x, dtype=np.float64)
    if x.ndim != 1 or len(x) < least:
        raise ValueError(f"`{name}` must be a vector of at least {least} values, got {x.shape}")
    if not np.isfinite(x).all():
        raise ValueError(f"`{name}` must be finite, got {x[~np.isfinite(x)][0]}")
    return x


def exact(value: float, *, unit: str = "", n: int = 1) -> Estimate:
    """Return a number that nothing random went into: its interval is itself."""
    return Estimate(float(value), float(value), float(value), n=n, how="exact", unit=unit)


def mean(
    x: ArrayLike, *, level: float = 0.95, unit: str = "", how: str = "t-interval of the mean"
) -> Estimate:
    """Return the mean over seeds with its t-interval.

    Parameters
    ----------
    x : shape (n,), one value per seed, n >= 2

    Raises
    ------
    ValueError
        For fewer than two values, or one that isn't finite.
    """
    x = _vector(x, "x")
    se = float(x.std(ddof=1)) / math.sqrt(len(x))
    return _t(float(x.mean()), se, len(x) - 1, len(x), how, unit, level)


def paired_difference(
    a: ArrayLike, b: ArrayLike, *, level: float = 0.95, unit: str = ""
) -> Estimate:
    """Return the mean of a - b over pairs, with the t-interval of the differences."""
    a, b = _vector(a, "a"), _vector(b, "b")
    if a.shape != b.shape:
        raise ValueError(f"`a` and `b` must be pairs, got {len(a)} and {len(b)} values")
    return mean(a - b, level=level, unit=unit, how="t-interval of the paired difference")


def difference(a: ArrayLike, b: ArrayLike, *, level: float = 0.95, unit: str = "") -> Estimate:
    """Return mean(a) - mean(b) of independent samples, with Welch's interval."""
    a, b = _vector(a, "a"), _vector(b, "b")
    va, vb = a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)
    if va + vb == 0:
        df = float(len(a) + len(b) - 2)
    else:
        df = float((va + vb) ** 2 / (va**2 / (len(a) - 1) + vb**2 / (len(b) - 1)))
    how = "Welch interval of the difference"
    value = float(a.mean() - b.mean())
    return _t(value, math.sqrt(va + vb), df, min(len(a), len(b)), how, unit, level)


def ratio(a: ArrayLike, b: ArrayLike, *, level: float = 0.95, unit: str = "") -> Estimate:
    """Return the geometric mean of a / b over pairs; the t-interval is of the log ratios."""
    a, b = _vector(a, "a"), _vector(b, "b")
    if a.shape != b.shape:
        raise ValueError(f"`a` and `b` must be pairs, got {len(a)} and {len(b)} values")
    for name, x in (("a", a), ("b", b)):
        if (x <= 0).any():
            raise ValueError(f"`{name}` must be positive for a ratio, got {x.min()}")
    logs = mean(np.log(a / b), level=level)
    value, low, high = (math.exp(x) for x in (logs.value, logs.low, logs.high))
    return Estimate(value, low, high, level, None, logs.df, logs.n, LOG_RATIOS, unit)


def slope(x: ArrayLike, y: ArrayLike, *, level: float = 0.95, unit: str = "") -> Estimate:
    """Return the mean slope of log y against log x; the t-interval is over the seeds' slopes.

    Parameters
    ----------
    x : shape (k,), positive, the same for all seeds
    y : shape (n, k), positive, one row per seed
    """
    x = _vector(x, "x")
    y = np.asarray(y, dtype=np.float64)
    if y.ndim != 2 or y.shape[1] != len(x):
        raise ValueError(f"`y` must have shape (seeds, {len(x)}), got {y.shape}")
    for name, values in (("x", x), ("y", y)):
        if not (values > 0).all():
            raise ValueError(f"`{name}` must be positive on log axes, got {values.min()}")
    slopes = np.polyfit(np.log(x), np.log(y.T), 1)[0]
    return mean(slopes, level=level, unit=unit, how="t-interval of the seeds' slopes")


def bootstrap(
    x: ArrayLike,
    *,
    rng: np.random.Generator,
    statistic: Callable[..., object] = np.mean,
    level: float = 0.95,
    unit: str = "",
) -> Estimate:
    """Return a statistic over items with its bias-corrected (BCa) bootstrap interval.

    Raises
    ------
    ValueError
        For fewer than 20 items: use a t-interval there.
    """
    from scipy import stats

    x = _vector(x, "x", least=20)
    value = float(statistic(x))
    if np.ptp(x) == 0:
        return Estimate(value, value, value, level, 0.0, None, len(x), "bootstrap", unit)
    found = stats.bootstrap((x,), statistic, confidence_level=level, rng=rng, vectorized=False)
    low, high = (float(v) for v in found.confidence_interval)
    se = float(found.standard_error)
    return Estimate(
        value, min(low, value), max(high, value), level, se, None, len(x), "bootstrap", unit
    )


def wilson(successes: int, n: int, *, level: float = 0.95, unit: str = "") -> Estimate:
    """Return a proportion with Wilson's interval."""
    from statsmodels.stats.proportion import proportion_confint

    if n < 1 or not 0 <= successes <= n:
        raise ValueError(f"`successes` must lie in 0..n with n >= 1, got {successes} of {n}")
    low, high = proportion_confint(successes, n, alpha=1 - level, method="wilson")
    value = successes / n
    return Estimate(
        value, min(float(low), value), max(float(high), value), level, None, None, n, "Wilson", unit
    )


def paired(
    rows: pd.DataFrame,
    column: str,
    by: str,
    a: object,
    b: object,
    *,
    pair: Sequence[str] = ("seed",),
    level: float = 0.95,
    unit: str = "",
) -> Estimate:
    """Return the paired difference of two conditions of a tidy table.

    Parameters
    ----------
    rows : one row per condition and pair
    column : what is compared
    by : the column of conditions; `a` minus `b` of its values
    pair : the columns that make a pair

    Raises
    ------
    ValueError
        When the two conditions don't have the same pairs, once each.
    """
    sides = []
    for value in (a, b):
        side = rows[rows[by] == value].set_index(list(pair))[column].sort_index()
        if side.index.has_duplicates:
            raise ValueError(f"`rows`: {by}={value!r} has a pair of {tuple(pair)} twice")
        sides.append(side)
    if not sides[0].index.equals(sides[1].index):
        raise ValueError(
            f"`rows`: {by}={a!r} and {by}={b!r} must have the same {tuple(pair)}, got "
            f"{len(sides[0])} and {len(sides[1])} rows"
        )
    return paired_difference(sides[0].to_numpy(), sides[1].to_numpy(), level=level, unit=unit)
