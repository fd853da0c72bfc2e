"""The one look of the book: roles of colours, figure sizes, theme-neutral SVG, `show`.

Figures are drawn with an ink and a paper colour that the SVG text then leaves to the page, so they
follow its light or dark theme. Nothing here changes matplotlib's global state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.colors import LinearSegmentedColormap, to_rgba
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

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
    "NOT_YET",
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
    "missing",
    "not_yet",
    "note",
    "panels",
    "paper_line",
    "plain",
    "plain_log",
    "show",
    "svg",
    "title",
    "wrap",
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

WIDTHS = {"full": 6.0, "half": 3.6}  # inches; 576 px, still legible when a phone shows 350
SIZE, SMALL, TITLE = 11.0, 10.0, 12.0  # points

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
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "xtick.minor.size": 0,
    "ytick.minor.size": 0,
    "lines.linewidth": 1.8,
    "lines.markersize": 6,
    "lines.solid_capstyle": "round",
    "legend.frameon": False,
    "legend.fontsize": SMALL,
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


def panels(axes: Axes | np.ndarray) -> list[Axes]:
    """Return one Axes or an array of them as a list."""
    return list(np.ravel(np.asarray(axes, dtype=object)))


@context()
def title(axes: Axes | np.ndarray, text: str | None, note: str | None = None) -> None:
    """Set what a figure shows as its title, and from which run, small, at its foot.

    Parameters
    ----------
    axes : any axes of the figure
    text : the takeaway; wrapped to the figure's width
    note : such as "quick run, 5 seeds"
    """
    fig = panels(axes)[0].get_figure(root=True)
    if text:
        wrapped = wrap(text, 72 * fig.get_figwidth() - 10, TITLE, weight="bold")
        fig.suptitle(wrapped, x=0.01, ha="left", fontsize=TITLE, fontweight="bold")
    if note:
        fig.supxlabel(note, x=0.99, ha="right", fontsize=SMALL, alpha=0.75)


@context()
def wrap(text: str, width: float, size: float, *, weight: str = "normal") -> str:
    """Return a text broken into even lines of at most `width` points.

    It is measured in matplotlib's own font, wider than most that a page may show it in.
    """
    font = FontProperties(size=size, weight=weight)

    def broken(width: float) -> list[str]:
        lines: list[str] = []
        for word in text.split():
            longer = f"{lines[-1]} {word}" if lines else word
            long = text_to_path.get_text_width_height_descent(longer, font, False)[0]
            if lines and long <= width:
                lines[-1] = longer
            else:
                lines.append(word)
        return lines

    found = broken(width)
    for share in (0.9, 0.8, 0.7, 0.6):  # even lines rather than a last word alone
        if len(even := broken(share * width)) > len(found):
            break
        found = even
    return "\n".join(found)


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
    faint: bool = False,
) -> None:
    """Draw an estimate: a mark at its value and a bar over its interval.

    Parameters
    ----------
    at : its place on the other axis
    value, low, high : the estimate, low <= value <= high; both ends nan where there is no interval
    hollow : for what isn't ours
    faint : for what is beside the point
    """
    if np.isnan(low) and np.isnan(high):
        low = high = value
    if not low <= value <= high:
        raise ValueError(f"`low` <= `value` <= `high` must hold, got {low}, {value}, {high}")
    ends = ([low, high], [at, at]) if horizontal else ([at, at], [low, high])
    alpha = 0.5 if faint else 1.0
    ax.plot(*ends, color=color, lw=2.2, alpha=alpha, solid_capstyle="butt", zorder=3)
    place = (value, at) if horizontal else (at, value)
    face = PAPER if hollow else color
    size = 5 if faint else 7
    ax.plot(*place, marker, ms=size, mfc=face, mec=color, mew=1.4, alpha=alpha, zorder=4)


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
    outside: bool = False,
    halo: bool = True,
    **options: object,
) -> Annotation:
    """Write a label into a plot; its paper-coloured halo keeps lines behind from crossing it.

    Parameters
    ----------
    at : data coordinates, or those of the option `xycoords`
    offset : points
    outside : whether the layout must make room for it beside the plot
    """
    found = ax.annotate(
        text, at, xytext=offset, textcoords="offset points", color=color, fontsize=size,
        zorder=6, **{"va": "center"} | options,
    )  # fmt: skip
    found.set_in_layout(outside)
    if halo:
        fig = ax.get_figure(root=True)
        fig._reprise_halos = getattr(fig, "_reprise_halos", 0) + 1  # ids differ within an SVG
        found.set_gid(f"halo-{fig._reprise_halos}")
    return found


def label_lines(
    ax: Axes,
    labels: Sequence[tuple[str, float, float, str]],
    *,
    size: float = SMALL,
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
        note(ax, text, (x, y), offset=(sign * gap, 0), color=color, size=size, ha=ha, outside=True)
        for text, x, y, color in labels
    ]
    fig = ax.get_figure(root=True)
    fig._reprise_labels = [*getattr(fig, "_reprise_labels", []), notes]


def plain(x: float) -> str:
    """Return a number as a tick shows it: 0.001, 1, 3·10⁻⁵ for what would need an e."""
    text = f"{x:g}"
    if "e" not in text:
        return text.replace("-", "−")
    digits, power = text.split("e")
    raised = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{raised}" if digits == "1" else f"{digits}·10{raised}"


def plain_log(ax: Axes, axis: str = "both", *, base: float = 10, subs: str = "decades") -> None:
    """Make axes logarithmic with plain tick labels: 0.1, 1, 10; `subs="125"` adds 0.2, 0.5, 2."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    numerals = {"decades": (1.0,), "125": (1.0, 2.0, 5.0), "13": (1.0, 3.0)}[subs]
    for name in ("x", "y") if axis == "both" else (axis,):
        getattr(ax, f"set_{name}scale")("log", base=base)
        one = getattr(ax, f"{name}axis")
        one.set_major_locator(LogLocator(base, numerals, numticks=15))
        one.set_minor_locator(NullLocator())
        one.set_major_formatter(FuncFormatter(lambda x, _: plain(x)))


NOT_YET = "not yet: only the full profile runs this"


@context()
def blank(ax: Axes, text: str = NOT_YET) -> Axes:
    """Say in an otherwise empty plot why there is nothing to see."""
    ax.set_axis_off()
    wide = 72 * ax.get_figure(root=True).get_figwidth() * ax.get_position().width
    ax.text(
        0.5, 0.5, wrap(text, wide, SIZE), ha="center", va="center", alpha=0.75,
        transform=ax.transAxes,
    )  # fmt: skip
    return ax


def missing(frame: object | None, axes: Axes | np.ndarray, text: str = NOT_YET) -> bool:
    """Return whether there is nothing to draw; then the axes say so in one line.

    Parameters
    ----------
    frame : a table; None or empty when it doesn't exist yet
    axes : where it would have been drawn
    """
    if frame is not None and len(frame):
        return False
    first, *rest = panels(axes)
    for ax in rest:
        ax.set_axis_off()
    blank(first, text)
    fig = first.get_figure(root=True)
    if all(not ax.axison for ax in fig.axes):  # nothing else: a strip will do
        for ax in rest:
            ax.remove()
        fig.set_size_inches(fig.get_figwidth(), 1.1)
    return True


def not_yet(name: str, text: str = NOT_YET) -> Shown:
    """Return a small figure that says why there is none yet."""
    fig, ax = figure(height=1.1)
    blank(ax, text)
    return show(fig, name, not_yet)
