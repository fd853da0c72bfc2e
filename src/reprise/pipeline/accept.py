"""Take a chapter's fresh quick results as the new reference, and keep the reason."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from reprise import results
from reprise.pipeline import compare
from reprise.pipeline.book import Chapter, check
from reprise.pipeline.cells import UserError
from reprise.pipeline.verify import claims_of, fresh_folder, run_stale, stored_folder, why_stale

Change = dict[str, object]


def accept(root: Path, slug: str, why: str) -> bool:
    """Make the fresh quick results the reference; print old -> new; return whether it was done.

    The new folder is written beside the old one and renamed, so that a full disk or a kill leaves
    the old reference whole.

    Raises
    ------
    UserError
        Without a reason, or when the results can't be written.
    """
    from reprise.pipeline.cli import show

    why = " ".join(why.split())
    if not why:
        raise UserError('say why, it is stored and shown: WHY="..." (--why)')
    (item,) = check(root, [slug], stores=True)
    run_stale(root, [item])
    if reasons := why_stale(item):
        print(f"{slug}: no current quick run ({'; '.join(reasons[:3])})", file=sys.stderr)
        return False
    new_folder, old_folder = fresh_folder(root, slug), stored_folder(root, slug)
    recover(old_folder)
    try:
        changes = difference(item, old_folder, new_folder)
    except results.Corrupt as error:
        # The one place that replaces a damaged reference: it was asked to, and it says so.
        print(f"the old reference can't be compared: {error}", file=sys.stderr)
        why = f"{why} (the old reference was damaged)"
        changes = difference(item, None, new_folder)
    show([{**c, "": "" if c["old"] == c["new"] else "changed"} for c in changes], title=slug)
    entry = {
        "date": results.now(),
        "why": why,
        "profile": "quick",
        "changes": [change for change in changes if change["old"] != change["new"]],
    }
    try:
        replace(old_folder, new_folder, entry)
    except OSError as error:
        raise UserError(
            f"can't write data/results/{slug} ({error.strerror or error}): the old reference is "
            "still there; make space or give permission, and accept again"
        ) from None
    print(f"{slug}: the quick reference is now this run ({why})")
    return True


def difference(item: Chapter, old_folder: Path | None, new_folder: Path) -> list[Change]:
    """Return old and new of every verdict, every estimate and every column of the tables.

    Raises
    ------
    results.Corrupt
        When a file of either folder is damaged.
    """
    found = claim_changes(claims_of(old_folder) if old_folder else {}, claims_of(new_folder))
    old = results.read_run(old_folder) if old_folder else None
    new = results.read_run(new_folder)
    if new is None:
        raise UserError(f"the last run of {item.slug} left no run.json: run the chapter again")
    before = old["experiments"] if old else {}
    configs = item.configs("quick")
    for name in sorted({*before, *new["experiments"]}):
        found += _tables(
            name, before, new["experiments"], old_folder, new_folder, configs.get(name)
        )
    return found


def claim_changes(
    old: Mapping[str, Mapping[str, object]], new: Mapping[str, Mapping[str, object]]
) -> list[Change]:
    """Return old and new of the verdict and every estimate of claims: id -> as `claims.json`."""
    found = []
    for claim in sorted({*old, *new}):
        before, after = old.get(claim, {}), new.get(claim, {})
        found.append(_change(f"{claim}: verdict", before.get("verdict"), after.get("verdict")))
        numbers = [_numbers(side) for side in (before, after)]
        for name in sorted({*numbers[0], *numbers[1]}):
            found.append(_change(f"{claim}: {name}", numbers[0].get(name), numbers[1].get(name)))
    return found


def _tables(
    name: str,
    before: Mapping[str, object],
    after: Mapping[str, object],
    old_folder: Path | None,
    new_folder: Path,
    config: object,
) -> list[Change]:
    if name not in after:
        return [_change(f"{name}: table", f"{before[name]['rows']} rows", None)]
    rows = results.read_table(new_folder, name, after[name])
    if name not in before:
        return [_change(f"{name}: table", None, f"{len(rows)} rows")]
    old = results.read_table(old_folder, name, before[name])
    found = []
    for column in compare.tables(old, rows, config.KEYS, config.TOLERANCES):
        if column.moved:
            at = f" at {column.where}" if column.where else ""
            more = f" ({column.moved} moved; the furthest)" if column.moved > 1 else ""
            found.append(_change(f"{name}: {column.column}{at}{more}", column.old, column.new))
    return found


def _change(what: str, old: object, new: object) -> Change:
    return {"what": what, "old": old, "new": new}


def _numbers(claim: Mapping[str, object]) -> dict[str, float]:
    """Return the value of each estimate of a claim in `claims.json`."""
    return {name: e["value"] for name, e in (claim.get("estimates") or {}).items()}


def replace(old: Path, new: Path, entry: Mapping[str, object]) -> None:
    """Put a run's tables in the place of the reference, with an entry in `changes.json`.

    Everything is written beside its place first; then renames swap the folders and the history.
    Whatever fails on the way is undone.
    """
    run = results.read_run(new)
    names = ["run.json", "claims.json", *(e["file"] for e in run["experiments"].values())]
    coming, going, log, waiting = _places(old)
    history = [*read_changes(log), entry]
    try:
        coming.mkdir(parents=True)
        for name in names:
            if (new / name).is_file():
                shutil.copyfile(new / name, coming / name)
        for name, own in run["experiments"].items():
            results.read_table(coming, name, own)  # a copy that is cut short isn't taken
        waiting.write_text(json.dumps(history, indent=1, ensure_ascii=False) + "\n")
        if old.exists():
            old.replace(going)
        coming.replace(old)
        waiting.replace(log)
    except BaseException:
        if going.exists():
            if old.exists():
                old.rename(coming)
            going.rename(old)
        shutil.rmtree(coming, ignore_errors=True)
        waiting.unlink(missing_ok=True)
        raise
    shutil.rmtree(going, ignore_errors=True)


def recover(old: Path) -> None:
    """Undo, or finish, a swap that was killed: the reference is the old one or the new, whole."""
    coming, going, log, waiting = _places(old)
    if coming.exists():  # killed before the swap was done
        if going.exists():
            going.replace(old)
        shutil.rmtree(coming)
        waiting.unlink(missing_ok=True)
    elif waiting.exists():  # killed after it
        waiting.replace(log)
    shutil.rmtree(going, ignore_errors=True)


def _places(old: Path) -> tuple[Path, Path, Path, Path]:
    """Return where a reference is prepared and put aside, and the history and its next version."""
    folder = old.parent
    return (
        folder / f".{old.name}.new",
        folder / f".{old.name}.old",
        folder / "changes.json",
        folder / ".changes.json.part",
    )


def read_changes(path: Path) -> list[Change]:
    """Return the entries of a `changes.json`: date, why, profile, changes; [] where there is none.

    Raises
    ------
    results.Corrupt
        When it is damaged; names its path.
    """
    if not path.is_file():
        return []
    try:
        entries = json.loads(path.read_text())
        if not isinstance(entries, list):
            raise ValueError("it is not a list")
        if not all({"date", "why", "profile", "changes"} <= set(entry) for entry in entries):
            raise ValueError("an entry lacks date, why, profile or changes")
    except (ValueError, TypeError) as error:
        raise results.Corrupt(f"{path} is damaged: {error}") from None
    return entries
