"""A pool of executing processes: one per chapter, longest first, ended with their parent."""

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

from reprise.pipeline import digests, locks
from reprise.pipeline.book import Chapter, UserError
from reprise.pipeline.places import Places, describe, places, read_failure
from reprise.pipeline.progress import Display, Sweeps, clock

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


def run_jobs(
    jobs: Iterable[Job], *, n: int | None = None, poll: Callable[[], None] | None = None
) -> dict[str, Outcome]:
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
    told: set[str] = set()
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
                for job, _ in running.values():
                    tell_who_is_waited_for(job, told, display)
                display.tick()
                if poll:
                    poll()
                if running:
                    time.sleep(0.1)
        except BaseException:
            stop(running)
            raise
    return outcomes


def tell_who_is_waited_for(job: Job, told: set[str], display: Display) -> None:
    """Say once when a chapter waits for another process that runs it; its log says so."""
    slug = job.chapter.slug
    if slug not in told and (line := _first_line(job.places.log)).startswith("waiting for "):
        told.add(slug)
        display.say(f"{slug}: {line}")


def _first_line(path: Path) -> str:
    try:
        with path.open(errors="replace") as file:
            return file.readline().strip()
    except OSError:
        return ""


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

    # What is ignored stays so: `nohup make full` outlives its terminal.
    numbers = [s for s in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(s) != signal.SIG_IGN]
    before = {s: signal.signal(s, interrupt) for s in numbers}
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
