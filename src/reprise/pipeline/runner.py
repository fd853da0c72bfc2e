"""Run chapters side by side, each in a process of its own, and make the book from them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from reprise.pipeline import book, digests, locks
from reprise.pipeline.book import Chapter, UserError
from reprise.pipeline.execute import Places, places
from reprise.pipeline.progress import Display, Sweeps, clock
from reprise.pipeline.stage import describe, read_failure

WARN_ABOVE = 90.0  # CPU-seconds of a quick run
FAIL_ABOVE = 150.0  # in CI
State = Literal["done", "failed", "missing asset"]


@dataclass(frozen=True)
class Outcome:
    """How the run of one chapter ended."""

    slug: str
    state: State
    message: str = ""
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether it is done."""
        return self.state == "done"


@dataclass(frozen=True)
class Job:
    """One chapter to run."""

    chapter: Chapter
    profile: str = "quick"
    at: Places | None = None  # default: the pipeline's own place
    options: tuple[str, ...] = ()  # of reprise.pipeline.execute
    environment: Mapping[str, str] | None = None

    @property
    def places(self) -> Places:
        """Where it runs to."""
        return self.at or places(self.chapter.root, self.profile, self.chapter.slug)


# --- a pool of executing processes ------------------------------------------------------------


def run_jobs(jobs: Iterable[Job], *, n: int | None = None, poll: Callable[[], None] | None = None):
    """Run jobs side by side, longest first, and return their outcomes by slug.

    Parameters
    ----------
    jobs : what to run
    n : how many at once (default: `REPRISE_JOBS`, else one per core)
    poll : called some times a second meanwhile
    """
    waiting = sorted(jobs, key=lambda job: -_last_seconds(job))
    n = n or default_jobs()
    outcomes: dict[str, Outcome] = {}
    running: dict[subprocess.Popen, tuple[Job, float]] = {}
    with Display(len(waiting)) as display, _stoppable():
        try:
            while waiting or running:
                while waiting and len(running) < n:
                    job = waiting.pop(0)
                    running[start(job)] = (job, time.monotonic())
                    display.start(job.chapter.slug, Sweeps(job.places.progress))
                for process in [p for p in running if p.poll() is not None]:
                    job, began = running.pop(process)
                    outcome = _outcome(job, process.returncode, time.monotonic() - began)
                    outcomes[outcome.slug] = outcome
                    display.tick()
                    display.finish(outcome.slug, _ending(job, outcome))
                display.tick()
                if poll:
                    poll()
                if running:
                    time.sleep(0.1)
        except BaseException:
            stop(running)
            raise
    return outcomes


def default_jobs() -> int:
    """Return how many chapters run at once: `REPRISE_JOBS`, else the cores.

    Raises
    ------
    UserError
        When the variable isn't a whole number from 1.
    """
    from reprise import provenance

    text = os.environ.get("REPRISE_JOBS", "")
    if not text:
        return provenance.cores()
    if not text.isdigit() or int(text) < 1:
        raise UserError(f"REPRISE_JOBS must be a whole number from 1, got {text!r}")
    return int(text)


def start(job: Job) -> subprocess.Popen:
    """Start the process that executes a job; what it says goes to the chapter's log."""
    at = job.places
    at.folder.mkdir(parents=True, exist_ok=True)
    at.progress.unlink(missing_ok=True)
    env = dict(os.environ)
    env.pop("REPRISE_JOBS", None)  # chapters run side by side, the sweeps inside serially
    env |= {"REPRISE_ROOT": str(job.chapter.root), **(job.environment or {})}
    src = str(job.chapter.root / "src")
    before = [p for p in env.get("PYTHONPATH", "").split(os.pathsep) if p and p != src]
    env["PYTHONPATH"] = os.pathsep.join([src, *before])
    command = [sys.executable, "-m", "reprise.pipeline.execute", f"--slug={job.chapter.slug}"]
    command += [f"--profile={job.profile}", f"--parent={os.getpid()}", *job.options]
    with at.log.open("w") as log:
        return subprocess.Popen(
            command,
            cwd=job.chapter.root,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def stop(running: Mapping[subprocess.Popen, tuple[Job, float]], within: float = 10.0) -> None:
    """End executing processes with all that they started."""
    for process in running:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)  # it ends its kernel and workers itself
    deadline = time.monotonic() + within
    for process, (job, _) in running.items():
        try:
            process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        holder = locks.read(job.places.lock)
        if holder and holder["pid"] == process.pid:
            locks.end(holder)


@contextlib.contextmanager
def _stoppable() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into KeyboardInterrupt, so that the children are ended too."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = {s: signal.signal(s, interrupt) for s in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _last_seconds(job: Job) -> float:
    """Return how long the last run took; one that never ran may be the longest."""
    try:
        return float(json.loads(job.places.record.read_text())["seconds"])
    except (OSError, ValueError, KeyError, TypeError):
        return float("inf")


def _outcome(job: Job, code: int, seconds: float) -> Outcome:
    slug = job.chapter.slug
    if code == 0:
        return Outcome(slug, "done", seconds=seconds)
    report = read_failure(job.places)
    age = time.time() - job.places.failed.stat().st_mtime if report else 0.0
    if report is None or age > seconds + 1:  # it ended before it could say why
        tail = job.places.log.read_text(errors="replace").strip().splitlines()[-1:]
        how = f"signal {-code}" if code < 0 else f"exit status {code}"
        return Outcome(slug, "failed", " ".join([f"ended with {how}", *tail])[:400], seconds)
    return Outcome(slug, "failed", describe(report), seconds)


def _ending(job: Job, outcome: Outcome) -> str:
    took = clock(outcome.seconds)
    if not outcome.ok:
        return f"FAILED after {took}: {outcome.message}"
    record = digests.read_record(job.chapter, job.profile) if job.at is None else None
    cpu = f" ({record['cpu_seconds']:.0f} CPU-seconds)" if record else ""
    return f"done in {took}{cpu}"


# --- what the commands do ---------------------------------------------------------------------


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
    with locks.hold(root / "_build" / "build.lock", what="the build", tell=_tell):
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
    """Return whether the very code that is current failed in its last run (as by `--fresh`)."""
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
        record = digests.read_record(item, profile)
        used = float(record["cpu_seconds"]) if record else 0.0
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
