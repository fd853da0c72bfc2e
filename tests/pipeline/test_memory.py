from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from reprise import closure
from reprise.pipeline import memory

FILES = {
    "__init__.py": "",
    "a.py": "from reprise import tools\nprint(tools.one(), 'table.csv')\n",
    "b.py": "X = 1\n",
    "tools/__init__.py": "_EXPORTS = {'one': 'first'}\n",
    "tools/first.py": "def one():\n    return 1\n",
    "tools/second.py": "def one():\n    return 2\n",
}


@pytest.fixture
def src(tmp_path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "src" / "reprise" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "src"


@pytest.fixture
def parsed(monkeypatch) -> list[str]:
    """The modules that were really parsed."""
    seen: list[str] = []
    read = closure._read
    monkeypatch.setattr(
        closure, "_read", lambda name, *rest: seen.append(name) or read(name, *rest)
    )
    return seen


def found(src: Path) -> dict[str, closure.Module]:
    """Return the closure of a and b, as a build finds it."""
    with memory.of_sources(src.parent / "build" / "parsed.json", src):
        return closure.closure(["reprise.a", "reprise.b"], src, results_only=False)


def test_what_did_not_change_is_not_parsed_again(src, parsed):
    first = found(src)
    assert set(parsed) == set(first) >= {"reprise.a", "reprise.b", "reprise.tools.first"}
    parsed.clear()
    assert found(src) == first
    assert parsed == []
    for path in src.rglob("*.py"):
        path.touch()
    assert found(src) == first
    assert parsed == []


def test_a_changed_source_alone_is_parsed_again(src, parsed):
    first = found(src)
    parsed.clear()
    (src / "reprise" / "b.py").write_text("X = 2\n")
    second = found(src)
    assert parsed == ["reprise.b"]
    assert {n for n in first if first[n] != second[n]} == {"reprise.b"}
    modules = json.loads((src.parent / "build" / "parsed.json").read_text())["modules"]
    assert len(modules) == len(first)  # the old one is gone


def test_another_export_or_file_is_seen_although_no_importing_source_changed(src):
    assert "reprise.tools.first" in found(src)
    (src / "reprise" / "tools" / "__init__.py").write_text("_EXPORTS = {'one': 'second'}\n")
    assert "reprise.tools.first" not in found(src)
    assert "reprise.tools.second" in found(src)
    assert found(src)["reprise.a"].data == ()
    (src / "reprise" / "table.csv").write_text("1")
    assert [path.name for path in found(src)["reprise.a"].data] == ["table.csv"]


def test_nothing_is_remembered_of_another_place_or_outside_of_a_build(src, tmp_path, parsed):
    found(src)
    other = tmp_path / "other" / "src"
    shutil.copytree(src, other)
    (other / "reprise" / "tools" / "__init__.py").write_text("_EXPORTS = {'one': 'second'}\n")
    names = closure.closure(["reprise.a"], other, results_only=False)
    assert "reprise.tools.second" in names
    assert closure.memo is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: text.replace('"digest": "', '"digest": "0', 1),
        lambda text: "[]",
        lambda text: text.replace('"modules"', '"moduls"'),
    ],
)
def test_a_damaged_memory_counts_as_none(src, parsed, damage):
    first = found(src)
    file = src.parent / "build" / "parsed.json"
    file.write_text(damage(file.read_text()))
    parsed.clear()
    assert found(src) == first
    assert set(parsed) == set(first)
    parsed.clear()
    assert found(src) == first
    assert parsed == []


def test_a_full_disk_only_costs_time(src, monkeypatch):
    def no_space(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", no_space)
    assert "reprise.b" in found(src)
    assert list((src.parent / "build").iterdir()) == []
