"""Every command in the README exists and is run: by CI, or by a test on a small book."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from reprise.pipeline.cli import app

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^([a-z]+):.*## ", MAKEFILE, flags=re.M))
COMMANDS = {command.name or command.callback.__name__ for command in app.registered_commands}

# Where each is run: a file, and a text that must stand in it.
RUN = {
    "book": (".ci/run", "make book"),
    "pdf": ("tests/site/test_site.py", '"pdf"'),
    "test": (".ci/run", "make test"),
    "verify": (".ci/run", "make verify"),
    "chapter": ("tests/pipeline/test_front.py", '"run"'),
    "try": ("tests/pipeline/test_front.py", '"try"'),
    "full": ("tests/pipeline/test_front.py", '"full"'),
    "accept": ("tests/pipeline/test_front.py", '"accept"'),
    "status": ("tests/pipeline/test_front.py", '"status"'),
    "new": ("tests/pipeline/test_front.py", '"new"'),
    "bench": ("tests/pipeline/test_front.py", '"bench"'),
    "clean": ("tests/pipeline/test_front.py", '"clean"'),
    "assets": ("tests/pipeline/test_cli.py", '"assets"'),
    "lab": ("tests/pipeline/test_serve.py", '"lab"'),
    "serve": ("tests/pipeline/test_serve.py", '"serve"'),
    "help": ("tests/test_readme.py", '"help"'),
    "list": ("tests/pipeline/test_cli.py", '"list"'),
    "claims": ("tests/pipeline/test_front.py", '"claims"'),
    "papermill": ("tests/pipeline/test_front.py", '"papermill"'),
    "jupytext": ("tests/pipeline/test_front.py", '"jupytext"'),
}


def test_the_two_commands_stand_first():
    first = re.search(r"```sh\n(.*?)```", README, flags=re.S)[1]
    assert [line.split("#")[0].strip() for line in first.splitlines()] == ["make book", "make test"]
    assert README.index("make book") < 500


def test_the_table_holds_every_target_and_no_other():
    table = set(re.findall(r"^\| `make ([a-z]+)", README, flags=re.M))
    assert table == TARGETS - {"setup"}


def test_every_command_of_the_readme_exists():
    assert set(re.findall(r"(?:`|^)make ([a-z]+)", README, flags=re.M)) <= TARGETS
    assert set(re.findall(r"`reprise ([a-z]+)", README)) <= COMMANDS


def test_every_command_of_the_readme_is_run():
    said = set(re.findall(r"(?:`|^)make ([a-z]+)", README, flags=re.M)) | set(
        re.findall(r"`reprise ([a-z]+)", README)
    )
    said |= set(re.findall(r"^(jupytext|papermill) ", README, flags=re.M))
    for name in sorted(said):
        file, text = RUN[name]
        assert text in (ROOT / file).read_text(), f"{name}: not in {file}"


def make(*words: str) -> str:
    done = subprocess.run(["make", *words], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_help_lists_every_target():
    printed = make("help")
    assert all(f"make {target} " in printed for target in TARGETS)


@pytest.mark.parametrize(
    "words, command",
    [
        (["book"], "reprise book"),
        (["chapter", "C=x"], 'reprise run "$C" --fresh'),
        (["try", "C=x", "P=n_seeds=3 c=0.1"], 'reprise try "$C" $P'),
        (["full", "C=x"], 'reprise full "$C"'),
        (["full", "C=x", "E=e3"], 'reprise full "$C" --experiment "$E"'),
        (["pdf"], "reprise pdf"),
        (["verify"], "reprise verify"),
        (["accept", "C=x", "WHY=better"], 'reprise accept "$C" --why "$WHY"'),
        (["status"], "reprise status"),
        (["lab"], "reprise lab"),
        (["new", "C=x", "PART=p", "TITLE=t"], 'reprise new "$C" --part "$PART" --title "$TITLE"'),
        (["bench"], "reprise bench"),
        (["bench", "C=x"], 'reprise bench "$C"'),
        (["serve"], "reprise serve"),
        (["assets"], "reprise assets"),
        (["test"], "pytest -n auto --dist loadgroup"),
    ],
)
def test_a_target_calls_its_command(words, command):
    lines = [" ".join(line.split()) for line in make("-n", *words).splitlines()]
    assert any(line.endswith(command) for line in lines), lines


@pytest.mark.parametrize("target", ["chapter", "try", "full", "accept", "new"])
def test_a_target_that_needs_a_chapter_says_so(target):
    done = subprocess.run(["make", target], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert f"which chapter? make {target} C=fsgdm" in done.stderr
