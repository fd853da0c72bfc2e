"""Time our code against its peers: run `benchmarks/` and print one table.

The convention of the benchmarks: tests of one `@pytest.mark.benchmark(group=...)` do the same
work, and say who they are by `benchmark.extra_info["role"]` ("ours", or "peer:NAME") and how much
they do by `benchmark.extra_info["size"]` (a number). Parameters `role` and `size` do as well.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from reprise.pipeline.book import chapter, chapters
from reprise.pipeline.cells import UserError

Row = dict[str, object]


def bench(root: Path, slug: str | None = None) -> bool:
    """Run the benchmarks of one chapter, or all, print the table, return whether they passed.

    Threads are the machine's own here: only benchmarks may use more than one.
    """
    from reprise.pipeline.cli import show

    items = [chapter(root, slug)] if slug else chapters(root)
    folders = [root / "benchmarks" / item.slug for item in items]
    folders = [folder for folder in folders if any(folder.glob("test_*.py"))]
    if not slug and (root / "benchmarks" / "shared").is_dir():
        folders.append(root / "benchmarks" / "shared")
    if not folders:
        raise UserError(f"there are no benchmarks in benchmarks/{slug or ''}")
    output = root / "_build" / "bench" / f"{slug or 'all'}.json"
    output.parent.mkdir(parents=True, exist_ok=True)
    output.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "--benchmark-only", "-p", "no:xdist", "-q"]
    command += [f"--benchmark-json={output}", "--benchmark-columns=median", "--no-header"]
    # A run of ours inside a parallel test run isn't one of its workers.
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_XDIST")}
    done = subprocess.run(
        [*command, *map(str, folders)], cwd=root, env=env, capture_output=True, text=True
    )
    if not output.is_file():
        print(done.stdout + done.stderr, file=sys.stderr)
        return False
    found = json.loads(output.read_text())["benchmarks"]
    show(table(found), title=f"medians; all of it in {output.relative_to(root).as_posix()}")
    if done.returncode:
        print(done.stdout[-4000:], file=sys.stderr)
    return done.returncode == 0


def table(benchmarks: Iterable[Mapping[str, object]]) -> list[Row]:
    """Return one row per group, size and peer: ours, the peer's, and how many times faster.

    Parameters
    ----------
    benchmarks : as in the `benchmarks` of pytest-benchmark's JSON

    Raises
    ------
    ValueError
        For a benchmark without role.
    """
    times: dict[tuple[str, object], dict[str, float]] = {}
    for item in benchmarks:
        said = {**(item.get("params") or {}), **(item.get("extra_info") or {})}
        role = str(said.get("role", ""))
        if role != "ours" and not role.startswith("peer:"):
            raise ValueError(
                f"{item['fullname']}: extra_info['role'] must be 'ours' or 'peer:NAME', "
                f"got {role!r}"
            )
        at = (str(item.get("group") or item["name"]), said.get("size", ""))
        times.setdefault(at, {})[role] = float(item["stats"]["median"])
    rows = []
    for (group, size), roles in sorted(
        times.items(), key=lambda item: (item[0][0], _order(item[0][1]))
    ):
        ours = roles.get("ours")
        peers = sorted(role for role in roles if role != "ours") or [""]
        for role in peers:
            peer = roles.get(role)
            rows.append(
                {
                    "group": group,
                    "size": size,
                    "ours": seconds(ours),
                    "peer": role.removeprefix("peer:"),
                    "theirs": seconds(peer),
                    "ratio": f"{peer / ours:.2f}x" if peer and ours else "",
                }
            )
    return rows


def _order(size: object) -> tuple[bool, float, str]:
    number = isinstance(size, (int, float))
    return (not number, float(size) if number else 0.0, str(size))


def seconds(value: float | None) -> str:
    """Return a time in a unit that fits: 12.3 ms."""
    if value is None:
        return ""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"
