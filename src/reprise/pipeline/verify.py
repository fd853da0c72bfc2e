"""Compare fresh quick results with the stored reference, as each column's tolerance says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from reprise import results
from reprise.pipeline import compare, digests
from reprise.pipeline.book import Chapter, check
from reprise.pipeline.compare import Column


@dataclass(frozen=True)
class Turned:
    """A verdict that differs from the stored one."""

    claim: str
    old: str
    new: str
    ok: bool
    why: str


@dataclass
class Comparison:
    """What the comparison of one chapter found."""

    slug: str
    state: str = "same"  # "same", "moved", "failed", "no reference yet", "not run"
    notes: list[str] = field(default_factory=list)
    columns: dict[str, list[Column]] = field(default_factory=dict)  # by experiment
    verdicts: list[Turned] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether `make verify` may pass."""
        return self.state not in ("failed", "not run")


def stored_folder(root: Path, slug: str, profile: str = "quick") -> Path:
    """Return where a chapter's stored results of a profile stand."""
    from reprise import paths

    return paths.stored() / slug / profile


def fresh_folder(root: Path, slug: str, profile: str = "quick") -> Path:
    """Return where the last run of a chapter left its tables."""
    return root / "_build" / "run" / profile / slug


def verify(root: Path, slugs: Iterable[str] = ()) -> bool:
    """Run what is stale, compare every chapter, print what moved, return whether all passed."""
    chosen = check(root, slugs)
    run_stale(root, chosen)
    found = [compare_chapter(item) for item in chosen]
    report(found)
    return all(item.ok for item in found)


def run_stale(root: Path, chosen: Iterable[Chapter]) -> None:
    """Run those chapters whose quick run isn't current; a failure shows as a run still missing."""
    stale = [item.slug for item in chosen if why_stale(item)]
    if stale:
        from reprise.pipeline import runner

        runner.run_chapters(root, stale, profile="quick")


def why_stale(item: Chapter) -> list[str]:
    """Return why a chapter's quick run isn't current; code that can't be read is a reason too."""
    try:
        return digests.stale(item, "quick")
    except SyntaxError as error:
        return [f"{error.msg} in {Path(error.filename or item.source).name}, line {error.lineno}"]


def compare_chapter(item: Chapter) -> Comparison:
    """Return the comparison of a chapter's fresh quick results with the stored ones.

    Raises
    ------
    results.Corrupt
        When a stored file is damaged; names its path. It is never read past or written over.
    """
    found = Comparison(item.slug)
    if reasons := why_stale(item):
        found.state = "not run"
        found.notes.append(f"no current quick run: {'; '.join(reasons[:3])}")
        return found
    from reprise.pipeline.accept import recover

    new_folder, old_folder = fresh_folder(item.root, item.slug), stored_folder(item.root, item.slug)
    recover(old_folder)
    old, new = results.read_run(old_folder), results.read_run(new_folder)
    if new is None:
        found.state = "not run"
        found.notes.append("the last run left no run.json")
        return found
    if old is None:
        if any(old_folder.glob("*.csv")) or any(old_folder.glob("*.parquet")):
            raise results.Corrupt(
                f"data/results/{item.slug}/quick/run.json is missing, but tables stand beside it"
            )
        found.state = "no reference yet"
        found.notes.append(f'take one with: make accept C={item.slug} WHY="..."')
        return found
    configs = item.configs("quick")
    for name in sorted({*old["experiments"], *new["experiments"], *configs}):
        if name not in old["experiments"] or name not in new["experiments"] or name not in configs:
            side = "reference" if name not in old["experiments"] else "fresh run"
            found.notes.append(f"{name} is not in the {side}")
            found.state = "failed"
            continue
        before = results.read_table(old_folder, name, old["experiments"][name])
        after = results.read_table(new_folder, name, new["experiments"][name])
        config = configs[name]
        found.columns[name] = compare.tables(before, after, config.KEYS, config.TOLERANCES)
    before, after = claims_of(old_folder), claims_of(new_folder)
    found.verdicts = turned(before, after, item.load("claims").MEASURES, configs)
    columns = [column for group in found.columns.values() for column in group]
    if not all(c.ok for c in columns) or not all(v.ok for v in found.verdicts):
        found.state = "failed"
    elif found.state == "same" and (any(c.moved for c in columns) or found.verdicts):
        found.state = "moved"
    return found


def claims_of(folder: Path) -> dict[str, dict[str, object]]:
    """Return id -> claim of a folder's `claims.json`; nothing where there is none.

    Raises
    ------
    results.Corrupt
        When it is damaged; names its path.
    """
    path = folder / "claims.json"
    if not path.is_file():
        return {}
    return {claim["id"]: claim for claim in results.read_json(path, "claims")["claims"]}


def turned(
    old: Mapping[str, Mapping[str, object]],
    new: Mapping[str, Mapping[str, object]],
    measures: Mapping[str, object],
    configs: Mapping[str, object],
) -> list[Turned]:
    """Return the claims whose verdict differs, and whether the tolerance explains it.

    A changed verdict passes when the stored margin of its rule is no wider than its estimates may
    move (see `allowance`), or when it rests on timings alone.

    Parameters
    ----------
    old, new : id -> claim, as `claims.json` holds them
    measures : the paper's `MEASURES`, which say what tables an estimate is made from
    configs : experiment -> config, whose `TOLERANCES` say how far a column may move
    """
    found = []
    for name in dict.fromkeys([*old, *new]):
        if name not in old or name not in new:
            side = "fresh run" if name not in new else "reference"
            states = [str(c[name]["verdict"]) if name in c else "" for c in (old, new)]
            found.append(Turned(name, *states, False, f"not in the {side}"))
            continue
        states = [str(c[name]["verdict"]) for c in (old, new)]
        if states[0] == states[1]:
            continue
        margin, room = old[name].get("margin"), allowance(old[name], measures, configs)
        if room is None:
            ok, why = True, "rests on timings: the stored machine's verdict counts"
        elif margin is None:
            ok, why = False, "its rule has no margin"
        else:
            ok = margin <= room
            why = f"stored margin {margin:.3g}, tolerance {room:.3g}"
        found.append(Turned(name, *states, ok, why))
    return found


def allowance(
    claim: Mapping[str, object], measures: Mapping[str, object], configs: Mapping[str, object]
) -> float | None:
    """Return how far a claim's estimates may move by their columns' tolerances.

    `statistical:k` moves an estimate over seeds by k standard errors of the difference of two such
    runs, `rtol:x` by x times its size; the widest counts. None when all columns behind it are
    timings.
    """
    rooms, kinds = [0.0], set()
    for name, estimate in claim["estimates"].items():
        experiments = measures[name].experiments if name in measures else ()
        tolerances = [
            compare.parse_tolerance(text)
            for experiment in experiments
            if experiment in configs
            for text in configs[experiment].TOLERANCES.values()
        ]
        kinds |= {kind for kind, _ in tolerances}
        ends = [float(estimate[end]) for end in ("low", "value", "high")]
        # Without a standard error (a bootstrap): the interval is about four of them wide.
        error = estimate.get("se")
        error = (ends[2] - ends[0]) / 4 if error is None else float(error)
        for kind, size in tolerances:
            if kind == "statistical":
                rooms.append(size * error * 2**0.5)
            elif kind == "rtol":
                rooms.append(size * max(map(abs, ends)))
    return None if kinds == {"timing"} else max(rooms)


def report(found: Iterable[Comparison]) -> None:
    """Print a table of what moved, and one line per chapter."""
    from reprise.pipeline.cli import show

    found = list(found)
    rows = [
        {
            "chapter": item.slug,
            "what": f"{experiment} {column.column}",
            "old": column.old,
            "new": column.new,
            "moved": f"{column.moved} of {column.compared}" if column.compared else "",
            "tolerance": column.tolerance,
            "of it": "" if column.share == float("inf") else f"{column.share:.2g}",
            "where": column.where,
            "": "ok" if column.ok else "FAILED",
        }
        for item in found
        for experiment, columns in item.columns.items()
        for column in columns
        if column.moved
    ]
    rows += [
        {
            "chapter": item.slug,
            "what": f"verdict {verdict.claim}",
            "old": verdict.old,
            "new": verdict.new,
            "where": verdict.why,
            "": "ok" if verdict.ok else "FAILED",
        }
        for item in found
        for verdict in item.verdicts
    ]
    if rows:
        show(rows, title="what moved")
    for item in found:
        note = f" ({'; '.join(item.notes)})" if item.notes else ""
        count = sum(column.compared for columns in item.columns.values() for column in columns)
        values = f", {count} values compared" if count else ""
        print(f"{item.slug}: {item.state}{values}{note}")
