"""What the chapter says of outcomes beyond the claims: sentences that turn with the numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reprise.estimate import Estimate, mean, paired

if TYPE_CHECKING:
    import pandas as pd

POINTS = "points"


def _side(e: Estimate, ahead: str, behind: str, level: str) -> str:
    return ahead if e.low > 0 else behind if e.high < 0 else level


def control(rows: pd.DataFrame) -> str:
    """Return what the two controls of b1 say of filter against step size, in Markdown.

    Parameters
    ----------
    rows : the table of b1
    """
    runs = rows.assign(points=100 * rows["accuracy"])

    def compare(a: str, b: str) -> Estimate:
        return paired(runs, "points", "arm", a, b, unit=POINTS)

    plain = compare("FSGDM", "Standard")
    filtered = compare("FSGDM", "Standard as FSGDM")
    back = compare("FSGDM as Standard", "Standard")
    first = _side(
        filtered,
        "At the same effective learning rate the rising filter is still ahead of the fixed one",
        "At the same effective learning rate the fixed filter is ahead of the rising one",
        "At the same effective learning rate fixed and rising filter can't be told apart",
    )
    second = _side(
        back,
        "with the effective learning rate of Standard-SGDM the rising filter is ahead",
        "with the effective learning rate of Standard-SGDM the rising filter falls behind",
        "with the effective learning rate of Standard-SGDM neither can they",
    )
    if filtered.low <= 0 <= filtered.high and back.low <= 0 <= back.high:
        end = "What difference there is goes with the schedule of step sizes, not with the filter."
    elif filtered.low > 0 and back.low > 0:
        end = "The filter itself does something that no schedule of step sizes does."
    else:
        end = "Filter and step size don't come apart cleanly here."
    return (
        f"FSGDM minus Standard-SGDM is {plain.text()}. {first}: {filtered.text()}; {second}: "
        f"{back.text()}. {end}"
    )


def spectrum(rows: pd.DataFrame) -> str:
    """Return how the share of fast power in real gradients changes during training, in Markdown.

    Parameters
    ----------
    rows : the table of b2
    """
    shares = rows.drop_duplicates(["optimizer", "part", "seed"]).assign(
        percent=lambda r: 100 * r["above_half_power"]
    )
    parts = []
    for name, runs in shares.groupby("optimizer", sort=False):
        late = runs[runs["part"] == "late"]["percent"]
        grows = paired(runs, "percent", "part", "late", "early", unit=POINTS)
        change = _side(grows, "grows", "falls", "stays")
        parts.append(
            f"with {name} {mean(late).text()} % of the power late in training lies above the "
            f"half-power frequency of u = 0.9; from the first third to the last that share "
            f"{change} ({grows.text()})"
        )
    return f"{'; '.join(parts)[0].upper()}{'; '.join(parts)[1:]}."
