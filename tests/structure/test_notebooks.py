"""Chapters are prose and thin calls: no algorithm, no outputs, and jupytext leaves them alone."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from reprise.pipeline import book

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = book.chapters(ROOT)
each = pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda c: c.slug)

LONGEST_CELL = 16  # lines of code: about 15
LONGEST_HELPER = 3


def problems(cells) -> list[str]:
    """Return what in these code cells belongs into a tested function."""
    found = []
    for number, (source, metadata) in enumerate(cells):
        lines = [line for line in source.splitlines() if line.strip() and line.strip()[0] != "#"]
        if len(lines) > LONGEST_CELL and "parameters" not in metadata.get("tags", []):
            found.append(f"cell {number}: {len(lines)} lines")
        for node in ast.walk(ast.parse(source)):
            where = f"cell {number}, line {getattr(node, 'lineno', 0)}"
            if isinstance(node, (ast.ClassDef, ast.While, ast.AsyncFunctionDef)):
                found.append(f"{where}: {type(node).__name__}")
            elif isinstance(node, (ast.FunctionDef, ast.For)):
                if node.end_lineno - node.lineno > LONGEST_HELPER:
                    found.append(f"{where}: {type(node).__name__} of more than three lines")
            elif isinstance(node, ast.Attribute) and node.attr == "backward":
                found.append(f"{where}: training")
    return found


@each
def test_a_chapter_holds_no_algorithm(chapter):
    assert problems(chapter.code_cells()) == []


@pytest.mark.parametrize(
    "source",
    [
        "class A:\n    pass",
        "while True:\n    break",
        "def f(x):\n    x = 1\n    y = 2\n    z = 3\n    return x",
        "for x in y:\n    a = 1\n    b = 2\n    c = 3\n    d = 4",
        "loss.backward()",
        "\n".join(f"x{i} = {i}" for i in range(20)),
    ],
)
def test_an_algorithm_in_a_cell_is_seen(source):
    assert problems([(source, {})])


def test_short_helpers_and_long_parameter_cells_are_fine():
    helper = "def f(x):\n    return x\nfor x in y:\n    print(x)"
    long = "\n".join(f"x{i}: int = {i}" for i in range(30))
    assert problems([(helper, {}), (long, {"tags": ["parameters"]})]) == []


@each
def test_a_chapter_has_the_parameters_cell_before_all_that_use_it(chapter):
    tags = [meta.get("tags", []) for _, meta in chapter.code_cells()]
    assert sum("parameters" in t for t in tags) == 1
    assert {"profile", "n_seeds"} <= set(chapter.parameters())


@each
def test_every_figure_cell_has_caption_and_alternative_text(chapter):
    for number, (source, meta) in enumerate(chapter.code_cells()):
        if "show(" in source and "style" in source:
            options = meta.get("mystnb", {})
            assert options.get("image", {}).get("alt"), f"cell {number}: no alt text"
            figure = options.get("figure", {})
            assert figure.get("caption"), f"cell {number}: no caption"
            assert figure.get("name", "").startswith("fig-"), f"cell {number}: no name"


def test_the_jupytext_round_trip_leaves_chapters_unchanged():
    sources = [str(chapter.source) for chapter in CHAPTERS]
    command = [sys.executable, "-m", "jupytext", "--test", "--to", "ipynb", *sources]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


@each
def test_saving_from_jupyterlab_leaves_the_text_unchanged(chapter):
    import jupytext
    from jupytext.config import load_jupytext_config

    text = chapter.source.read_text()
    config = load_jupytext_config(str(chapter.source))
    saved = jupytext.writes(jupytext.reads(text, "md:myst"), "md:myst", config=config)
    name = chapter.source.relative_to(ROOT)
    assert saved == text, f'run: .venv/bin/jupytext --pipe "ruff format -" {name}'


@each
def test_chapters_pass_the_linter(chapter):
    source = "\n\n".join(text for text, _ in chapter.code_cells()) + "\n"
    # A cell's last line may be an expression to show; imports stand where they are first used.
    ignore = "--ignore=E402,B018,I001"
    command = [sys.executable, "-m", "ruff", "check", "-", ignore, "--stdin-filename", "cell.py"]
    done = subprocess.run(command, cwd=ROOT, input=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    for number, (text, _) in enumerate(chapter.code_cells()):
        command = [sys.executable, "-m", "ruff", "format", "--diff", "-"]
        done = subprocess.run(command, cwd=ROOT, input=text + "\n", capture_output=True, text=True)
        assert done.returncode == 0, f"cell {number}:\n{done.stdout}"


@each
def test_a_chapter_has_the_parts_of_its_anatomy_in_order(chapter):
    headings = re.findall(r"^## (.+)$", chapter.source.read_text(), flags=re.M)
    wanted = [
        "At a glance",
        "The idea",
        "Verdicts",
        "Beyond the paper",
        "What is out of reach here",
        "Try it yourself",
    ]
    assert [h for h in headings if h in wanted] == wanted


@each
def test_every_claim_has_its_anchor_and_the_key_figure_is_there(chapter):
    text = chapter.source.read_text()
    claims = chapter.load("claims")
    for claim in claims.CLAIMS:
        assert f"({chapter.slug}-{claim.id.lower()})=" in text, claim.id
    assert f"name: {claims.PAPER.key_figure}\n" in text
