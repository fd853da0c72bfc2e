"""What the guide tells readers to type exists, and its examples run."""

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from reprise.pipeline.cli import app

ROOT = Path(__file__).resolve().parents[2]
GUIDE = sorted((ROOT / "book" / "guide").glob("*.md"))
TEXT = "\n".join(path.read_text() for path in GUIDE)
SOURCES = "\n".join(
    path.read_text()
    for path in (*(ROOT / "src").rglob("*.py"), *(ROOT / "tests" / "site").glob("*.py"))
)


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, flags=re.M | re.S)


def test_every_target_of_make_exists():
    targets = set(re.findall(r"^([a-z]+):.*## ", (ROOT / "Makefile").read_text(), flags=re.M))
    shell = "\n".join(blocks("sh"))
    named = set(re.findall(r"\bmake ([a-z]+)", shell)) | set(re.findall(r"`make ([a-z]+)", TEXT))
    assert len(named) > 8
    assert named <= targets


def test_every_command_exists():
    known = {command.name or command.callback.__name__ for command in app.registered_commands}
    assert set(re.findall(r"`(?:\.venv/bin/)?reprise ([a-z]+)", TEXT)) <= known


def test_every_variable_is_read_somewhere():
    for name in set(re.findall(r"\b(?:REPRISE|DASK)_[A-Z_]+\b", TEXT)):
        assert f'"{name}"' in SOURCES, name


def test_every_module_and_name_exists():
    for name in set(re.findall(r"`(reprise(?:\.[a-z_]\w*)+)`", TEXT)):
        assert importlib.import_module(name).__name__ == name


@pytest.mark.parametrize("code", blocks("python"))
def test_every_example_is_python(code):
    assert ast.parse(code).body


def test_the_example_of_reuse_runs_and_learns(tmp_path):
    code = next(code for code in blocks("python") if "FSGDM" in code)
    code = code.replace("n_steps, n_stages = 1000", "n_steps, n_stages = 200")
    script = tmp_path / "example.py"
    script.write_text(code + "\nprint(loss.item())\n")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 0.05


@pytest.mark.parametrize("command", ["scheduler", "worker"])
def test_the_commands_of_dask_take_the_guides_options(command):
    from distributed.cli import dask_scheduler, dask_worker

    line = re.search(rf"^\.venv/bin/dask {command} (.*?)(?:#.*)?$", TEXT, flags=re.M)[1]
    main = {"scheduler": dask_scheduler, "worker": dask_worker}[command].main
    options = main.make_context(command, line.split()).params  # raises for an unknown option
    assert any(value is not None for value in options.values())


def test_help_lists_what_the_guide_counts_on():
    printed = CliRunner().invoke(app, ["--help"]).output
    for name in ("book", "run", "try", "full", "verify", "accept", "status", "lab", "pdf"):
        assert re.search(rf"\b{name}\b", printed), name
