"""`make` on a bare clone: .venv is made once; a failing install leaves no trace of success."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def environment(tmp_path):
    """The script in a small repository, with its steps recorded instead of run."""
    (tmp_path / "scripts").mkdir()
    for name in ("requirements.txt", "requirements.lock", "pyproject.toml"):
        (tmp_path / name).write_text(name)
    path = shutil.copy(ROOT / "scripts" / "environment.py", tmp_path / "scripts")
    spec = importlib.util.spec_from_file_location("environment", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.steps = []

    def run(*command: str) -> None:
        module.steps.append(command)
        (tmp_path / ".venv" / "bin").mkdir(parents=True, exist_ok=True)
        (tmp_path / ".venv" / "bin" / "reprise").touch()

    module.run = run
    return module


def test_the_second_time_nothing_is_done(environment, capsys):
    environment.main()
    assert len(environment.steps) == 3  # venv, requirements, the package
    assert environment.steps[1][-3:] == ("requirements.txt", "-c", "requirements.lock")
    environment.main()
    assert len(environment.steps) == 3
    assert capsys.readouterr().out.count("\n") == 1


@pytest.mark.parametrize("name", ["requirements.txt", "requirements.lock", "pyproject.toml"])
def test_other_requirements_are_installed(environment, name):
    environment.main()
    Path(environment.ROOT, name).write_text("other")
    environment.main()
    assert len(environment.steps) > 3


def test_touched_requirements_are_not_installed_again(environment):
    environment.main()
    Path(environment.ROOT, "requirements.txt").touch()
    environment.main()
    assert len(environment.steps) == 3


def test_a_failing_install_leaves_no_stamp_and_stops(environment):
    def fail(*command: str) -> None:
        environment.stop("pip says no", code=1)

    environment.run = fail
    with pytest.raises(SystemExit) as stop:
        environment.main()
    assert stop.value.code == 1
    assert not environment.current()


def test_a_failing_upgrade_takes_the_old_stamp_away(environment):
    environment.main()
    Path(environment.ROOT, "requirements.lock").write_text("other")
    environment.run = lambda *command: environment.stop("pip says no", code=1)
    with pytest.raises(SystemExit):
        environment.main()
    Path(environment.ROOT, "requirements.lock").write_text("requirements.lock")
    assert not environment.current()


def test_an_old_python_is_refused_in_one_line(environment, monkeypatch, capsys):
    monkeypatch.setattr(sys, "version_info", (3, 9, 2))
    with pytest.raises(SystemExit) as stop:
        environment.main()
    assert stop.value.code == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "needs Python 3.11 or newer, this is 3.9: make PYTHON=" in said


def test_a_python_without_venv_is_refused_in_one_line(environment, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "ensurepip", None)
    with pytest.raises(SystemExit) as stop:
        environment.main()
    assert stop.value.code == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "lacks venv" in said


def test_a_failing_step_shows_the_end_of_its_log(tmp_path):
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "environment.py", tmp_path / "scripts")
    (tmp_path / ".venv").mkdir()
    code = (
        "import sys; sys.path.insert(0, 'scripts'); import environment\n"
        "environment.run(sys.executable, '-c', 'print(\"first\"); raise SystemExit(\"no disk\")')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "no disk\nInstalling failed" in done.stderr
    assert not done.stdout


def test_the_continuous_integration_never_passes_without_running():
    text = (ROOT / ".ci" / "run").read_text()
    assert text.startswith("#!")
    assert "set -euo pipefail" in text
    assert "|| true" not in text
    order = [text.index(f"make {name}") for name in ("test", "book", "verify")]
    assert order == sorted(order)
    assert "rm -rf _build" in text
    assert "REPRISE_FRESH=1" in text
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111
