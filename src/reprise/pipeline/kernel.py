"""Run a notebook's cells through papermill, in a kernel of its own, and name the failing one."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reprise import paths
from reprise.pipeline import locks, outputs


class CellFailed(Exception):
    """A cell raised, or an output can't be published; the report says which and why."""

    def __init__(self, report: Mapping[str, object]) -> None:
        super().__init__(str(report["error"]))
        self.report = dict(report)


def is_injected(cell: Any) -> bool:
    """Return whether papermill put a cell there to set parameters."""
    return "injected-parameters" in cell.metadata.get("tags", [])


def run_cells(
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
        "error": f"{error.ename}: {one_line(error.evalue)}" if error.evalue else str(error.ename),
        "traceback": text,
    }


def of_leak(cells: Any, index: int, what: str) -> dict[str, object]:
    """Return the report on a cell whose output names a path of this machine."""
    source = cells[index].source.strip().splitlines() or [""]
    error = f"its output names {what}"
    return {"cell": number(cells, index), "excerpt": source[-1], "error": error, "traceback": error}


def number(cells: Any, index: int) -> int:
    """Return a code cell's number as a reader counts: from 1, code cells of the source only."""
    return sum(c.cell_type == "code" and not is_injected(c) for c in cells[: index + 1])


def one_line(error: object, most: int = 300) -> str:
    """Return an error's text on one line, cut where it is long."""
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
def scratch_folder() -> Iterator[Path]:
    """A folder with a short path: the name of a Unix socket is limited to some 100 characters."""
    base = tempfile.gettempdir()
    if len(base) > 40 and os.access("/tmp", os.W_OK):
        base = "/tmp"
    with tempfile.TemporaryDirectory(prefix="k-", dir=base, ignore_cleanup_errors=True) as name:
        yield Path(name)
