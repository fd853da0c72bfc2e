"""Run a chapter's full profile from a detached worktree, and store its tables as they finish.

The worktree holds HEAD, so that what is edited meanwhile doesn't reach a run of an hour. Each
finished experiment arrives in `data/results/<slug>/full/` at once, so that a failure later on, or
a kill, loses nothing.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from reprise import paths
from reprise.pipeline import book, digests, locks, runner
from reprise.pipeline.book import Chapter, UserError
from reprise.pipeline.places import Places


def run_full(root: Path, slug: str, experiments: Sequence[str] = ()) -> int:
    """Run a chapter's full profile, or some experiments of it, and return the exit status.

    Parameters
    ----------
    root : the repository
    slug : the chapter
    experiments : such as ["e3"]; none: all

    Raises
    ------
    UserError
        For wrong use, or where there is no commit to run; nothing has been run then.
    """
    (item,) = book.check(root, [slug], profile="full", experiments=experiments, stores=True)
    require_commit(root, slug)
    if lacking := runner.fetch_assets(root, [item], "full"):
        print(f"{slug}: missing: {', '.join(lacking[slug])}", file=sys.stderr)
        return 1
    for name in uncommitted(item):
        print(f"warning: {name} has uncommitted changes; HEAD's version runs", file=sys.stderr)
    out, target = root / "_build" / "run" / "full", paths.stored() / slug / "full"
    with worktree(root, slug) as tree:
        store(item, out / slug, target)  # what a killed run had finished
        at = Places(out, slug)
        options = (f"--run-dir={out}", "--in-place", f"--only={','.join(experiments)}")
        environment = {
            "REPRISE_RESULTS": str(paths.stored()),
            "REPRISE_CACHE": str(paths.cache()),
            "REPRISE_JOBS": str(runner.default_jobs()),
        }
        run = Chapter(slug, tree)
        job = runner.Job(run, "full", at=at, options=options, environment=environment)
        arrivals = Arrivals(run, out / slug, target)
        try:
            outcomes = runner.run_jobs([job], n=1, poll=arrivals.check)
        finally:
            arrivals.check()
    for outcome in outcomes.values():
        if not outcome.ok:
            print(f"{slug}: failed: {outcome.message}", file=sys.stderr)
            kept = ", ".join(sorted(arrivals.stored)) or "nothing"
            print(f"{slug}: stored before that: {kept}", file=sys.stderr)
    return int(any(not outcome.ok for outcome in outcomes.values()))


# --- tables as they arrive --------------------------------------------------------------------


class Arrivals:
    """Look for finished tables of a run and store each once."""

    def __init__(self, item: Chapter, out: Path, target: Path) -> None:
        self.item = item
        self.out = out
        self.target = target
        self.stored: set[str] = set()
        self._seen: tuple[int, int] | None = None

    def check(self) -> None:
        """Store what has finished since the last look."""
        try:
            stat = (self.out / "run.json").stat()
        except OSError:
            return
        stamp = (stat.st_mtime_ns, stat.st_size)
        if stamp != self._seen:
            new = store(self.item, self.out, self.target)
            self._seen = stamp
            self.stored |= set(new)


def store(item: Chapter, out: Path, target: Path) -> list[str]:
    """Store the tables of a run that are newer than the stored ones; return their experiments.

    Parameters
    ----------
    item : the chapter, as it ran (its claims are judged again)
    out : the run's tables
    target : `data/results/<slug>/full`

    Raises
    ------
    results.Corrupt
        When a stored file is damaged: nothing is written over it.
    """
    from reprise import results

    run = results.read_run(out)
    if run is None:
        return []
    before = results.read_run(target)
    entries = dict(before["experiments"]) if before else {}
    new = {
        name: entry
        for name, entry in run["experiments"].items()
        if name not in entries or entry["date"] > entries[name]["date"]
    }
    for name, entry in entries.items():
        if name not in new:
            results.read_table(target, name, entry)
    for name, entry in new.items():
        results.read_table(out, name, entry)  # whole, as its own hash says
        results.write_bytes(target / entry["file"], (out / entry["file"]).read_bytes())
        old = entries.get(name, entry)["file"]
        entries[name] = entry
        results.write_json(
            target / "run.json", {**run, "experiments": dict(sorted(entries.items()))}
        )
        if old != entry["file"]:
            (target / old).unlink(missing_ok=True)
    if new:
        judge(item, target, new)
    return list(new)


def judge(item: Chapter, target: Path, new: Mapping[str, Mapping[str, object]]) -> None:
    """Judge all claims by the stored full tables and write `claims.json` beside them.

    What that changes goes to the history first: `new` are the tables that made it, by experiment.
    """
    from reprise import claims, results
    from reprise.pipeline.accept import read_changes
    from reprise.pipeline.verify import claims_of

    module = item.load("claims")
    entries = results.read_run(target)["experiments"]
    tables = {name: results.read_table(target, name, entry) for name, entry in entries.items()}
    judged = claims.judge(module.CLAIMS, module.MEASURES, tables, profile="full")
    document = claims.document(
        item.slug,
        judged,
        profile="full",
        digests={name: entry["digest"] for name, entry in entries.items()},
        date=results.now(),
    )
    after = {claim["id"]: claim for claim in document["claims"]}
    log = target.parent / "changes.json"
    history = read_changes(log)
    if (longer := remember(history, claims_of(target), after, new)) != history:
        results.write_json(log, longer)
    results.write_json(target / "claims.json", document)


def remember(
    history: Sequence[Mapping[str, object]],
    old: Mapping[str, Mapping[str, object]],
    new: Mapping[str, Mapping[str, object]],
    tables: Mapping[str, Mapping[str, object]],
) -> list[Mapping[str, object]]:
    """Return a history of results with what new full tables changed.

    The tables of one commit make one entry, however often their run was cut off: it goes from
    what was before the first of them to what is after the last.

    Parameters
    ----------
    history : entries of `changes.json`
    old, new : the claims before and after, id -> as in `claims.json`
    tables : entries of `run.json`, by experiment
    """
    from reprise.pipeline.accept import claim_changes

    commits = sorted({str(entry["commit"]) for entry in tables.values()})
    moved = {change["what"]: change for change in claim_changes(old, new)}
    names, entries = set(tables), list(history)
    if entries and (entries[-1]["profile"], entries[-1].get("commits")) == ("full", commits):
        last = entries.pop()
        names |= set(last["experiments"])
        for first in last["changes"]:
            now = moved.get(first["what"], {"new": first["new"]})
            moved[first["what"]] = {**first, "new": now["new"]}
    changes = [change for change in moved.values() if change["old"] != change["new"]]
    if changes:
        entries.append(
            {
                "date": max(str(entry["date"]) for entry in tables.values()),
                "why": f"Full run of {', '.join(sorted(names))}.",
                "profile": "full",
                "commits": commits,
                "experiments": sorted(names),
                "changes": changes,
            }
        )
    return entries


# --- the worktree -----------------------------------------------------------------------------


@contextlib.contextmanager
def worktree(root: Path, slug: str) -> Iterator[Path]:
    """Give a detached worktree of HEAD, one per chapter; first clear those of killed runs."""
    base = root / "_build" / "worktree"
    tree = base / slug
    with locks.hold(base / f"{slug}.lock", what=f"the full run of {slug}"):
        prune(root)
        remove(root, tree)
        git(root, "worktree", "add", "--quiet", "--detach", "--force", str(tree), "HEAD")
        try:
            yield tree
        finally:
            remove(root, tree)


def prune(root: Path) -> None:
    """Remove worktrees whose run was killed."""
    base = root / "_build" / "worktree"
    for tree in [path for path in base.iterdir() if path.is_dir()]:
        with (
            contextlib.suppress(locks.Busy),
            locks.hold(tree.with_suffix(".lock"), what="a run", timeout=0, tell=lambda line: None),
        ):
            remove(root, tree)
    git(root, "worktree", "prune")


def remove(root: Path, tree: Path) -> None:
    """Remove a worktree, whatever state it is in."""
    if tree.exists():
        with contextlib.suppress(UserError):
            git(root, "worktree", "remove", "--force", "--force", str(tree))
        shutil.rmtree(tree, ignore_errors=True)
        git(root, "worktree", "prune")


def require_commit(root: Path, slug: str) -> None:
    """Raise `UserError` unless HEAD holds the chapter."""
    try:
        git(root, "cat-file", "-e", f"HEAD:book/{slug}.md")
        git(root, "cat-file", "-e", f"HEAD:src/reprise/{slug}/experiments/configs.py")
    except UserError:
        raise UserError(
            f"a full run takes the committed version of {slug}, and there is none: commit it first"
        ) from None


def uncommitted(item: Chapter) -> list[str]:
    """Return the files that the chapter depends on and that differ from HEAD."""
    modules = digests.page_modules(item).values()
    files = [item.source, item.profile_file("full"), *(m.path for m in modules)]
    files += [path for module in modules for path in module.data]
    names = [path.relative_to(item.root).as_posix() for path in files if path.exists()]
    out = git(item.root, "status", "--porcelain", "--untracked-files=all", "--", *sorted(names))
    return [line[3:] for line in out.splitlines()]


def git(root: Path, *words: str) -> str:
    """Return what a git command prints.

    Raises
    ------
    UserError
        When it fails; says its last line.
    """
    # Git exports its own variables to hooks; they would mean another repository here.
    env = {k: v for k, v in os.environ.items() if k not in ("GIT_DIR", "GIT_WORK_TREE")}
    try:
        done = subprocess.run(
            ["git", *words], cwd=root, env=env, capture_output=True, text=True, timeout=600
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UserError(f"git {words[0]}: {error}") from None
    if done.returncode:
        why: Iterable[str] = done.stderr.strip().splitlines() or ["failed"]
        raise UserError(f"git {' '.join(words[:2])}: {list(why)[-1]}")
    return done.stdout.rstrip("\n")
