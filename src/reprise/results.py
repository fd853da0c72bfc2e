"""Result tables with their provenance: run an experiment, store it, read it back, judge it.

A folder of results holds one table per experiment (`e1.csv`; Parquet above 1 MB), `run.json`,
which says where each came from, and `claims.json`. Everything is written beside its place and then
renamed, so that a reader sees the old file or the new one, never half of one.
"""

from __future__ import annotations

import datetime
import io
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.resources import files
from pathlib import Path
from types import ModuleType

import pandas as pd

from reprise import claims, paths, provenance, sweep, verdicts

SCHEMA = 1
PARQUET_ABOVE = 1_000_000  # bytes of CSV


class Corrupt(RuntimeError):
    """A stored file is damaged; the message names its path."""


@dataclass(frozen=True)
class Table:
    """A result table as a chapter shows it: fresh, stored, or not there yet."""

    experiment: str
    profile: str
    origin: str  # "fresh", "stored" or "not yet"
    rows: pd.DataFrame | None = None
    entry: Mapping[str, object] | None = None
    current: bool = True

    @property
    def missing(self) -> bool:
        """Whether there is no table."""
        return self.rows is None

    @property
    def seeds(self) -> int | None:
        """How many seeds judge; those that only tune don't count. None without a table."""
        if self.missing:
            return None
        if "phase" in self.rows and "seed" in self.rows:
            final = self.rows.loc[self.rows["phase"] == "final", "seed"]
            return int(final.nunique()) or int(self.entry["n_seeds"])
        return int(self.entry["n_seeds"])

    @property
    def label(self) -> str:
        """Say in a few words which run this is: "quick run, 5 seeds"."""
        if self.missing:
            return f"{self.profile} run: not yet"
        seeds = self.seeds
        tail = f", {seeds} seeds" if seeds > 1 else ""
        if self.origin == "fresh":
            return f"{self.profile} run{tail}"
        late = "" if self.current else ", made by an earlier version of the code"
        return f"stored {self.profile} run of {str(self.entry['date'])[:10]}{tail}{late}"


# --- files -----------------------------------------------------------------------------------


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file beside its place, then rename: the old one stays until the new one is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write_json(path: Path, value: object) -> None:
    """Write a value as readable JSON, atomically."""
    write_bytes(path, (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode())


@lru_cache(maxsize=8)
def schema(name: str) -> dict[str, object]:
    """Return the JSON schema of "run", "claims", "verdicts" or "book"."""
    folder = files("reprise").joinpath("schemas")
    found, common = (
        json.loads(folder.joinpath(f"{part}.schema.json").read_text()) for part in (name, "common")
    )
    return {**found, "$defs": {**common, **found.get("$defs", {})}}


def read_json(path: Path, kind: str) -> dict[str, object]:
    """Return a `run.json` or `claims.json`, checked against its schema.

    Raises
    ------
    FileNotFoundError
        When it isn't there.
    Corrupt
        When it can't be read or breaks its schema; names the path.
    """
    try:
        value = json.loads(path.read_text())
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise Corrupt(f"{_shown(path)} is damaged: {error}") from None
    if not _fits(value, kind):
        # Only now the one that says it well: its import takes a second.
        from jsonschema import ValidationError, validate

        try:
            validate(value, schema(kind))
        except ValidationError as error:
            raise Corrupt(
                f"{_shown(path)} is damaged: {error.json_path}: {error.message[:200]}"
            ) from None
    return value


@lru_cache(maxsize=8)
def _validator(kind: str) -> Callable[[object], object]:
    import fastjsonschema

    return fastjsonschema.compile(schema(kind))


def _fits(value: object, kind: str) -> bool:
    from fastjsonschema import JsonSchemaException

    try:
        _validator(kind)(value)
    except JsonSchemaException:
        return False
    return True


def _shown(path: Path) -> str:
    """Return a path as readers know it: below the repository where it is there."""
    try:
        return path.resolve().relative_to(paths.root()).as_posix()
    except (ValueError, paths.NoRepository):
        return str(path)


def write_table(folder: Path, experiment: str, rows: pd.DataFrame) -> dict[str, object]:
    """Write a table atomically and return what its `run.json` entry says of the file."""
    data = rows.to_csv(index=False, lineterminator="\n").encode()
    name = f"{experiment}.csv"
    if len(data) > PARQUET_ABOVE:
        buffer = io.BytesIO()
        rows.to_parquet(buffer, index=False)
        data, name = buffer.getvalue(), f"{experiment}.parquet"
    write_bytes(folder / name, data)
    return {
        "file": name,
        "sha256": provenance.file_digest(folder / name),
        "rows": len(rows),
        "columns": list(rows.columns),
    }


def read_table(folder: Path, experiment: str, entry: Mapping[str, object]) -> pd.DataFrame:
    """Return a stored table, checked against its entry in `run.json`.

    Raises
    ------
    Corrupt
        When the file is gone, its hash differs, or a column or row is missing; names the path.
    """
    path = folder / str(entry["file"])
    if not path.is_file():
        raise Corrupt(f"{_shown(path)} is missing, but run.json lists it")
    own = provenance.file_digest(path)
    try:
        if path.suffix == ".parquet":
            rows = pd.read_parquet(path)
        else:
            rows = pd.read_csv(path, keep_default_na=False, na_values=[""])
    except Exception as error:
        raise Corrupt(f"{_shown(path)} is damaged: {type(error).__name__}: {error}") from None
    if lacking := [name for name in entry["columns"] if name not in rows.columns]:
        raise Corrupt(f"{_shown(path)} is damaged: it lacks the columns {lacking}")
    if len(rows) != entry["rows"]:
        raise Corrupt(f"{_shown(path)} is damaged: {len(rows)} rows, not {entry['rows']}")
    if own != entry["sha256"]:
        raise Corrupt(
            f"{_shown(path)} is damaged: its SHA-256 is {own[:12]}..., "
            f"run.json says {str(entry['sha256'])[:12]}..."
        )
    return rows


def read_run(folder: Path) -> dict[str, object] | None:
    """Return a folder's `run.json`, or None where there is none."""
    path = folder / "run.json"
    return read_json(path, "run") if path.is_file() else None


def stored(slug: str, experiment: str, profile: str = "full") -> Table:
    """Return an experiment's stored table and whether today's code and config would make it."""
    folder = paths.stored() / slug / profile
    run = read_run(folder)
    entry = run["experiments"].get(experiment) if run else None
    if entry is None:
        return Table(experiment, profile, "not yet")
    rows = read_table(folder, experiment, entry)
    return Table(
        experiment, profile, "stored", rows, entry, is_current(slug, experiment, entry, profile)
    )


def is_current(slug: str, experiment: str, entry: Mapping[str, object], profile: str) -> bool:
    """Return whether a stored entry's digest is what today's code and config would give."""
    from reprise.pipeline import book  # only here: reading a profile is the pipeline's job

    config = book.chapter(paths.root(), slug).configs(profile).get(experiment)
    return config is not None and entry["digest"] == provenance.result_digest(
        slug, experiment, config
    )


def check_rows(config: object, rows: pd.DataFrame, where: str) -> None:
    """Raise `ValueError` unless a table has just the declared columns and distinct keys."""
    declared = [*config.KEYS, *config.TOLERANCES]
    if unknown := sorted(set(rows.columns) ^ set(declared)):
        raise ValueError(f"`rows`: {where} must have the columns {declared}; differing: {unknown}")
    if rows.duplicated(list(config.KEYS)).any():
        twice = rows[rows.duplicated(list(config.KEYS))].iloc[0][list(config.KEYS)].to_dict()
        raise ValueError(f"`rows`: {where} has two rows for {twice}")


# --- a chapter's run -------------------------------------------------------------------------


class Run:
    """One run of a chapter: what its notebook calls."""

    def __init__(self, slug: str, profile: str, configs: Mapping[str, object]) -> None:
        self.slug = slug
        self.profile = profile
        self.configs = dict(configs)
        self.folder = paths.out(slug, profile)
        self.tables: dict[str, Table] = {}
        self._entries: dict[str, object] = {}

    @cached_property
    def changed(self) -> bool:
        """Whether the parameters are not the chapter's own: then what is live leads."""
        from reprise.pipeline import book  # only here: reading a profile is the pipeline's job

        own = book.chapter(paths.root(), self.slug).configs(self.profile)

        def values(configs: Mapping[str, object]) -> dict[str, object]:
            return {name: provenance.config_values(config) for name, config in configs.items()}

        return values(own) != values(self.configs)

    def run(self, experiment: str) -> Table:
        """Run an experiment of this profile and store its table in this run's folder.

        An experiment that this profile doesn't run, or that `REPRISE_ONLY` leaves out, is read
        from the stored full results instead: it may be a table or "not yet".
        """
        only = [name for name in os.environ.get("REPRISE_ONLY", "").split(",") if name]
        config = self.configs.get(experiment)
        if config is None or (only and experiment not in only):
            table = stored(self.slug, experiment)
            if only and config is not None and not table.missing:
                self.tables[experiment] = table
            return table
        digest = provenance.result_digest(self.slug, experiment, config)
        with provenance.Meter() as meter:
            swept = sweep.run(self.slug, experiment, config)
        rows = pd.DataFrame(swept.rows)
        check_rows(config, rows, f"{self.slug}/{experiment}")
        commit, dirty = provenance.commit(provenance.src().parent)
        entry = {
            "digest": digest,
            **write_table(self.folder, experiment, rows),
            "n_seeds": int(rows["seed"].nunique()) if "seed" in rows else 1,
            "config": provenance.config_values(config),
            "assets": provenance.assets_of(config),
            "versions": self._versions(experiment),
            "machine": provenance.machine(),
            "commit": commit,
            "dirty": dirty,
            "date": now(),
            "seconds": round(swept.seconds, 2),
            "cpu_seconds": round(swept.cpu_seconds, 2),
            "peak_mb": round(meter.peak_mb),
        }
        self._entries[experiment] = entry
        run = {
            "schema": SCHEMA,
            "slug": self.slug,
            "profile": self.profile,
            "experiments": self._entries,
        }
        write_json(self.folder / "run.json", run)
        table = Table(
            experiment, self.profile, "fresh", read_table(self.folder, experiment, entry), entry
        )
        self.tables[experiment] = table
        return table

    def _versions(self, experiment: str) -> dict[str, str]:
        start = f"reprise.{self.slug}.experiments.{experiment}"
        modules = provenance.closure([start], provenance.src(), results_only=True)
        return provenance.versions(provenance.libraries(modules.values()))

    def stored(self, experiment: str) -> Table:
        """Return an experiment's stored full table, which may be "not yet"."""
        return stored(self.slug, experiment)

    def shown(self, experiment: str) -> Table:
        """Return the table that a figure shows: the stored full one when today's code would make
        it, else this run's; always this run's when its parameters were changed.
        """
        live = self.tables.get(experiment) or self.run(experiment)
        if self.profile == "full" or (self.changed and not live.missing):
            return live
        full = self.stored(experiment)
        return full if not full.missing and (full.current or live.missing) else live

    def verdicts(self, paper: ModuleType) -> verdicts.Verdicts:
        """Judge all claims by this run's tables and by the stored full ones.

        `claims.json` holds what this run says, `verdicts.json` both and which of them leads.

        Parameters
        ----------
        paper : the paper's `claims` module, with CLAIMS and MEASURES

        Raises
        ------
        ValueError
            When a rule asks for what no measure makes, or a measure fails on a table.
        """
        experiments = {*self.configs, *(e for m in paper.MEASURES.values() for e in m.experiments)}
        claims.check(paper.CLAIMS, paper.MEASURES, experiments)
        rows = {name: table.rows for name, table in self.tables.items()}
        live = claims.judge(paper.CLAIMS, paper.MEASURES, rows, profile=self.profile)
        digests = {name: str(table.entry["digest"]) for name, table in self.tables.items()}
        write_json(
            self.folder / "claims.json",
            claims.document(self.slug, live, profile=self.profile, digests=digests, date=now()),
        )
        found = self._beside_the_stored(paper, live, experiments)
        write_json(self.folder / "verdicts.json", verdicts.document(found, self.profile, now()))
        return found

    def _beside_the_stored(
        self, paper: ModuleType, live: list[claims.Judgement], experiments: set[str]
    ) -> verdicts.Verdicts:
        """Return the live judgements joined with those of the stored full tables."""
        if self.profile == "full":
            return verdicts.Verdicts(self.slug, verdicts.lines(self.slug, live))
        full = {name: stored(self.slug, name) for name in experiments}
        full = {name: table for name, table in full.items() if not table.missing}
        if not full:
            return verdicts.Verdicts(self.slug, verdicts.lines(self.slug, live), full_pending=True)
        rows = {name: table.rows for name, table in full.items()}
        judged = claims.judge(paper.CLAIMS, paper.MEASURES, rows, profile="full")
        current = {
            j.claim.id: all(
                full[e].current for name in j.estimates for e in paper.MEASURES[name].experiments
            )
            for j in judged
        }
        by_id = {j.claim.id: j for j in judged}
        return verdicts.Verdicts(
            self.slug,
            verdicts.lines(self.slug, live, by_id, current, live_leads=self.changed),
        )


def open(slug: str, *, profile: str, configs: Mapping[str, object]) -> Run:
    """Open a run of a chapter.

    Parameters
    ----------
    slug : the paper
    profile : "quick" or "full"
    configs : experiment -> frozen config, as the paper's `configs(parameters)` returns

    Raises
    ------
    ValueError
        For an unknown profile.
    """
    if profile not in ("quick", "full"):
        raise ValueError(f"`profile` must be 'quick' or 'full', got {profile!r}")
    return Run(slug, profile, configs)


def now() -> str:
    """Return the time as UTC, to the second."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
