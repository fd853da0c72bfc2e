"""One slug, six rooms."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from reprise.pipeline import book

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = book.chapters(ROOT)
each = pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda c: c.slug)


def tracked() -> list[str]:
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("not a git checkout")
    return done.stdout.splitlines()


def test_the_book_has_chapters():
    assert CHAPTERS


@each
def test_a_chapter_has_its_six_rooms(chapter):
    slug = chapter.slug
    for room in (
        chapter.source,
        chapter.profile_file("full"),
        chapter.package / "__init__.py",
        chapter.package / "claims.py",
        chapter.package / "figures.py",
        chapter.package / "experiments" / "configs.py",
        ROOT / "tests" / slug,
        ROOT / "benchmarks" / slug,
        ROOT / "data" / "results" / slug,
    ):
        assert room.exists(), room.relative_to(ROOT).as_posix()
    assert any((ROOT / "tests" / slug).glob("test_*.py"))
    assert any((ROOT / "benchmarks" / slug).glob("test_*.py"))


def test_every_papers_package_is_a_chapter():
    packages = {p.parent.name for p in (ROOT / "src" / "reprise").glob("*/experiments")}
    assert packages == {chapter.slug for chapter in CHAPTERS}


@each
def test_a_chapter_can_be_run_in_both_profiles(chapter):
    for profile in ("quick", "full"):
        configs = chapter.configs(profile)
        assert set(configs) <= set(chapter.experiments())
    assert book.check(ROOT, [chapter.slug]) == [chapter]


@each
def test_configs_are_frozen_have_no_defaults_and_declare_every_column(chapter):
    import dataclasses

    from reprise.pipeline.compare import parse_tolerance

    for config in chapter.configs("full").values():
        assert type(config).__dataclass_params__.frozen
        for field in dataclasses.fields(config):
            assert field.default is dataclasses.MISSING
            assert field.default_factory is dataclasses.MISSING
            assert "paper" in field.metadata, field.name
        assert "n_seeds" in {field.name for field in dataclasses.fields(config)}
        assert not set(config.KEYS) & set(config.TOLERANCES)
        for tolerance in config.TOLERANCES.values():
            parse_tolerance(tolerance)


def test_git_holds_no_notebooks_nor_what_is_built():
    files = tracked()
    assert [f for f in files if f.endswith(".ipynb")] == []
    built = [f for f in files if f.startswith(("_build/", ".venv/")) or "__pycache__" in f]
    assert built == []


# Written in pieces, so that this file doesn't hold what it looks for.
HOSTS = ["pypi" + ".org", "pythonhosted" + ".org", "registry.npmjs" + ".org", "deb.debian" + ".org"]
HOMES = re.compile(r"(?<![\w.$}~])/(?:root|home|work|Users|private)/(?!me)\w")  # /home/me: made up


def test_files_name_no_registry_host_and_no_path_of_a_machine():
    found = []
    for name in tracked():
        path = ROOT / name
        try:
            text = path.read_text()
        except (UnicodeDecodeError, FileNotFoundError):
            continue
        found += [f"{name}: {host}" for host in HOSTS if host in text]
        if str(ROOT) in text or HOMES.search(text):
            found.append(f"{name}: a path of a machine")
    assert found == []
