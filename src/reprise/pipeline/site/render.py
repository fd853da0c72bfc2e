"""Fill the templates: HTML that a Markdown page takes as it is."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reprise.claims import PARTS
from reprise.rules import Status
from reprise.verdicts import MARKS, number

if TYPE_CHECKING:
    from jinja2 import Environment

    from reprise.datasets.registry import Source
    from reprise.pipeline.site.catalog import Catalog, Entry, Stated

TITLE = re.compile(r"^# (.+)$", flags=re.M)


@lru_cache(maxsize=1)
def _environment() -> Environment:
    import jinja2

    folder = Path(__file__).with_name("templates")
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder), autoescape=True, undefined=jinja2.StrictUndefined
    )


def html(template: str, catalog: Catalog, depth: int, **values: Any) -> str:
    """Return a template as a block of raw HTML for a Markdown page.

    Parameters
    ----------
    template : file name below `templates`
    catalog : the book
    depth : folders between the page and the front page
    values : what else the template shows
    """
    text = (
        _environment()
        .get_template(template)
        .render(
            base="../" * depth,
            marks=MARKS,
            titles={entry.slug: title(entry) for entry in catalog.entries},
            short={entry.slug: short(entry) for entry in catalog.entries},
            thumbnails={entry.slug: thumbnail(entry) for entry in catalog.entries},
            **values,
        )
    )
    # Markdown ends a raw block nowhere in its middle.
    return "``````{raw} html\n" + text.strip() + "\n``````"


def title(entry: Entry) -> str:
    """Return a chapter's title, as its page has it."""
    try:
        found = TITLE.search(entry.item.source.read_text())
    except OSError:
        found = None
    return plain(found[1]) if found else entry.slug


def short(entry: Entry) -> str:
    """Return a few words for a chapter: its title up to the colon."""
    return title(entry).partition(":")[0]


def plain(text: str) -> str:
    """Return a line of Markdown without marks."""
    return re.sub(r"[`*]", "", text).strip()


def thumbnail(entry: Entry) -> str:
    """Return where a chapter's key figure is in the site; "" where there is none."""
    key = entry.paper.key_figure
    return f"figures/{entry.slug}/{key}.svg" if key in entry.figures else ""


def cards(catalog: Catalog, entries: list[Entry], depth: int, *, part: bool) -> str:
    """Return a card per chapter."""
    return html("cards.html", catalog, depth, entries=entries, part=part)


def numbers(catalog: Catalog, depth: int) -> str:
    """Return the numbers of the whole book."""
    from reprise.pipeline.site.catalog import count

    machines = dict.fromkeys(m for entry in catalog.entries for m in entry.machines)
    seconds = sum(entry.quick_seconds + entry.full_seconds for entry in catalog.entries)
    return html(
        "numbers.html",
        catalog,
        depth,
        entries=catalog.entries,
        claims=catalog.claims,
        counts=count(catalog.claims),
        date=max((entry.date for entry in catalog.entries), default=""),
        compute=duration(seconds),
        machines=list(machines),
    )


def duration(seconds: float) -> str:
    """Return CPU time in words."""
    if seconds < 120:
        return f"{seconds:.0f} CPU seconds"
    if seconds < 7200:
        return f"{seconds / 60:.0f} CPU minutes"
    return f"{seconds / 3600:.1f} CPU hours"


def scorecard(catalog: Catalog, depth: int) -> str:
    """Return the table of every claim, with the controls that a script brings to life."""
    order = {claim.anchor: place for place, claim in enumerate(catalog.claims)}
    present = {claim.head.verdict for claim in catalog.claims}
    present |= {run.verdict for claim in catalog.claims for run in claim.runs}
    return html(
        "scorecard.html",
        catalog,
        depth,
        entries=catalog.entries,
        claims=catalog.claims,
        parts=[part for part in PARTS if part in catalog.parts],
        statuses=[status for status in Status if status in present],
        order=order,
        rank={status: place for place, status in enumerate(Status)},
        lead_value=lead_value,
        seen=seen,
    )


def lead_value(claim: Stated) -> str:
    """Return the number that a claim is sorted by: the first that decides, of the leading run."""
    first = next(iter(claim.head.estimates.values()), None)
    return repr(first.value) if first is not None and math.isfinite(first.value) else ""


def seen(claim: Stated) -> str:
    """Return what effect the leading run would have seen, beside the paper's, in words."""
    head, paper = claim.head, claim.raw["paper"]
    if head.verdict is Status.NOT_TESTED:
        return ""
    unit = f" {paper['unit']}" if paper["unit"] else ""
    if head.smallest_effect is None:
        return "n/a" if paper["effect"] is None else f"n/a; the paper's {number(paper['effect'])}"
    what = "" if head.sees == "smallest effect seen" else f"{head.sees}: "
    theirs = "" if paper["effect"] is None else f"; the paper's {number(paper['effect'])}"
    return f"{what}{number(head.smallest_effect)}{unit}{theirs}"


def changes(catalog: Catalog, depth: int) -> str:
    """Return which verdicts and numbers changed, when and why, the newest first."""
    found = [
        (entry, {**change, "changes": [_change(c) for c in change["changes"]]})
        for entry in catalog.entries
        for change in entry.changes
    ]
    found.sort(key=lambda pair: str(pair[1]["date"]), reverse=True)
    if not found:
        return "Nothing has changed since the first results."
    anchors = [f"{entry.slug}-{change['date'][:19]}".replace(":", "") for entry, change in found]
    return html("changes.html", catalog, depth, changes=found, anchors=anchors)


def _change(change: dict[str, Any]) -> dict[str, Any]:
    name, _, what = change["what"].partition(": ")
    old, new = (_shown(change[key]) for key in ("old", "new"))
    return {
        "what": change["what"], "name": name, "is_verdict": what == "verdict",
        "old": old, "new": new,
    }  # fmt: skip


def _shown(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def data(catalog: Catalog, depth: int) -> str:
    """Return the asset registry as a table with licence and credit."""
    from reprise.datasets import registry

    slugs = {entry.slug for entry in catalog.entries}
    rows = []
    for name, entry in sorted(registry.entries().items()):
        uses: dict[str, list[str]] = {}
        for use in entry.used_by:
            slug, _, profile = use.partition(":")
            uses.setdefault(slug, []).extend([profile] if profile else [])
        rows.append(
            {
                "name": name,
                "title": entry.title,
                "licence": entry.licence,
                "citation": entry.citation,
                "sha256": entry.sha256,
                "size": size(entry.size),
                "sources": [_source(source) for source in entry.sources],
                "used_by": [
                    {
                        "name": f"{slug} ({', '.join(profiles)})" if profiles else slug,
                        "url": f"book/{slug}.html" if slug in slugs else "",
                    }
                    for slug, profiles in uses.items()
                ],
            }
        )
    return html("data.html", catalog, depth, assets=rows)


def _source(source: Source) -> str:
    if source.kind == "env":
        return f"a folder that ${source.names[0]} names"
    return "upstream" if source.kind == "url" else str(source)


def size(n_bytes: int) -> str:
    """Return a size in words."""
    if n_bytes < 1_000_000:
        return f"{n_bytes / 1000:.0f} kB"
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes < 1e9 else f"{n_bytes / 1e9:.1f} GB"
