"""A registry of the test's own, an empty cache, and commands that stand in for npm and apt."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from reprise.datasets import registry

PLAIN = {
    "title": "a thing",
    "licence": "CC0-1.0",
    "citation": "somebody",
    "size": 3,
    "used_by": ["tests"],
}


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return repr(value)


class Shelf:
    """The registry of a test, the commands that it finds first, and files of packages."""

    def __init__(self, tmp_path: Path) -> None:
        self.path = tmp_path / "registry.toml"
        self.cache = tmp_path / "cache"
        self.bin = tmp_path / "bin"
        self.bin.mkdir()
        self.path.write_text("")

    def add(self, name: str, sources: list[dict], **fields: object) -> None:
        lines = [f"[{name}]"]
        lines += [f"{key} = {_toml(value)}" for key, value in (PLAIN | fields).items()]
        if not sources:
            lines += ["sources = []"]
        for source in sources:
            lines += [f"[[{name}.sources]]"]
            lines += [f"{key} = {_toml(value)}" for key, value in source.items()]
        with self.path.open("a") as file:
            file.write("\n".join(lines) + "\n")

    def command(self, name: str, script: str) -> None:
        """Put a shell script on the PATH, in front of everything."""
        path = self.bin / name
        path.write_text("#!/bin/sh\n" + script)
        path.chmod(0o755)

    def env(self) -> dict[str, str]:
        """Return the environment for a process of its own; `RUN` sets its registry."""
        return dict(os.environ) | {"SHELF": str(self.path)}

    RUN = (
        "import os, pathlib\n"
        "from reprise.datasets import registry\n"
        "registry.TABLE = pathlib.Path(os.environ['SHELF'])\n"
        "from reprise.datasets.fetch import fetch\n"
    )

    @staticmethod
    def sha(data: bytes) -> str:
        return hashlib.sha256(data).hexdigest()

    @staticmethod
    def sha_of_folder(files: dict[str, bytes]) -> str:
        lines = "".join(f"{Shelf.sha(files[name])}  {name}\n" for name in sorted(files))
        return Shelf.sha(lines.encode())

    @staticmethod
    def tarball(path: Path, files: dict[str, bytes]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(path, "w:gz") as archive:
            for name, data in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))

    @staticmethod
    def wheel(folder: Path, name: str, version: str, files: dict[str, bytes]) -> None:
        info = f"{name}-{version}.dist-info"
        about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        tags = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        folder.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
            for path, data in files.items():
                archive.writestr(path, data)
            archive.writestr(f"{info}/METADATA", about)
            archive.writestr(f"{info}/WHEEL", tags)
            archive.writestr(f"{info}/RECORD", "")


@pytest.fixture
def shelf(tmp_path, monkeypatch) -> Shelf:
    made = Shelf(tmp_path)
    monkeypatch.setattr(registry, "TABLE", made.path)
    monkeypatch.setenv("REPRISE_CACHE", str(made.cache))
    monkeypatch.setenv("PATH", f"{made.bin}{os.pathsep}{os.environ['PATH']}")
    return made
