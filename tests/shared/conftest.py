"""A toy paper beside a copy of the shared modules, run in processes of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parents[2] / "src" / "reprise"

CONFIGS = """
from dataclasses import dataclass
from typing import ClassVar

@dataclass(frozen=True)
class E1:
    powers: tuple[int, ...]
    pause: float
    n_seeds: int
    KEYS: ClassVar = ("power", "seed")
    TOLERANCES: ClassVar = {"value": "rtol:1e-12"}
    ASSETS: ClassVar = ()

def configs(parameters):
    powers = tuple(parameters.get("powers", (1, 2, 3)))
    return {"e1": E1(powers, parameters.get("pause", 0.0), parameters["n_seeds"])}
"""

E1 = '''
"""Powers of a seeded number; leaves a trace of each computed cell where asked to."""
import os, time
from dataclasses import replace
import numpy as np
from reprise.toy.method import power

def cells(config, rows):
    return [replace(config, powers=(p,)) for p in config.powers]

def run(config, seed):
    if trace := os.environ.get("TOY_TRACE"):
        with open(trace, "a") as file:
            file.write(f"{config.powers} {seed}\\n")
    time.sleep(config.pause)
    x = np.random.default_rng(seed).normal()
    return [{"power": p, "seed": seed, "value": power(x, p)} for p in config.powers]
'''

FILES = {
    "__init__.py": "",
    "experiments/__init__.py": "",
    "experiments/configs.py": CONFIGS,
    "experiments/e1.py": E1,
    "method.py": "def power(x, p):\n    return x**p\n",
}


@dataclass(frozen=True)
class Toy:
    """A small repository with one paper, `toy`."""

    root: Path

    def write(self, name: str, text: str) -> None:
        path = self.root / "src" / "reprise" / "toy" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def env(self, **more: str) -> dict[str, str]:
        env = {k: v for k, v in os.environ.items() if not k.startswith(("REPRISE_", "DASK_"))}
        return env | {
            "PYTHONPATH": str(self.root / "src"),
            "REPRISE_ROOT": str(self.root),
            "REPRISE_CACHE": str(self.root / "cache"),
            "OMP_NUM_THREADS": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            **more,
        }

    def start(self, code: str, **env: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code)],
            cwd=self.root,
            env=self.env(**env),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def python(self, code: str, **env: str) -> str:
        """Run code in a process of its own and return what it printed."""
        process = self.start(code, **env)
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        return out


@pytest.fixture
def toy(tmp_path: Path) -> Toy:
    root = tmp_path / "book"
    target = root / "src" / "reprise"
    target.mkdir(parents=True)
    for path in SRC.glob("*.py"):
        shutil.copy(path, target)
    for name in ("schemas", "datasets", "pipeline"):
        shutil.copytree(SRC / name, target / name, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "_toc.yml").write_text("format: jb-book\nroot: book/intro\n")
    made = Toy(root)
    for name, text in FILES.items():
        made.write(name, text)
    return made
