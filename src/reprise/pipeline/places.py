"""Where the runs of a chapter are, and what their files say."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprise.closure import file_digest


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


def intact(at: Places) -> bool:
    """Return whether a chapter's last good notebook is there and whole."""
    try:
        json.loads(at.notebook.read_text())
    except (OSError, ValueError):
        return False
    known = read(at.record).get("notebook")
    return known is None or known == file_digest(at.notebook)


def cpu_seconds(at: Places) -> float:
    """Return what a chapter's last good run costs from nothing: cells that were kept count too."""
    experiments = read(at.tables / "run.json").get("experiments") or {}
    swept = sum(float(entry.get("cpu_seconds") or 0) for entry in experiments.values())
    return max(swept, float(read(at.record).get("cpu_seconds") or 0))


def read_failure(at: Places) -> dict[str, object] | None:
    """Return what is known of a chapter's failed run; None after a good one."""
    report = read(at.failed)
    return report if "error" in report else None


def describe(report: Mapping[str, object]) -> str:
    """Return "cell 3 (x = 1 / 0): ZeroDivisionError: division by zero"."""
    where = f"cell {report['cell']} ({report['excerpt']}): " if report.get("cell") else ""
    return f"{where}{report['error']}"


def read(path: Path) -> dict[str, Any]:
    """Return a JSON object from a file; an empty one where there is none, or it is damaged."""
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
