"""Pages and files that no one writes by hand: parts, reference, bibliography, downloads."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from reprise import results
from reprise.pipeline import book
from reprise.pipeline.site import catalog as catalogs
from reprise.pipeline.site import reference, render

if TYPE_CHECKING:
    from reprise.pipeline.site.catalog import Catalog, Entry

EXTRA = "extra"  # of the stage: what the site holds as it is, below its front page
REFERENCE = "book/reference/index"
INTRODUCTIONS = {
    "Optimisation and scaling": "How models are trained, and what more data and more parameters "
    "buy.",
    "Causality, inference and matching": "What follows from what, which parameters fit what was "
    "seen, and which points belong together.",
    "Privacy": "What noise protects, and how much of it is needed.",
    "Efficient models": "The same answers from fewer bits and fewer operations.",
    "Language models: evaluation and robustness": "How to tell a good text from a bad one, and "
    "how language models fail.",
    "Reinforcement learning": "Learning to act, for several aims and in several worlds.",
}


def part_name(part: str) -> str:
    """Return the document of a part's page."""
    words = re.findall(r"[a-z]+", part.lower())
    return "book/parts/" + "-".join(word for word in words if word != "and")


def documents(catalog: Catalog) -> dict[str, str]:
    """Return name below the stage -> text of everything that is made from all chapters."""
    made = {f"{part_name(part)}.md": _part(catalog, part) for part in catalog.parts}
    made["descriptions.json"] = json.dumps(descriptions(catalog), indent=1, ensure_ascii=False)
    if REFERENCE in book.toc(catalog.root):
        made |= reference.pages(catalog)
    made["book/papers.bib"] = bibliography(catalog)
    made["_toc.yml"] = contents(catalog)
    claims = json.dumps(catalogs.document(catalog), indent=1, ensure_ascii=False) + "\n"
    made[f"{EXTRA}/claims.json"] = claims
    made[f"{EXTRA}/claims.csv"] = catalogs.table(catalog)
    schema = json.dumps(results.schema("book"), indent=1, ensure_ascii=False) + "\n"
    made[f"{EXTRA}/claims.schema.json"] = schema
    return made


def descriptions(catalog: Catalog) -> dict[str, str]:
    """Return document -> one sentence for search engines and previews of shared links."""
    found = {part_name(part): INTRODUCTIONS[part] for part in catalog.parts}
    for entry in catalog.entries:
        found[f"book/{entry.slug}"] = entry.paper.idea
        found[reference.page(entry)] = f"The code behind: {entry.paper.title}."
    folder = catalog.root / "book"
    for path in folder.rglob("*.md"):
        name = path.relative_to(catalog.root).with_suffix("").as_posix()
        if (
            name not in found
            and name != "book/index"
            and (text := first_sentence(path.read_text()))
        ):
            found[name] = text
    return dict(sorted(found.items()))


def first_sentence(page: str) -> str:
    """Return the first sentence of a page's prose, without marks; "" where there is none."""
    body = re.sub(r"\A---\n.*?\n---\n", "", page, flags=re.S)
    for block in re.split(r"\n\s*\n", body):
        text = " ".join(block.split())
        if text and text[0].isalpha():
            text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text).replace("`", "").replace("*", "")
            return re.split(r"(?<=[.?!]) ", text)[0][:200]
    return ""


def files(catalog: Catalog) -> dict[str, Path]:
    """Return name below the stage -> result file that the site holds as it is."""
    found = {}
    for entry in catalog.entries:
        for profile, run in entry.tables.items():
            names = [e["file"] for e in (run.get("experiments") or {}).values()]
            for name in (*names, "run.json", "claims.json"):
                path = entry.folders[profile] / str(name)
                if path.is_file():
                    found[f"{EXTRA}/{table_url(entry, profile, str(name))}"] = path
    return found


def table_url(entry: Entry, profile: str, name: str) -> str:
    """Return where a result file is in the site, relative to the front page."""
    return f"tables/{entry.slug}/{profile}/{name}"


def _part(catalog: Catalog, part: str) -> str:
    entries = catalog.parts[part]
    counts = catalogs.count(claim for entry in entries for claim in entry.claims)
    cards = render.html("part.html", catalog, 2, entries=entries, part_name=part, counts=counts)
    return f"# {part}\n\n{INTRODUCTIONS[part]}\n\n{cards}\n"


# --- the table of contents --------------------------------------------------------------------


def contents(catalog: Catalog) -> str:
    """Return the table of contents that the site is built by: ours, with what is generated.

    A page for each part stands before its chapters, the papers' reference pages below the
    overview of the reference.
    """
    tree = book.contents(catalog.root)
    for block in tree.get("parts") or []:
        part = block.get("caption")
        if part in catalog.parts:
            page = {"file": part_name(part), "title": "About this part"}
            block["chapters"] = [page, *block["chapters"]]
    for entry in _entries(tree):
        if entry.get("file") == REFERENCE:
            entry["sections"] = [{"file": name} for name in reference.names(catalog)]
    return yaml.safe_dump(tree, sort_keys=False, allow_unicode=True)


def _entries(tree: Mapping[str, Any]) -> list[dict[str, Any]]:
    blocks = tree.get("parts") or [tree]
    return [entry for block in blocks for entry in block.get("chapters") or []]


# --- the bibliography -------------------------------------------------------------------------


def bibliography(catalog: Catalog) -> str:
    """Return a BibTeX entry per paper, under its slug as the key."""
    return "\n".join(
        ["% Made from each paper's PAPER; other works stand in references.bib.", ""]
        + [bibtex(entry) for entry in catalog.entries]
    )


def bibtex(entry: Entry) -> str:
    """Return a paper's BibTeX entry."""
    paper = entry.paper
    fields = {
        "title": "{" + _tex(paper.title) + "}",
        "author": " and ".join(_tex(author) for author in paper.authors),
        "booktitle": _tex(paper.venue),
        "year": str(paper.year),
        "url": paper.url or (f"https://arxiv.org/abs/{paper.arxiv}" if paper.arxiv else ""),
        "note": f"arXiv:{paper.arxiv}" if paper.arxiv else "",
    }
    lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items() if value)
    return f"@inproceedings{{{entry.slug},\n{lines}\n}}\n"


def _tex(text: str) -> str:
    return re.sub(r"([&%#$_])", r"\\\1", text)
