"""Helpers of the weekly full runs; nothing but the standard library.

slugs [CHAPTER] < `reprise list --json`   print `slugs=[...]` for the matrix
compare BEFORE AFTER --report FILE        write which verdicts moved; an empty FILE: none did
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path


def slugs(listing: list[dict[str, object]], only: str = "") -> list[str]:
    """Return the chapters' slugs, or the one that is asked for."""
    found = [str(chapter["slug"]) for chapter in listing]
    if only and only not in found:
        raise SystemExit(f"there is no chapter {only!r}; there are {', '.join(found)}")
    return [only] if only else found


def moved(before: dict[str, object], after: dict[str, object]) -> list[tuple[str, str, str, str]]:
    """Return (id, old verdict, new verdict, reason) of each claim whose verdict differs."""
    old = {claim["id"]: claim["verdict"] for claim in before.get("claims", [])}
    new = {claim["id"]: claim for claim in after["claims"]}
    found = []
    for name in sorted({*old, *new}, key=lambda name: (len(name), name)):
        was = old.get(name, "no verdict")
        now = new[name]["verdict"] if name in new else "no verdict"
        if was != now:
            found.append((name, was, now, new[name]["reason"] if name in new else ""))
    return found


def report(slug: str, rows: list[tuple[str, str, str, str]]) -> str:
    """Return the moved verdicts as Markdown; "" where there are none."""
    if not rows:
        return ""
    lines = [f"### {slug}", "", "| claim | stored | now | reason |", "|---|---|---|---|"]
    lines += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return "\n".join(lines) + "\n\n"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    listing = commands.add_parser("slugs")
    listing.add_argument("chapter", nargs="?", default="")
    comparing = commands.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.add_argument("--report", type=Path, required=True)
    given = parser.parse_args(arguments)
    if given.command == "slugs":
        print(f"slugs={json.dumps(slugs(json.load(sys.stdin), given.chapter))}")
        return
    after = json.loads(given.after.read_text())
    before = json.loads(given.before.read_text()) if given.before.is_file() else {}
    given.report.parent.mkdir(parents=True, exist_ok=True)
    given.report.write_text(report(after["slug"], moved(before, after)))


if __name__ == "__main__":
    main()
