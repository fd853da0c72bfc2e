"""What the commands do: run chapters, or make the book from them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from reprise.pipeline import book, digests, locks, memory
from reprise.pipeline.book import Chapter
from reprise.pipeline.places import cpu_seconds, places, read_failure
from reprise.pipeline.pool import Job, Outcome, default_jobs, run_jobs

__all__ = ["Job", "Outcome", "default_jobs", "make_book", "run_chapters", "run_jobs"]

WARN_ABOVE = 90.0  # CPU-seconds of a quick run
FAIL_ABOVE = 150.0  # in CI


def run_chapters(
    root: Path, slugs: Iterable[str], *, profile: str = "quick", fresh: bool = False
) -> int:
    """Run chapters alone (no page is built) and return the exit status.

    Parameters
    ----------
    root : the repository
    slugs : the chapters
    profile : "quick" or "full"
    fresh : also when nothing has changed

    Raises
    ------
    UserError
        For wrong use, before anything runs.
    """
    if profile != "quick":
        from reprise.pipeline import full

        return max(full.run_full(root, slug) for slug in slugs)
    chosen = book.check(root, slugs)
    lacking = fetch_assets(root, chosen)
    outcomes = run_stale(chosen, lacking, fresh=fresh)
    return summary(outcomes, [item for item in chosen if item.slug not in outcomes])


def make_book(
    root: Path,
    *,
    profile: str = "quick",
    chapters: Iterable[str] | None = None,
    fresh: bool = False,
    jobs: int | None = None,
) -> int:
    """Make the book: run stale chapters, stage all of them, build the site.

    Parameters
    ----------
    root : the repository
    profile : whose tables and figures the pages show
    chapters : the only ones that may be run (default: all); all are staged
    fresh : run them also when nothing has changed
    jobs : how many at once (default: `REPRISE_JOBS`, else one per core)

    Returns
    -------
    exit status: 0, or 1 when a chapter failed, an asset is missing, or the site has warnings

    Raises
    ------
    UserError
        For wrong use, before anything runs.
    """
    everything = book.check(root, profile=profile)
    wanted = set(chapters) if chapters is not None else {item.slug for item in everything}
    for slug in wanted:
        book.chapter(root, slug)
    build = root / "_build"
    with (
        locks.hold(build / "build.lock", what="the build", tell=_tell),
        memory.of_sources(build / "parsed.json", root / "src"),
    ):
        return _make(root, everything, wanted, profile, fresh, jobs)


def _make(
    root: Path,
    everything: list[Chapter],
    wanted: set[str],
    profile: str,
    fresh: bool,
    jobs: int | None,
) -> int:
    from reprise.pipeline import html, stage

    chosen = [item for item in everything if item.slug in wanted]
    lacking = fetch_assets(root, chosen, profile)
    outcomes = run_stale(chosen, lacking, profile=profile, fresh=fresh, jobs=jobs)
    failures = {o.slug: o.message for o in outcomes.values() if o.state == "failed"}
    troubles = stage.stage(root, everything, profile, lacking=lacking, failures=failures)
    for slug, message in troubles.items():
        outcomes[slug] = Outcome(slug, "failed", message)
    built = html.build(root, strict=all(o.ok for o in outcomes.values()), tell=_tell)
    code = summary(outcomes, everything, profile)
    return code if built else 1


def run_stale(
    chosen: list[Chapter],
    lacking: Mapping[str, list[str]],
    *,
    profile: str = "quick",
    fresh: bool = False,
    jobs: int | None = None,
) -> dict[str, Outcome]:
    """Run what isn't current (or everything) and return the outcomes of what was to be run."""
    outcomes: dict[str, Outcome] = {}
    waiting = []
    for item in chosen:
        try:
            due = fresh or digests.stale(item, profile) or _failed_as_it_is(item, profile)
        except SyntaxError as error:  # nothing can be run, and the others don't suffer
            name = Path(error.filename).name if error.filename else item.source.name
            text = f"SyntaxError in {name}, line {error.lineno}: {error.msg}"
            outcomes[item.slug] = Outcome(item.slug, "failed", text)
            continue
        if not due:
            continue
        if names := lacking.get(item.slug):
            text = f"missing: {', '.join(names)} (fetch with: reprise assets --fetch)"
            outcomes[item.slug] = Outcome(item.slug, "missing asset", text)
            continue
        options = () if due is True else ("--unless-current",)
        waiting.append(Job(item, profile, options=options))
    if waiting:
        outcomes |= run_jobs(waiting, n=jobs)
    return outcomes


def _failed_as_it_is(item: Chapter, profile: str) -> bool:
    """Return whether the code that is current failed in a later run, as it may by `--fresh`."""
    report = read_failure(places(item.root, profile, item.slug))
    return report is not None and report.get("digest") == digests.run_digest(item, profile)


def fetch_assets(
    root: Path, chosen: Iterable[Chapter], profile: str = "quick"
) -> dict[str, list[str]]:
    """Fetch what chapters need, side by side; return chapter -> assets that couldn't be had."""
    from reprise.datasets import registry
    from reprise.pipeline import assets

    needed = {item.slug: registry.needed(item.slug, profile) for item in chosen}
    names = list(dict.fromkeys(name for group in needed.values() for name in group))
    missing = [name for name in names if registry.state(name) != "present"]
    if missing:
        for line in assets.fetch_missing(root, missing):
            print(line, file=sys.stderr)
        missing = [name for name in missing if registry.state(name) != "present"]
    lacking = {slug: [n for n in group if n in missing] for slug, group in needed.items()}
    return {slug: group for slug, group in lacking.items() if group}


def summary(
    outcomes: Mapping[str, Outcome], checked: Iterable[Chapter], profile: str = "quick"
) -> int:
    """Print what failed or takes too long, and return the exit status."""
    bad = [outcome for outcome in outcomes.values() if not outcome.ok]
    ci = os.environ.get("CI", "").lower() in ("1", "true", "yes")
    for item in checked if profile == "quick" else ():
        used = cpu_seconds(places(item.root, profile, item.slug))
        if used > WARN_ABOVE:
            text = f"its quick run took {used:.0f} CPU-seconds; at most {WARN_ABOVE:.0f} are meant"
            if ci and used > FAIL_ABOVE:
                bad.append(Outcome(item.slug, "failed", f"{text}, {FAIL_ABOVE:.0f} fail in CI"))
            else:
                print(f"warning: {item.slug}: {text}", file=sys.stderr)
    if bad:
        print(f"{len(bad)} failed:", file=sys.stderr)
    for outcome in bad:
        print(f"  {outcome.slug}: {outcome.message}", file=sys.stderr)
    return int(bool(bad))


def _tell(line: str) -> None:
    print(line, flush=True)
