"""Figures as SVG that follow the page's light or dark theme, and `show`, which ends a figure cell.

Black and white are the ink and the paper: the SVG text leaves both to the page's colour scheme, so
whatever matplotlib draws by default follows it too.
"""

from __future__ import annotations

import importlib
import io
import itertools
import json
import re
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import matplotlib as mpl
import numpy as np
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure

INK, PAPER = "#000000", "#ffffff"
LIGHT, DARK = ("#24292f", "#ffffff"), ("#dbe0e6", "#121212")  # (ink, paper) of each theme
RC = {
    "font.sans-serif": ["DejaVu Sans"],  # matplotlib's own: the same layout everywhere
    "svg.fonttype": "none",
    "svg.hashsalt": "reprise",
    "path.simplify": True,
}
MANY = 2000  # more marks than these are rasterised
HEAVY = 300_000  # bytes

_FONTS = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"
_RULES = (
    f"<style>:root{{color:{LIGHT[0]};--paper:{LIGHT[1]};fill:currentColor}}"
    f"@media (prefers-color-scheme: dark){{:root{{color:{DARK[0]};--paper:{DARK[1]}}}}}"
    'g[id^="halo"] text{paint-order:stroke;stroke:var(--paper);stroke-width:4px;'
    "stroke-linejoin:round}</style>"
)
_DECIMALS = re.compile(r"(-?\d+\.\d{2})\d+")


def _round(match: re.Match) -> str:
    return match[1] + _DECIMALS.sub(r"\1", match[2]) + match[3]


@mpl.rc_context(RC)
def svg(fig: Figure) -> str:
    """Return a figure as SVG text that takes ink and paper from the page's colour scheme.

    The same figure gives the same bytes: no date, no version, fixed ids, two decimals in paths.
    """
    for ax in fig.axes:
        for mark in (*ax.lines, *ax.collections):
            if isinstance(mark, PathCollection):
                many = len(mark.get_offsets()) > MANY
            else:
                line = mark in ax.lines and mark.get_marker() not in ("None", None, "", " ")
                many = line and len(mark.get_xdata()) > MANY
            if many:
                mark.set_rasterized(True)
    settle(fig)
    file = io.StringIO()
    fig.savefig(
        file, format="svg", transparent=True, dpi=192, metadata={"Date": None, "Creator": None}
    )
    text = file.getvalue()
    text = re.sub(r"<\?xml.*?\?>\s*<!DOCTYPE.*?>\s*", "", text, flags=re.S)
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, flags=re.S)
    text = re.sub(r"(<svg\b[^>]*>)", lambda m: m[1] + "\n " + _RULES, text, count=1)
    # Data colours hold 3:1 on both papers; words in them need 4.5:1, so they lean towards the ink.
    text = re.sub(
        r'(<text\b[^>]*?\bstyle="[^"]*?)fill: (#[0-9a-f]{6})',
        r"\1fill: \2; fill: color-mix(in srgb, \2 70%, currentColor)",
        text,
    )
    # Only in styles and attributes: never in a text that shows a colour's name.
    text = re.sub(rf"(?i)(fill|stroke)(: ?|=\"){INK}", r"\1\2currentColor", text)
    text = re.sub(rf"(?i)(fill|stroke): ?{PAPER}", r"\1: var(--paper)", text)
    text = re.sub("'DejaVu Sans'(, ?sans-serif)?", _FONTS, text)
    text = re.sub(r'(\sd=")([^"]*)(")', _round, text)
    if len(text) > HEAVY:
        warnings.warn(f"the figure has {len(text):,} bytes: draw fewer marks", stacklevel=2)
    return text


def spread(wanted: np.ndarray, heights: np.ndarray) -> np.ndarray:
    """Return centres near the wanted ones that are apart by the mean of their heights."""
    order = np.argsort(wanted, kind="stable")
    blocks: list[tuple[float, list[int]]] = []  # (centre of the block, members from below)
    for i in order:
        members = [int(i)]
        while True:
            steps = [(heights[a] + heights[b]) / 2 for a, b in itertools.pairwise(members)]
            offsets = np.concatenate([[0], np.cumsum(steps)])
            first = float(np.mean(wanted[members] - offsets))
            if not blocks:
                break
            before, others = blocks[-1]
            top = before + sum((heights[a] + heights[b]) / 2 for a, b in itertools.pairwise(others))
            if first - top >= (heights[others[-1]] + heights[members[0]]) / 2:
                break
            members = others + members
            blocks.pop()
        blocks.append((first, members))
    found = np.empty(len(wanted))
    for first, members in blocks:
        steps = [(heights[a] + heights[b]) / 2 for a, b in itertools.pairwise(members)]
        found[members] = first + np.concatenate([[0], np.cumsum(steps)])
    return found


def settle(fig: Figure) -> None:
    """Move the labels of `label_lines` apart, now that the layout is known."""
    groups = getattr(fig, "_reprise_labels", [])
    if not groups:
        return
    fig.draw_without_rendering()
    for notes in groups:
        ax = notes[0].axes
        points = 72 / fig.dpi
        ends = np.array([ax.transData.transform(n.xy)[1] * points for n in notes])
        heights = np.array([n.get_window_extent().height * points + 1 for n in notes])
        for n, y, end in zip(notes, spread(ends, heights), ends):
            n.set_position((n.get_position()[0], y - end))


@dataclass(frozen=True)
class Shown:
    """A finished figure: one SVG output with a note of how it was made."""

    name: str
    image: str = field(repr=False)
    made: Mapping[str, object]

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> tuple:
        return {"image/svg+xml": self.image}, {"reprise": dict(self.made)}


def _dotted(made_by: str | Callable) -> str:
    """Return the dotted name of a function, checked to be importable."""
    name = made_by
    if callable(made_by):
        name = f"{made_by.__module__}.{made_by.__qualname__}"
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", name):
        raise ValueError(f"`made_by` must be a function or its dotted name, got {made_by!r}")
    module, _, attribute = name.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), attribute, None)
    except ImportError as error:
        raise ValueError(f"`made_by` must be importable, got {name!r} ({error})") from None
    if not callable(found):
        raise ValueError(f"`made_by` must name a function, got {name!r}")
    return name


def show(
    fig: Figure,
    name: str,
    made_by: str | Callable,
    *,
    parameters: Mapping[str, object] | None = None,
    seeds: object = None,
    seconds: float | None = None,
) -> Shown:
    """Return a figure as the one output of its cell, which must end with this call.

    Parameters
    ----------
    fig : the figure; closed where pyplot knows it
    name : as in the cell's `mystnb` block, such as "fig-gain"
    made_by : the function that drew it, or its dotted name
    parameters, seeds, seconds : how it was made, for the link below the figure; plain values

    Raises
    ------
    ValueError
        For a name that can't be an anchor, a function that can't be imported, or parameters that
        JSON can't hold.
    """
    if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
        raise ValueError(f"`name` must be lower-case words joined by -, got {name!r}")
    made: dict[str, object] = {"figure": name, "made_by": _dotted(made_by)}
    given = {"parameters": parameters, "seeds": seeds, "seconds": seconds}
    made |= {key: value for key, value in given.items() if value is not None}
    try:
        made = json.loads(json.dumps(made, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ValueError(f"`parameters` must be plain values, got {parameters!r}") from error
    image = svg(fig)
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close(fig)
    return Shown(name, image, made)
