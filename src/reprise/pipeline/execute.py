"""Run one chapter through papermill: `python -m reprise.pipeline.execute --slug S --profile P`.

It is a process of its own, since papermill changes the working folder and the environment of its
whole process. It holds the lock of its chapter and profile, leads its own session, and alone
renames: into place comes a whole notebook with its tables, and last the record that says what they
were made of.

    _build/run/<profile>/<slug>.ipynb         the last good run
                         <slug>.json          its record: digest, parts, commit, cost
                         <slug>/              its tables, run.json, claims.json
                         <slug>.failed.ipynb  the last run, when it failed, up to the failing cell
                         <slug>.failed.json   which cell and why
                         <slug>.log  <slug>.lock  <slug>.progress
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from reprise import paths
from reprise.closure import file_digest
from reprise.pipeline import kernel, locks, outputs
from reprise.pipeline.book import Chapter, chapter
from reprise.pipeline.places import Places

if TYPE_CHECKING:
    from reprise.provenance import Meter

SCHEMA = 1
FAILED = 1  # exit status


def run(
    item: Chapter,
    profile: str,
    at: Places,
    holder: Mapping[str, object],
    scratch: Path,
    *,
    overrides: Mapping[str, object] | None = None,
    only: str = "",
    in_place: bool = False,
) -> None:
    """Run a chapter and put the result in place; the lock is held by the caller.

    Parameters
    ----------
    item, profile, overrides, only : what to run
    at : where to
    holder : of the lock
    scratch : a folder for sockets, with a short path
    in_place : write tables where they will be read, each as it is finished (full), instead of
        putting all of them there at the end (quick)

    Raises
    ------
    CellFailed
        When a cell raises; the partial notebook is kept, the last good one stays.
    """
    import jupytext
    import nbformat

    from reprise import provenance, results
    from reprise.pipeline import digests

    parts = digests.run_parts(item, profile, overrides)  # at the start: an edit makes it stale
    digest = provenance.digest_of(parts)
    parameters = item.profile(profile, overrides)
    commit, dirty = provenance.commit(item.root)
    notebook = jupytext.read(item.source)
    tables = at.tables if in_place else at.part("tables")
    tables.mkdir(parents=True, exist_ok=True)
    os.environ |= {"REPRISE_OUT": str(tables), "REPRISE_PROGRESS": str(at.progress)}
    part = at.part("ipynb")
    try:
        with provenance.Meter() as meter:
            made = kernel.run_cells(notebook, part, _changed(item, parameters), item.root, scratch)
        for cell in made.cells:
            if kernel.is_injected(cell):
                cell.metadata["tags"].append("remove-cell")
        if found := outputs.leaks(made.cells, outputs.private_places(item.root)):
            raise kernel.CellFailed(kernel.of_leak(made.cells, *found))
    except kernel.CellFailed as error:
        _keep_failure(at, part, {**error.report, "digest": digest})
        raise
    except Exception as error:  # a kernel that died: no cell of its own to name
        about = f"{type(error).__name__}: {kernel.one_line(error)}"
        _keep_failure(at, part, {"cell": None, "excerpt": "", "error": about, "digest": digest})
        raise
    finally:
        locks.end(holder)  # workers of a sweep that outlive their kernel
    nbformat.write(made, part)
    record = {
        "schema": SCHEMA,
        "slug": item.slug,
        "profile": profile,
        "digest": digest,
        "notebook": file_digest(part),
        "parts": parts,
        "commit": commit,
        "dirty": dirty,
        "date": results.now(),
        **_cost(meter),
        "machine": provenance.machine(),
        "parameters": parameters,
        "only": [name for name in only.split(",") if name],
    }
    _put(at, part, tables, record, in_place)


def _changed(item: Chapter, parameters: Mapping[str, object]) -> dict[str, object]:
    """Return the profile and the parameters that differ from the notebook's own."""
    own = item.parameters()
    return {k: v for k, v in parameters.items() if k == "profile" or v != own[k].default}


def _cost(meter: Meter) -> dict[str, object]:
    return {
        "seconds": round(meter.seconds, 2),
        "cpu_seconds": round(meter.cpu_seconds, 2),
        "peak_mb": round(meter.peak_mb),
    }


def _put(
    at: Places, part: Path, tables: Path, record: Mapping[str, object], in_place: bool
) -> None:
    """Put a good run in place: no record while anything is between old and new."""
    from reprise.results import write_json

    new = at.part("json")
    write_json(new, record)  # a full disk shows here, while the old run is whole
    at.record.unlink(missing_ok=True)
    if not in_place:
        old = at.part("old")
        if at.tables.exists():
            os.replace(at.tables, old)
        os.replace(tables, at.tables)
        shutil.rmtree(old, ignore_errors=True)
    os.replace(part, at.notebook)
    at.failed.unlink(missing_ok=True)
    at.failed_notebook.unlink(missing_ok=True)
    os.replace(new, at.record)


def _keep_failure(at: Places, part: Path, report: dict[str, object]) -> None:
    from reprise.results import now, write_json

    if part.is_file():
        os.replace(part, at.failed_notebook)
    private = outputs.private_places(paths.root())
    report = {k: outputs.hide(v, private) if isinstance(v, str) else v for k, v in report.items()}
    write_json(at.failed, {"schema": SCHEMA, "slug": at.slug, **report, "date": now()})


def main(argv: list[str] | None = None) -> int:
    """Run one chapter; 0 when it is done (or was already current), 1 when it failed."""
    parser = argparse.ArgumentParser(prog="python -m reprise.pipeline.execute")
    parser.add_argument("--slug", required=True)
    parser.add_argument("--profile", default="quick")
    parser.add_argument("--parameters", type=Path, help="JSON file of changed parameters")
    parser.add_argument("--only", default="", help="experiments, such as e1,e2")
    parser.add_argument("--run-dir", type=Path, help="default: _build/run/<profile>")
    parser.add_argument("--in-place", action="store_true", help="write tables as they finish")
    parser.add_argument("--unless-current", action="store_true")
    parser.add_argument("--parent", type=int, help="end when this process has ended")
    given = parser.parse_args(argv)
    if os.getpgrp() != os.getpid():
        with contextlib.suppress(PermissionError):
            os.setsid()
    root = paths.root()
    item = chapter(root, given.slug)
    overrides = json.loads(given.parameters.read_text()) if given.parameters else None
    folder = (given.run_dir or root / "_build" / "run" / given.profile).resolve()
    at = Places(folder, item.slug)
    what = f"the {given.profile} run of {item.slug}"
    with locks.hold(at.lock, what=what, tell=_tell) as held, kernel.scratch_folder() as scratch:
        held.note(scratch=str(scratch))
        for name, value in kernel.environment(
            scratch, str(held.holder["token"]), given.only
        ).items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        locks.end_with(given.parent, held.holder)
        at.tidy()
        if given.unless_current and not _stale(item, given.profile):
            return 0  # another process ran it while we waited
        try:
            run(
                item,
                given.profile,
                at,
                held.holder,
                scratch,
                overrides=overrides,
                only=given.only,
                in_place=given.in_place,
            )
        except kernel.CellFailed as error:
            report = error.report
            print(report["traceback"], file=sys.stderr)
            where = f"cell {report['cell']}: {report['excerpt']}"
            print(f"book/{item.slug}.md, {where}: {report['error']}", file=sys.stderr)
            return FAILED
        finally:
            at.tidy()
    return 0


def _stale(item: Chapter, profile: str) -> list[str]:
    from reprise.pipeline import digests

    return digests.stale(item, profile)


def _tell(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
