"""Fetch assets into the cache: side by side, atomically, safe against other processes and kills."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import importlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from reprise.datasets import registry, sources
from reprise.datasets.registry import AssetError, Entry

Progress = Callable[[str, str], None]
_AT_ONCE = 4
_HERE = {
    errno.ENOSPC: "no space left",
    errno.EDQUOT: "the disk quota is used up",
    errno.EACCES: "no permission to write",
    errno.EPERM: "no permission to write",
    errno.EROFS: "the file system is read-only",
    errno.ENOTDIR: "a part of the path is a file",
    errno.EEXIST: "a part of the path is a file",
}


class NotFetched(AssetError):
    """An asset could not be fetched; the message says why each source failed."""


def fetch(names: Iterable[str], *, progress: Progress | None = None) -> dict[str, str]:
    """Fetch what is missing or wrong among `names`, side by side; return what was done.

    Parameters
    ----------
    names : assets of the registry; those that are there already cost a check
    progress : called with (name, what happens now), from several threads

    Returns
    -------
    name -> "present" (was there), or the source that it came from

    Raises
    ------
    ValueError
        For a name that the registry doesn't have, before anything is fetched.
    NotFetched
        When one or more could not be had, after the others are there; one line an asset.
    """
    chosen = list(dict.fromkeys(names))
    for name in chosen:
        registry.entry(name)
    tell = progress or (lambda name, what: None)
    done: dict[str, str] = {}
    failed: list[str] = []
    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        waiting = {name: pool.submit(_fetch, name, tell) for name in chosen}
        for name, future in waiting.items():
            try:
                done[name] = future.result()
            except NotFetched as error:
                failed.append(str(error))
    if failed:
        raise NotFetched("\n".join(failed))
    return done


fetch_assets = fetch  # the package's name for it: there, `fetch` is this module


@contextlib.contextmanager
def _locked(name: str, tell: Progress) -> Iterator[None]:
    """Hold the lock of one asset; the kernel gives it free when this process dies."""
    registry.store().mkdir(parents=True, exist_ok=True)
    with (registry.store() / f".{name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell(name, "waiting: another process fetches it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fetch(name: str, tell: Progress) -> str:
    entry = registry.entry(name)
    if registry.state(name) == "present":
        return "present"
    try:
        with _locked(name, tell):
            if registry.state(name) == "present":  # the process that we waited for fetched it
                return "present"
            for left in registry.store().glob(f".part-{name}-*-*"):
                if left.name.rsplit("-", 2)[0] == f".part-{name}":
                    shutil.rmtree(left, ignore_errors=True)  # of a fetch that was killed
            return _fetch_locked(entry, tell)
    except OSError as error:
        why = _HERE.get(error.errno, str(error))
        raise NotFetched(
            f"asset {name!r}: {why} in {registry.store()}: make room there, or set REPRISE_CACHE "
            "to a folder that can be written"
        ) from None


def _fetch_locked(entry: Entry, tell: Progress) -> str:
    reasons = []
    for source in entry.sources:
        tell(entry.name, f"trying {source}")
        start = time.perf_counter()
        part = Path(
            tempfile.mkdtemp(prefix=f".part-{entry.name}-{os.getpid()}-", dir=registry.store())
        )
        try:
            content = part / "content"
            content.mkdir()
            (part / "work").mkdir()
            sources.get(entry, source, part / "work", content)
            files = registry.describe(content)
            hashes = {name: str(about["sha256"]) for name, about in files.items()}
            actual = registry.combined(hashes, single=bool(entry.file))
            if actual != entry.sha256:
                raise sources.SourceFailed(
                    f"its content has SHA-256 {actual}, the registry says {entry.sha256}"
                )
            record: dict[str, object] = {"name": entry.name, "source": str(source)}
            if entry.prepare:
                tell(entry.name, f"preparing with {entry.prepare}")
                content = _prepare(entry, content, part / "prepared")
                files = registry.describe(content)
                hashes = {name: str(about["sha256"]) for name, about in files.items()}
                record["prepared"] = registry.combined(hashes, single=False)
            registry.write_record(content, {**record, "files": files})
            _put(content, registry.folder(entry.name), part)
        except sources.SourceFailed as error:
            reasons.append(f"{source}: {error}")
            continue
        finally:
            shutil.rmtree(part, ignore_errors=True)
        tell(entry.name, f"ready, from {source}, {time.perf_counter() - start:.1f} s")
        return str(source)
    raise NotFetched(f"asset {entry.name!r} could not be fetched. " + " | ".join(reasons))


def _prepare(entry: Entry, content: Path, target: Path) -> Path:
    module, _, function = entry.prepare.partition(":")
    target.mkdir()
    try:
        getattr(importlib.import_module(module), function)(content, target)
    except Exception as error:  # whatever a step meets, the other assets are still fetched
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise sources.SourceFailed(
            f"{entry.prepare} failed: {type(error).__name__}: {error}"
        ) from error
    return target


def _put(content: Path, final: Path, part: Path) -> None:
    """Rename the finished folder into place; a wrong one that lies there goes first."""
    if final.exists():
        final.rename(part / "wrong")
    content.rename(final)
