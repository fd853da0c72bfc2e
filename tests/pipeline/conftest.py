"""A scaffolded chapter with made-up results, in a repository of its own."""

from __future__ import annotations

import shutil
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
