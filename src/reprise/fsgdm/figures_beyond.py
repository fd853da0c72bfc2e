"""The figures of language, control and what goes beyond the paper; `figures` exports them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reprise import style
from reprise.fsgdm.figures_trained import (
    COLORS,
    NAMES,
    NETS,
    label_rows,
    ordered,
    seeds_and_mean,
)

if TYPE_CHECKING:
    import pandas as pd

    from reprise.fsgdm.figures_trained import Panels


@style.context()
def language_and_control(
    e6: pd.DataFrame | None,
    e6_means: pd.DataFrame | None,
    e7: pd.DataFrame | None,
    e7_means: pd.DataFrame | None,
    axes: Panels,
    *,
    title: str | None = None,
    note: str | None = None,
) -> Panels:
    """Draw bits per character of two language models and returns of PPO, a dot per seed.

    Parameters
    ----------
    e6, e7 : as `summaries.final`
    e6_means, e7_means : as `summaries.means`, by net and optimizer; by optimizer
    axes : two
    """
    left, right = style.panels(axes)
    deep = max((_depth(rows) for rows in (e6, e7) if rows is not None), default=0)
    for ax, rows, means, column, label in (
        (left, e6, e6_means, "bits", "bits per character\n(lower is better)"),
        (right, e7, e7_means, "last_return", "mean return at the end\n(higher is better)"),
    ):
        if style.missing(rows, ax):
            continue
        labels: list[tuple[str, bool]] = []
        for group, own in rows.groupby(_group(rows), sort=False):
            labels.append((NETS.get(group, "double pendulum"), True))
            at = means[means["net"] == group] if "net" in means else means
            for name in ordered(own["optimizer"]):
                values = own.loc[own["optimizer"] == name, column].to_numpy()
                row = at.set_index("optimizer").loc[name]
                seeds_and_mean(ax, len(labels), values, row, name, horizontal=True)
                labels.append((name, False))
        label_rows(ax, labels, deep)
        ax.set_xlabel(label)
    style.title(axes, title, note)
    return axes


def _group(rows: pd.DataFrame) -> str:
    return "net" if "net" in rows else "task"


def _depth(rows: pd.DataFrame) -> int:
    """Return how many rows a table takes: one per condition and one per heading."""
    by = _group(rows)
    return len(rows[[by, "optimizer"]].drop_duplicates()) + rows[by].nunique()


@style.context()
def control(
    rates: pd.DataFrame,
    runs: pd.DataFrame | None,
    means: pd.DataFrame | None,
    axes: Panels,
    *,
    title: str | None = None,
    note: str | None = None,
) -> Panels:
    """Draw effective learning rates, and accuracy by momentum and effective learning rate.

    Parameters
    ----------
    rates : as `responses.effective_rates`
    runs : as `summaries.control` of b1
    means : as `summaries.means(runs, ["momentum", "rate"])`
    axes : two
    """
    left, right = style.panels(axes)
    for name, own in rates.groupby("system", sort=False):
        left.plot(100 * own["progress"], own["rate"], color=COLORS[name])
        peak = own.loc[own["rate"].idxmax()]
        style.note(
            left, name, (100 * peak["progress"], peak["rate"]), offset=(10, 6),
            color=COLORS[name], ha="left",
        )  # fmt: skip
    left.set_xlabel("training, %")
    left.set_ylabel("effective learning rate / α₀")
    left.set_xlim(0, 100)
    left.set_ylim(0, 1.12 * rates["rate"].max())
    if not style.missing(runs, right):
        labels = []
        sides = ("Standard", "FSGDM")
        for shift, momentum in zip((-0.2, 0.2), sides, strict=True):
            own = means[means["momentum"] == momentum].set_index("rate")
            places = {rate: i + shift for i, rate in enumerate(sides) if rate in own.index}
            for rate, at in places.items():
                values = runs[(runs["momentum"] == momentum) & (runs["rate"] == rate)]["points"]
                seeds_and_mean(right, at, values.to_numpy(), own.loc[rate], momentum, shift=0.05)
            if places:
                labels.append((momentum, 1.5, own["mean"].iloc[-1], COLORS[momentum]))
        style.label_lines(right, labels, gap=2)
        right.axvline(0.5, color=style.INK, lw=0.7, alpha=0.3)
        right.set_xticks([0, 1], ["Standard's", "FSGDM's"])
        right.set_xlim(-0.5, 1.5)
        right.tick_params(axis="x", length=0)
        right.grid(axis="x", visible=False)
        right.set_xlabel("effective learning rate")
        right.set_ylabel("test accuracy, %\n(higher is better)")
    style.title(axes, title, note)
    return axes


@style.context()
def spectra(
    spectra: pd.DataFrame | None,
    axes: Panels,
    *,
    title: str | None = None,
    note: str | None = None,
    half_power: float = 0.10545811702189975,
) -> Panels:
    """Draw power spectra of real gradients by third of the training, one plot per optimizer.

    Parameters
    ----------
    spectra : as `summaries.spectra` of b2
    axes : one for each optimizer, sharing the y axis
    half_power : where a dashed line stands: the half-power frequency of u = 0.9
    """
    if style.missing(spectra, axes):
        return axes
    panels = style.panels(axes)
    parts = {"early": 0.0, "middle": 0.5, "late": 1.0}
    wide = spectra["mean"].max() / spectra["mean"].min() > 100
    for ax, (name, own) in zip(panels, spectra.groupby("optimizer", sort=False), strict=True):
        style.plain_log(ax, "x")
        style.plain_log(ax, "y", subs="decades" if wide else "13")
        labels = []
        for part, where in parts.items():
            curve = own[own["part"] == part]
            color = style.PROGRESS(where)
            ax.plot(curve["frequency"], curve["mean"], color=color)
            ax.fill_between(
                curve["frequency"], curve["low"], curve["high"], color=color, alpha=0.2, lw=0
            )
            if len(curve):
                end = curve.iloc[-1]
                labels.append((part, end["frequency"], end["mean"], color))
        style.label_lines(ax, labels)
        ax.axvline(half_power, color=style.INK, ls=(0, (4, 3)), lw=1, alpha=0.7)
        ax.set_title(NAMES[name])
        ax.set_xlabel("ω, radians per step")
        ax.set_xlim(min(0.8 * half_power, own["frequency"].min()), np.pi)
    style.note(
        panels[0], "half power of u = 0.9", (half_power, 0), offset=(5, 9), ha="left",
        xycoords=panels[0].get_xaxis_transform(),
    )  # fmt: skip
    panels[0].set_ylabel("power density of the gradient")
    style.title(axes, title, note)
    return axes
