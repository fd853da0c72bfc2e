"""The kinds of sources: each gets what it names into a working folder, then files are taken out.

Packages are only ever opened: nothing of them is installed, imported or run.
"""

from __future__ import annotations

import bz2
import errno
import fcntl
import gzip
import importlib.metadata
import lzma
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import BinaryIO
from urllib.parse import urlsplit

from reprise import paths
from reprise.datasets.registry import Entry, Source

Member = tuple[str, Callable[[], BinaryIO]]
_OPENERS = {"gz": gzip.open, "xz": lzma.open, "bz2": bz2.open}
_LISTS_FRESH_FOR = 3600.0  # seconds that Debian's package lists are used before they are renewed


class SourceFailed(RuntimeError):
    """A source did not give the files; the message says why, in one line."""


def pattern(glob: str) -> re.Pattern[str]:
    """Return the regular expression of a glob: `*` and `?` within a name, `**/` any depth."""
    out, i = "", 0
    while i < len(glob):
        if glob.startswith("**/", i):
            out, i = out + "(?:[^/]+/)*", i + 3
        elif glob[i] == "*":
            out, i = out + "[^/]*", i + 1
        elif glob[i] == "?":
            out, i = out + "[^/]", i + 1
        else:
            out, i = out + re.escape(glob[i]), i + 1
    return re.compile(out + r"\Z")


def natural(name: str) -> list[tuple[int, int, str]]:
    """Return a sort key under which part2 stands before part10."""
    pieces = re.split(r"(\d+)", name)
    return [(0, int(p), "") if p.isdigit() else (1, 0, p) for p in pieces if p]


def _relative(member: str, glob: str) -> str:
    """Return a member's name below the folder that stands before the glob's first wildcard."""
    literal = re.split(r"[*?]", glob, maxsplit=1)[0]
    return member[literal.rfind("/") + 1 :]


def _members_of_folder(where: Path) -> Iterator[Member]:
    for path in where.rglob("*"):
        if path.is_file():
            yield path.relative_to(where).as_posix(), lambda p=path: p.open("rb")


def _take(members: list[Member], source: Source, target: Path, about: str) -> list[Path]:
    """Write the members that the source's globs name below `target`; return them in order."""
    taken = []
    for glob in source.files:
        fits = pattern(glob)
        chosen = sorted((m for m in members if fits.match(m[0])), key=lambda m: natural(m[0]))
        if not chosen:
            raise SourceFailed(f"no file in {about} matches {glob!r}")
        for name, opened in chosen:
            relative = PurePosixPath(_relative(name, glob))
            opener = None
            if source.unpack and relative.suffix == f".{source.unpack}":
                opener, relative = _OPENERS[source.unpack], relative.with_suffix("")
            if ".." in relative.parts or relative.is_absolute():
                raise SourceFailed(f"{about} holds a file with an unsafe name: {name!r}")
            path = target / relative
            if path.exists():
                raise SourceFailed(f"{about} holds two files that would be named {relative}")
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                raw = opened()
            except OSError as error:
                raise SourceFailed(f"cannot read {name} in {about}: {error.strerror}") from None
            with raw, path.open("xb") as out:
                if opener:
                    with opener(raw) as content:
                        shutil.copyfileobj(content, out, 1 << 20)
                else:
                    shutil.copyfileobj(raw, out, 1 << 20)
            taken.append(path)
    return taken


def _take_from_zip(path: Path, source: Source, target: Path, about: str) -> list[Path]:
    with zipfile.ZipFile(path) as archive:
        members = [
            (info.filename, lambda n=info: archive.open(n))
            for info in archive.infolist()
            if not info.is_dir()
        ]
        return _take(members, source, target, about)


def _take_from_tar(path: Path, source: Source, target: Path, about: str) -> list[Path]:
    with tarfile.open(path) as archive:
        members = [
            (info.name, lambda n=info: archive.extractfile(n))
            for info in archive.getmembers()
            if info.isfile()
        ]
        return _take(members, source, target, about)


def _command(command: list[str], where: Path, timeout: float = 1800) -> None:
    """Run a command quietly; its last lines are only seen when it fails."""
    try:
        done = subprocess.run(
            command,
            cwd=where,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout,
            text=True,
            errors="replace",
        )
    except FileNotFoundError:
        raise SourceFailed(f"the command {command[0]} is not installed") from None
    except PermissionError as error:
        raise SourceFailed(f"cannot run {command[0]}: {error}") from None
    except subprocess.TimeoutExpired:
        raise SourceFailed(f"{command[0]} gave no answer for {timeout:.0f} s") from None
    if done.returncode:
        lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
        told = [line for line in lines if re.match(r"(npm )?(E:|ERR|error)", line, re.I)] or lines
        what = "; ".join(told[-2:])[:300]
        raise SourceFailed(f"{Path(command[0]).name} ended with {done.returncode}: {what}")


def _env(source: Source, name: str, work: Path, target: Path) -> list[Path]:
    value = os.environ.get(name)
    if not value:
        raise SourceFailed(f"{name} is not set")
    where = Path(value).expanduser()
    if where.is_file():
        members = [(where.name, lambda: where.open("rb"))]
    elif where.is_dir():
        members = list(_members_of_folder(where))
    else:
        raise SourceFailed(f"{name}={value} is neither a file nor a folder")
    return _take(members, source, target, f"{name}={value}")


def _installed(source: Source, name: str, work: Path, target: Path) -> list[Path]:
    try:
        distribution = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        raise SourceFailed(f"{name} is not installed in this environment") from None
    members = []
    for file in distribution.files or []:
        path = Path(distribution.locate_file(file))
        members.append((file.as_posix(), lambda p=path: p.open("rb")))
    return _take(members, source, target, name)


def _pypi(source: Source, name: str, work: Path, target: Path) -> list[Path]:
    package = name.partition("==")[0]
    # pip asks an sdist for its metadata, which runs its build backend: only where it must be.
    form = f"--no-binary={package}" if source.sdist else "--only-binary=:all:"
    quiet = ["--quiet", "--disable-pip-version-check", "--no-input"]
    download = [sys.executable, "-m", "pip", "download", *quiet, "--no-deps", form]
    _command([*download, "--dest", str(work), name], work)
    return _open_archive(work, source, target, name)


def _open_archive(work: Path, source: Source, target: Path, about: str) -> list[Path]:
    archives = [path for path in work.iterdir() if path.is_file()]
    if len(archives) != 1:
        raise SourceFailed(f"{about} gave {len(archives)} files, one was expected")
    take = _take_from_zip if archives[0].suffix in (".whl", ".zip") else _take_from_tar
    return take(archives[0], source, target, about)


def _npm(source: Source, name: str, work: Path, target: Path) -> list[Path]:
    _command(["npm", "pack", "--silent", "--ignore-scripts", name], work)
    return _open_archive(work, source, target, name)


def _debian(source: Source, name: str, work: Path, target: Path) -> list[Path]:
    state = paths.cache() / "apt"
    (state / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    (state / "c" / "archives" / "partial").mkdir(parents=True, exist_ok=True)
    options = {
        "Dir::State": state,
        "Dir::State::lists": state / "lists",
        "Dir::State::status": "/var/lib/dpkg/status",
        "Dir::Cache": state / "c",
        "APT::Sandbox::User": "",  # else apt as root warns that _apt can't read the folder
    }
    apt = ["apt-get", "-qq", *(part for k, v in options.items() for part in ("-o", f"{k}={v}"))]
    # One apt at a time in this state folder; ends with the file descriptor, also after a kill.
    with (state / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = state / "updated"
        if not done.exists() or time.time() - done.stat().st_mtime > _LISTS_FRESH_FOR:
            _command([*apt, "update"], work)
            done.touch()
        _command([*apt, "download", name], work)
    packages = list(work.glob("*.deb"))
    if len(packages) != 1:
        raise SourceFailed(f"apt-get download {name} gave {len(packages)} packages")
    tree = work / "tree"
    _command(["dpkg-deb", "-x", str(packages[0]), str(tree)], work)
    return _take(list(_members_of_folder(tree)), source, target, name)


def _url(source: Source, name: str, work: Path, target: Path) -> list[Path]:
    import pooch

    pooch.get_logger().setLevel("WARNING")
    file_name = PurePosixPath(urlsplit(name).path).name or "download"
    download = pooch.HTTPDownloader(timeout=60, headers={"User-Agent": "reprise"})
    try:
        pooch.retrieve(name, None, fname=file_name, path=work, downloader=download)
    except (OSError, ValueError) as error:  # requests' errors are OSErrors without a number
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise SourceFailed(f"{name}: {str(error).splitlines()[0][:200]}") from None
    path = work / file_name
    if source.archive:
        take = {"zip": _take_from_zip, "tar": _take_from_tar}[source.archive]
        return take(path, source, target, name)
    fits = [glob for glob in source.files if pattern(glob).match(file_name)]
    if not fits:
        raise SourceFailed(f"{name} matches none of {', '.join(source.files)}")
    one = Source(source.kind, (name,), (fits[0],), source.unpack)
    return _take([(file_name, lambda: path.open("rb"))], one, target, name)


_GET = {
    "env": _env,
    "installed": _installed,
    "pypi": _pypi,
    "npm": _npm,
    "debian": _debian,
    "url": _url,
}


def get(entry: Entry, source: Source, work: Path, target: Path) -> None:
    """Get an asset's files from one source into the empty folder `target`.

    Parameters
    ----------
    work : an empty folder for what is downloaded

    Raises
    ------
    SourceFailed
        When the source doesn't give them.
    OSError
        When there is no space or no permission here.
    """
    taken: list[Path] = []
    for i, name in enumerate(source.names):
        place = work / str(i)
        place.mkdir()
        # The parts of a joined asset often have the same name in each package.
        into = place / "taken" if entry.join else target
        into.mkdir(exist_ok=True)
        try:
            taken += _GET[source.kind](source, name, _sub(place, "work"), into)
        except (zipfile.BadZipFile, tarfile.TarError, EOFError, lzma.LZMAError) as error:
            raise SourceFailed(f"{name} is damaged: {error}") from None
    if entry.join:
        with (target / entry.file).open("xb") as out:
            for path in taken:
                with path.open("rb") as part:
                    shutil.copyfileobj(part, out, 1 << 20)
    elif entry.file:
        if len(taken) != 1:
            raise SourceFailed(f"{source} gave {len(taken)} files, one was expected")
        taken[0].replace(target / entry.file)


def _sub(place: Path, name: str) -> Path:
    (place / name).mkdir()
    return place / name
