"""The guide's worked example: how made-up accuracies become a verdict, by the book's own modules.

What the page shows is the source of `accuracies` and `verdict` below, and what they return.
"""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd

from reprise.estimate import Estimate, minus, paired
from reprise.rules import Verdict, sign
from reprise.verdicts import badge, number

# What the example varies, in words -> (seeds, true gain in points of accuracy).
CASES = {
    "a small gain, few seeds": (5, 0.6),
    "the same gain, more seeds": (30, 0.6),
    "a loss": (10, -1.5),
}


def accuracies(n_seeds: int, gain: float, seed: int = 4) -> pd.DataFrame:
    """Return made-up accuracies, in points, of a method and its baseline, paired by seed."""
    rng = np.random.default_rng(seed)
    common = rng.normal(90, 1.0, n_seeds)  # what the seed does to both
    own = rng.normal(0, 0.6, (2, n_seeds))
    return pd.DataFrame(
        {
            "method": np.repeat(["method", "baseline"], n_seeds),
            "seed": np.tile(np.arange(n_seeds), 2),
            "accuracy": np.concatenate([common + gain + own[0], common + own[1]]),
        }
    )


def verdict(rows: pd.DataFrame) -> tuple[Estimate, Verdict]:
    """Judge 'the method is more accurate than the baseline'."""
    gain = paired(rows, "accuracy", "method", "method", "baseline", unit="points")
    rule = sign("gain")  # reproduced when the whole interval lies above 0
    return gain, rule({"gain": gain})


def worked_example() -> str:
    """Return the example as Markdown: the source, and a table of what it gives in each case."""
    source = "\n\n\n".join(inspect.getsource(f).rstrip() for f in (accuracies, verdict))
    rows = []
    for name, (n_seeds, true) in CASES.items():
        gain, judged = verdict(accuracies(n_seeds, true))
        rows.append(
            f"| {name}: {n_seeds} seeds, true gain {minus(format(true, '+g'))} | {gain.text()} "
            f"| {number(judged.smallest_effect)} points | {badge(judged.status)} |"
        )
    head = "| case | gain and interval | smallest effect seen | verdict |\n|---|---|---|---|"
    return f"```python\n{source}\n```\n\n{head}\n" + "\n".join(rows)
