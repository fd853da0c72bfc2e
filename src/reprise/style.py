"""The one look of the book: roles of colours, figure sizes, theme-neutral SVG, `show`.

Figures are drawn with an ink and a paper colour that the SVG text then leaves to the page, so they
follow its light or dark theme. Nothing here changes matplotlib's global state.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.colors import LinearSegmentedColormap, to_rgba
from matplotlib.figure import Figure

from reprise.svg import DARK, INK, LIGHT, PAPER, RC, Shown, show, svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

__all__ = [
    "BASELINES",
    "DARK",
    "HEAT",
    "INK",
    "LIGHT",
    "MARKERS",
    "METHOD",
    "PAPER",
    "PAPER_VALUE",
    "PROGRESS",
    "Shown",
    "baseline",
    "blank",
    "context",
    "figure",
    "interval",
    "label_lines",
    "not_yet",
    "note",
    "paper_line",
    "plain_log",
    "show",
    "svg",
    "title",
]

# Roles. The same colour means the same thing on every page; all hold 3:1 on both papers.
METHOD = "#d55e00"  # what the paper proposes
BASELINES = ("#0173b2", "#029e73", "#b0539a", "#86731a", "#8c6bb1")  # the others, in order
PAPER_VALUE = "#808080"  # what the paper reports: dashed line or hollow marker
MARKERS = ("o", "s", "^", "D", "v", "P")  # METHOD, then BASELINES: never colour alone

# Stages of a training, from start to end. Hue tells them, since no pale or dark end would show
# on both papers; blue to orange stays apart for colour-blind readers.
PROGRESS = LinearSegmentedColormap.from_list(
    "reprise-progress", ["#2068cb", "#825bcd", "#bc53a9", "#e0586e", "#e26f17"]
)
# Heat maps: more of one colour over whatever paper, never so much that ink can't be read on it.
HEAT = LinearSegmentedColormap.from_list(
    "reprise-heat", [to_rgba(METHOD, 0.03), to_rgba(METHOD, 0.62)]
)

WIDTHS = {"full": 6.0, "half": 3.4}  # inches; 576 px, still legible when a phone shows 350
SIZE, SMALL, TITLE = 11.0, 9.5, 12.5  # points

_RC = {
    "figure.facecolor": "none",
    "figure.dpi": 96,
    "figure.constrained_layout.use": True,
    "figure.constrained_layout.h_pad": 0.04,
    "figure.constrained_layout.w_pad": 0.04,
    "font.family": "sans-serif",
    "font.size": SIZE,
    "text.color": INK,
    "axes.facecolor": "none",
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.labelsize": SIZE,
    "axes.titlesize": SIZE,
    "axes.titlelocation": "left",
    "axes.titlepad": 5,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.prop_cycle": mpl.cycler(color=[METHOD, *BASELINES]),
    "axes.unicode_minus": True,
    "grid.color": INK,
    "grid.alpha": 0.13,
    "grid.linewidth": 0.7,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": SMALL + 0.5,
    "ytick.labelsize": SMALL + 0.5,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "xtick.minor.size": 0,
    "ytick.minor.size": 0,
    "lines.linewidth": 1.8,
    "lines.markersize": 6,
    "lines.solid_capstyle": "round",
    "legend.frameon": False,
    "legend.fontsize": SMALL + 0.5,
    "image.cmap": "viridis",
} | RC


@contextmanager
def context() -> Iterator[None]:
    """Apply the book's look; as `with context():` or as a decorator `@context()`."""
    if mpl.rcParams["svg.hashsalt"] == RC["svg.hashsalt"]:  # inside already
        yield
        return
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_RC)
        yield


@context()
def figure(
    width: str = "full",
    height: float | None = None,
    *,
    nrows: int = 1,
    ncols: int = 1,
    **options: object,
) -> tuple[Figure, Axes | np.ndarray]:
    """Return an empty figure and its axes, as `plt.subplots` does, known to no global state.

    Parameters
    ----------
    width : "full" (6 in) or "half" (3.4 in)
    height : inches; by default 3.4 for each row
    nrows, ncols, options : as `Figure.subplots`; `width_ratios` and `height_ratios` too

    Raises
    ------
    ValueError
        For an unknown width or a height that isn't positive.
    """
    if width not in WIDTHS:
        raise ValueError(f"`width` must be one of {tuple(WIDTHS)}, got {width!r}")
    height = 3.4 * nrows if height is None else height
    if not height > 0:
        raise ValueError(f"`height` must be positive, got {height}")
    fig = Figure(figsize=(WIDTHS[width], height))
    return fig, fig.subplots(nrows, ncols, **options)


def baseline(index: int) -> tuple[str, str]:
    """Return colour and marker of the baseline with this number, from 0."""
    return BASELINES[index % len(BASELINES)], MARKERS[1 + index % (len(MARKERS) - 1)]


# --- what figures are made of ------------------------------------------------------------------


@context()
def title(fig: Figure, text: str | None, note: str | None = None) -> None:
    """Set what a figure shows as its title, and from which run, small, at its foot.

    Parameters
    ----------
    fig : a figure of `figure`
    text : the takeaway; wrapped
    note : such as "quick run, 5 seeds"
    """
    if text:
        wide = max(20, round(fig.get_figwidth() * 10))
        wrapped = textwrap.fill(text, wide)
        fig.suptitle(wrapped, x=0.01, ha="left", fontsize=TITLE, fontweight="bold")
    if note:
        fig.supxlabel(note, x=0.99, ha="right", fontsize=SMALL, alpha=0.75)


@context()
def interval(
    ax: Axes,
    at: float,
    value: float,
    low: float,
    high: float,
    *,
    color: str = METHOD,
    marker: str = "o",
    horizontal: bool = False,
    hollow: bool = False,
) -> None:
    """Draw an estimate: a mark at its value and a bar over its interval.

    Parameters
    ----------
    at : its place on the other axis
    value, low, high : the estimate, low <= value <= high
    hollow : for what isn't ours
    """
    if not low <= value <= high:
        raise ValueError(f"`low` <= `value` <= `high` must hold, got {low}, {value}, {high}")
    ends = ([low, high], [at, at]) if horizontal else ([at, at], [low, high])
    ax.plot(*ends, color=color, lw=2.2, solid_capstyle="butt", zorder=3)
    place = (value, at) if horizontal else (at, value)
    face = PAPER if hollow else color
    ax.plot(*place, marker, ms=7, mfc=face, mec=color, mew=1.4, zorder=4)


@context()
def paper_line(ax: Axes, value: float, label: str = "the paper", *, axis: str = "y") -> None:
    """Mark a value that the paper reports by a dashed grey line with its label."""
    line = {"color": PAPER_VALUE, "ls": (0, (4, 3)), "lw": 1.4, "zorder": 1.5}
    if axis == "y":
        ax.axhline(value, **line)
        place, offset, ha, transform = (1, value), (-2, 3), "right", ax.get_yaxis_transform()
    elif axis == "x":
        ax.axvline(value, **line)
        place, offset, ha, transform = (value, 1), (4, -10), "left", ax.get_xaxis_transform()
    else:
        raise ValueError(f"`axis` must be 'x' or 'y', got {axis!r}")
    note(ax, label, place, offset=offset, ha=ha, va="bottom", xycoords=transform)


@context()
def note(
    ax: Axes,
    text: str,
    at: tuple[float, float],
    *,
    offset: tuple[float, float] = (0, 0),
    color: str = INK,
    size: float = SMALL,
    halo: bool = True,
    **options: object,
) -> Annotation:
    """Write a label into a plot, in paper-coloured halo so that lines behind don't cross it.

    Parameters
    ----------
    at : data coordinates, or those of the option `xycoords`
    offset : points
    """
    found = ax.annotate(
        text, at, xytext=offset, textcoords="offset points", color=color, fontsize=size,
        zorder=6, **{"va": "center"} | options,
    )  # fmt: skip
    found.set_clip_on(False)
    if halo:
        found.set_gid(f"halo-{next(_count(ax))}")
    return found


def _count(ax: Axes) -> Iterator[int]:
    """Yield the next number of a figure's haloed texts: ids must differ within an SVG."""
    fig = ax.get_figure(root=True)
    fig._reprise_halos = getattr(fig, "_reprise_halos", 0) + 1
    yield fig._reprise_halos


def label_lines(
    ax: Axes,
    labels: Sequence[tuple[str, float, float, str]],
    *,
    size: float = SMALL + 0.5,
    gap: float = 6.0,
    side: str = "right",
) -> None:
    """Write labels at the ends of lines, moved apart where they would overlap.

    Parameters
    ----------
    ax : the axes
    labels : (text, x, y, colour) per line, x and y of its end in data coordinates
    gap : points between line and label
    side : "right" or "left" of the end
    """
    sign, ha = (1, "left") if side == "right" else (-1, "right")
    notes = [
        note(ax, text, (x, y), offset=(sign * gap, 0), color=color, size=size, ha=ha)
        for text, x, y, color in labels
    ]
    fig = ax.get_figure(root=True)
    fig._reprise_labels = [*getattr(fig, "_reprise_labels", []), notes]


def plain_log(ax: Axes, axis: str = "both", *, base: float = 10, subs: str = "decades") -> None:
    """Make axes logarithmic with plain tick labels: 0.1, 1, 10; `subs="125"` adds 0.2, 0.5, 2."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    numerals = {"decades": (1.0,), "125": (1.0, 2.0, 5.0), "13": (1.0, 3.0)}[subs]
    for name in ("x", "y") if axis == "both" else (axis,):
        getattr(ax, f"set_{name}scale")("log", base=base)
        one = getattr(ax, f"{name}axis")
        one.set_major_locator(LogLocator(base, numerals))
        one.set_minor_locator(NullLocator())
        one.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))


@context()
def blank(ax: Axes, text: str = "not yet: only the full profile runs this") -> Axes:
    """Say in an otherwise empty plot why there is nothing to see."""
    ax.set_axis_off()
    ax.text(
        0.5, 0.5, textwrap.fill(text, 30), ha="center", va="center", alpha=0.75,
        transform=ax.transAxes,
    )  # fmt: skip
    return ax


def not_yet(name: str, text: str = "not yet: only the full profile runs this") -> Shown:
    """Return a small figure that says why there is none yet."""
    fig, ax = figure(height=1.1)
    blank(ax, text)
    return show(fig, name, not_yet)
