"""What state each chapter is in: for people as a table, for programs as JSON."""

from __future__ import annotations

import ast
import datetime
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from reprise import paths
from reprise.pipeline.book import Chapter, chapter, chapters
from reprise.pipeline.cells import UserError

Row = dict[str, object]


def listing(root: Path) -> list[Row]:
    """Return slug, title, part, profiles and experiments of each chapter, without running any."""
    rows = []
    for item in chapters(root):
        said = paper(item)
        rows.append(
            {
                "slug": item.slug,
                "title": said.get("title", ""),
                "part": said.get("part", ""),
                "profiles": item.profiles(),
                "experiments": item.experiments(),
            }
        )
    return rows


def paper(item: Chapter) -> dict[str, object]:
    """Return the literal arguments of `PAPER = Paper(...)`, read from the source.

    Not imported: a list of nineteen chapters should not wait for nineteen modules, and a broken
    one should not hide the others.
    """
    try:
        tree = ast.parse((item.package / "claims.py").read_text())
    except (OSError, SyntaxError):
        return {}
    for node in tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if getattr(target, "id", "") == "PAPER" and isinstance(node.value, ast.Call):
            found = {}
            for keyword in node.value.keywords:
                try:
                    found[keyword.arg] = ast.literal_eval(keyword.value)
                except (ValueError, TypeError):
                    continue
            return found
    return {}


def states(root: Path) -> list[Row]:
    """Return one row per chapter: stale or fresh and why, and its quick and full results."""
    from reprise import results
    from reprise.pipeline import digests

    rows = []
    for item in chapters(root):
        row: Row = {"slug": item.slug, "state": "fresh", "why": []}
        rows.append(row)
        try:
            if reasons := digests.stale(item, "quick"):
                row |= {"state": "stale", "why": reasons}
            fresh = root / "_build" / "run" / "quick" / item.slug
            row["quick"] = folder(item, "quick", fresh)
            row["reference"] = folder(item, "quick", paths.stored() / item.slug / "quick")
            row["full"] = folder(item, "full", paths.stored() / item.slug / "full")
        except (UserError, ValueError, SyntaxError, results.Corrupt) as error:
            # One broken chapter doesn't hide the others.
            row |= {"state": "broken", "why": [" ".join(str(error).split())]}
    return rows


def folder(item: Chapter, profile: str, where: Path) -> Row | None:
    """Return what a folder of results holds, or None where there is none.

    Returns
    -------
    verdicts: how many of each; date: of its newest table; seconds, cpu_seconds, peak_mb: summed
    (the largest for memory); outdated: experiments whose table was made by an earlier version of
    the code or config; missing: experiments of the profile without a table

    Raises
    ------
    results.Corrupt
        When a file is damaged; names its path.
    """
    from reprise import results
    from reprise.pipeline.verify import claims_of

    run = results.read_run(where)
    if run is None:
        return None
    entries: Mapping[str, Row] = run["experiments"]
    for name, entry in entries.items():
        results.read_table(where, name, entry)
    outdated = [
        name
        for name, entry in entries.items()
        if not results.is_current(item.slug, name, entry, profile)
    ]
    verdicts = Counter(str(claim["verdict"]) for claim in claims_of(where).values())
    return {
        "verdicts": dict(verdicts),
        "date": max((str(e["date"]) for e in entries.values()), default=""),
        "seconds": round(sum(float(e["seconds"]) for e in entries.values()), 1),
        "cpu_seconds": round(sum(float(e["cpu_seconds"]) for e in entries.values()), 1),
        "peak_mb": max((float(e["peak_mb"]) for e in entries.values()), default=0),
        "outdated": outdated,
        "missing": sorted(set(item.configs(profile)) - set(entries)),
    }


def report(root: Path, *, as_json: bool = False) -> None:
    """Print the state of every chapter."""
    from reprise.pipeline.cli import show

    rows = states(root)
    if as_json:
        show(rows, as_json=True)
        return
    show(
        [
            {
                "chapter": row["slug"],
                "state": row["state"],
                "why": _few(row["why"]),
                "quick": _verdicts(row.get("quick")),
                "reference": _age(row.get("reference")),
                "full": _verdicts(row.get("full")),
                "full results": _age(row.get("full")),
                "time, memory": _cost(row.get("quick"), row.get("full")),
            }
            for row in rows
        ]
    )


def _few(reasons: list[str], most: int = 3) -> str:
    more = f" and {len(reasons) - most} more" if len(reasons) > most else ""
    return "; ".join(reasons[:most]) + more


def _verdicts(found: Row | None) -> str:
    if found is None:
        return "not yet"
    return ", ".join(f"{count} {name}" for name, count in sorted(found["verdicts"].items()))


def _age(found: Row | None) -> str:
    if found is None:
        return "not yet"
    made = datetime.datetime.fromisoformat(found["date"]) if found["date"] else None
    days = (datetime.datetime.now(datetime.UTC) - made).days if made else 0
    parts = [f"{days} days old" if days else "of today"]
    if found["outdated"]:
        names = ", ".join(found["outdated"])
        parts.append(f"made by an earlier version of the code: {names}")
    if found["missing"]:
        parts.append(f"not yet: {', '.join(found['missing'])}")
    return "; ".join(parts) if len(parts) > 1 else f"{parts[0]}, current"


def _cost(quick: Row | None, full: Row | None) -> str:
    parts = []
    for name, found in (("quick", quick), ("full", full)):
        if found:
            minutes = found["cpu_seconds"] / 60
            cpu = f"{minutes:.0f} min" if minutes >= 3 else f"{found['cpu_seconds']:.0f} s"
            parts.append(f"{name} {cpu} CPU, {found['peak_mb']:.0f} MB")
    return "; ".join(parts)


def claims(root: Path, slug: str | None = None) -> list[Row]:
    """Return each claim with its headline verdict: the full run's when current, else quick's."""
    from reprise.pipeline.verify import claims_of

    rows = []
    for item in [chapter(root, slug)] if slug else chapters(root):
        stored = paths.stored() / item.slug
        fresh = root / "_build" / "run" / "quick" / item.slug
        full = claims_of(stored / "full")
        quick = claims_of(fresh) or claims_of(stored / "quick")
        outdated = _outdated(item, stored / "full")
        for claim in dict.fromkeys([*full, *quick]):
            leads = claim in full and full[claim]["verdict"] != "not tested"
            leads = leads and not outdated & _experiments(item, full[claim])
            said = full[claim] if leads or claim not in quick else quick[claim]
            rows.append(
                {
                    "slug": item.slug,
                    "id": claim,
                    "claim": said["claim"],
                    "verdict": said["verdict"],
                    "run": "full" if said is full.get(claim) else "quick",
                    "quick": quick.get(claim, {}).get("verdict", ""),
                    "reason": said["reason"],
                }
            )
    return rows


def _outdated(item: Chapter, where: Path) -> set[str]:
    found = folder(item, "full", where)
    return set(found["outdated"]) if found else set()


def _experiments(item: Chapter, claim: Row) -> set[str]:
    """Return the experiments whose tables a claim's estimates were made from."""
    measures = item.load("claims").MEASURES
    known = [measures[name] for name in claim["estimates"] if name in measures]
    return {experiment for measure in known for experiment in measure.experiments}
