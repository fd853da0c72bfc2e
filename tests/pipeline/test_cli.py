from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from reprise.pipeline import cli
from reprise.pipeline.cli import app

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = [command.name or command.callback.__name__ for command in app.registered_commands]


def reprise(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "reprise.pipeline.cli", *words]
    return subprocess.run(
        command, cwd=ROOT, env={**os.environ, **env}, capture_output=True, text=True, timeout=60
    )


def test_the_commands_are_those_of_the_readme():
    wanted = (
        "list book pdf run full try status verify accept new claims assets bench lab serve clean"
    )
    assert set(COMMANDS) == set(wanted.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name):
    done = reprise(name, "--help", NO_COLOR="1")
    assert done.returncode == 0
    assert f"reprise {name}" in done.stdout or f"cli {name}" in done.stdout
    assert not done.stderr


WRONG = {
    ("nope",): "No such command 'nope'",
    ("run",): "Missing argument",
    ("run", "fsgmd"): "there is no chapter 'fsgmd' in _toc.yml: did you mean 'fsgdm'?",
    ("run", "fsgdm", "--frsh"): "No such option: --frsh",
    ("run", "fsgdm", "--profile", "fulll"): "has no profile 'fulll': did you mean 'full'?",
    ("full", "fsgdm", "-e", "e99"): "no experiment 'e99'",
    ("try", "fsgdm", "n_seds=3"): "there is no parameter 'n_seds': did you mean 'n_seeds'?",
    ("try", "fsgdm", "n_seeds=many"): "parameter n_seeds must be int, got 'many'",
    ("try", "fsgdm", "n_seeds"): "name=value",
    ("accept", "fsgdm"): "Missing option '--why'",
    ("accept", "fsgdm", "--why", " "): "say why",
    ("new", "Bad-Slug", "--part", "privacy", "--title", "T"): "'Bad-Slug' can't be a slug",
    ("new", "fsgdm", "--part", "privacy", "--title", "T"): "'fsgdm' is taken",
    ("new", "ok", "--part", "cooking", "--title", "T"): "no part 'cooking'",
    ("claims", "fsgmd"): "did you mean 'fsgdm'?",
    ("assets", "nope"): "there is no asset 'nope'",
    ("assets", "--for", "nope:quick"): "there is no chapter 'nope'",
    ("bench", "nope"): "there is no chapter 'nope'",
    ("serve", "--port", "x"): "Invalid value for '--port'",
}


@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_wrong_use_is_one_line_and_exit_status_2(words):
    done = reprise(*words)
    assert done.returncode == 2, done.stderr
    assert WRONG[words] in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("reprise: ")
    assert not done.stdout


def test_outside_of_a_repository_one_line_says_so(tmp_path):
    done = reprise("list", REPRISE_ROOT=str(tmp_path))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "holds no _toc.yml" in done.stderr


@pytest.mark.parametrize("words", [("list",), ("status",), ("claims",), ("assets",)])
def test_lists_come_as_json_too(words):
    done = reprise(*words, "--json")
    assert done.returncode == 0, done.stderr
    assert isinstance(json.loads(done.stdout), list)


def test_list_starts_quickly():
    # Processor time, which a busy machine doesn't stretch.
    used = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert reprise("list", "--json").returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(used) < 0.5, used


def test_nothing_heavy_is_imported_by_a_light_command():
    code = (
        "import sys; from reprise.pipeline import cli, status; from reprise import paths\n"
        "status.listing(paths.root())\nprint(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert not loaded & {"torch", "jupytext", "papermill", "pandas", "scipy", "matplotlib"}


def test_an_interrupt_is_said_in_one_line(monkeypatch, capsys):
    monkeypatch.setattr(cli, "app", lambda **options: 130)
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 130
    assert capsys.readouterr().err == "reprise: interrupted\n"
