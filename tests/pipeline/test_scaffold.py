from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from reprise.pipeline import book, scaffold
from reprise.pipeline.cells import UserError

ROOT = Path(__file__).resolve().parents[2]
TOC = """format: jb-book
root: book/intro
parts:
# a comment that stays
- caption: Optimisation and scaling
  chapters:
  - file: book/one
- caption: Efficient models
  chapters:
  - file: book/two
"""


@pytest.fixture
def repository(tmp_path) -> Path:
    (tmp_path / "_toc.yml").write_text(TOC)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    leave = shutil.ignore_patterns("__pycache__", "fsgdm")
    shutil.copytree(ROOT / "src" / "reprise", tmp_path / "src" / "reprise", ignore=leave)
    return tmp_path


def files(root: Path) -> list[str]:
    return sorted(p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file())


def parts(text: str) -> dict[str, list[str]]:
    return {
        part["caption"]: [entry["file"].removeprefix("book/") for entry in part["chapters"]]
        for part in yaml.safe_load(text)["parts"]
    }


def test_a_new_chapter_has_all_six_rooms_and_its_line_in_the_toc(repository):
    before = files(repository)
    made = scaffold.new(repository, "my_paper", "privacy", "A Title: With a Colon")
    assert {p.relative_to(repository).as_posix() for p in made} == {
        *(set(files(repository)) - set(before)),
        "_toc.yml",
    }
    for room in (*scaffold.FILES, *scaffold.ROOMS):
        assert (repository / room.replace("@SLUG@", "my_paper")).exists()
    text = (repository / "_toc.yml").read_text()
    assert "# a comment that stays" in text
    assert list(parts(text)) == ["Optimisation and scaling", "Privacy", "Efficient models"]
    assert parts(text)["Privacy"] == ["my_paper"]
    assert [c.slug for c in book.chapters(repository)] == ["my_paper"]


def test_a_new_chapter_can_be_checked_and_computes_its_configs(repository, monkeypatch):
    monkeypatch.setenv("REPRISE_CACHE", str(repository / "cache"))
    scaffold.new(repository, "my_paper", "privacy", "T")
    monkeypatch.setenv("REPRISE_ROOT", str(repository))
    (chapter,) = book.check(repository, ["my_paper"])
    assert chapter.configs("full")["e1"].n_seeds > chapter.configs("quick")["e1"].n_seeds


OWN = ["src/reprise/my_paper", "tests/my_paper", "benchmarks/my_paper"]
TITLES = [
    "Short",
    'One "Quoted" Word and It\'s an Apostrophe',
    "A Very Long Title " * 8 + "That Goes On",
    "Back\\slash and $x^2$",
]


@pytest.mark.parametrize("title", TITLES)
def test_a_new_chapter_passes_lint_whatever_its_title(repository, title):
    scaffold.new(repository, "my_paper", "privacy", title)
    for words in (["check"], ["format", "--check"]):
        command = [sys.executable, "-m", "ruff", *words, "--no-cache", *OWN]
        done = subprocess.run(command, cwd=repository, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout
    from reprise.pipeline.status import paper

    said = paper(book.chapter(repository, "my_paper"))
    assert said["title"] == " ".join(title.split())
    assert said["part"] == "Privacy"


def test_a_new_chapters_tests_pass(repository):
    scaffold.new(repository, "my_paper", "privacy", "T")
    command = [sys.executable, "-m", "pytest", "-p", "no:xdist", "tests/my_paper"]
    env = {**os.environ, "PYTHONPATH": str(repository / "src"), "REPRISE_ROOT": str(repository)}
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    bench = [sys.executable, "-m", "pytest", "-p", "no:xdist", "benchmarks/my_paper"]
    done = subprocess.run([*bench, "--benchmark-disable"], cwd=repository, env=env)
    assert done.returncode == 0


def test_the_round_trip_of_a_new_chapter_leaves_it_unchanged(repository):
    import jupytext
    from jupytext.config import load_jupytext_config

    scaffold.new(repository, "my_paper", "privacy", "T")
    path = repository / "book" / "my_paper.md"
    config = load_jupytext_config(str(path))
    notebook = jupytext.reads(path.read_text(), "md:myst")
    assert jupytext.writes(notebook, "md:myst", config=config) == path.read_text()


@pytest.mark.parametrize("slug", ["My", "1st", "a-b", "", "a b", "class", "x" * 41, "../up", "a.b"])
def test_an_invalid_slug_is_refused_and_nothing_is_written(repository, slug):
    before = files(repository)
    with pytest.raises(UserError, match="can't be a slug"):
        scaffold.new(repository, slug, "privacy", "T")
    assert files(repository) == before


@pytest.mark.parametrize(
    "taken", ["book/x.md", "src/reprise/x.py", "tests/x/test_a.py", "data/results/x/run.json"]
)
def test_a_taken_slug_is_refused_and_nothing_is_written(repository, taken):
    path = repository / taken
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("mine")
    before = files(repository)
    with pytest.raises(UserError, match=r"'x' is taken: .* exists"):
        scaffold.new(repository, "x", "privacy", "T")
    assert files(repository) == before
    assert path.read_text() == "mine"


def test_a_shared_modules_name_is_taken():
    with pytest.raises(UserError, match=r"'sweep' is taken: src/reprise/sweep\.py"):
        scaffold.check_slug(ROOT, "sweep")


@pytest.mark.parametrize(
    "words, part",
    [
        ("privacy", "Privacy"),
        ("Optimisation and scaling", "Optimisation and scaling"),
        ("optimisation", "Optimisation and scaling"),
        ("language", "Language models: evaluation and robustness"),
        ("efficient", "Efficient models"),
        ("reinforcement", "Reinforcement learning"),
        ("inference", "Causality, inference and matching"),
    ],
)
def test_a_part_is_found_by_its_words(words, part):
    assert scaffold.find_part(words) == part


@pytest.mark.parametrize("words", ["cooking", "", "models", "and"])
def test_an_unknown_or_ambiguous_part_is_refused(words):
    with pytest.raises(UserError, match=r"choose one of Optimisation and scaling; .*; Privacy;"):
        scaffold.find_part(words)


def test_chapters_of_every_part_land_in_the_books_order():
    text = "format: jb-book\nroot: book/intro\n"
    for number, part in enumerate(reversed(scaffold.PARTS)):
        text = scaffold.add_to_toc(text, f"s{number}", part)
    text = scaffold.add_to_toc(text, "again", "Privacy")
    found = parts(text)
    assert tuple(found) == scaffold.PARTS
    assert found["Privacy"] == ["s3", "again"]
    assert all(len(v) == 1 for k, v in found.items() if k != "Privacy")


@pytest.mark.parametrize("part", scaffold.PARTS)
def test_a_new_part_stands_between_the_front_and_the_back_matter(part):
    book = ["The book", *scaffold.LAST]
    text = "format: jb-book\nroot: index\nparts:\n" + "".join(
        f"- caption: {name}\n  chapters:\n  - file: book/{n}\n" for n, name in enumerate(book)
    )
    assert list(parts(scaffold.add_to_toc(text, "x", part))) == ["The book", part, *scaffold.LAST]


def test_a_part_of_the_real_contents_stands_before_the_guide():
    text = (ROOT / "_toc.yml").read_text()
    captions = list(parts(scaffold.add_to_toc(text, "x_y", "Reinforcement learning")))
    assert captions[0] == "The book"
    assert captions[-3:] == ["Reinforcement learning", "Guide", "Reference"]


def test_a_toc_of_another_layout_is_left_alone(repository):
    text = "root: book/intro\nparts: [{caption: Privacy, chapters: [{file: book/one}]}]\n"
    (repository / "_toc.yml").write_text(text)
    with pytest.raises(UserError, match="add the chapter by hand"):
        scaffold.new(repository, "x", "privacy", "T")
    assert (repository / "_toc.yml").read_text() == text
    assert not (repository / "book" / "x.md").exists()


@pytest.mark.parametrize("title", ["", "  ", "x" * 251])
def test_a_title_is_needed(repository, title):
    with pytest.raises(UserError, match="the title must be"):
        scaffold.new(repository, "x", "privacy", title)


def test_a_full_disk_leaves_nothing_behind(repository, monkeypatch):
    before, real = files(repository), scaffold.write_bytes

    def full(path: Path, data: bytes) -> None:
        if path.name == "e1.py":
            raise OSError(28, "No space left on device")
        real(path, data)

    monkeypatch.setattr(scaffold, "write_bytes", full)
    with pytest.raises(UserError, match="No space left"):
        scaffold.new(repository, "x", "privacy", "T")
    assert files(repository) == before
