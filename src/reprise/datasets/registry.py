"""The asset registry: what each asset is, where its file lies, whether that is the right one.

Nothing is ever fetched from here. `asset` hands out the path of a file whose content has the hash
that `registry.toml` names, or raises one line that says what to do.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from reprise import closure, paths

TABLE = Path(__file__).with_name("registry.toml")
RECORD = ".asset.json"

# Smaller files are hashed each time they are asked for (about 1 GB/s, so at most 0.05 s). Larger
# ones only when size, mtime, ctime or inode differ from the record made when they were last
# hashed: every write changes the ctime, which no program can set back.
HASH_ALWAYS_BELOW = 50_000_000

KINDS = ("env", "installed", "pypi", "npm", "debian", "url")
_NEEDS = {"env": "variable", "url": "url"} | dict.fromkeys(KINDS[1:5], "package")
_SOURCE_KEYS = {"kind", "files", "unpack"}
_USE = re.compile(r"tests|[a-z][a-z0-9_]*:[a-z]+")
_KEYS = {"title", "licence", "citation", "size", "sha256", "used_by", "sources"}


class AssetError(RuntimeError):
    """An asset cannot be used; the message is one line that says what to do."""


class MissingAsset(AssetError):
    """The asset has not been fetched."""


class WrongHash(AssetError):
    """The content of an asset is not what the registry says."""


@dataclass(frozen=True)
class Source:
    """One way to get an asset; `names` are its packages, addresses or its variable."""

    kind: str
    names: tuple[str, ...]
    files: tuple[str, ...]
    unpack: str = ""
    archive: str = ""
    sdist: bool = False

    def __str__(self) -> str:
        more = f" and {len(self.names) - 1} more" if len(self.names) > 1 else ""
        return f"{self.kind} {self.names[0]}{more}"


@dataclass(frozen=True)
class Entry:
    """One asset as the registry has it; `size` in bytes, `sha256` of the content."""

    name: str
    title: str
    licence: str
    citation: str
    size: int
    sha256: str
    used_by: tuple[str, ...]
    sources: tuple[Source, ...]
    file: str = ""
    join: bool = False
    prepare: str = ""


def _texts(value: object) -> tuple[str, ...]:
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list) or not items or not all(isinstance(i, str) for i in items):
        raise ValueError(f"a text or a list of texts is needed, got {value!r}")
    return tuple(items)


def _source(given: Mapping[str, object]) -> Source:
    kind = given.get("kind")
    if kind not in KINDS:
        raise ValueError(f"`kind` must be one of {', '.join(KINDS)}, got {kind!r}")
    allowed = (
        _SOURCE_KEYS | {_NEEDS[kind]} | {"url": {"archive"}, "pypi": {"sdist"}}.get(kind, set())
    )
    if wrong := sorted(set(given) - allowed):
        raise ValueError(f"a source of kind {kind} has no {wrong[0]!r}")
    if given.get("unpack", "") not in ("", "gz", "xz", "bz2"):
        raise ValueError(f"`unpack` must be gz, xz or bz2, got {given['unpack']!r}")
    if given.get("archive", "") not in ("", "zip", "tar"):
        raise ValueError(f"`archive` must be zip or tar, got {given['archive']!r}")
    return Source(
        kind=kind,
        names=_texts(given.get(_NEEDS[kind])),
        files=_texts(given.get("files")),
        unpack=given.get("unpack", ""),
        archive=given.get("archive", ""),
        sdist=bool(given.get("sdist", False)),
    )


def _entry(name: str, given: Mapping[str, object]) -> Entry:
    if missing := sorted(_KEYS - set(given)):
        raise ValueError(f"`{missing[0]}` is missing")
    if wrong := sorted(set(given) - _KEYS - {"file", "join", "prepare"}):
        raise ValueError(f"there is no field {wrong[0]!r}")
    if len(given["sha256"]) != 64 or set(given["sha256"]) - set("0123456789abcdef"):
        raise ValueError(f"`sha256` must be 64 hex digits, got {given['sha256']!r}")
    if given.get("join") and not given.get("file"):
        raise ValueError("`join` needs `file`, the name of the joined file")
    if Path(given.get("file", "")).name != given.get("file", ""):
        raise ValueError(f"`file` must be a plain file name, got {given['file']!r}")
    if not given.get("prepare", "reprise.x:f").startswith("reprise."):
        raise ValueError(f"`prepare` must name a function of reprise, got {given['prepare']!r}")
    if type(given["size"]) is not int or given["size"] < 0:
        raise ValueError(f"`size` must be a number of bytes, got {given['size']!r}")
    for use in _texts(given["used_by"]):
        if not _USE.fullmatch(use):
            raise ValueError(f"`used_by` takes 'slug:profile' and 'tests', got {use!r}")
    if not given["sources"]:
        raise ValueError("`sources` must hold at least one")
    fields = {key: given[key] for key in given if key not in ("used_by", "sources")}
    used_by = tuple(given["used_by"])
    return Entry(
        name=name, used_by=used_by, sources=tuple(map(_source, given["sources"])), **fields
    )


@lru_cache(maxsize=8)
def _read(path: Path, stamp: tuple[int, int]) -> dict[str, Entry]:
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path.name}: {error}") from None
    entries = {}
    for name, given in tables.items():
        try:
            entries[name] = _entry(name, given)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{path.name}: asset {name!r}: {error}") from None
    return entries


def entries() -> dict[str, Entry]:
    """Return the registry, name -> entry.

    Raises
    ------
    ValueError
        When the table is damaged; names the asset and the field.
    """
    stat = TABLE.stat()
    return _read(TABLE, (stat.st_mtime_ns, stat.st_size))


def entry(name: str) -> Entry:
    """Return the registry's entry of one asset.

    Raises
    ------
    ValueError
        For a name that the registry doesn't have.
    """
    known = entries()
    if name not in known:
        raise ValueError(f"`name`: no asset {name!r}; there are {', '.join(sorted(known))}")
    return known[name]


def content_hash(name: str) -> str:
    """Return the SHA-256 that stands for an asset's content, from the registry alone.

    Where a `prepare` step makes the files that are used, its code counts too.
    """
    found = entry(name)
    if not found.prepare:
        return found.sha256
    module, _, function = found.prepare.partition(":")
    source = Path(closure.__file__).parents[1].joinpath(*module.split(".")).with_suffix(".py")
    parts = [found.sha256, module, function, closure.source_digest(source.read_text("utf-8"))]
    return closure.digest_of(parts)


def store() -> Path:
    """Return the folder of all assets in the cache."""
    return paths.cache() / "assets"


def folder(name: str) -> Path:
    """Return where an asset lies, fetched or not: the name carries the hash."""
    return store() / f"{name}-{content_hash(name)[:12]}"


def stamp(path: Path) -> dict[str, int]:
    """Return what changes whenever a file is written: size, times (ns), inode."""
    stat = path.stat()
    return {
        "size": stat.st_size,
        "mtime_ns": stat.st_mtime_ns,
        "ctime_ns": stat.st_ctime_ns,
        "inode": stat.st_ino,
    }


def files_in(where: Path) -> list[Path]:
    """Return the content files below a folder, in the byte order of their relative names."""
    found = [p for p in where.rglob("*") if p.is_file() and not p.name.startswith(RECORD)]
    return sorted(found, key=lambda p: p.relative_to(where).as_posix().encode())


def combined(hashes: Mapping[str, str], *, single: bool) -> str:
    """Return the hash of an asset from those of its files (relative name -> SHA-256)."""
    if single and len(hashes) == 1:
        return next(iter(hashes.values()))
    lines = (f"{hashes[name]}  {name}\n" for name in sorted(hashes, key=str.encode))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _known_hash(path: Path, kept: Mapping[str, object] | None) -> tuple[str, bool]:
    """Return a file's hash, and whether it came from the record."""
    if kept and path.stat().st_size >= HASH_ALWAYS_BELOW:
        now = stamp(path)
        if all(kept.get(key) == value for key, value in now.items()):
            return str(kept["sha256"]), True
    return closure.file_digest(path), False


def read_record(where: Path) -> dict[str, object]:
    """Return the record beside an asset's files, or an empty one."""
    try:
        record = json.loads((where / RECORD).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) and isinstance(record.get("files"), dict) else {}


def write_record(where: Path, record: Mapping[str, object]) -> None:
    """Write the record beside an asset's files, atomically."""
    part = where / f"{RECORD}.{os.getpid()}"
    part.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", "utf-8")
    part.replace(where / RECORD)


def describe(where: Path) -> dict[str, dict[str, object]]:
    """Return hash and stamp of every file below a folder."""
    return {
        path.relative_to(where).as_posix(): {"sha256": closure.file_digest(path), **stamp(path)}
        for path in files_in(where)
    }


def _check(found: Entry, where: Path) -> str | None:
    """Return None when the files below `where` are right, else one line that names both hashes."""
    record = read_record(where)
    kept = record.get("files", {})
    hashes, stale = {}, False
    for path in files_in(where):
        relative = path.relative_to(where).as_posix()
        hashes[relative], from_record = _known_hash(path, kept.get(relative))
        stale |= not from_record and path.stat().st_size >= HASH_ALWAYS_BELOW
    actual = combined(hashes, single=bool(found.file) and not found.prepare)
    # What a prepare step makes may depend on library versions: its hash is that of the fetch.
    expected = record.get("prepared", "none") if found.prepare else found.sha256
    if actual != expected:
        changed = [n for n in kept if hashes.get(n) != kept[n].get("sha256")]
        about = f" (changed: {', '.join(changed)})" if changed else ""
        return (
            f"asset {found.name!r} in {where} has SHA-256 {actual}, not {expected}{about}: "
            f"get it anew with `reprise assets --fetch {found.name}`"
        )
    if stale:
        fresh = {n: {"sha256": hashes[n], **stamp(where / n)} for n in hashes}
        with contextlib.suppress(OSError):  # a read-only cache works too; it is hashed each time
            write_record(where, {**record, "files": fresh})
    return None


def asset(name: str) -> Path:
    """Return the path of an asset in the cache: its file, or the folder of its files.

    The content is compared with the registry's hash (see `HASH_ALWAYS_BELOW`). Nothing is fetched.

    Raises
    ------
    ValueError
        For a name that the registry doesn't have.
    MissingAsset
        When it hasn't been fetched.
    WrongHash
        When the content is another than the registry says; names both hashes.
    AssetError
        When the files cannot be read.
    """
    found = entry(name)
    where = folder(name)
    if not where.is_dir():
        raise MissingAsset(
            f"asset {name!r} is not in {store()}: fetch it with `reprise assets --fetch {name}` "
            "(`make book` does it too)"
        )
    try:
        problem = _check(found, where)
    except OSError as error:
        raise AssetError(f"asset {name!r} in {where} cannot be read: {error.strerror}") from None
    if problem:
        raise WrongHash(problem)
    return where / found.file if found.file and not found.prepare else where


def state(name: str) -> str:
    """Return 'present', 'missing' or 'wrong' (another content, or not readable)."""
    try:
        asset(name)
    except MissingAsset:
        return "missing"
    except AssetError:
        return "wrong"
    return "present"


def needed(slug: str | None = None, profile: str | None = None) -> list[str]:
    """Return the names of the assets that a chapter needs in a profile, sorted.

    `needed("fsgdm", "quick")`, `needed("tests")`; None stands for all chapters or all profiles.
    """
    names = []
    for name, found in entries().items():
        for use in found.used_by:
            used_slug, _, used_profile = use.partition(":")
            if (
                (slug == used_slug or (slug is None and used_slug != "tests"))
                and profile in (None, used_profile)
            ):  # fmt: skip
                names.append(name)
                break
    return sorted(names)


def table(names: Iterable[str] | None = None) -> list[dict[str, object]]:
    """Return one plain dict an asset: name, state, size, licence, title, used_by, sources, path."""
    chosen = sorted(entries()) if names is None else list(names)
    return [
        {
            "name": name,
            "state": state(name),
            "size": found.size,
            "licence": found.licence,
            "title": found.title,
            "citation": found.citation,
            "used_by": list(found.used_by),
            "sources": [str(source) for source in found.sources],
            "sha256": found.sha256,
            "path": str(folder(name)),
        }
        for name in chosen
        for found in [entry(name)]
    ]
