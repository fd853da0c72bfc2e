"""The key figure: gain over frequency of two frozen filters and of one that tilts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reprise import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

NAMES = {"EMA": "EMA-SGDM", "Standard": "Standard-SGDM", "FSGDM": "FSGDM"}
LABELLED = (0.0, 0.03, 0.1, 0.3, 1.0)  # parts of the training whose curves are bold and named
# Frequencies in radians per step, and their periods 2 pi / omega in steps.
TICKS = {0.01: "0.01\n628", 0.1: "0.1\n63", 1.0: "1\n6", np.pi: "π\n2"}


@style.context()
def frequency_responses(
    responses: pd.DataFrame,
    axes: np.ndarray,
    *,
    title: str | None = "Two filters never change. FSGDM starts flat and tilts.",
    note: str | None = None,
) -> np.ndarray:
    """Draw the gain at each frequency: constant systems, and FSGDM stage by stage (key figure).

    Parameters
    ----------
    responses : as `responses.frequency_responses`
    axes : three that share both axes
    """
    panels = style.panels(axes)
    for ax, name in zip(panels, ("EMA", "Standard", "FSGDM"), strict=True):
        style.plain_log(ax)
        ax.axhspan(1, 1e3, color=style.INK, alpha=0.05, lw=0)
        ax.axhline(1, color=style.INK, lw=1, alpha=0.55)
        own = responses[responses["system"] == name]
        if name == "FSGDM":
            _fan(ax, own)
        else:
            _still(ax, own)
        first, last = own["u"].iloc[0], own["u"].iloc[-1]
        us = f"{first:.3g} at all stages" if first == last else f"{first:.3g} → {last:.3g}"
        ax.set_title(f"{NAMES[name]}\n", fontweight="bold", linespacing=1.35)
        if name == "FSGDM":
            ax.title.set_color(style.METHOD)
        style.note(
            ax, f"u = {us}", (0, 1), xycoords="axes fraction", offset=(0, 5), va="bottom",
            size=style.SMALL,
        )  # fmt: skip
    panels[0].set_xlim(responses["omega"].min(), np.pi)
    panels[0].set_ylim(0.036, 110)
    panels[0].set_ylabel("gain |H(ω)|")
    panels[0].set_xticks(list(TICKS), list(TICKS.values()))
    panels[1].set_xlabel("frequency ω, radians per optimizer step;\nbelow it, its period in steps")
    for text, y in (("amplified", 0.93), ("damped", 0.07)):
        style.note(panels[0], text, (0, y), xycoords="axes fraction", offset=(5, 0), alpha=0.8)
    style.title(axes, title, note)
    return axes


def _still(ax: Axes, own: pd.DataFrame) -> None:
    """Draw a system that is the same at all stages."""
    row = own.iloc[0]
    ax.plot(own["omega"], own["gain"], color=style.INK, lw=2.4)
    _half_power(ax, row, style.INK)
    style.note(
        ax, f"×{row['dc']:.3g}", (row["omega"], row["dc"]), offset=(5, 10), fontweight="bold",
        size=style.SIZE,
    )  # fmt: skip


def _fan(ax: Axes, own: pd.DataFrame) -> None:
    """Draw the stages of a system, a few of them bold with their gain at zero frequency."""
    stages = own.groupby("progress", as_index=False).first()
    bold = {
        float(stages["progress"].iloc[(stages["progress"] - at).abs().idxmin()]) for at in LABELLED
    }
    labels = []
    for progress, curve in own.groupby("progress"):
        color = style.PROGRESS(progress)
        strong = progress in bold
        ax.plot(
            curve["omega"], curve["gain"], color=color, lw=2.2 if strong else 0.8,
            alpha=1 if strong else 0.7, zorder=3 if strong else 2,
        )  # fmt: skip
        row = curve.iloc[0]
        if strong:
            when = {0.0: "start", 1.0: "end"}.get(progress, f"{progress:.0%}".replace("%", " %"))
            labels.append((f"{when}  ×{row['dc']:.2g}", row["omega"], row["dc"], color))
    end = own[own["progress"] == own["progress"].max()].iloc[0]
    _half_power(ax, end, style.PROGRESS(1.0))
    style.label_lines(ax, labels, side="left", gap=4)


def _half_power(ax: Axes, row: pd.Series, color: object) -> None:
    at = (row["half_power"], row["dc"] / np.sqrt(2))
    ax.plot(*at, "o", color=color, ms=7, mec=style.PAPER, mew=1.2, zorder=5)
    style.note(
        ax, f"half power:\n{2 * np.pi / row['half_power']:.0f} steps", at, offset=(-3, 24),
        color=color, linespacing=1.15,
    )  # fmt: skip
