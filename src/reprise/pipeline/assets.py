"""Data and weights: list them, or fetch what chapters and tests need, before anything runs."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable
from pathlib import Path

from reprise.pipeline.book import chapter, check_writable
from reprise.pipeline.cells import UserError, close


def needed_for(root: Path, uses: Iterable[str]) -> list[str]:
    """Return the assets of uses such as "fsgdm:quick", "fsgdm", ":quick" (all chapters), "tests".

    Raises
    ------
    UserError
        For an unknown chapter or profile.
    """
    from reprise.datasets import registry

    names: list[str] = []
    for use in uses:
        slug, _, profile = use.partition(":")
        if slug and slug != "tests":
            chapter(root, slug)
        if profile not in ("", "quick", "full"):
            raise UserError(f"--for {use}: the profile must be quick or full, got {profile!r}")
        names += registry.needed(slug or None, profile or None)
    return list(dict.fromkeys(names))


def fetch_missing(root: Path, names: Iterable[str]) -> list[str]:
    """Fetch what is missing of the named assets, a line per event, and return what failed.

    Returns
    -------
    one line per asset that couldn't be had; nothing when all are there
    """
    from reprise import paths
    from reprise.datasets import fetch as fetching
    from reprise.datasets import registry

    missing = [name for name in names if registry.state(name) != "present"]
    if not missing:
        return []
    check_writable(paths.cache(), root)
    one_at_a_time = threading.Lock()  # it is called from several threads

    def tell(name: str, what: str) -> None:
        with one_at_a_time:
            print(f"asset {name}: {what}", flush=True)

    try:
        fetching.fetch(missing, progress=tell)
    except fetching.NotFetched as error:
        return str(error).splitlines()
    return []


def command(root: Path, names: list[str], uses: list[str], *, fetch: bool, as_json: bool) -> bool:
    """List assets, or fetch them; return whether all that were asked for are there."""
    from reprise.datasets import registry
    from reprise.pipeline.cli import show

    known = registry.entries()
    for name in names:
        if name not in known:
            raise UserError(f"there is no asset {name!r}: {close(name, known)}")
    chosen = list(dict.fromkeys([*names, *needed_for(root, uses)]))
    if fetch:
        failed = fetch_missing(root, chosen or sorted(known))
        for line in failed:
            print(line, file=sys.stderr)
        return not failed
    if not chosen and not uses:
        chosen = sorted(known)
    rows = registry.table(chosen)
    if not as_json:
        rows = [
            {
                "asset": row["name"],
                "state": row["state"],
                "size": f"{row['size'] / 1e6:.1f} MB",
                "licence": row["licence"],
                "used by": row["used_by"],
                "what": row["title"],
            }
            for row in rows
        ]
    show(rows, as_json)
    return True
