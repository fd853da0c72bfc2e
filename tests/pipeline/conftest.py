"""Small repositories: a scaffolded chapter with made-up results, and a book of three chapters."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

SOURCES = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Made:
    """The repository, its one chapter `toy`, and a way to make results up."""

    root: Path
    item: object

    @property
    def run(self) -> Path:
        return self.root / "_build" / "run" / "quick" / "toy"

    @property
    def stored(self) -> Path:
        return self.root / "data" / "results" / "toy" / "quick"

    @property
    def full(self) -> Path:
        return self.stored.with_name("full")

    def rows(self, *, factor: float = 1.57, shift: float = 0.0, profile: str = "quick"):
        """Return a table of e1 in which the median's error is `factor` times the mean's."""
        config = self.item.configs(profile)["e1"]
        rng = np.random.default_rng(1)
        return pd.DataFrame(
            {
                "distribution": distribution,
                "estimator": estimator,
                "n_samples": size,
                "seed": seed,
                "mse": times * (1 + 0.05 * rng.normal()) / size + shift,
            }
            for distribution in ("normal", "laplace")
            for estimator, times in (("mean", 1.0), ("median", factor))
            for size in config.sizes
            for seed in range(config.n_seeds)
        )

    def write(self, folder: Path, rows: pd.DataFrame, profile: str = "quick") -> None:
        """Write a folder of results as a run of the chapter would."""
        from reprise import claims, provenance, results

        config = self.item.configs(profile)["e1"]
        entry = {
            "digest": provenance.result_digest("toy", "e1", config),
            **results.write_table(folder, "e1", rows),
            "n_seeds": config.n_seeds,
            "config": provenance.config_values(config),
            "assets": {},
            "versions": {},
            "machine": provenance.machine(),
            "commit": "",
            "dirty": False,
            "date": results.now(),
            "seconds": 1.5,
            "cpu_seconds": 1.25,
            "peak_mb": 100,
        }
        run = {"schema": 1, "slug": "toy", "profile": profile, "experiments": {"e1": entry}}
        results.write_json(folder / "run.json", run)
        module = self.item.load("claims")
        found = claims.judge(module.CLAIMS, module.MEASURES, {"e1": rows}, profile=profile)
        document = claims.document(
            "toy", found, profile=profile, digests={"e1": entry["digest"]}, date=entry["date"]
        )
        results.write_json(folder / "claims.json", document)


@pytest.fixture
def made(tmp_path, monkeypatch) -> Made:
    """The chapter `toy`, whose runs count as current: no notebook is run here."""
    from reprise.pipeline import book, digests, scaffold

    root = tmp_path / "repository"
    leave = shutil.ignore_patterns("__pycache__", "fsgdm")
    shutil.copytree(SOURCES / "src" / "reprise", root / "src" / "reprise", ignore=leave)
    (root / "_toc.yml").write_text("format: jb-book\nroot: book/intro\n")
    monkeypatch.setenv("REPRISE_ROOT", str(root))
    monkeypatch.setenv("REPRISE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("REPRISE_RESULTS", raising=False)
    monkeypatch.setattr(digests, "stale", lambda item, profile: [])
    scaffold.new(root, "toy", "privacy", "Toy")
    return Made(root, book.chapter(root, "toy"))


# --- a book of three tiny chapters, made by the same code -------------------------------------

# As the scaffold's, but with what takes time left out: no figure, no verdicts.
LEAN = """---
kernelspec: {{display_name: Python 3, language: python, name: python3}}
---

# Chapter {slug}

Prose of {slug}, before its code.

```{{code-cell}} ipython3
:tags: [parameters]

profile: str = "quick"
n_seeds: int = 2  # seeds per condition
n_trials: int = 20  # samples drawn per seed
sizes: list[int] = [3, 5, 7]  # values per sample
```

```{{code-cell}} ipython3
from reprise import results
from reprise.{slug}.experiments.configs import configs

chapter = results.open("{slug}", profile=profile, configs=configs(globals()))
e1 = chapter.run("e1")
print(e1.label, len(e1.rows), "rows")
print(chapter.stored("e1").label)
```

```{{code-cell}} ipython3
---
mystnb:
  figure:
    caption: A caption of {slug}.
    name: fig-{slug}-dot
  image:
    alt: A dot of {slug}.
---
from reprise.{slug}.dots import Dot

Dot()
```

See {{numref}}`fig-{slug}-dot`.
"""

DOTS = '''
"""A figure without matplotlib."""


class Dot:
    def _repr_mimebundle_(self, include=None, exclude=None):
        svg = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><circle r="4"/></svg>'
        made = {"figure": "dot", "made_by": "reprise.@SLUG@.dots.Dot", "parameters": {"r": 4}}
        return {"image/svg+xml": svg}, {"reprise": {**made, "seeds": 2, "seconds": 0.25}}
'''

# Put in front of an experiment's `run`: it can be watched, slowed down and made to fail.
WATCHED = """

def run(config: Errors, seed: int) -> list[dict]:
    import os
    import time

    if trace := os.environ.get("MINI_TRACE"):
        with open(trace, "a") as file:
            file.write(f"{os.getpid()} {config.sizes} {seed}\\n")
    time.sleep(float(os.environ.get("MINI_PAUSE") or 0))
    return _run(config, seed)
"""


@dataclass(frozen=True)
class Mini:
    """The book of alpha (as scaffolded), beta and gamma (lean), in a repository of its own."""

    root: Path
    cache: Path

    @property
    def env(self) -> dict[str, str]:
        """The environment of a user of this book."""
        kept = {
            k: v
            for k, v in os.environ.items()
            if not k.startswith(("REPRISE_", "DASK_", "MINI_", "GIT_")) and k != "CI"
        }
        return kept | {
            "REPRISE_ROOT": str(self.root),
            "REPRISE_CACHE": str(self.cache),
            "PYTHONPATH": str(self.root / "src"),
            "OMP_NUM_THREADS": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
        }

    def start(self, *words: str, **env: str) -> subprocess.Popen[str]:
        """Start `reprise` (or, with "-c", Python code)."""
        words = words if words[0] == "-c" else ("-m", "reprise.pipeline.cli", *words)
        return subprocess.Popen(
            [sys.executable, *words],
            cwd=self.root,
            env=self.env | env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def reprise(self, *words: str, code: int = 0, **env: str) -> str:
        """Run `reprise` and return all that it says."""
        process = self.start(*words, **env)
        out, err = process.communicate(timeout=120)
        assert process.returncode == code, f"{words}: {process.returncode}\n{out}{err}"
        return out + err

    def git(self, *words: str) -> None:
        """Run git as somebody."""
        names = ("-c", "user.name=A", "-c", "user.email=a@b.c")
        subprocess.run(
            ["git", *names, *words], cwd=self.root, env=self.env, check=True, capture_output=True
        )

    def path(self, name: str) -> Path:
        """Return a file by its name in the repository."""
        return self.root / name

    def run_file(self, name: str) -> Path:
        """Return a file of the quick runs."""
        return self.root / "_build" / "run" / "quick" / name

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace a text in a file."""
        text = self.path(name).read_text()
        assert old in text, f"{old!r} is not in {name}"
        self.path(name).write_text(text.replace(old, new, 1))

    def item(self, slug: str):
        """Return a chapter."""
        from reprise.pipeline import book

        return book.chapter(self.root, slug)

    def record(self, slug: str) -> Mapping[str, object]:
        """Return the record of a chapter's last good quick run."""
        return json.loads(self.run_file(f"{slug}.json").read_text())

    def runs(self) -> dict[str, int]:
        """Return when each chapter's last good run came into place."""
        slugs = ("alpha", "beta", "gamma")
        return {s: self.run_file(f"{s}.ipynb").stat().st_mtime_ns for s in slugs}

    def staged(self, slug: str) -> str:
        """Return a staged page's text: sources and printed outputs."""
        page = json.loads(self.path(f"_build/stage/book/{slug}.ipynb").read_text())
        return "\n".join(
            "".join(cell["source"]) + "".join(t for o in cell.get("outputs", []) for t in _texts(o))
            for cell in page["cells"]
        )

    def wait(self, condition: Callable[[], object], seconds: float = 60) -> None:
        """Wait until something holds."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, "it never came to that"
            time.sleep(0.02)


def _texts(output: Mapping[str, object]) -> list[str]:
    data = output.get("data", {})
    return ["".join(output.get("text", "")), *("".join(v) for v in data.values())]


def write_mini(root: Path) -> None:
    """Write the book of three chapters, with the scaffold where it counts."""
    from reprise.pipeline import scaffold

    sources = SOURCES / "src" / "reprise"
    papers = [path.parent.name for path in sources.glob("*/experiments")]
    leave = shutil.ignore_patterns("__pycache__", *papers)
    shutil.copytree(sources, root / "src" / "reprise", ignore=leave)
    for name in ("_config.yml", "pyproject.toml", "requirements.lock", ".gitignore"):
        shutil.copy(SOURCES / name, root)
    shutil.copytree(SOURCES / "book" / "_static", root / "book" / "_static")
    shutil.copy(SOURCES / "book" / "references.bib", root / "book")
    (root / "book" / "intro.md").write_text("# A small book\n\nOf three chapters.\n")
    (root / "_toc.yml").write_text("format: jb-book\nroot: book/intro\n")
    for slug in ("alpha", "beta", "gamma"):
        scaffold.new(root, slug, "privacy", f"The Paper {slug.title()}")
    for slug in ("beta", "gamma"):
        package = root / "src" / "reprise" / slug
        (root / "book" / f"{slug}.md").write_text(LEAN.format(slug=slug))
        (package / "dots.py").write_text(DOTS.replace("@SLUG@", slug))
        e1 = package / "experiments" / "e1.py"
        e1.write_text(e1.read_text().replace("def run(", "def _run(") + WATCHED)
    # A shared module that alpha uses directly, and beta by way of another one.
    src = root / "src" / "reprise"
    (src / "common.py").write_text('"""Shared."""\n\nOFFSET = 0\n')
    (src / "middle.py").write_text("from reprise.common import OFFSET\n")
    (src / "apart.py").write_text("ALONE = 1\n")
    for slug, module in (("alpha", "common"), ("beta", "middle")):
        centre = src / slug / "centre.py"
        text = centre.read_text().replace(
            "import numpy as np\n",
            f"import numpy as np\n\nfrom reprise.{module} import OFFSET\n",
            1,
        )
        centre.write_text(text)


@pytest.fixture(scope="session")
def template(tmp_path_factory) -> Mini:
    """The book after a first run of everything; beta has stored full results. Copied, not used."""
    base = tmp_path_factory.mktemp("mini")
    mini = Mini(base / "book", base / "cache")
    mini.root.mkdir()
    write_mini(mini.root)
    mini.git("init", "-q")
    mini.git("add", "-A")
    mini.git("commit", "-qm", "all")
    mini.reprise("full", "beta")
    mini.path("first.log").write_text(mini.reprise("run", "alpha", "beta", "gamma"))
    return mini


@pytest.fixture
def mini(template, tmp_path, monkeypatch) -> Mini:
    """A copy of the book, everything fresh; code in this process works on it too."""
    own = Mini(tmp_path / "m", tmp_path / "c")
    shutil.copytree(template.root, own.root, symlinks=True)
    shutil.copytree(template.cache, own.cache)
    for name in list(os.environ):
        if name.startswith(("REPRISE_", "DASK_", "MINI_")) or name == "CI":
            monkeypatch.delenv(name)
    for name in ("REPRISE_ROOT", "REPRISE_CACHE"):
        monkeypatch.setenv(name, own.env[name])
    monkeypatch.chdir(own.root)
    return own
