"""A notebook's outputs: texts, figures, and paths of this machine, which mustn't be published."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_TEXT = ("text/", "image/svg", "application/json", "application/javascript")
# A kernel compiles its cells under such names; warnings show them.
_KERNEL = re.compile(r"/[\w./-]*ipykernel_\d+/")


def plain(text: str) -> str:
    """Return a text without terminal colours."""
    return _ANSI.sub("", text)


def private_places(root: Path) -> list[str]:
    """Return the folders of this machine that a page must not name, longest first."""
    from reprise import paths

    places = {str(root), str(root.resolve()), str(paths.cache()), str(Path.home())}
    if sys.prefix != sys.base_prefix:
        places.add(sys.prefix)
    if here := os.environ.get("REPRISE_RESULTS"):
        places.add(str(Path(here).resolve()))
    return sorted((p for p in places if len(p) > 2), key=len, reverse=True)


def texts(output: Mapping[str, Any]) -> Iterator[str]:
    """Yield all texts of an output, pictures left out."""
    if "text" in output:
        yield _joined(output["text"])
    if output.get("output_type") == "error":
        yield "\n".join(output.get("traceback", []))
    for mime, value in (output.get("data") or {}).items():
        # myst_nb's glue puts a prefix before the type.
        kind = mime.removeprefix("application/papermill.record/")
        if kind.startswith(_TEXT):
            yield _joined(value) if isinstance(value, (str, list)) else str(value)


def _joined(value: Any) -> str:
    return "".join(map(str, value)) if isinstance(value, list) else str(value)


def leaks(cells: Sequence[Any], places: Iterable[str]) -> tuple[int, str] | None:
    """Return (index of a cell, what its output names) for the first path of this machine.

    A path counts where it begins a name: "/root" in "a/root" doesn't.
    """
    searches = [re.compile(rf"(?<![\w/.:-]){re.escape(place)}(?![\w-])") for place in places]
    for index, cell in enumerate(cells):
        for output in cell.get("outputs", []):
            if output.get("name") == "stderr":
                continue  # never published (nb_output_stderr); the build fails on it
            for text in texts(output):
                for search in (*searches, _KERNEL):
                    if found := search.search(text):
                        tail = text[found.start() : found.start() + 60].splitlines()[0]
                        return index, f"a path of this machine ({tail})"
    return None


def hide(text: str, places: Iterable[str]) -> str:
    """Return a text with the folders of this machine left out."""
    for place in places:
        text = re.sub(rf"(?<![\w/.:-]){re.escape(place)}(?:/|(?![\w-]))", "", text)
    return text


def figures(cell: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Yield how each figure of a cell was made, as `style.show` notes it, and the SVG itself."""
    for output in cell.get("outputs", []):
        made = (output.get("metadata") or {}).get("reprise")
        if isinstance(made, Mapping) and made.get("made_by"):
            yield made, _joined((output.get("data") or {}).get("image/svg+xml", ""))
