"""The commands of the README, run one after the other on a small book."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from reprise.claims import PARTS

SOURCES = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent


def is_chapter(path: Path) -> bool:
    return "kernelspec:" in path.read_text()[:400]


class Front:
    """A small repository and the commands in it."""

    def __init__(self, root: Path, cache: Path) -> None:
        self.root = root
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("REPRISE_", "DASK_"))}
        self.env = kept | {
            "REPRISE_CACHE": str(cache),
            "PYTHONPATH": str(root / "src"),
            "OMP_NUM_THREADS": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
        }

    def __call__(self, *words: str, code: int = 0) -> str:
        done = subprocess.run(
            list(words), cwd=self.root, env=self.env, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == code, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def reprise(self, *words: str, code: int = 0) -> str:
        return self(sys.executable, "-m", "reprise.pipeline.cli", *words, code=code)

    def commit(self) -> None:
        self("git", "add", "-A")
        self("git", "-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "-qm", "all")

    def results(self) -> dict[str, bytes]:
        folder = self.root / "data" / "results"
        return {
            p.relative_to(folder).as_posix(): p.read_bytes()
            for p in folder.rglob("*")
            if p.is_file()
        }


@pytest.fixture
def front(tmp_path) -> Front:
    root = tmp_path / "r"
    leave = shutil.ignore_patterns("__pycache__", "fsgdm")
    shutil.copytree(SOURCES / "src" / "reprise", root / "src" / "reprise", ignore=leave)
    for name in ("pyproject.toml", "requirements.lock", ".gitignore", "_config.yml"):
        shutil.copy(SOURCES / name, root)
    own = [path.name for path in (SOURCES / "book").glob("*.md") if is_chapter(path)]
    shutil.copytree(
        SOURCES / "book", root / "book", ignore=shutil.ignore_patterns(*own, "profiles")
    )
    toc = yaml.safe_load((SOURCES / "_toc.yml").read_text())
    toc["parts"] = [part for part in toc["parts"] if part["caption"] not in PARTS]
    (root / "_toc.yml").write_text(yaml.safe_dump(toc, sort_keys=False))
    made = Front(root, tmp_path / "cache")
    made("git", "init", "-q")
    made.reprise("new", "toy", "--part", "privacy", "--title", "Toy")
    made.commit()
    return made


@pytest.mark.html
def test_the_commands_of_the_readme_work_on_a_small_book(front):
    front.reprise("run", "toy", "--fresh")
    (state,) = json.loads(front.reprise("status", "--json"))
    assert (state["slug"], state["state"]) == ("toy", "fresh")
    assert "no reference yet" in front.reprise("verify")
    # A scaffolded chapter builds at once, without a warning.
    assert "site built" in front.reprise("book")
    assert (front.root / "_build" / "html" / "book" / "toy.html").is_file()
    assert front.reprise("book") == ""

    front.reprise("accept", "toy", "--why", "first reference")
    assert "toy: same" in front.reprise("verify")
    before = front.results()
    assert "toy/quick/e1.csv" in before

    said = front.reprise("try", "toy", "n_seeds=3", "sizes=[11]")
    assert "C1" in said
    assert front.results() == before
    (tried,) = (front.root / "_build" / "try").glob("toy-*")
    assert len((tried / "toy" / "e1.csv").read_text().splitlines()) == 1 + 2 * 2 * 3

    front.commit()
    front.reprise("full", "toy", "-e", "e1")
    assert set(front.results()) - set(before) >= {"toy/full/e1.csv", "toy/full/run.json"}
    (claim,) = json.loads(front.reprise("claims", "toy", "--json"))
    assert (claim["id"], claim["run"]) == ("C1", "full")

    assert "loop" in front.reprise("bench", "toy")
    front.reprise("clean")
    assert not (front.root / "_build").exists()
    assert "toy/full/e1.csv" in front.results()


def test_a_chapter_is_a_plain_notebook_for_papermill(front):
    before = front.results()
    front(str(BIN / "jupytext"), "--to", "ipynb", "book/toy.md", "-o", "toy.ipynb")
    front(str(BIN / "papermill"), "toy.ipynb", "out.ipynb", "-p", "n_seeds", "3")
    assert front.results() == before
    table = front.root / "_build" / "scratch" / "quick" / "toy" / "e1.csv"
    assert len(table.read_text().splitlines()) == 1 + 2 * 2 * 2 * 3


def test_run_all_in_a_notebook_server_works_from_the_chapters_own_folder(front):
    """What Run All in JupyterLab does: all cells, in the folder of the file."""
    code = (
        "import jupytext, nbclient\n"
        "nb = jupytext.read('book/toy.md')\n"
        "nbclient.NotebookClient(nb, kernel_name='python3',\n"
        "    resources={'metadata': {'path': 'book'}}).execute()\n"
        "print(sum(len(c.get('outputs', [])) for c in nb.cells))"
    )
    before = front.results()
    assert int(front(sys.executable, "-c", code).split()[-1]) >= 5
    assert front.results() == before
    assert (front.root / "_build" / "scratch" / "quick" / "toy" / "claims.json").is_file()
