"""Load a paper's light modules (configs, claims) from their files, seeing every change."""

from __future__ import annotations

import importlib.abc
import importlib.util
import re
import sys
from functools import lru_cache
from pathlib import Path
from types import ModuleType


def load(path: Path) -> ModuleType:
    """Return a light module from its file: configs or claims, which import no package of a paper.

    By file, since the repository need not be the one that is installed (worktrees, the miniature
    book of the tests).
    """
    stat = path.stat()
    return _load(path, stat.st_mtime_ns, stat.st_size)


class _Uncached(importlib.abc.SourceLoader):
    """Compile from source: Python's own cache goes by whole seconds and misses a quick change."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def get_filename(self, fullname: str) -> str:
        return str(self.path)

    def get_data(self, path: str) -> bytes:
        return Path(path).read_bytes()


@lru_cache(maxsize=256)
def _load(path: Path, *stamp: int) -> ModuleType:
    name = "_reprise_" + re.sub(r"\W", "_", str(path.with_suffix("")))
    loader = _Uncached(path)
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up there
    try:
        loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module
