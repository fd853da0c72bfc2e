"""Remember parsed sources from one `make book` to the next: parsing is most of doing nothing."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reprise import closure
from reprise.closure import digest_of, file_digest


class _Used(dict[str, dict[str, Any]]):
    """What is known of sources; remembers what was asked for, so that the rest can go."""

    def __init__(self, known: dict[str, dict[str, Any]]) -> None:
        super().__init__(known)
        self.used: set[str] = set()

    def get(self, key: str, default: Any = None) -> Any:
        self.used.add(key)
        return super().get(key, default)


def setting(src: Path) -> str:
    """Return a digest of what a parsed source depends on beside its own content.

    That is: which files there are, what the lazy `__init__` files forward, and the parsing code.
    """
    files = sorted(p for p in src.rglob("*") if p.suffix != ".pyc" and p.is_file())
    names = [path.relative_to(src).as_posix() for path in files]
    inits = [file_digest(path) for path in files if path.name == "__init__.py"]
    own = file_digest(Path(closure.__file__))
    return digest_of([names, inits, own, sys.version_info[:2]])


@contextlib.contextmanager
def of_sources(file: Path, src: Path) -> Iterator[None]:
    """Parse meanwhile only what `file` doesn't know by its content; then write what is known.

    Parameters
    ----------
    file : JSON; when damaged, or when other files are there now, it counts as none
    src : the folder that holds the package
    """
    now = setting(src)
    found = _read(file, now)
    memo = _Used(found or {})
    closure.forget()
    closure.memo = memo
    try:
        yield
    finally:
        closure.memo = None
        closure.forget()
        kept = {key: memo[key] for key in sorted(memo.used & memo.keys())}
        if kept != found and setting(src) == now:
            _write(file, {"setting": now, "sha256": digest_of(kept), "modules": kept})


def _read(file: Path, now: str) -> dict[str, dict[str, Any]] | None:
    try:
        before = json.loads(file.read_text())
        if before["setting"] == now and before["sha256"] == digest_of(before["modules"]):
            return before["modules"]
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None


def _write(file: Path, value: object) -> None:
    part = file.with_name(f".{file.name}.{os.getpid()}.part")
    # On a full disk the next time takes longer, that is all.
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps(value))
        part.replace(file)
    with contextlib.suppress(OSError):
        part.unlink(missing_ok=True)
