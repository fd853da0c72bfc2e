"""Say what runs, how long, what is left: live on a terminal, a line per event elsewhere."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

LINE_EVERY = 15.0  # seconds between two lines of one chapter's sweeps in a log


@dataclass
class Sweeps:
    """The sweeps of one chapter, as its progress file tells them."""

    path: Path
    cells: dict[str, tuple[int, int, int]] = field(default_factory=dict)  # done, total, kept
    _read: int = 0

    def update(self) -> list[str]:
        """Read what is new; return the experiments that moved."""
        try:
            with self.path.open("rb") as file:
                if file.seek(0, 2) < self._read:
                    self._read = 0  # a new run began
                file.seek(self._read)
                new = file.read()
        except OSError:
            return []
        whole = new[: new.rfind(b"\n") + 1]  # the last line may be half written
        self._read += len(whole)
        moved = {}
        for line in whole.splitlines():
            try:
                said = json.loads(line)
                name = str(said["experiment"])
                self.cells[name] = (int(said["done"]), int(said["total"]), int(said["cached"]))
            except (ValueError, KeyError, TypeError):
                continue
            moved[name] = True
        return list(moved)

    def describe(self, names: Iterable[str] | None = None) -> str:
        """Return "e1 12/40, e2 3/10 (3 kept)", of some experiments or of all."""
        parts = []
        for name in self.cells if names is None else names:
            done, total, kept = self.cells[name]
            parts.append(f"{name} {done}/{total}" + (f" ({kept} kept)" if kept else ""))
        return ", ".join(parts)


def clock(seconds: float) -> str:
    """Return "8 s", "3:05 min" or "1:20 h"."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02d} min"
    return f"{whole // 3600}:{whole % 3600 // 60:02d} h"


class Display:
    """Show chapters as they run. Used as a context; `tick` is called often."""

    def __init__(self, total: int, *, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stdout
        self.total = total
        self.finished = 0
        self.running: dict[str, tuple[float, Sweeps]] = {}
        self._said: dict[str, float] = {}
        self._live = None
        self._terminal = self.stream.isatty()

    def __enter__(self) -> Display:
        if self._terminal:
            from rich.live import Live

            self._live = Live(
                get_renderable=self.table, console=self._console(), refresh_per_second=4
            )
            self._live.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        if self._live is not None:
            self._live.__exit__(*exc)
            self._live = None

    def _console(self) -> Console:
        from rich.console import Console

        return Console(file=self.stream, markup=False, highlight=False)

    def say(self, line: str) -> None:
        """Print a line, above the live table where there is one."""
        if self._live is not None:
            self._live.console.print(line, soft_wrap=True)
        else:
            print(line, file=self.stream, flush=True)

    def start(self, slug: str, sweeps: Sweeps) -> None:
        """Say that a chapter runs."""
        now = time.monotonic()
        self.running[slug] = (now, sweeps)
        self._said[slug] = now
        if self._live is None:
            left = self.total - self.finished - len(self.running)
            self.say(f"{slug}: started ({len(self.running)} running, {left} waiting)")

    def finish(self, slug: str, line: str) -> None:
        """Say how a chapter ended."""
        self.running.pop(slug, None)
        self.finished += 1
        left = self.total - self.finished
        self.say(f"{slug}: {line}; {left} left" if left else f"{slug}: {line}")

    def tick(self) -> None:
        """Read the sweeps' files; in a log, a line where one has moved and not said so lately."""
        now = time.monotonic()
        for slug, (began, sweeps) in self.running.items():
            moved = sweeps.update()
            if self._live is not None or not moved:
                continue
            complete = [n for n in moved if sweeps.cells[n][0] == sweeps.cells[n][1]]
            if complete or now - self._said[slug] > LINE_EVERY:
                self._said[slug] = now
                self.say(f"{slug}: {clock(now - began)}, cells {sweeps.describe(moved)}")

    def table(self) -> Table:
        """Return the live table."""
        from rich.table import Table

        table = Table(box=None, pad_edge=False, show_header=False)
        now = time.monotonic()
        for slug, (began, sweeps) in list(self.running.items()):
            table.add_row(slug, clock(now - began), sweeps.describe())
        left = self.total - self.finished - len(self.running)
        table.add_row(f"{self.finished} of {self.total} done", "", f"{left} waiting")
        return table
