"""Run an experiment over its cells and seeds: here or on a Dask cluster, resumable.

An experiment is a module `reprise.<slug>.experiments.<name>` with `run(config, seed) -> rows`.
It may split its config into cells that run independently (`cells(config, rows)`) and may name the
seeds of a cell (`seeds(cell)`, else `range(cell.n_seeds)`). A finished (cell, seed) is kept in the
cache folder, under a key that holds code, config, library versions and seed, so that a resumed run
or a run with more seeds loses nothing, and no table mixes versions unseen.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import joblib

from reprise import paths, provenance

Row = dict[str, object]


class OtherCode(RuntimeError):
    """A worker's code is not the client's: its rows would not be this table's."""


class Unreachable(RuntimeError):
    """There is no Dask scheduler at the given address."""


@dataclass(frozen=True)
class Task:
    """One cell of a sweep with one seed."""

    slug: str
    experiment: str
    cell: object
    seed: int
    digest: str
    key: str


@dataclass(frozen=True)
class Swept:
    """The rows of a sweep, in the order of its cells and seeds, and what they cost.

    `seconds` and `cpu_seconds` are sums over the cells, kept ones included: what the table took,
    whenever it was made.
    """

    rows: list[Row]
    seconds: float
    cpu_seconds: float
    n_cells: int
    n_kept: int


def run(slug: str, experiment: str, config: object, *, fresh: bool | None = None) -> Swept:
    """Run all cells and seeds of an experiment and return its rows.

    Serial unless `REPRISE_JOBS` asks for processes (loky) or `DASK_SCHEDULER_ADDRESS` names a
    cluster; all three give the same rows in the same order.

    Parameters
    ----------
    slug, experiment : which `reprise.<slug>.experiments.<experiment>`
    config : its frozen dataclass, with `n_seeds`
    fresh : compute kept cells again (default: whether `REPRISE_FRESH` is set)

    Raises
    ------
    ValueError
        For an unknown experiment, no cell, or rows that aren't flat and plain.
    Unreachable, OtherCode
        When the cluster doesn't answer or runs other code.
    """
    module = importlib.import_module(f"reprise.{slug}.experiments.{experiment}")
    fresh = bool(os.environ.get("REPRISE_FRESH")) if fresh is None else fresh
    done: dict[str, dict[str, object]] = {}
    order: list[str] = []
    kept = 0
    with _runner() as runner:
        while True:
            rows = [row for key in order for row in done[key]["rows"]]
            new = [t for t in _tasks(module, slug, experiment, config, rows) if t.key not in done]
            if not new:
                break
            order.extend(task.key for task in new)
            waiting = []
            for task in new:
                found = None if fresh else _read_kept(task)
                if found is None:
                    waiting.append(task)
                else:
                    done[task.key] = found
                    kept += 1
            _report(experiment, len(done), len(order), kept)
            for key, result in _finished(waiting, runner):
                done[key] = result
                _report(experiment, len(done), len(order), kept)
    if not order:
        raise ValueError(f"`config`: {slug}/{experiment} names no cell to run, got {config!r}")
    results = [done[key] for key in order]
    return Swept(
        rows=[row for result in results for row in result["rows"]],
        seconds=sum(result["seconds"] for result in results),
        cpu_seconds=sum(result["cpu_seconds"] for result in results),
        n_cells=len(order),
        n_kept=kept,
    )


def _tasks(
    module: object, slug: str, experiment: str, config: object, rows: Sequence[Row]
) -> list[Task]:
    cells = module.cells(config, rows) if hasattr(module, "cells") else [config]
    tasks = []
    for cell in cells:
        digest = provenance.result_digest(slug, experiment, cell, n_seeds=False)
        seeds = module.seeds(cell) if hasattr(module, "seeds") else range(cell.n_seeds)
        for seed in seeds:
            key = provenance.cell_key(slug, experiment, cell, seed)
            tasks.append(Task(slug, experiment, cell, int(seed), digest, key))
    keys = [task.key for task in tasks]
    if len(set(keys)) < len(keys):
        raise ValueError(f"`cells`: {slug}/{experiment} names the same cell and seed twice")
    return tasks


def compute(task: Task) -> tuple[str, dict[str, object]]:
    """Run one task in this process and return its key with rows and cost; write nothing.

    Raises
    ------
    OtherCode
        When this process's own code gives another digest than the client's.
    """
    own = provenance.result_digest(task.slug, task.experiment, task.cell, n_seeds=False)
    if own != task.digest:
        raise OtherCode(
            f"this worker's code of {task.slug}/{task.experiment} gives digest {own[:12]}, the "
            f"client expects {task.digest[:12]}: install the same commit on every worker"
        )
    module = importlib.import_module(f"reprise.{task.slug}.experiments.{task.experiment}")
    with _one_thread():
        wall, cpu = time.perf_counter(), time.process_time()
        rows = [_plain(row, task) for row in module.run(task.cell, task.seed)]
        cost = time.perf_counter() - wall, time.process_time() - cpu
    return task.key, {"rows": rows, "seconds": cost[0], "cpu_seconds": cost[1]}


def _plain(row: Mapping[str, object], task: Task) -> Row:
    """Return a row with numpy scalars made plain; refuse what a table can't hold."""
    plain: Row = {}
    for name, value in row.items():
        value = value.item() if hasattr(value, "item") and not hasattr(value, "__len__") else value
        if not isinstance(value, (bool, int, float, str)):
            raise ValueError(
                f"`rows`: column {name!r} of {task.slug}/{task.experiment} must hold numbers, "
                f"texts or booleans, got {type(value).__name__}"
            )
        plain[name] = value
    return plain


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Hold every numerical library at one thread: side by side, more is slower."""
    import sys

    from threadpoolctl import threadpool_limits

    torch = sys.modules.get("torch")
    before = torch.get_num_threads() if torch else None
    try:
        if torch:
            torch.set_num_threads(1)
        with threadpool_limits(1):
            yield
    finally:
        if torch:
            torch.set_num_threads(before)


Runner = Callable[[Sequence[Task]], Iterator[tuple[str, dict[str, object]]]]


@contextlib.contextmanager
def _runner() -> Iterator[Runner]:
    """Choose where cells run: on a Dask cluster, in processes, or here."""
    if address := os.environ.get("DASK_SCHEDULER_ADDRESS"):
        check_scheduler(address)
        from distributed import Client, as_completed

        # Not joblib's Dask backend: on a cluster with one free thread it would compute here.
        with Client(address, timeout="20s") as client:
            client.wait_for_workers(1, timeout=60)

            def on_cluster(tasks: Sequence[Task]) -> Iterator[tuple[str, dict[str, object]]]:
                futures = client.map(compute, tasks, pure=False, key="reprise")
                for future in as_completed(futures):
                    yield future.result()

            yield on_cluster
        return

    jobs = int(os.environ.get("REPRISE_JOBS") or 1)

    def here(tasks: Sequence[Task]) -> Iterator[tuple[str, dict[str, object]]]:
        parallel = joblib.Parallel(
            n_jobs=jobs,
            backend="loky" if jobs != 1 else "sequential",
            return_as="generator_unordered",
        )
        yield from parallel(joblib.delayed(compute)(task) for task in tasks)

    yield here


def _finished(tasks: Sequence[Task], runner: Runner) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield (key, result) as cells finish, each one kept on disk before it is handed on."""
    by_key = {task.key: task for task in tasks}
    if tasks:
        for key, result in runner(tasks):
            _keep(by_key[key], result)
            yield key, result


def check_scheduler(address: str, *, timeout: float = 5.0) -> None:
    """Raise `Unreachable`, in one line, unless something listens at a scheduler's address.

    Parameters
    ----------
    address : such as ``tcp://10.0.0.5:8786`` or ``10.0.0.5:8786``
    timeout : seconds
    """
    parts = urlsplit(address if "://" in address else f"tcp://{address}")
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or not port:
        raise Unreachable(f"DASK_SCHEDULER_ADDRESS must look like tcp://HOST:PORT, got {address!r}")
    try:
        socket.create_connection((host, port), timeout=timeout).close()
    except OSError as error:
        raise Unreachable(
            f"no Dask scheduler answers at DASK_SCHEDULER_ADDRESS={address} "
            f"({error.strerror or error}): start one, or unset the variable to run here"
        ) from None


def _kept_path(task: Task) -> Path:
    return paths.cache() / "cells" / task.slug / task.experiment / f"{task.key}.json"


def _read_kept(task: Task) -> dict[str, object] | None:
    """Return a kept cell, or None. A damaged one is computed again: it is a cache, not a result."""
    try:
        kept = json.loads(_kept_path(task).read_text())
        if provenance.digest_of(kept["result"]) == kept["sha256"]:
            return kept["result"]
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None


def _keep(task: Task, result: dict[str, object]) -> None:
    path = _kept_path(task)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        part.write_text(json.dumps({"sha256": provenance.digest_of(result), "result": result}))
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _report(experiment: str, done: int, total: int, kept: int) -> None:
    """Append a line of progress to the file that the runner watches, if one does."""
    if name := os.environ.get("REPRISE_PROGRESS"):
        line = {"experiment": experiment, "done": done, "total": total, "cached": kept}
        with contextlib.suppress(OSError), open(name, "a") as file:
            file.write(json.dumps(line) + "\n")
