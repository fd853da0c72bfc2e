"""Where a result comes from: code digests, library versions, the machine, time and memory.

What is recorded never names a host, a user or a path.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib.metadata
import os
import platform
import re
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from reprise import paths
from reprise.closure import closure, digest_of, file_digest, source_digest

__all__ = [
    "Meter",
    "cell_key",
    "closure",
    "commit",
    "digest_of",
    "file_digest",
    "libraries",
    "machine",
    "result_digest",
    "source_digest",
    "src",
    "versions",
]


def src() -> Path:
    """Return the folder that holds the package: the repository's, else the installed one's."""
    try:
        folder = paths.root() / "src"
        if (folder / "reprise" / "provenance.py").is_file():
            return folder
    except paths.NoRepository:
        pass
    return Path(__file__).resolve().parents[1]


def config_values(config: object, *, n_seeds: bool = True) -> dict[str, object]:
    """Return a config's class and fields as plain values, if asked without `n_seeds`."""
    if not dataclasses.is_dataclass(config):
        raise ValueError(f"`config` must be a dataclass instance, got {type(config).__name__}")
    fields = dataclasses.asdict(config)
    if not n_seeds:
        fields.pop("n_seeds", None)
    return {"class": type(config).__name__, "fields": fields}


def assets_of(config: object) -> dict[str, str]:
    """Return the content hash of each asset that a config's `ASSETS` names."""
    names = getattr(config, "ASSETS", ())
    if not names:
        return {}
    from reprise import datasets

    return {name: datasets.content_hash(name) for name in sorted(names)}


def result_parts(
    slug: str, experiment: str, config: object, *, n_seeds: bool = True
) -> dict[str, object]:
    """Return what an experiment's numbers depend on, part by part (see `result_digest`)."""
    modules = _result_modules(slug, experiment)
    return {
        "modules": {name: module.digest for name, module in modules.items()},
        "data": {
            path.relative_to(src()).as_posix(): file_digest(path)
            for module in modules.values()
            for path in module.data
        },
        "config": config_values(config, n_seeds=n_seeds),
        "assets": assets_of(config),
    }


def result_digest(slug: str, experiment: str, config: object, *, n_seeds: bool = True) -> str:
    """Return the digest of everything that an experiment's numbers depend on in this book.

    Its module and what it imports inside the package, followed to the end; the package's data
    files that they name; its config; the content of its assets. Not in it: whatever draws,
    judges, stores or schedules, comments, docstrings, layout.

    Parameters
    ----------
    slug, experiment : as in `reprise.<slug>.experiments.<experiment>`
    config : the experiment's frozen dataclass
    n_seeds : whether the number of seeds counts
    """
    return digest_of(result_parts(slug, experiment, config, n_seeds=n_seeds))


def _result_modules(slug: str, experiment: str) -> dict[str, object]:
    name = f"reprise.{slug}.experiments.{experiment}"
    found = closure([name], src(), results_only=True)
    if name not in found:
        raise ValueError(f"`experiment`: there is no module {name}")
    return found


def cell_key(slug: str, experiment: str, config: object, seed: int) -> str:
    """Return the name under which a finished sweep cell is kept: code, config, versions, seed."""
    modules = _result_modules(slug, experiment)
    return digest_of(
        {
            "result": result_digest(slug, experiment, config, n_seeds=False),
            "versions": versions(libraries(modules.values())),
            "seed": seed,
        }
    )


def libraries(modules: Iterable[object]) -> list[str]:
    """Return the third-party import names in a closure, sorted."""
    names = {name for module in modules for name in module.libraries}
    return sorted(names - set(sys.stdlib_module_names) - {"reprise"})


@functools.lru_cache(maxsize=1)
def _distributions() -> Mapping[str, list[str]]:
    return importlib.metadata.packages_distributions()


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@functools.lru_cache(maxsize=8)
def _lock(path: Path, stamp: int) -> dict[str, str]:
    pins = re.findall(r"^([A-Za-z0-9._-]+)==([^\s;#]+)", path.read_text(), flags=re.M)
    return {_normal(name): version for name, version in pins}


def locked() -> dict[str, str]:
    """Return distribution -> version of requirements.lock; empty where there is none."""
    try:
        path = paths.root() / "requirements.lock"
        return _lock(path, path.stat().st_mtime_ns)
    except (OSError, paths.NoRepository):
        return {}


@functools.lru_cache(maxsize=256)
def _installed(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution).split("+")[0]
    except importlib.metadata.PackageNotFoundError:
        return None


def versions(imports: Iterable[str]) -> dict[str, str]:
    """Return distribution -> version of imported libraries: as locked, else as installed."""
    pins = locked()
    found = {}
    for name in imports:
        own = _normal(name)
        candidates = [own] if own in pins else _distributions().get(name, [])
        for distribution in candidates:
            version = pins.get(_normal(distribution)) or _installed(distribution)
            if version:
                found[_normal(distribution)] = version
    return dict(sorted(found.items()))


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@functools.lru_cache(maxsize=1)
def machine() -> dict[str, object]:
    """Return cores, memory (GiB), CPU, system and Python version of this machine."""
    cpu = platform.processor() or platform.machine()
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.M)
        cpu = found.group(1).strip() if found else cpu
    except OSError:
        pass
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except (ValueError, OSError, AttributeError):
        memory = float("nan")
    return {
        "cpu": cpu,
        "cores": cores(),
        "memory_gib": round(memory),
        "system": platform.system(),
        "python": platform.python_version(),
    }


def commit(root: Path) -> tuple[str, bool]:
    """Return the commit of HEAD and whether tracked files differ from it ('' when no git)."""

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=root, capture_output=True, text=True, check=True, timeout=30
        ).stdout.strip()

    try:
        return git("rev-parse", "HEAD"), bool(git("status", "--porcelain", "-uno"))
    except (OSError, subprocess.SubprocessError):
        return "", False


class Meter:
    """Measure wall time (s), CPU time (s) and peak memory (MB) of this process and its children.

    A thread sums the resident memory of the process tree twice a second, so a peak that is
    shorter than that is missed; CPU time counts children that have ended and been waited for.
    """

    def __init__(self, *, interval: float = 0.5) -> None:
        self.seconds = self.cpu_seconds = self.peak_mb = 0.0
        self._interval = interval
        self._stop = threading.Event()

    def __enter__(self) -> Meter:
        self._wall, self._cpu = time.perf_counter(), _cpu_seconds()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        self._thread.join()
        self.seconds = time.perf_counter() - self._wall
        self.cpu_seconds = _cpu_seconds() - self._cpu

    def _watch(self) -> None:
        import psutil

        me = psutil.Process()
        while True:
            total = 0
            for process in (me, *me.children(recursive=True)):
                try:
                    total += process.memory_info().rss
                except psutil.Error:
                    continue  # it ended between the listing and the reading
            self.peak_mb = max(self.peak_mb, total / 1e6)
            if self._stop.wait(self._interval):
                return


def _cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)
