"""Blocks of a page that are made from all chapters: "```{reprise} scorecard" and the like."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from reprise.pipeline.cells import UserError, close
from reprise.pipeline.site import render
from reprise.rules import Status
from reprise.verdicts import badge

if TYPE_CHECKING:
    from reprise.pipeline.site.catalog import Catalog

BLOCK = re.compile(r"^(`{3,})\{reprise\} *(\S*) *\n\1 *$", flags=re.M)
MEANS = {
    Status.REPRODUCED: "The rule's condition holds, interval included.",
    Status.PARTLY: "Some of the parts that the rule declares hold, others don't.",
    Status.INCONCLUSIVE: "This run cannot tell: the interval covers both no effect and the "
    "paper's direction.",
    Status.NOT_REPRODUCED: "The data contradict the claim: the interval lies on the other side, "
    "or inside a margin around no effect.",
    Status.NOT_TESTED: "Out of reach here; the reason stands beside it.",
}


def _kinds(catalog: Catalog, depth: int) -> str:
    rows = "\n".join(f"| {badge(status)} | {MEANS[status]} |" for status in Status)
    return f"| verdict | means |\n|---|---|\n{rows}"


def _example(catalog: Catalog, depth: int) -> str:
    from reprise.pipeline.site.example import worked_example

    return worked_example()


def _cards(catalog: Catalog, depth: int) -> str:
    return render.cards(catalog, list(catalog.entries), depth, part=True)


BLOCKS: dict[str, Callable[[Catalog, int], str]] = {
    "numbers": render.numbers,
    "cards": _cards,
    "scorecard": render.scorecard,
    "changes": render.changes,
    "data": render.data,
    "verdict-kinds": _kinds,
    "worked-example": _example,
}


def fill(text: str, catalog: Catalog, name: str) -> str:
    """Return a page with its blocks made.

    Parameters
    ----------
    text : the page
    catalog : the book
    name : where the page is staged, such as "book/guide/reading.md"

    Raises
    ------
    UserError
        For an unknown block; names the page and the closest.
    """

    def made(found: re.Match[str]) -> str:
        block = found[2]
        if block not in BLOCKS:
            raise UserError(f"{name}: there is no block {block!r}: {close(block, BLOCKS)}")
        return BLOCKS[block](catalog, name.count("/"))

    return BLOCK.sub(made, text)
