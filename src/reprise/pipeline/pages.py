"""What staging adds to a page: banner, provenance footer, how a figure was made, or a stub page."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from reprise.pipeline.book import Chapter

TITLE = re.compile(r"^# .+$", flags=re.M)


def markdown(source: str) -> Any:
    """Return a Markdown cell."""
    from nbformat.v4 import new_markdown_cell

    return new_markdown_cell(source)


def write(notebook: Mapping[str, Any]) -> str:
    """Return a notebook as text; the same notebook gives the same text."""
    import nbformat

    node = nbformat.from_dict(notebook)
    return nbformat.writes(node, version=nbformat.NO_CONVERT) + "\n"


# --- banners ----------------------------------------------------------------------------------


def banner(kind: str, message: str, record: Mapping[str, Any]) -> str:
    """Return the admonition above a page that isn't of today's code.

    Parameters
    ----------
    kind : "failed", "missing asset" or "earlier"
    message : cell and error, or the assets' names
    record : of the run that the page shows; empty where it is lost
    """
    made = f" of {str(record['date'])[:10]}{_at_commit(record)}" if record else ""
    if kind == "failed":
        return _admonition(
            "The newest run of this chapter failed",
            f"It failed in {_verbatim(message)}\n\nThis page shows the last good run{made}, "
            "numbers and text.",
        )
    if kind == "missing asset":
        return _admonition(
            "Data of this chapter are missing here",
            f"Missing: {_verbatim(message)}\n\nThis page shows the last good run{made}, "
            "numbers and text.",
        )
    return _admonition(
        "Results of an earlier version",
        f"The code or its inputs have changed since the run{made} that this page shows.",
    )


def _admonition(title: str, text: str) -> str:
    return f"````{{admonition}} {title}\n:class: warning run-banner\n\n{text}\n````"


def _verbatim(text: str) -> str:
    """Return a text as inline code, whatever is in it."""
    inner = " ".join(text.split())
    longest = max((len(run) for run in re.findall("`+", inner)), default=0)
    ticks = "`" * (longest + 1)
    pad = " " if longest else ""
    return f"{ticks}{pad}{inner}{pad}{ticks}"


def _at_commit(record: Mapping[str, Any]) -> str:
    if not record.get("commit"):
        return ""
    dirty = " with uncommitted changes" if record.get("dirty") else ""
    return f" (commit `{record['commit'][:10]}`{dirty})"


def with_banner(cells: list[Any], text: str) -> list[Any]:
    """Return cells with a banner below the page's title."""
    for number, cell in enumerate(cells):
        if cell.cell_type == "markdown" and (found := TITLE.search(cell.source)):
            head, tail = cell.source[: found.end()], cell.source[found.end() :].strip()
            own = [markdown(head), markdown(text), *([markdown(tail)] if tail else [])]
            return [*cells[:number], *own, *cells[number + 1 :]]
    return [markdown(text), *cells]


# --- below the figures and at the end ----------------------------------------------------------


def made_by(made: Mapping[str, Any], figure: str = "") -> Any:
    """Return the small text below a figure: function (a link), parameters, seeds, seconds, SVG.

    Parameters
    ----------
    made : as `style.show` notes it
    figure : where the SVG is in the site, relative to the front page
    """
    first = f"How this was made: {{py:obj}}`~{made['made_by']}`"
    parts = []
    given = made.get("parameters")
    if isinstance(given, Mapping):
        given = ", ".join(f"{name} = {_short(value)}" for name, value in given.items())
    if given:
        parts.append(f"with {_verbatim(str(given))}")
    if (seeds := made.get("seeds")) not in (None, "", 0):
        parts.append(html.escape(_seeds(seeds) if isinstance(seeds, int) else str(seeds)))
    if isinstance(seconds := made.get("seconds"), (int, float)):
        parts.append(f"{seconds:.3g} s")
    text = ", ".join([f"{first} {parts[0]}" if given else first, *parts[bool(given) :]]) + "."
    if figure:
        text += f' <a href="../{html.escape(figure)}" download>Download the figure</a> (SVG).'
    return markdown(f"::::{{div}} made-by\n{text}\n::::")


def _seeds(n: int) -> str:
    return "1 seed" if n == 1 else f"{n} seeds"


def _short(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def footer(record: Mapping[str, Any], tables: Mapping[str, Any]) -> Any:
    """Return the provenance of a page's run: its own commit, not today's.

    Parameters
    ----------
    record : of the run
    tables : its `run.json`; may be empty
    """
    machine = record.get("machine") or {}
    libraries = {
        part.removeprefix("library "): version
        for part, version in record.get("parts", {}).items()
        if part.startswith("library ")
    }
    given = ", ".join(f"{k} = {v}" for k, v in record.get("parameters", {}).items())
    swept = sum(e["cpu_seconds"] for e in (tables.get("experiments") or {}).values())
    lines = [
        f"Run of {str(record.get('date', ''))[:16].replace('T', ' ')} UTC"
        f"{_at_commit(record)}; digest `{str(record.get('digest', ''))[:12]}`",
        f"Profile {record.get('profile', '')}: {_verbatim(given)}" if given else "",
        f"Time {_seconds(record, 'seconds')} ({_seconds(record, 'cpu_seconds')} of CPU), peak "
        f"memory {record.get('peak_mb', '?')} MB"
        + (
            f"; its experiments: {swept:.3g} s of CPU, cells kept from before included"
            if swept
            else ""
        ),
        f"Machine: {machine.get('cpu')}, {machine.get('cores')} cores, "
        f"{machine.get('memory_gib')} GiB, {machine.get('system')}, Python {machine.get('python')}"
        if machine
        else "",
        "Libraries: " + ", ".join(f"{k} {v}" for k, v in sorted(libraries.items()))
        if libraries
        else "",
    ]
    text = "\n".join(f"- {line}" for line in lines if line)
    if experiments := tables.get("experiments"):
        text += "\n\n| experiment | seeds | rows | seconds | digest |\n|---|--:|--:|--:|---|\n"
        text += "\n".join(
            f"| {name} | {e['n_seeds']} | {e['rows']} | {e['seconds']:.3g} | `{e['digest'][:12]}` |"
            for name, e in sorted(experiments.items())
        )
    return markdown(f"````{{admonition}} Provenance\n:class: provenance dropdown\n\n{text}\n````")


def _seconds(record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    return f"{value:.3g} s" if isinstance(value, (int, float)) else "?"


def take_along(
    item: Chapter, tables: Mapping[str, Mapping[str, Any]], repository: Mapping[str, Any]
) -> Any:
    """Return what can be downloaded of a chapter, and where its code is.

    Parameters
    ----------
    item : the chapter
    tables : profile -> `run.json` of the tables that the site holds
    repository : `url` and `branch`; without a URL there is no link to Binder
    """
    slug = item.slug
    lines = [
        f'**Notebook**: <a href="../_sources/book/{slug}.ipynb" download>with its outputs</a>; '
        f"its source is `book/{slug}.md`",
    ]
    for profile, run in tables.items():
        entries = run.get("experiments") or {}
        names = sorted(entries, key=lambda name: (name[0] != "e", name))
        at = f"../tables/{slug}/{profile}"
        links = [
            f'<a href="{at}/{html.escape(str(entries[name]["file"]))}" download>{name}</a>'
            for name in names
        ]
        verdicts = f'<a href="{at}/claims.json" download>verdicts</a>'
        lines.append(f"**Tables of the {profile} run**: {', '.join([*links, verdicts])}")
    lines.append(f"**Code**: {{py:mod}}`reprise.{slug}`, `pip install -e .` in a clone")
    if url := str(repository.get("url") or "").rstrip("/"):
        branch = repository.get("branch") or "main"
        target = f"https://mybinder.org/v2/git/{quote(url, safe='')}/{branch}"
        lines.append(
            f"**Run it**: [on Binder]({target}?urlpath=lab/tree/book/{slug}.md), in a browser, "
            "with nothing to install"
        )
    text = "\n".join(f"- {line}" for line in lines)
    return markdown(f"## Take it with you\n\n{text}")


# --- a page without a run -----------------------------------------------------------------------


def stored_folders(item: Chapter) -> list[Path]:
    """Return the folders of a chapter's stored results, the full ones first."""
    from reprise import paths

    return [paths.stored() / item.slug / profile for profile in ("full", "quick")]


def stub(item: Chapter, kind: str, message: str) -> dict[str, Any]:
    """Return the page of a chapter that has no good run here: notice, and stored verdicts if any.

    Parameters
    ----------
    item : the chapter
    kind : "failed", "missing asset" or "earlier"
    message : what went wrong
    """
    source = item.source.read_text() if item.source.is_file() else ""
    found = TITLE.search(source)
    verdicts = _stored_verdicts(stored_folders(item))
    if kind == "failed":
        title, text = "This chapter's run failed", f"It failed in {_verbatim(message)}"
    elif kind == "missing asset":
        title, text = "Data of this chapter are missing here", f"Missing: {_verbatim(message)}"
    else:
        title, text = "Not run yet", "This chapter has not been run here."
    tail = "Below are the stored results." if verdicts else "There is no good run to show instead."
    cells = [
        markdown(found.group(0) if found else f"# {item.slug}"),
        markdown(_admonition(title, f"{text}\n\n{tail}")),
        *([markdown(verdicts)] if verdicts else []),
    ]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number:03d}"
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def _stored_verdicts(folders: Iterable[Path]) -> str:
    """Return a table of the first stored claims, or "" where there are none."""
    for folder in folders:
        try:
            said = json.loads((folder / "claims.json").read_text())
            rows = [
                f"| {_cell(c['claim'])} | {_cell(c['paper']['value'])} | {_cell(c['verdict'])} "
                f"| {_cell(c['reason'])} |"
                for c in said["claims"]
            ]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        head = f"## Stored verdicts\n\nOf the stored {said['profile']} run of {said['date'][:10]}."
        table = "| claim | the paper says | verdict | why |\n|---|---|---|---|\n"
        return f"{head}\n\n{table}" + "\n".join(rows)
    return ""


def _cell(text: object) -> str:
    return " ".join(str(text).split()).replace("|", "\\|")
