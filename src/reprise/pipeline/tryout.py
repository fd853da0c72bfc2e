"""Run a chapter with changed parameters, in a folder of its own, and show what that changes."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from reprise import paths, results
from reprise.closure import digest_of
from reprise.pipeline.book import Chapter, check
from reprise.pipeline.cells import assignments
from reprise.pipeline.verify import claims_of


def attempt(root: Path, slug: str, texts: list[str]) -> bool:
    """Run a chapter with parameters such as "n_seeds=3"; return whether it ran to its end.

    Stored results are never touched: the run's folder is `_build/try/<slug>-<hash>`, by the
    parameters. It is the quick profile with changes, through the same process as any run.

    Raises
    ------
    UserError
        For wrong use, before anything runs.
    """
    from reprise.pipeline import runner
    from reprise.pipeline.cli import show
    from reprise.pipeline.execute import Places

    (item,) = check(root, [slug])
    overrides = assignments(texts, item.parameters())
    check(root, [slug], overrides=overrides)
    if lacking := runner.fetch_assets(root, [item]):
        names = ", ".join(lacking[slug])
        print(f"{slug}: missing: {names} (fetch with: reprise assets --fetch)", file=sys.stderr)
        return False
    folder = folder_of(item, overrides)
    given = folder / "parameters.json"
    values = item.profile("quick", overrides)
    results.write_json(given, {name: values[name] for name in overrides})
    options = (f"--parameters={given}", f"--run-dir={folder}")
    outcomes = runner.run_jobs([runner.Job(item, at=Places(folder, slug), options=options)])
    if code := runner.summary(outcomes, []):
        return not code
    show(beside(item, folder / slug), title=f"{slug} with {' '.join(texts) or 'nothing changed'}")
    print(f"notebook and tables: {folder.relative_to(root).as_posix()}")
    return True


def folder_of(item: Chapter, overrides: Mapping[str, object]) -> Path:
    """Return where a chapter with these parameters runs."""
    name = f"{item.slug}-{digest_of(dict(overrides))[:8]}"
    return item.root / "_build" / "try" / name


def beside(item: Chapter, tables: Path) -> list[dict[str, object]]:
    """Return one row per claim: this try's verdict and reason, beside the stored verdicts."""
    stored = paths.stored() / item.slug
    tried, quick, full = claims_of(tables), claims_of(stored / "quick"), claims_of(stored / "full")
    return [
        {
            "claim": f"{name}: {claim['claim']}",
            "this try": claim["verdict"],
            "because": claim["reason"],
            "stored quick": quick[name]["verdict"] if name in quick else "not yet",
            "stored full": full[name]["verdict"] if name in full else "not yet",
        }
        for name, claim in tried.items()
    ]
