"""Put together what the site is built from: today's prose with the outputs of the last run.

`_build/stage/book/` holds a notebook per chapter and copies of the pages without code. A file is
written only when it differs, so that the site builds again just what changed.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from reprise import paths
from reprise.closure import digest_of, file_digest, source_digest
from reprise.pipeline import book, digests, outputs, pages
from reprise.pipeline.book import Chapter, UserError
from reprise.pipeline.kernel import is_injected, number
from reprise.pipeline.places import Places, describe, intact, places, read, read_failure
from reprise.pipeline.site import blocks, documents
from reprise.pipeline.site.catalog import Catalog, gather

Kind = Literal["current", "failed", "missing asset", "earlier"]
# What makes a page beside its inputs: when this changes, all are staged again.
OWN = ("stage.py", "pages.py", "outputs.py")
FRONT = Path("book/index.md")  # the front page


class Refused(Exception):
    """A page can't be published; the message says why."""


@dataclass(frozen=True)
class Page:
    """One chapter's page: what it shows and why."""

    chapter: Chapter
    profile: str
    kind: Kind
    message: str = ""

    @property
    def places(self) -> Places:
        """Where its run is."""
        return places(self.chapter.root, self.profile, self.chapter.slug)

    def inputs(self) -> Iterator[Path]:
        """Yield the files that the page is made of; some may not be there."""
        at, root = self.places, self.chapter.root
        yield from (self.chapter.source, at.notebook, at.record, at.tables / "run.json")
        # What can be downloaded, and the address of the repository.
        yield from (pages.stored_folders(self.chapter)[0] / "run.json", root / "_config.yml")
        if not intact(at):
            yield from (path / "claims.json" for path in pages.stored_folders(self.chapter))


def stage(
    root: Path,
    chapters: Iterable[Chapter],
    profile: str = "quick",
    *,
    lacking: Mapping[str, list[str]] | None = None,
    failures: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Stage all pages and return chapter -> why its page couldn't be staged.

    Parameters
    ----------
    root, chapters, profile : what to stage
    lacking : chapter -> assets that aren't there
    failures : chapter -> how its last run failed
    """
    target = root / "_build" / "stage"
    memory = root / "_build" / "stage.json"
    before = read(memory)
    own = digest_of([file_digest(Path(__file__).with_name(name)) for name in OWN])
    now, troubles = {}, {}
    chapters = list(chapters)
    for item in chapters:
        page = plan(item, profile, lacking or {}, failures or {})
        path = target / "book" / f"{item.slug}.ipynb"
        key = digest_of([own, page.kind, page.message, [_digest(path) for path in page.inputs()]])
        if before.get(item.slug) == [key, _digest(path)]:
            now[item.slug] = before[item.slug]
            continue
        try:
            text = notebook(page)
        except Refused as error:
            troubles[item.slug] = str(error)
            if not path.is_file():
                text = pages.write(pages.stub(item, "failed", str(error)))
                write_if_different(path, text.encode())
            continue
        write_if_different(path, text.encode())
        write_figures(target, item, json.loads(text)["cells"])
        now[item.slug] = [key, _digest(path)]
    kept = {target / "book" / f"{item.slug}.ipynb" for item in chapters}
    kept |= {path for item in chapters for path in figures(target, item)}
    kept |= whole_book(root, target, chapters, profile)
    remove_others(target, kept)
    write_if_different(memory, json.dumps(now, indent=1).encode())
    return troubles


def plan(
    item: Chapter,
    profile: str,
    lacking: Mapping[str, list[str]],
    failures: Mapping[str, str],
) -> Page:
    """Return which page a chapter gets."""
    if item.slug in failures:
        return Page(item, profile, "failed", failures[item.slug])
    try:
        current = not digests.stale(item, profile)
    except SyntaxError as error:
        return Page(item, profile, "failed", f"SyntaxError: {error.msg}, line {error.lineno}")
    if current:
        return Page(item, profile, "current")
    if names := lacking.get(item.slug):
        return Page(item, profile, "missing asset", ", ".join(names))
    if report := read_failure(places(item.root, profile, item.slug)):
        return Page(item, profile, "failed", describe(report))
    return Page(item, profile, "earlier")


# --- one page ---------------------------------------------------------------------------------


def notebook(page: Page) -> str:
    """Return a page's notebook as text.

    Raises
    ------
    Refused
        When an output names a path of this machine, or prose and run don't fit together.
    """
    import nbformat

    item, at = page.chapter, page.places
    if not intact(at):
        return pages.write(pages.stub(item, page.kind, page.message))
    try:
        run = nbformat.read(at.notebook, as_version=4)
    except (ValueError, OSError):  # damaged: as if there were none; its next run replaces it
        return pages.write(pages.stub(item, page.kind, page.message))
    record, tables = read(at.record), read(at.tables / "run.json")
    if page.kind == "current":
        cells = merge(item.source.read_text(), run)
    else:
        cells = run.cells
    if found := outputs.leaks(cells, outputs.private_places(item.root)):
        raise Refused(f"cell {number(cells, found[0])}: its output names {found[1]}")
    cells = [part for cell in cells for part in with_notes(cell, item)]
    if page.kind != "current":
        cells = pages.with_banner(cells, pages.banner(page.kind, page.message, record))
    full = read(paths.stored() / item.slug / "full" / "run.json")
    held = {name: run for name, run in (("full", full), (page.profile, tables)) if run}
    cells.append(pages.take_along(item, held, book.repository(item.root)))
    if record:
        cells.append(pages.footer(record, tables))
    return pages.write(_clean(cells, run.metadata))


def merge(source: str, run: Any) -> list[Any]:
    """Return today's cells with the outputs of a run, matched by the code cells in order.

    Parameters
    ----------
    source : the chapter, MyST Markdown
    run : the executed notebook

    Raises
    ------
    Refused
        When the code cells aren't those of the run.
    """
    import jupytext

    today = jupytext.reads(source, fmt="md:myst").cells
    injected = [cell for cell in run.cells if is_injected(cell)]
    ran = [cell for cell in run.cells if cell.cell_type == "code" and not is_injected(cell)]
    code = [cell for cell in today if cell.cell_type == "code"]
    if [_code(cell) for cell in code] != [_code(cell) for cell in ran]:
        raise Refused("its code cells are not those of its last run")
    merged = []
    outcome = iter(ran)
    for cell in today:
        merged.append(cell)
        if cell.cell_type == "code":
            done = next(outcome)
            cell.outputs, cell.execution_count = done.outputs, done.execution_count
            if "parameters" in cell.metadata.get("tags", []):
                merged += injected
    return merged


def _code(cell: Any) -> str:
    """Return what tells code cells apart: as in the run digest, comments don't count."""
    try:
        return source_digest(cell.source)
    except SyntaxError:
        return cell.source  # a line magic


def with_notes(cell: Any, item: Chapter) -> list[Any]:
    """Return a cell, followed by how its figures were made."""
    hidden = {"remove-cell", "remove-output", "remove_cell", "remove_output"}
    if cell.cell_type != "code" or hidden & set(cell.metadata.get("tags", [])):
        return [cell]
    slug = item.slug
    return [
        cell,
        *(pages.made_by(made, figure_url(slug, made)) for made, _ in outputs.figures(cell)),
    ]


def _clean(cells: list[Any], metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return a notebook without what differs from run to run or names this machine."""
    for position, cell in enumerate(cells):
        cell["id"] = f"cell-{position:03d}"
        for name in ("papermill", "execution"):
            cell["metadata"].pop(name, None)
    kept = {k: metadata[k] for k in ("kernelspec", "language_info") if k in metadata}
    return {"cells": cells, "metadata": kept, "nbformat": 4, "nbformat_minor": 5}


# --- files ------------------------------------------------------------------------------------


def figure_url(slug: str, made: Mapping[str, Any]) -> str:
    """Return where a figure's SVG is in the site, relative to the front page."""
    return f"figures/{slug}/{made['figure']}.svg"


def figures(target: Path, item: Chapter) -> list[Path]:
    """Return a chapter's figures that are staged to be downloaded."""
    return sorted((target / documents.EXTRA / "figures" / item.slug).glob("*.svg"))


def write_figures(target: Path, item: Chapter, cells: Iterable[Mapping[str, Any]]) -> None:
    """Stage a page's figures under their names; those that it no longer has go."""
    before = set(figures(target, item))
    for cell in cells:
        for made, svg in outputs.figures(cell):
            if svg:
                path = target / documents.EXTRA / figure_url(item.slug, made)
                write_if_different(path, svg.encode())
                before.discard(path)
    for path in before:
        path.unlink()


def whole_book(root: Path, target: Path, chapters: list[Chapter], profile: str) -> set[Path]:
    """Stage the pages without code and what is made from all chapters; return the files."""
    catalog = gather(root, chapters, profile)
    catalog = catalog.with_figures(
        {item.slug: [path.stem for path in figures(target, item)] for item in chapters}
    )
    kept = copy_pages(root, target, catalog)
    for name, text in documents.documents(catalog).items():
        write_if_different(target / name, text.encode())
        kept.add(target / name)
    for name, path in documents.files(catalog).items():
        write_if_different(target / name, path.read_bytes())
        kept.add(target / name)
    return kept


def copy_pages(root: Path, target: Path, catalog: Catalog) -> set[Path]:
    """Copy pages without code, their blocks made, the bibliography and static files.

    `book/index.md` becomes the site's front page when `_toc.yml` has `root: index`.

    Raises
    ------
    UserError
        When a page of `_toc.yml` has code cells but is no chapter, or asks for an unknown block.
    """
    slugs = {entry.slug for entry in catalog.entries}
    listed = set(book.toc(root))
    kept = set()
    for path in sorted((root / "book").rglob("*")):
        inner = path.relative_to(root)
        hidden = any(part.startswith(".") for part in inner.parts)
        if hidden or not path.is_file() or inner.parts[1] == "profiles" or path.suffix == ".ipynb":
            continue
        data = path.read_bytes()
        if path.suffix == ".md":
            if inner.parent == Path("book") and path.stem in slugs:
                continue
            text = data.decode()
            if next(iter(book.code_cells(text)), None):
                if inner.with_suffix("").as_posix() in listed:
                    raise UserError(f"{inner} has code cells, but there is no package for it")
                continue  # a chapter that isn't in the book yet
            if inner == FRONT and "index" in listed:
                inner = Path(FRONT.name)
            data = blocks.fill(text, catalog, inner.as_posix()).encode()
        write_if_different(target / inner, data)
        kept.add(target / inner)
    return kept


def remove_others(target: Path, kept: set[Path]) -> None:
    """Remove staged files that no longer belong there, and folders that are empty."""
    for path in sorted(target.rglob("*"), reverse=True):
        if path.is_dir():
            if not any(path.iterdir()):
                path.rmdir()
        elif path not in kept:
            path.unlink()


def write_if_different(path: Path, data: bytes) -> bool:
    """Write a file beside its place, then rename, unless it holds just that; return whether."""
    try:
        if path.read_bytes() == data:
            return False
    except OSError:
        pass
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(data)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return True


def clear(root: Path) -> None:
    """Forget what was staged."""
    shutil.rmtree(root / "_build" / "stage", ignore_errors=True)
    (root / "_build" / "stage.json").unlink(missing_ok=True)


def _digest(path: Path) -> str:
    return file_digest(path) if path.is_file() else ""
