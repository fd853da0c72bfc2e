"""The chapter's figures: tidy frames and Axes in, Axes out; they compute nothing.

Here are those of exact curves; the others come from the modules imported here. A frame that is
None (a table that doesn't exist yet) leaves a strip that says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reprise import style
from reprise.fsgdm.figures_beyond import control, language_and_control, spectra
from reprise.fsgdm.figures_key import frequency_responses
from reprise.fsgdm.figures_trained import (
    FAMILIES,
    plane,
    plane_shape,
    study,
    study_shape,
    three_optimizers,
    three_shape,
    tuned,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    Panels = np.ndarray | Axes

__all__ = [
    "closed_loop",
    "control",
    "families",
    "frequency_responses",
    "language_and_control",
    "measured_gains",
    "plane",
    "plane_shape",
    "spectra",
    "study",
    "study_shape",
    "three_optimizers",
    "three_shape",
    "tuned",
]


@style.context()
def families(
    toy: pd.DataFrame,
    axes: Panels,
    *,
    title: str | None = "Low-pass keeps the slow wave, high-pass the noise",
    note: str | None = None,
) -> Panels:
    """Draw a noisy gradient and what each family makes of it.

    Parameters
    ----------
    toy : as `responses.toy_gradient`
    axes : four, rows coupled / with gain, columns low-pass / high-pass
    """
    panels = style.panels(axes)
    for ax, family in zip(panels, ("LP", "HP", "LPG", "HPG"), strict=True):
        own = toy[toy["family"] == family]
        color = style.METHOD if family == "LPG" else style.BASELINES[0]
        ax.plot(own["t"], own["gradient"], color=style.INK, alpha=0.4, lw=0.8)
        ax.plot(own["t"], own["output"], color=color, lw=2 if family.startswith("L") else 0.9)
        ax.set_title(f"{family}: {FAMILIES[family]}")
        ax.set_xlim(0, own["t"].max())
    for ax in panels[2:]:
        ax.set_xlabel("optimizer step")
    for ax in panels[::2]:
        ax.set_ylabel("g (grey) and m")
    style.title(axes, title, note)
    return axes


@style.context()
def measured_gains(
    rows: pd.DataFrame | None,
    curves: pd.DataFrame | None,
    axes: Panels,
    *,
    title: str | None = None,
    note: str | None = None,
) -> Panels:
    """Draw measured gains on the predicted curves, coupled and decoupled.

    Parameters
    ----------
    rows : table of e1
    curves : as `responses.gain_curves`
    axes : two that share both axes
    """
    if style.missing(rows, axes):
        return axes
    panels = style.panels(axes)
    names = {"orthodox": "coupled, v = 1 − |u|", "unorthodox": "decoupled, v = 1"}
    for ax, (coupling, name) in zip(panels, names.items(), strict=True):
        style.plain_log(ax, "y")
        ax.axhspan(1, 1e3, color=style.INK, alpha=0.05, lw=0)
        ax.axhline(1, color=style.INK, lw=1, alpha=0.6)
        labels = []
        for u, curve in curves[curves["coupling"] == coupling].groupby("u"):
            color = style.INK if u < 0 else style.PROGRESS(u / 0.9)
            own = rows[(rows["coupling"] == coupling) & (rows["u"] == u)]
            ax.plot(curve["omega"], curve["gain"], color=color, lw=1.4)
            ax.plot(
                own["omega"], own["measured"], "o", color=color, ms=5.5, mec=style.PAPER, mew=0.7,
                clip_on=False, zorder=4,
            )  # fmt: skip
            labels.append((f"{u:g}".replace("-", "−"), np.pi, curve["gain"].iloc[-1], color))
        style.label_lines(ax, labels, gap=7)
        style.note(ax, "u", (1, 1), xycoords="axes fraction", offset=(8, 6))
        ax.set_xticks([0, np.pi / 2, np.pi], ["0", "π/2", "π"])
        ax.set_title(name)
        ax.set_xlabel("ω, radians per step")
    panels[0].set_xlim(0, np.pi)
    panels[0].set_ylim(0.04, 13)
    panels[0].set_ylabel("gain |H(ω)|")
    style.title(axes, title, note)
    return axes


@style.context()
def closed_loop(
    loops: pd.DataFrame,
    ax: Axes,
    *,
    title: str | None = "The loop cancels what is slow, and rings when u is near 1",
    note: str | None = None,
) -> Axes:
    """Draw the gain from gradient noise to the buffer, in open loop (dashed) and closed.

    Parameters
    ----------
    loops : as `responses.closed_loop`
    """
    style.plain_log(ax)
    ax.axhspan(1, 1e3, color=style.INK, alpha=0.05, lw=0)
    ax.axhline(1, color=style.INK, lw=1, alpha=0.6)
    labels = []
    us = sorted(loops["u"].unique())
    for i, u in enumerate(us):
        color = style.PROGRESS(i / max(1, len(us) - 1))
        for loop, own in loops[loops["u"] == u].groupby("loop"):
            dashed = loop == "open"
            ax.plot(
                own["omega"], own["gain"], color=color, lw=1.4 if dashed else 2.4,
                ls=(0, (4, 2)) if dashed else "-",
            )  # fmt: skip
            if dashed:
                labels.append((f"u = {u:g}", own["omega"].iloc[0], own["gain"].iloc[0], color))
    style.label_lines(ax, labels, side="left")
    ax.set_xlim(loops["omega"].min(), np.pi)
    ax.set_ylim(0.05, 80)
    ax.yaxis.tick_right()
    ax.yaxis.set_label_position("right")
    ax.spines["left"].set_visible(False)
    ax.spines["right"].set_visible(True)
    ax.set_xlabel("ω, radians per step")
    ax.set_ylabel("gain from noise to buffer")
    handles = [
        ax.plot([], [], color=style.INK, lw=1.4, ls=(0, (4, 2)), label="open loop, |H(ω)|")[0],
        ax.plot([], [], color=style.INK, lw=2.4, label="closed over the quadratic")[0],
    ]
    ax.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderpad=0)
    style.title(ax, title, note)
    return ax
