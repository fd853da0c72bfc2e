"""The whole book as data: each chapter's paper, claims and costs, from its run or what is stored.

A chapter that ran shows the verdicts of its page (`verdicts.json` of the run); one without a good
run those that are stored. Everything here is light: no table is read.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reprise import paths, results
from reprise.claims import PARTS, Paper
from reprise.estimate import Estimate
from reprise.pipeline.book import Chapter
from reprise.pipeline.places import Places, cpu_seconds, places, read
from reprise.rules import Status

PROFILES = ("full", "quick")  # in the order in which they lead
LICENCE = "CC-BY-4.0"


@dataclass(frozen=True)
class Outcome:
    """What one run says of a claim."""

    profile: str
    current: bool
    verdict: Status
    reason: str
    smallest_effect: float | None
    sees: str
    estimates: Mapping[str, Estimate]
    labels: Mapping[str, str]
    raw: Mapping[str, Any]  # as `verdicts.json` has it


@dataclass(frozen=True)
class Stated:
    """One claim of the book: what the paper says, and what our runs say, the leading one first."""

    chapter: str
    raw: Mapping[str, Any]
    runs: tuple[Outcome, ...]

    @property
    def id(self) -> str:
        """The claim's id, such as C1."""
        return str(self.raw["id"])

    @property
    def head(self) -> Outcome:
        """The run whose verdict leads."""
        return self.runs[0]

    @property
    def anchor(self) -> str:
        """The id of the claim's section, as Sphinx writes it."""
        return f"{self.chapter}-{self.id}".lower().replace("_", "-")

    @property
    def url(self) -> str:
        """The claim's section, relative to the front page."""
        return f"book/{self.chapter}.html#{self.anchor}"

    def run(self, profile: str) -> Outcome | None:
        """Return what a profile's run says, if there is one."""
        return next((run for run in self.runs if run.profile == profile), None)


@dataclass(frozen=True)
class Entry:
    """One chapter of the book."""

    item: Chapter
    paper: Paper
    claims: tuple[Stated, ...]
    record: Mapping[str, Any]  # of its last good run here; empty where there is none
    tables: Mapping[str, Mapping[str, Any]]  # profile -> `run.json`
    folders: Mapping[str, Path]  # profile -> where its tables are
    quick_seconds: float  # of CPU, kept cells included
    changes: tuple[Mapping[str, Any], ...] = ()
    figures: tuple[str, ...] = ()

    @property
    def slug(self) -> str:
        """The chapter's name everywhere."""
        return self.item.slug

    @property
    def counts(self) -> dict[Status, int]:
        """How many leading verdicts there are of each kind."""
        return count(self.claims)

    @property
    def date(self) -> str:
        """The day of the newest run behind the leading verdicts; "" where there is none."""
        profiles = {claim.head.profile for claim in self.claims}
        dates = [
            str(entry["date"])
            for profile in profiles
            for entry in (self.tables.get(profile, {}).get("experiments") or {}).values()
        ]
        return max(dates, default="")[:10]

    @property
    def full_seconds(self) -> float:
        """CPU-seconds of the stored full run."""
        entries = self.tables.get("full", {}).get("experiments") or {}
        return sum(float(entry.get("cpu_seconds") or 0) for entry in entries.values())

    @property
    def machines(self) -> list[str]:
        """The machines behind its tables, in words."""
        found = []
        for run in self.tables.values():
            for entry in (run.get("experiments") or {}).values():
                machine = entry.get("machine") or {}
                if machine.get("cores"):
                    found.append(f"{machine['cores']} cores of {machine.get('cpu')}")
        return list(dict.fromkeys(found))


def count(claims: Iterable[Stated]) -> dict[Status, int]:
    """Return how many leading verdicts there are of each kind, in the order of `Status`."""
    heads = [claim.head.verdict for claim in claims]
    return {status: heads.count(status) for status in Status if status in heads}


@dataclass(frozen=True)
class Catalog:
    """All chapters, in the order of the book."""

    root: Path
    entries: tuple[Entry, ...]

    @property
    def claims(self) -> list[Stated]:
        """Every claim, in the order of the book."""
        return [claim for entry in self.entries for claim in entry.claims]

    @property
    def parts(self) -> dict[str, list[Entry]]:
        """The book's parts that have chapters."""
        found = {part: [e for e in self.entries if e.paper.part == part] for part in PARTS}
        return {part: entries for part, entries in found.items() if entries}

    def with_figures(self, figures: Mapping[str, Iterable[str]]) -> Catalog:
        """Return the catalog with each chapter's staged figures: slug -> names."""
        entries = (replace(e, figures=tuple(figures.get(e.slug, ()))) for e in self.entries)
        return replace(self, entries=tuple(entries))


def gather(root: Path, chapters: Iterable[Chapter], profile: str = "quick") -> Catalog:
    """Return the catalog of chapters as their runs of a profile have left them.

    Raises
    ------
    results.Corrupt
        When a stored `run.json`, `claims.json` or `changes.json` is damaged; names its path.
    """
    return Catalog(root, tuple(_entry(item, profile) for item in chapters))


def _entry(item: Chapter, profile: str) -> Entry:
    from reprise.pipeline.accept import read_changes

    at = places(item.root, profile, item.slug)
    stored = paths.stored() / item.slug
    folders = {"full": stored / "full", "quick": stored / "quick"}
    if (at.tables / "run.json").is_file():
        folders[profile] = at.tables
    tables = {name: read(folder / "run.json") for name, folder in folders.items()}
    return Entry(
        item=item,
        paper=item.load("claims").PAPER,
        claims=tuple(_claims(item, at)),
        record=read(at.record),
        tables={name: run for name, run in tables.items() if run},
        folders=folders,
        quick_seconds=cpu_seconds(at),
        changes=tuple(read_changes(stored / "changes.json")),
    )


def _claims(item: Chapter, at: Places) -> list[Stated]:
    """Return a chapter's claims as its page shows them, else as they are stored."""
    path = at.tables / "verdicts.json"
    if path.is_file():
        said = results.read_json(path, "verdicts")
        return [_stated(item.slug, claim) for claim in said["claims"]]
    claims: dict[str, dict[str, Any]] = {}
    for profile in PROFILES:
        path = paths.stored() / item.slug / profile / "claims.json"
        if not path.is_file():
            continue
        for claim in results.read_json(path, "claims")["claims"]:
            known = claims.setdefault(claim["id"], {**claim, "runs": []})
            known["runs"].append({**claim, "profile": profile})
    for claim in claims.values():  # one that tells leads
        claim["runs"].sort(key=lambda run: run["verdict"] == Status.NOT_TESTED)
    return [_stated(item.slug, claim) for claim in claims.values()]


def _stated(slug: str, claim: Mapping[str, Any]) -> Stated:
    stated = {name: claim[name] for name in ("id", "claim", "paper", "fixed")}
    return Stated(slug, stated, tuple(_outcome(run) for run in claim["runs"]))


def _outcome(run: Mapping[str, Any]) -> Outcome:
    decides = run.get("decides", list(run["estimates"]))
    shown = {name: dict(run["estimates"][name]) for name in decides if name in run["estimates"]}
    labels = {name: str(estimate.pop("label")) for name, estimate in shown.items()}
    raw = {
        "profile": run["profile"],
        "current": run.get("current", True),
        "decides": decides,
        "sees": run.get("sees", "smallest effect seen"),
        **{
            name: run[name]
            for name in ("estimates", "smallest_effect", "margin", "verdict", "reason")
        },
    }
    return Outcome(
        profile=raw["profile"],
        current=raw["current"],
        verdict=Status(raw["verdict"]),
        reason=raw["reason"],
        smallest_effect=raw["smallest_effect"],
        sees=raw["sees"],
        estimates={name: Estimate(**estimate) for name, estimate in shown.items()},
        labels=labels,
        raw=raw,
    )


# --- to download ------------------------------------------------------------------------------


def document(catalog: Catalog) -> dict[str, object]:
    """Return what the book's own `claims.json` holds (schemas/book.schema.json)."""
    return {
        "schema": 1,
        "title": "Reprise: every claim of every chapter",
        "licence": LICENCE,
        "counts": {str(status): n for status, n in count(catalog.claims).items()},
        "claims": [
            {
                "chapter": entry.slug,
                "title": entry.paper.title,
                "part": entry.paper.part,
                "arxiv": entry.paper.arxiv,
                **claim.raw,
                "verdict": str(claim.head.verdict),
                "lead": claim.head.profile,
                "url": claim.url,
                "runs": [run.raw for run in claim.runs],
            }
            for entry in catalog.entries
            for claim in entry.claims
        ],
    }


COLUMNS = (
    "chapter", "title", "part", "arxiv", "id", "claim", "paper_value", "paper_where",
    "paper_effect", "unit", "rule_fixed", "verdict", "lead", "profile", "run_verdict", "estimate",
    "decides", "value", "low", "high", "level", "n", "how", "estimate_unit", "smallest_effect",
    "reason", "url",
)  # fmt: skip


def table(catalog: Catalog) -> str:
    """Return every claim as CSV: a row per claim, run and estimate, those that decide first."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for entry in catalog.entries:
        for claim in entry.claims:
            for run in claim.runs:
                writer.writerows(_rows(entry, claim, run))
    return buffer.getvalue()


def _rows(entry: Entry, claim: Stated, run: Outcome) -> list[dict[str, object]]:
    paper = claim.raw["paper"]
    base = {
        "chapter": entry.slug,
        "title": entry.paper.title,
        "part": entry.paper.part,
        "arxiv": entry.paper.arxiv,
        "id": claim.id,
        "claim": claim.raw["claim"],
        "paper_value": paper["value"],
        "paper_where": paper["where"],
        "paper_effect": paper["effect"],
        "unit": paper["unit"],
        "rule_fixed": claim.raw["fixed"],
        "verdict": str(claim.head.verdict),
        "lead": claim.head.profile,
        "profile": run.profile,
        "run_verdict": str(run.verdict),
        "smallest_effect": run.smallest_effect,
        "reason": run.reason,
        "url": claim.url,
    }
    estimates = run.raw["estimates"]
    order = sorted(estimates, key=lambda name: name not in run.estimates)
    rows = []
    for name in order:
        own = {k: estimates[name][k] for k in ("value", "low", "high", "level", "n", "how")}
        own |= {"estimate": estimates[name]["label"], "decides": name in run.estimates}
        rows.append({**base, **own, "estimate_unit": estimates[name]["unit"]})
    return rows or [base]
