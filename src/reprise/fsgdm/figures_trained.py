"""The figures of the paper's image experiments; `figures` exports them."""

from __future__ import annotations

from collections.abc import Sequence
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
ORDER = tuple(NAMES)
SETS = {"fashion": "Fashion-MNIST", "mnist": "MNIST", "digits": "UCI digits"}
NETS = {
    "resnet8": "residual net",
    "vgg_mini": "plain net",
    "lstm": "LSTM",
    "transformer": "Transformer",
}
FAMILIES = {
    "LP": "low-pass, coupled",
    "HP": "high-pass, coupled",
    "LPG": "low-pass with gain",
    "HPG": "high-pass with gain",
}
# What is known of the paper's study, per cent on CIFAR-100 with ResNet50. Of the falling low-pass
# only the lowest number is known, not which value of mu it belongs to.
STUDY_OF_PAPER = {
    ("LP", "rising", 0.0085): 77.12,
    ("LP", "falling", None): 69.69,
    ("HP", "fixed", 0.9): 53.43,
    ("LPG", "rising", 0.085): 80.48,
}


def ordered(names: pd.Series) -> list[str]:
    found = set(names)
    return [name for name in ORDER if name in found]


def seeds_and_mean(
    ax: Axes,
    at: float,
    values: Sequence[float],
    row: pd.Series,
    name: str,
    *,
    horizontal: bool = False,
    shift: float = 0.1,
) -> None:
    """Draw the seeds as small dots and beside them their mean with its interval."""
    color, marker = COLORS[name], MARKERS[name]
    shift = -0.16 if horizontal else shift
    places = np.full(len(values), at - shift)
    xy = (values, places) if horizontal else (places, values)
    ax.plot(*xy, marker, color=color, ms=4, alpha=0.6, mew=0, zorder=3)
    style.interval(
        ax, at + shift, row["mean"], row["low"], row["high"], color=color, marker=marker,
        horizontal=horizontal,
    )  # fmt: skip


def label_rows(ax: Axes, labels: Sequence[tuple[str, bool]], deep: int = 0) -> None:
    """Label the y axis as rows from above, (text, bold), with room for at least `deep` rows."""
    ax.set_yticks(range(len(labels)), [text for text, _ in labels])
    ax.set_ylim(max(len(labels), deep) - 0.4, -0.6)
    for (_, bold), tick in zip(labels, ax.get_yticklabels(), strict=True):
        tick.set_fontweight("bold" if bold else "normal")
    _bare(ax)


def _bare(ax: Axes) -> None:
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", visible=False)
    ax.spines["left"].set_visible(False)


def three_shape(runs: pd.DataFrame | None) -> dict[str, object]:
    """Return height, rows and columns of `style.figure` for the problems of `three_optimizers`.

    A single problem has its two plots one above the other, several have a row each.
    """
    n = 1 if runs is None else runs["problem"].nunique()
    if n == 1:
        return {"height": 6.4, "nrows": 2}
    return {"height": 2.9 * n, "nrows": n, "ncols": 2, "width_ratios": [1.35, 1]}


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
    if style.missing(runs, axes):
        return axes
    problems = list(dict.fromkeys(runs["problem"]))
    panels = np.array(style.panels(axes), dtype=object)
    if len(panels) != 2 * len(problems):
        raise ValueError(
            f"`axes` must be {2 * len(problems)} plots for {len(problems)} problems, "
            f"got {len(panels)}"
        )
    panels = panels.reshape(-1, 2)
    for (left, right), problem in zip(panels, problems, strict=True):
        own = runs[runs["problem"] == problem]
        names = ordered(own["optimizer"])
        table = own.pivot_table(index="seed", columns="optimizer", values="points")[names]
        places = np.arange(len(names)) - 0.1
        left.plot(places, table.to_numpy().T, color=style.INK, alpha=0.3, lw=0.8)
        at = means[means["problem"] == problem].set_index("optimizer")
        for i, name in enumerate(names):
            seeds_and_mean(left, i, table[name].to_numpy(), at.loc[name], name)
        left.set_xticks(range(len(names)), names)
        left.set_xlim(-0.5, len(names) - 0.5)
        left.grid(axis="x", visible=False)
        left.set_ylabel("test accuracy, %\n(higher is better)")
        left.set_title(SETS.get(problem, problem))
        _losses(right, losses[losses["problem"] == problem], names)
    panels[-1][1].set_xlabel("optimizer step")
    style.title(axes, title, note)
    return axes


def _losses(ax: Axes, curves: pd.DataFrame, names: Sequence[str]) -> None:
    labels = []
    for name in names:
        curve = curves[curves["optimizer"] == name]
        ax.plot(curve["step"], curve["mean"], color=COLORS[name])
        ax.fill_between(
            curve["step"], curve["low"], curve["high"], color=COLORS[name], alpha=0.2, lw=0
        )
        if len(curve):
            end = curve.iloc[-1]
            labels.append((name, end["step"], end["mean"], COLORS[name]))
    style.label_lines(ax, labels)
    ax.set_xlim(0, curves["step"].max())
    ax.set_ylim(0, min(ax.get_ylim()[1], 1.15 * curves["mean"].max()))
    ax.set_ylabel("training loss\n(lower is better)")


def _study_height(study: pd.DataFrame | None) -> float:
    """Return the height in inches at which the rows of `study` can be read."""
    if study is None:
        return 1.1
    systems = study[["family", "sequence", "value"]].drop_duplicates()
    return 1.3 + 0.2 * (len(systems) + systems["family"].nunique())


def study_shape(study: pd.DataFrame | None) -> dict[str, object]:
    """Return height and columns of `style.figure` for `study`: a plot a net, one for the paper."""
    nets = 1 if study is None else study["net"].nunique()
    return {"height": _study_height(study), "ncols": nets + 1, "sharey": True}


def plane_shape(plane: pd.DataFrame | None) -> dict[str, object]:
    """Return height and columns of `style.figure` for `plane`: a plot a problem."""
    if plane is None:
        return {"height": 1.1, "squeeze": False}
    return {"height": 4.2, "ncols": plane["problem"].nunique(), "sharey": True, "squeeze": False}


@style.context()
def study(
    study: pd.DataFrame | None,
    axes: Panels,
    *,
    title: str | None = None,
    note: str | None = None,
) -> Panels:
    """Draw the accuracy of each system of the study, a row each, and the paper's known numbers.

    What validation chose (or u = 0.9) is drawn full, the other settings fainter.

    Parameters
    ----------
    study : as `summaries.study` of e3
    axes : one for each net, then one for the paper; they share the y axis
    """
    if style.missing(study, axes):
        return axes
    *ours, paper = panels = style.panels(axes)
    places, labels = _study_rows(study)
    for ax, (net, own) in zip(ours, study.groupby("net", sort=False), strict=True):
        for row in own.itertuples():
            best = (row.family, row.sequence) == ("LPG", "rising")
            style.interval(
                ax, places[row.family, row.sequence, row.value], row.mean, row.low, row.high,
                color=style.METHOD if best else style.BASELINES[0], horizontal=True,
                marker="o" if best else "s", faint=not row.chosen,
            )  # fmt: skip
        ax.set_title(NETS.get(net, net))
        ax.set_xlabel("accuracy, %\n(higher is better)", fontsize=style.SMALL)
    for (family, sequence, value), points in STUDY_OF_PAPER.items():
        same = [at for key, at in places.items() if key[:2] == (family, sequence)]
        if same:
            at = places.get((family, sequence, value), float(np.mean(same)))
            if value is None:  # somewhere in these rows
                paper.plot([points] * 2, [min(same), max(same)], color=style.PAPER_VALUE, lw=1.2)
            paper.plot(points, at, "o", mfc=style.PAPER, mec=style.PAPER_VALUE, mew=1.6, ms=7)
    paper.set_title("the paper")
    paper.set_xlabel("CIFAR-100, %", fontsize=style.SMALL)
    label_rows(panels[0], labels)
    for ax in panels[1:]:
        _bare(ax)
    style.title(axes, title, note)
    return axes


def _study_rows(
    study: pd.DataFrame,
) -> tuple[dict[tuple[str, str, float], int], list[tuple[str, bool]]]:
    """Return where each system stands and the labels, a bold one above each family."""
    places: dict[tuple[str, str, float], int] = {}
    labels: list[tuple[str, bool]] = []
    systems = study[["family", "sequence", "value"]].drop_duplicates()
    for family, name in FAMILIES.items():
        own = systems[systems["family"] == family]
        if len(own):
            labels.append((f"{family}: {name}", True))
        for sequence in ("rising", "fixed", "falling"):
            for value in sorted(own.loc[own["sequence"] == sequence, "value"]):
                places[family, sequence, value] = len(labels)
                number = "u" if sequence == "fixed" else "μ/Σ"
                labels.append((f"{sequence}, {number} = {value:g}", False))
    return places, labels


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
    if style.missing(tuned, ax):
        return ax
    style.plain_log(ax, "x", subs="13")
    tune, final = (tuned[tuned["phase"] == phase] for phase in ("tune", "final"))
    names = ordered(tuned["optimizer"])
    labels = []
    for i, name in enumerate(names):
        own = tune[tune["optimizer"] == name]
        ax.plot(own["lr"], own["mean"], color=COLORS[name], lw=1.6)
        spread = 1.04 ** (i - 1)  # side by side, or the bars would hide each other
        ax.vlines(own["lr"] * spread, own["low"], own["high"], color=COLORS[name], lw=1, alpha=0.6)
        if len(own):
            start = own.iloc[0]
            labels.append((name, start["lr"], start["mean"], COLORS[name]))
        for row in final[final["optimizer"] == name].itertuples():
            style.interval(
                ax, row.lr * 1.12 ** (i - 1), row.mean, row.low, row.high, color=COLORS[name],
                marker=MARKERS[name],
            )  # fmt: skip
    top = tuned["mean"].max()
    ax.set_ylim(max(0, tune["mean"].min() - 2, top - 30), min(100, top + 4))
    ax.yaxis.tick_right()
    ax.yaxis.set_label_position("right")
    ax.spines["left"].set_visible(False)
    ax.spines["right"].set_visible(True)
    style.label_lines(ax, labels, side="left")
    ax.set_xlabel("base learning rate")
    ax.set_ylabel("accuracy, % (higher is better)")
    style.title(ax, title, note)
    return ax


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
    if style.missing(plane, axes):
        return axes
    panels = style.panels(axes)
    for ax, (problem, own) in zip(panels, plane.groupby("problem", sort=False), strict=True):
        cs, vs = sorted(own["c"].unique()), sorted(own["v"].unique())
        _cells(ax, own, cs, vs)
        # Cells are evenly spaced while c and v are not quite: the line is bent accordingly.
        c = np.geomspace(cs[0] / 3, cs[-1] * 3, 400)
        x, y = _index(c, cs), _index(gain / (1 + 1 / c), vs)
        # ... and interrupted where the numbers stand.
        tall = 0.3 if len(own) <= 9 else 0.24
        free = np.hypot((x - x.round()) / 0.42, (y - y.round()) / tall) > 1
        ax.plot(x, np.where(free, y, np.nan), color=style.INK, lw=1.4, ls=(0, (3, 2)))
        ax.set_xlim(-0.5, len(cs) - 0.5)
        ax.set_ylim(-0.5, len(vs) - 0.5)
        ax.grid(visible=False)
        ax.set_xticks(range(len(cs)), [f"{c:g}" for c in cs])
        ax.set_yticks(range(len(vs)), [f"{v:g}" for v in vs])
        ax.set_title(SETS.get(problem, problem))
        ax.set_xlabel("c")
    panels[0].set_ylabel("v")
    style.title(axes, title, note)
    return axes


def _cells(ax: Axes, own: pd.DataFrame, cs: list[float], vs: list[float]) -> None:
    """Draw the cells; few of them have room for half of the interval's width below the mean."""
    from matplotlib.patches import Rectangle

    top = own["mean"].max()
    low = max(own["mean"].min(), top - 15)  # a diverged cell mustn't take the whole scale
    for row in own.itertuples():
        x, y = cs.index(row.c), vs.index(row.v)
        shade = 1.0 if top == low else float(np.clip((row.mean - low) / (top - low), 0, 1))
        ax.add_patch(
            Rectangle((x - 0.5, y - 0.5), 1, 1, fc=style.HEAT(shade), ec=style.PAPER, lw=1)
        )
        roomy = len(own) <= 9 and np.isfinite(row.low)
        text = f"{row.mean:.1f}\n± {(row.high - row.low) / 2:.1f}" if roomy else f"{row.mean:.1f}"
        style.note(ax, text, (x, y), ha="center", halo=False)


def _index(x: np.ndarray, grid: list[float]) -> np.ndarray:
    """Return positions on an axis of evenly spaced cells, logarithmic between and beyond them."""
    logs = np.log(grid)
    inner = np.interp(np.log(x), logs, np.arange(len(grid)))
    below = np.minimum(0, (np.log(x) - logs[0]) / (logs[1] - logs[0]))
    above = np.maximum(0, (np.log(x) - logs[-1]) / (logs[-1] - logs[-2]))
    return inner + below + above
