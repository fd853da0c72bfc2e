"""Where things are: the repository, the stored results, the cache, this run's output."""

from __future__ import annotations

import os
from pathlib import Path


class NoRepository(RuntimeError):
    """There is no repository to work in: the library works anywhere, the book only there."""


def root() -> Path:
    """Return the repository: `REPRISE_ROOT`, else upwards to `_toc.yml`, else the editable install.

    Raises
    ------
    NoRepository
        When none of the three holds a `_toc.yml`.
    """
    if named := os.environ.get("REPRISE_ROOT"):
        if (Path(named) / "_toc.yml").is_file():
            return Path(named).resolve()
        raise NoRepository(f"REPRISE_ROOT={named} holds no _toc.yml: name the repository's folder")
    here = Path.cwd().resolve()
    for folder in (here, *here.parents, Path(__file__).resolve().parents[2]):
        if (folder / "_toc.yml").is_file():
            return folder
    raise NoRepository(
        "not inside the Reprise repository: change into it, or set REPRISE_ROOT to its folder"
    )


def cache() -> Path:
    """Return the cache folder: `REPRISE_CACHE`, else `reprise` in the user's cache folder."""
    if named := os.environ.get("REPRISE_CACHE"):
        return Path(named).expanduser().resolve()
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base).expanduser() / "reprise"


def stored() -> Path:
    """Return the folder of the stored results: `REPRISE_RESULTS`, else `data/results`."""
    named = os.environ.get("REPRISE_RESULTS")
    return Path(named).resolve() if named else root() / "data" / "results"


def out(slug: str, profile: str) -> Path:
    """Return where a run of a chapter writes: `REPRISE_OUT`, else `_build/scratch`.

    The pipeline sets `REPRISE_OUT`; Run All in JupyterLab or plain papermill don't, so they can
    never touch a result that counts.
    """
    named = os.environ.get("REPRISE_OUT")
    return Path(named).resolve() if named else root() / "_build" / "scratch" / profile / slug
