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
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reprise import paths
from reprise.pipeline import locks, outputs
from reprise.pipeline.book import Chapter, chapter

if TYPE_CHECKING:
    from reprise.provenance import Meter

SCHEMA = 1
FAILED = 1  # exit status


@dataclass(frozen=True)
class Places:
    """Where a run of a chapter puts things."""

    folder: Path
    slug: str

    @property
    def notebook(self) -> Path:
        """The last good run."""
        return self.folder / f"{self.slug}.ipynb"

    @property
    def record(self) -> Path:
        """What the last good run was made of."""
        return self.folder / f"{self.slug}.json"

    @property
    def tables(self) -> Path:
        """The tables of the last good run."""
        return self.folder / self.slug

    @property
    def failed_notebook(self) -> Path:
        """The last run up to its failing cell; gone after a good one."""
        return self.folder / f"{self.slug}.failed.ipynb"

    @property
    def failed(self) -> Path:
        """Which cell failed and why; gone after a good run."""
        return self.folder / f"{self.slug}.failed.json"

    @property
    def lock(self) -> Path:
        """Held while the chapter runs."""
        return self.folder / f"{self.slug}.lock"

    @property
    def log(self) -> Path:
        """What the executing process said."""
        return self.folder / f"{self.slug}.log"

    @property
    def progress(self) -> Path:
        """Lines of its sweeps' progress."""
        return self.folder / f"{self.slug}.progress"

    def part(self, name: str) -> Path:
        """Return where this process writes before it renames."""
        return self.folder / f".{self.slug}.{os.getpid()}.{name}"

    def tidy(self) -> None:
        """Remove what killed runs left half; only for who holds the lock."""
        for path in self.folder.glob(f".{self.slug}.*"):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def places(root: Path, profile: str, slug: str) -> Places:
    """Return where the pipeline's own runs of a chapter are."""
    return Places(root / "_build" / "run" / profile, slug)


class CellFailed(Exception):
    """A cell raised, or an output can't be published; the report says which and why."""

    def __init__(self, report: Mapping[str, object]) -> None:
        super().__init__(str(report["error"]))
        self.report = dict(report)


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
            made = _papermill(notebook, part, _changed(item, parameters), item.root, scratch)
        for cell in made.cells:
            if is_injected(cell):
                cell.metadata["tags"].append("remove-cell")
        if found := outputs.leaks(made.cells, outputs.private_places(item.root)):
            raise CellFailed(_of_leak(made.cells, *found))
    except CellFailed as error:
        _keep_failure(at, part, {**error.report, "digest": digest})
        raise
    except Exception as error:  # a kernel that died: no cell of its own to name
        about = f"{type(error).__name__}: {_line(error)}"
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


def is_injected(cell: Any) -> bool:
    """Return whether papermill put a cell there to set parameters."""
    return "injected-parameters" in cell.metadata.get("tags", [])


def _papermill(
    notebook: Any, part: Path, parameters: Mapping[str, object], root: Path, scratch: Path
) -> Any:
    """Return the executed notebook; raise `CellFailed` for a failing cell."""
    import papermill
    from traitlets.config import Config

    # Kernels that start in one folder would share default sockets: each gets a folder of its own.
    kernel = {"KernelManager": {"transport": "ipc", "ip": str(scratch / "k")}}
    try:
        return papermill.execute_notebook(
            notebook,
            str(part),
            parameters=dict(parameters),
            cwd=str(root),
            kernel_name="python3",
            progress_bar=False,
            start_timeout=300,
            config=Config(kernel),
        )
    except papermill.PapermillExecutionError as error:
        raise CellFailed(_of_papermill(error, part)) from error


def _of_papermill(error: Any, part: Path) -> dict[str, object]:
    import nbformat

    # Papermill marks the failing cell by a Markdown cell before it.
    cells = nbformat.read(part, as_version=4).cells
    failing = next(
        (
            index
            for index, cell in enumerate(cells)
            if any(output.get("output_type") == "error" for output in cell.get("outputs", []))
        ),
        None,
    )
    text = outputs.plain("\n".join(error.traceback))
    # IPython marks the line with an arrow; the first one is the cell's own.
    arrow = re.search(r"^-+> *\d+ (.*)$", text, flags=re.M)
    source = error.source.strip().splitlines() or [""]
    return {
        "cell": number(cells, failing) if failing is not None else None,
        "excerpt": arrow.group(1).strip() if arrow else source[0],
        "error": f"{error.ename}: {_line(error.evalue)}" if error.evalue else str(error.ename),
        "traceback": text,
    }


def _of_leak(cells: Any, index: int, what: str) -> dict[str, object]:
    source = cells[index].source.strip().splitlines() or [""]
    error = f"its output names {what}"
    return {"cell": number(cells, index), "excerpt": source[-1], "error": error, "traceback": error}


def number(cells: Any, index: int) -> int:
    """Return a code cell's number as a reader counts: from 1, code cells of the source only."""
    return sum(c.cell_type == "code" and not is_injected(c) for c in cells[: index + 1])


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


def _line(error: object, most: int = 300) -> str:
    text = " ".join(outputs.plain(str(error)).split())
    return text if len(text) <= most else f"{text[:most]} ..."


def environment(scratch: Path, token: str, only: str = "") -> dict[str, str | None]:
    """Return what a chapter's kernel finds in its environment; None: not set."""
    threads = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")
    return {
        **dict.fromkeys(threads, "1"),
        locks.TOKEN: token,
        "REPRISE_ONLY": only or None,
        "MPLBACKEND": None,  # the kernel's own: inline
        "PYTHONHASHSEED": "0",
        "NUMBA_CACHE_DIR": str(paths.cache() / "numba"),
        "JUPYTER_PREFER_ENV_PATH": "1",  # this environment's kernel, whatever the user installed
        "JUPYTER_RUNTIME_DIR": str(scratch / "run"),
        "IPYTHONDIR": str(scratch / "ipython"),  # no start-up files or settings of the user's
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }


@contextlib.contextmanager
def _scratch() -> Iterator[Path]:
    """A folder with a short path: the name of a Unix socket is limited to some 100 characters."""
    base = tempfile.gettempdir()
    if len(base) > 40 and os.access("/tmp", os.W_OK):
        base = "/tmp"
    with tempfile.TemporaryDirectory(prefix="k-", dir=base, ignore_cleanup_errors=True) as name:
        yield Path(name)


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
    with locks.hold(at.lock, what=what, tell=_tell) as held, _scratch() as scratch:
        held.note(scratch=str(scratch))
        for name, value in environment(scratch, str(held.holder["token"]), given.only).items():
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
        except CellFailed as error:
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
