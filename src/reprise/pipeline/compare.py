"""Compare a fresh result table with the stored one, column by column, each by its tolerance.

| tolerance       | equal when                                                             |
|-----------------|------------------------------------------------------------------------|
| `exact`         | the same value                                                         |
| `rtol:x`        | abs(new - old) <= x * max(abs(old), abs(new))                          |
| `statistical:k` | per condition (the keys without `seed`): the means differ by at most k |
|                 | standard errors of their difference, from the stored spread over seeds |
| `timing`        | never compared                                                         |

Another processor rounds otherwise, and training makes that a run of its own: both means are random.
Few seeds tell little of a condition's spread, at worst nothing where all ended alike; so it counts
for no less than the upper quartile of the column's conditions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

TOLERANCE = re.compile(r"^(exact|timing|(?:rtol|statistical):(?:\d+\.?\d*|\.\d+)(?:e-?\d+)?)$")
# Where no stored seeds differ (or there is one), rounding is all that may move; it is that of the
# column's largest numbers, since a sum that should be 0 has no size of its own.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Column:
    """What the comparison of one column found."""

    column: str
    tolerance: str
    compared: int  # rows, or conditions of a statistical column
    moved: int  # of them, how many differ at all
    failed: int  # of them, how many by more than the tolerance
    share: float  # the largest difference, in units of the tolerance
    old: object = None  # the values where the share is largest
    new: object = None
    where: str = ""  # its keys

    @property
    def ok(self) -> bool:
        """Whether nothing moved further than the column's tolerance."""
        return not self.failed


def parse_tolerance(text: str) -> tuple[str, float]:
    """Return kind and size of a declared tolerance.

    Raises
    ------
    ValueError
        When it is none of the four.
    """
    if not TOLERANCE.match(text):
        raise ValueError(
            f"a tolerance must be exact, rtol:x, statistical:k or timing, got {text!r}"
        )
    kind, _, size = text.partition(":")
    return kind, float(size or 0)


def tables(
    old: pd.DataFrame, new: pd.DataFrame, keys: Sequence[str], tolerances: dict[str, str]
) -> list[Column]:
    """Return the comparison of every declared column; rows are matched by `keys`.

    Parameters
    ----------
    old, new : the stored and the fresh table
    keys : columns that identify a row, `seed` among them where there is one
    tolerances : the tolerance of every other column
    """
    keys = list(keys)
    found = []
    both = [column for column in tolerances if column in old and column in new]
    for column in sorted({*old.columns, *new.columns, *tolerances, *keys} - {*both, *keys}):
        side = "stored" if column not in old else "fresh"
        if column in old or column in new:
            found.append(
                _problem(column, tolerances.get(column, "none"), f"not in the {side} table")
            )
    if lacking := [key for key in keys if key not in old or key not in new]:
        return [*found, _problem(", ".join(lacking), "key", "not in both tables")]
    old, new = old.set_index(keys, drop=True), new.set_index(keys, drop=True)
    # Row order doesn't matter; a row that only one table has does.
    for name, lost in (
        ("rows no longer made", old.index.difference(new.index, sort=False)),
        ("rows not in the reference", new.index.difference(old.index, sort=False)),
    ):
        if len(lost):
            first = _where(keys, lost[0])
            found.append(_problem("(rows)", "key", f"{len(lost)} {name}, first: {first}"))
    shared = old.index.intersection(new.index, sort=False)
    if not len(shared):
        return found
    old, new = old.loc[shared], new.loc[shared]
    return found + [_column(old[c], new[c], keys, c, tolerances[c]) for c in both]


def _problem(column: str, tolerance: str, where: str) -> Column:
    return Column(column, tolerance, 0, 1, 1, float("inf"), where=where)


def _column(old: pd.Series, new: pd.Series, keys: list[str], column: str, tolerance: str) -> Column:
    kind, size = parse_tolerance(tolerance)
    if kind == "timing":
        return Column(column, tolerance, 0, 0, 0, 0.0)
    numbers = _is_number(old) and _is_number(new)
    conditions = [key for key in keys if key != "seed"]
    if kind == "statistical" and numbers:
        old, new, allowed = _means(old, new, conditions, size)
        keys = conditions
    elif kind == "rtol" and numbers:
        allowed = size * np.maximum(np.abs(old.to_numpy(float)), np.abs(new.to_numpy(float)))
    else:
        allowed = np.zeros(len(old))
    if numbers:
        a, b = old.to_numpy(float), new.to_numpy(float)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        with np.errstate(invalid="ignore", divide="ignore"):
            gap = np.where(same, 0.0, np.abs(a - b))
            gap = np.where(np.isnan(gap), np.inf, gap)  # a number against none
            share = np.where(gap == 0, 0.0, np.where(allowed > 0, gap / allowed, np.inf))
            share = np.where(np.isinf(gap), np.inf, share)
    else:
        a, b = old.astype(object).to_numpy(), new.astype(object).to_numpy()
        absent = old.isna().to_numpy() & new.isna().to_numpy()
        share = np.where((a == b) | absent, 0.0, np.inf)
    worst = int(np.argmax(share))
    return Column(
        column=column,
        tolerance=tolerance,
        compared=len(share),
        moved=int((share > 0).sum()),
        failed=int((share > 1).sum()),
        share=float(share[worst]),
        old=_plain(old.iloc[worst]),
        new=_plain(new.iloc[worst]),
        where=_where(keys, old.index[worst]) if keys else "",
    )


def _means(
    old: pd.Series, new: pd.Series, conditions: list[str], k: float
) -> tuple[pd.Series, pd.Series, np.ndarray]:
    """Return both tables' means per condition and how far they may lie apart."""
    # Means are over finite values; where one table has none and the other a number, or another
    # kind of none, the whole condition fails.
    before, after = old.to_numpy(float), new.to_numpy(float)
    finite = np.isfinite(before) & np.isfinite(after)
    same = (before == after) | (np.isnan(before) & np.isnan(after))
    new = new.astype(float).where(finite, np.where(same, np.nan, np.inf))
    old = old.astype(float).where(finite)
    if conditions:
        a, b = (s.groupby(level=conditions, sort=False, dropna=False) for s in (old, new))
    else:
        one = np.zeros(len(old), int)
        a, b = old.groupby(one), new.groupby(one)
    means = [g.mean() for g in (a, b)]
    spread = a.std(ddof=1).to_numpy(float)  # one seed: none
    known = spread[np.isfinite(spread)]
    spread = np.maximum(np.nan_to_num(spread), np.quantile(known, 0.75) if known.size else 0.0)
    error = spread * np.sqrt(2 / np.maximum(a.count().to_numpy(float), 1))
    size = np.nan_to_num(np.abs(means[0].to_numpy(float))).max(initial=0.0)
    return means[0], means[1], np.maximum(k * error, ROUNDING * size)


def _is_number(values: pd.Series) -> bool:
    return values.dtype.kind in "iuf"


def _plain(value: object) -> object:
    return value.item() if hasattr(value, "item") else value


def _where(keys: list[str], index: object) -> str:
    values = index if isinstance(index, tuple) else (index,)
    return ", ".join(f"{key}={_plain(value)}" for key, value in zip(keys, values, strict=True))
