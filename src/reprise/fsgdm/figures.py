"""The chapter's figures: tidy frames and Axes in, Axes out; they compute nothing.

A frame that is None (a table that doesn't exist yet) leaves an empty plot that says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reprise import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    Panels = np.ndarray | Axes

COLORS = {
    "FSGDM": style.METHOD,
    "Standard": style.BASELINES[0],
    "EMA": style.BASELINES[1],
    "Adam": style.BASELINES[2],
}
MARKERS = dict(zip(COLORS, style.MARKERS, strict=False))
NAMES = {"EMA": "EMA-SGDM", "Standard": "Standard-SGDM", "FSGDM": "FSGDM", "Adam": "Adam"}
ORDER = ("EMA", "Standard", "FSGDM", "Adam")
SETS = {"fashion": "Fashion-MNIST", "mnist": "MNIST", "digits": "UCI digits"}
NETS = {"resnet8": "residual net", "vgg_mini": "plain net", "mlp": "perceptron"}
NETS |= {"lstm": "LSTM", "transformer": "Transformer"}
FAMILIES = {
    "LP": "low-pass, coupled",
    "HP": "high-pass, coupled",
    "LPG": "low-pass with gain",
    "HPG": "high-pass with gain",
}
# What is known of the paper's study, per cent on CIFAR-100 with ResNet50. The lowest falling
# low-pass and the best rising ones are known without the rest of their sequences.
STUDY_OF_PAPER = {
    ("LP", "rising", 0.0085): 77.12,
    ("LP", "falling", None): 69.69,
    ("HP", "fixed", 0.9): 53.43,
    ("LPG", "rising", 0.085): 80.48,
}
ACCURACY = "test accuracy, % (higher is better)"


def _flat(axes: Panels) -> list[Axes]:
    return list(np.ravel(np.asarray(axes, dtype=object)))


def _end(axes: Panels, title: str | None, note: str | None) -> Panels:
    style.title(axes, title, note)
    return axes


def _empty(frame: pd.DataFrame | None, axes: Panels) -> bool:
    """Say so in the plots and return True when there is nothing to draw."""
    if frame is not None and len(frame):
        return False
    first, *rest = _flat(axes)
    style.blank(first)
    for ax in rest:
        ax.set_axis_off()
    return True


# --- exact -------------------------------------------------------------------------------------


@style.context()
def frequency_responses(
    responses: pd.DataFrame,
    axes: Panels,
    *,
    title: str | None = "Two filters never change; FSGDM starts flat and tilts",
    note: str | None = None,
) -> Panels:
    """Draw the gain at each frequency: constant systems, and FSGDM stage by stage (key figure).

    Parameters
    ----------
    responses : as `responses.frequency_responses`
    axes : three that share both axes
    """
    panels = _flat(axes)
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
    panels[0].set_xticks([0.01, 0.1, 1, np.pi], ["0.01\n628", "0.1\n63", "1\n6", "π\n2"])
    panels[1].set_xlabel("frequency ω, radians per optimizer step;\nbelow it, its period in steps")
    for text, y in (("amplified", 0.93), ("damped", 0.07)):
        style.note(panels[0], text, (0, y), xycoords="axes fraction", offset=(5, 0), alpha=0.8)
    return _end(axes, title, note)


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
        float(stages["progress"].iloc[(stages["progress"] - at).abs().idxmin()])
        for at in (0, 0.03, 0.1, 0.3, 1)
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
    panels = _flat(axes)
    for ax, family in zip(panels, ("LP", "HP", "LPG", "HPG"), strict=True):
        own = toy[toy["family"] == family]
        color = style.METHOD if family == "LPG" else style.BASELINES[0]
        ax.plot(own["t"], own["gradient"], color=style.INK, alpha=0.35, lw=0.8)
        ax.plot(own["t"], own["output"], color=color, lw=1.8)
        ax.set_title(f"{family}: {FAMILIES[family]}")
    for ax in panels[2:]:
        ax.set_xlabel("optimizer step")
    for ax in panels[::2]:
        ax.set_ylabel("gradient, buffer")
    return _end(axes, title, note)


@style.context()
def measured_gains(
    rows: pd.DataFrame,
    curves: pd.DataFrame,
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
    panels = _flat(axes)
    if _empty(rows, axes):
        return axes
    names = {"orthodox": "coupled, v = 1 − |u|", "unorthodox": "decoupled, v = 1"}
    for ax, (coupling, name) in zip(panels, names.items(), strict=True):
        style.plain_log(ax, "y")
        ax.axhline(1, color=style.INK, lw=1, alpha=0.6)
        labels = []
        for u, curve in curves[curves["coupling"] == coupling].groupby("u"):
            color = style.INK if u < 0 else style.PROGRESS(u / 0.9)
            own = rows[(rows["coupling"] == coupling) & (rows["u"] == u)]
            ax.plot(curve["omega"], curve["gain"], color=color, lw=1.4)
            ax.plot(
                own["omega"], own["measured"], "o", color=color, ms=5, mec=style.PAPER, mew=0.7,
                clip_on=False, zorder=4,
            )  # fmt: skip
            labels.append((f"{u:g}".replace("-", "−"), np.pi, curve["gain"].iloc[-1], color))
        style.label_lines(ax, labels, gap=7)
        style.note(ax, "u", (1, 1), xycoords="axes fraction", offset=(8, 4))
        ax.set_xlim(0, np.pi)
        ax.set_xticks([0, np.pi / 2, np.pi], ["0", "π/2", "π"])
        ax.set_title(name)
        ax.set_xlabel("ω, radians per step")
    panels[0].set_ylabel("gain |H(ω)|")
    return _end(axes, title, note)


@style.context()
def closed_loop(
    loops: pd.DataFrame,
    ax: Axes,
    *,
    title: str | None = "The loop cancels what is slow and rings when u is near 1",
    note: str | None = None,
) -> Axes:
    """Draw the gain from gradient noise to the buffer, in open loop (dashed) and closed.

    Parameters
    ----------
    loops : as `responses.closed_loop`
    """
    style.plain_log(ax)
    ax.axhline(1, color=style.INK, lw=1, alpha=0.6)
    labels = []
    us = sorted(loops["u"].unique())
    for i, u in enumerate(us):
        color = style.PROGRESS(i / max(1, len(us) - 1))
        for loop, own in loops[loops["u"] == u].groupby("loop"):
            dashed = loop == "open"
            ax.plot(
                own["omega"], own["gain"], color=color, lw=1.3 if dashed else 2.2,
                ls=(0, (4, 2)) if dashed else "-",
            )  # fmt: skip
            if dashed:
                labels.append((f"u = {u:g}", own["omega"].iloc[0], own["gain"].iloc[0], color))
    style.label_lines(ax, labels, side="left")
    ax.set_xlim(loops["omega"].min(), np.pi)
    ax.set_ylim(0.02, None)
    ax.yaxis.tick_right()
    ax.yaxis.set_label_position("right")
    ax.spines[["left"]].set_visible(False)
    ax.set_xlabel("frequency ω, radians per step")
    ax.set_ylabel("gain from noise to buffer")
    handles = [
        ax.plot([], [], color=style.INK, lw=1.3, ls=(0, (4, 2)), label="open loop: |H(ω)|")[0],
        ax.plot([], [], color=style.INK, lw=2.2, label="closed over the quadratic")[0],
    ]
    ax.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
    return _end(ax, title, note)


# --- trained -----------------------------------------------------------------------------------


def _seeds_and_mean(
    ax: Axes, at: float, values: np.ndarray, row: pd.Series, color: str, marker: str
) -> None:
    """Draw the seeds as small dots and beside them the mean with its interval."""
    ax.plot(
        np.full(len(values), at), values, marker, color=color, ms=4, alpha=0.55, mew=0, zorder=3
    )
    low, high = (row["mean"] if np.isnan(row[end]) else row[end] for end in ("low", "high"))
    style.interval(ax, at + 0.2, row["mean"], low, high, color=color, marker=marker)


@style.context()
def three_optimizers(
    runs: pd.DataFrame | None,
    means: pd.DataFrame | None,
    losses: pd.DataFrame | None,
    axes: Panels,
    *,
    title: str | None = None,
    note: str | None = None,
) -> Panels:
    """Draw last-epoch accuracy, seeds joined by lines, and the training loss.

    Parameters
    ----------
    runs : as `summaries.runs` of e2
    means : as `summaries.means(runs, ["problem", "optimizer"])`
    losses : as `summaries.losses` of e2
    axes : two for each problem, in the rows' order
    """
    if _empty(runs, axes):
        return axes
    problems = list(dict.fromkeys(runs["problem"]))
    panels = np.ravel(np.asarray(axes, dtype=object)).reshape(len(problems), 2)
    for (left, right), problem in zip(panels, problems, strict=True):
        own = runs[runs["problem"] == problem]
        names = [name for name in ORDER if name in set(own["optimizer"])]
        table = own.pivot_table(index="seed", columns="optimizer", values="points")[names]
        left.plot(range(len(names)), table.to_numpy().T, color=style.INK, alpha=0.3, lw=0.8)
        at = means[means["problem"] == problem].set_index("optimizer")
        for i, name in enumerate(names):
            _seeds_and_mean(
                left, i, table[name].to_numpy(), at.loc[name], COLORS[name], MARKERS[name]
            )
        left.set_xticks(range(len(names)), names)
        left.set_xlim(-0.35, len(names) - 0.5)
        left.grid(axis="x", visible=False)
        left.set_ylabel("test accuracy, %\n(higher is better)")
        curves = losses[losses["problem"] == problem]
        labels = []
        for name in names:
            curve = curves[curves["optimizer"] == name]
            right.plot(curve["step"], curve["mean"], color=COLORS[name])
            right.fill_between(
                curve["step"], curve["low"], curve["high"], color=COLORS[name], alpha=0.2, lw=0
            )
            end = curve.iloc[-1]
            labels.append((name, end["step"], end["mean"], COLORS[name]))
        style.label_lines(right, labels)
        right.set_xlim(0, curves["step"].max())
        right.set_ylim(0, None)
        right.set_ylabel("training loss\n(lower is better)")
        left.set_title(SETS.get(problem, problem))
    for ax in panels[-1]:
        ax.set_xlabel("optimizer step" if ax is panels[-1][1] else "")
    return _end(axes, title, note)


def study_height(study: pd.DataFrame | None) -> float:
    """Return the height in inches at which the rows of `study` can be read."""
    if study is None:
        return 1.5
    systems = study[["family", "sequence", "value"]].drop_duplicates()
    return 1.2 + 0.19 * (len(systems) + systems["family"].nunique())


@style.context()
def study(
    study: pd.DataFrame | None,
    axes: Panels,
    *,
    title: str | None = None,
    note: str | None = None,
) -> Panels:
    """Draw the accuracy of each system of the study, a row each, and the paper's known numbers.

    Parameters
    ----------
    study : as `summaries.study` of e3
    axes : one for each net, then one for the paper; they share the y axis
    """
    if _empty(study, axes):
        return axes
    panels = _flat(axes)
    *ours, paper = panels
    rows, labels = _study_rows(study)
    for ax, (net, own) in zip(ours, study.groupby("net", sort=False), strict=True):
        for row in own.itertuples():
            at = rows[row.family, row.sequence, row.value]
            best = (row.family, row.sequence) == ("LPG", "rising")
            color = style.METHOD if best else style.BASELINES[0]
            low, high = (
                (row.mean_ if np.isnan(x) else x for x in (row.low, row.high))
                if (hasattr(row, "mean_"))
                else (row.low, row.high)
            )
            style.interval(
                ax, at, row.mean, low, high, color=color, horizontal=True,
                marker="o" if row.chosen else "d",
            )  # fmt: skip
        ax.set_title(NETS.get(net, net))
        ax.set_xlabel("test accuracy, %")
    for (family, sequence, value), points in STUDY_OF_PAPER.items():
        same = [at for key, at in rows.items() if key[:2] == (family, sequence)]
        if same:
            at = rows.get((family, sequence, value), same[-1])
            paper.plot(points, at, "o", mfc=style.PAPER, mec=style.PAPER_VALUE, mew=1.6, ms=7)
    paper.set_title("the paper")
    paper.set_xlabel("CIFAR-100, %")
    panels[0].set_yticks([at for at, _ in labels], [text for _, text in labels])
    for ax in panels:
        ax.set_ylim(max(at for at, _ in labels) + 0.7, -0.7)
        ax.tick_params(axis="y", length=0)
        ax.grid(axis="y", visible=False)
        ax.spines["left"].set_visible(False)
    for (_, text), tick in zip(labels, panels[0].get_yticklabels(), strict=True):
        if ":" in text:
            tick.set_fontweight("bold")
    return _end(axes, title, note)


def _study_rows(
    study: pd.DataFrame,
) -> tuple[dict[tuple[str, str, float], int], list[tuple[int, str]]]:
    """Return where each system stands and the labels, a bold one above each family."""
    rows: dict[tuple[str, str, float], int] = {}
    labels: list[tuple[int, str]] = []
    at = 0
    systems = study[["family", "sequence", "value"]].drop_duplicates()
    for family in FAMILIES:
        own = systems[systems["family"] == family]
        if own.empty:
            continue
        labels.append((at, f"{family}: {FAMILIES[family]}"))
        at += 1
        for sequence in ("rising", "fixed", "falling"):
            for value in sorted(own.loc[own["sequence"] == sequence, "value"]):
                rows[family, sequence, value] = at
                labels.append((at, f"{sequence} {value:g}"))
                at += 1
    return rows, labels


@style.context()
def tuned(
    tuned: pd.DataFrame | None,
    ax: Axes,
    *,
    title: str | None = None,
    note: str | None = None,
) -> Axes:
    """Draw validation accuracy against the learning rate, and test accuracy at each one's best.

    Parameters
    ----------
    tuned : as `summaries.tuned` of e4
    """
    if _empty(tuned, ax):
        return ax
    style.plain_log(ax, "x", subs="13")
    tune, final = tuned[tuned["phase"] == "tune"], tuned[tuned["phase"] == "final"]
    labels = []
    for i, name in enumerate(n for n in ORDER if n in set(tune["optimizer"])):
        own = tune[tune["optimizer"] == name]
        ax.plot(own["lr"], own["mean"], color=COLORS[name], lw=1.6)
        ax.vlines(own["lr"] * 1.03**i, own["low"], own["high"], color=COLORS[name], lw=1, alpha=0.6)
        end = own.iloc[-1]
        labels.append((NAMES[name], end["lr"], end["mean"], COLORS[name]))
        for row in final[final["optimizer"] == name].itertuples():
            style.interval(
                ax, row.lr * 1.1 ** (i - 1), row.mean, row.low, row.high, color=COLORS[name],
                marker=MARKERS[name],
            )  # fmt: skip
    top = tuned["mean"].max()
    ax.set_ylim(max(0, tune["mean"].min() - 2, top - 30), min(100, top + 4))
    style.label_lines(ax, labels)
    ax.set_xlabel("base learning rate")
    ax.set_ylabel("accuracy, % (higher is better)")
    return _end(ax, title, note)


@style.context()
def plane(
    plane: pd.DataFrame | None,
    axes: Panels,
    *,
    title: str | None = None,
    note: str | None = None,
    gain: float = 30.992,
) -> Panels:
    """Draw accuracy over c and v, a heat map per problem, with the line of one final gain.

    Parameters
    ----------
    plane : as `summaries.plane` of e5
    axes : one for each problem
    gain : v (1 + 1/c) on the dashed line; the released rule of thumb
    """
    if _empty(plane, axes):
        return axes
    panels = _flat(axes)
    for ax, (problem, own) in zip(panels, plane.groupby("problem", sort=False), strict=True):
        cs, vs = sorted(own["c"].unique()), sorted(own["v"].unique())
        top = own["mean"].max()
        low = max(own["mean"].min(), top - 15)
        for row in own.itertuples():
            x, y = cs.index(row.c), vs.index(row.v)
            shade = 1.0 if top == low else np.clip((row.mean - low) / (top - low), 0, 1)
            ax.add_patch(
                _cell(x, y, style.HEAT(float(shade))),
            )
            ax.text(x, y, f"{row.mean:.1f}", ha="center", va="center", fontsize=style.SMALL + 0.5)
        ax.set_xlim(-0.5, len(cs) - 0.5)
        ax.set_ylim(-0.5, len(vs) - 0.5)
        ax.grid(visible=False)
        ax.set_xticks(range(len(cs)), [f"{c:g}" for c in cs])
        ax.set_yticks(range(len(vs)), [f"{v:g}" for v in vs])
        ax.set_title(SETS.get(problem, problem))
        ax.set_xlabel("c")
    panels[0].set_ylabel("v")
    return _end(axes, title, note)


def _cell(x: float, y: float, color: tuple) -> object:
    from matplotlib.patches import Rectangle

    return Rectangle((x - 0.5, y - 0.5), 1, 1, fc=color, ec=style.PAPER, lw=1)


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
    left, right = _flat(axes)
    if not _empty(e6, left):
        at, places = 0.0, []
        for net, own in e6.groupby("net", sort=False):
            names = [n for n in ORDER if n in set(own["optimizer"])]
            means = e6_means[e6_means["net"] == net].set_index("optimizer")
            first = at
            for name in names:
                values = own.loc[own["optimizer"] == name, "bits"].to_numpy()
                _seeds_and_mean(left, at, values, means.loc[name], COLORS[name], MARKERS[name])
                at += 1
            places.append(((first + at - 1) / 2 + 0.1, NETS.get(net, net)))
            at += 0.6
        left.set_xticks(*map(list, zip(*places, strict=True)))
        left.tick_params(axis="x", length=0)
        left.grid(axis="x", visible=False)
        left.set_ylabel("bits per character\n(lower is better)")
    if not _empty(e7, right):
        names = [n for n in ORDER if n in set(e7["optimizer"])]
        means = e7_means.set_index("optimizer")
        for i, name in enumerate(names):
            values = e7.loc[e7["optimizer"] == name, "last_return"].to_numpy()
            _seeds_and_mean(right, i, values, means.loc[name], COLORS[name], MARKERS[name])
        right.set_xticks(range(len(names)), names)
        right.set_xlim(-0.4, len(names) - 0.4)
        right.grid(axis="x", visible=False)
        right.set_ylabel("return, last 20 episodes\n(higher is better)")
    return _end(axes, title, note)


# --- beyond the paper --------------------------------------------------------------------------


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
    left, right = _flat(axes)
    for name, own in rates.groupby("system", sort=False):
        left.plot(100 * own["progress"], own["rate"], color=COLORS[name])
    left.set_xlabel("training, %")
    left.set_ylabel("effective learning rate / α₀")
    left.set_xlim(0, 100)
    left.set_ylim(0, 10.8)
    style.note(left, "Standard", (8, 9.6), offset=(8, 4), color=COLORS["Standard"], ha="left")
    style.note(left, "FSGDM", (45, 8.6), offset=(6, 8), color=COLORS["FSGDM"], ha="left")
    if not _empty(runs, right):
        labels = []
        for shift, momentum in ((-0.13, "Standard"), (0.13, "FSGDM")):
            own = means[means["momentum"] == momentum].set_index("rate")
            color = COLORS[momentum]
            places = [i + shift for i, r in enumerate(("Standard", "FSGDM")) if r in own.index]
            order = [r for r in ("Standard", "FSGDM") if r in own.index]
            right.plot(places, own.loc[order, "mean"], color=color, lw=1, alpha=0.6)
            for at, rate in zip(places, order, strict=True):
                row = own.loc[rate]
                values = runs[(runs["momentum"] == momentum) & (runs["rate"] == rate)]["points"]
                _seeds_and_mean(right, at - 0.1, values.to_numpy(), row, color, MARKERS[momentum])
            if order:
                labels.append((f"{momentum}", places[-1] + 0.1, own.loc[order[-1], "mean"], color))
        style.label_lines(right, labels, gap=9)
        right.set_xticks([0, 1], ["Standard's", "FSGDM's"])
        right.set_xlim(-0.5, 1.5)
        right.grid(axis="x", visible=False)
        right.set_xlabel("effective learning rate")
        right.set_ylabel("test accuracy, %\n(higher is better)")
    return _end(axes, title, note)


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
    if _empty(spectra, axes):
        return axes
    panels = _flat(axes)
    parts = {"early": 0.0, "middle": 0.5, "late": 1.0}
    for ax, (name, own) in zip(panels, spectra.groupby("optimizer", sort=False), strict=True):
        style.plain_log(ax)
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
        ax.set_xlim(own["frequency"].min(), np.pi)
    panels[0].set_ylabel("power density of the gradient")
    return _end(axes, title, note)
