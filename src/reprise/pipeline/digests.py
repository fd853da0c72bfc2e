"""What a chapter's page depends on, part by part, and so whether its notebook must run again."""

from __future__ import annotations

import ast
import json
from typing import TYPE_CHECKING

from reprise import paths, provenance, results
from reprise.closure import Module, closure, digest_of, file_digest, source_digest

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from reprise.pipeline.book import Chapter

# A change in the machinery changes no output: what runs, fetches or measures a chapter.
MACHINERY = (
    "reprise.closure",
    "reprise.pipeline",
    "reprise.provenance",
    "reprise.sweep",
    "reprise.datasets.registry",
    "reprise.datasets.fetch",
    "reprise.datasets.sources",
)


def page_modules(chapter: Chapter) -> dict[str, Module]:
    """Return the closure of a chapter's page: its whole package and what its cells import."""
    src = chapter.root / "src"
    package = chapter.package
    names = [
        ".".join(path.relative_to(src).with_suffix("").parts)
        for path in sorted(package.rglob("*.py"))
        if path.name != "__init__.py"
    ]
    names += cell_imports(chapter)
    found = closure(names, src, results_only=False)
    return {
        name: module
        for name, module in found.items()
        if not any(name == m or name.startswith(f"{m}.") for m in MACHINERY)
    }


def cell_imports(chapter: Chapter) -> list[str]:
    """Return the modules of this package that a chapter's code cells import."""
    names = []
    for node in ast.walk(_cells_tree(chapter)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "reprise":
            names += [f"{node.module}.{item.name}" for item in node.names] + [node.module]
        elif isinstance(node, ast.Import):
            names += [i.name for i in node.names if i.name.split(".")[0] == "reprise"]
    return names


def _cell_libraries(chapter: Chapter) -> set[str]:
    names = set()
    for node in ast.walk(_cells_tree(chapter)):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.split(".")[0])
        elif isinstance(node, ast.Import):
            names |= {item.name.split(".")[0] for item in node.names}
    return names


def _cells_tree(chapter: Chapter) -> ast.Module:
    return ast.parse("\n".join(source for source, _ in chapter.code_cells()))


def run_parts(
    chapter: Chapter, profile: str, overrides: Mapping[str, object] | None = None
) -> dict[str, str]:
    """Return what a run depends on: part -> digest or version.

    Code cells (captions and alt text live in metadata, so they are out), parameters, every module
    of the page's closure with the data files it names, locked versions of the libraries that these
    import, assets; for quick also the stored full tables and today's full digests, since the page
    shows them.
    """
    modules = page_modules(chapter)
    src = chapter.root / "src"
    configs = chapter.configs(profile, overrides)
    parts = {
        "code cells": digest_of([source_digest(source) for source, _ in chapter.code_cells()]),
        "parameters": digest_of(chapter.profile(profile, overrides)),
    }
    parts |= {f"module {name}": module.digest for name, module in modules.items()}
    for module in modules.values():
        parts |= {f"file {p.relative_to(src).as_posix()}": file_digest(p) for p in module.data}
    own = type("Cells", (), {"libraries": tuple(_cell_libraries(chapter))})
    imported = provenance.libraries([*modules.values(), own])
    parts |= {f"library {k}": v for k, v in provenance.versions(imported).items()}
    for config in configs.values():
        parts |= {f"asset {name}": h for name, h in provenance.assets_of(config).items()}
    if profile == "quick":
        for name, config in chapter.configs("full").items():
            digest = provenance.result_digest(chapter.slug, name, config)
            parts[f"full digest of {name}"] = digest
        folder = paths.stored() / chapter.slug / "full"
        if folder.is_dir():
            for path in sorted(p for p in folder.iterdir() if p.suffix in (".csv", ".parquet")):
                parts[f"stored full table {path.stem}"] = file_digest(path)
            run = results.read_run(folder)
            parts["stored full run"] = digest_of(run)
    return parts


def run_digest(
    chapter: Chapter, profile: str, overrides: Mapping[str, object] | None = None
) -> str:
    """Return the digest of all that a run of a chapter depends on."""
    return digest_of(run_parts(chapter, profile, overrides))


def record_path(chapter: Chapter, profile: str) -> Path:
    """Return where the record of a chapter's last finished run stands."""
    return chapter.root / "_build" / "run" / profile / f"{chapter.slug}.json"


def read_record(chapter: Chapter, profile: str) -> dict[str, object] | None:
    """Return the record of the last finished run, or None where there is no whole one."""
    path = record_path(chapter, profile)
    try:
        record = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    if not isinstance(record, dict) or not isinstance(record.get("parts"), dict):
        return None
    notebook = path.with_suffix(".ipynb")
    whole = notebook.is_file() and record.get("notebook") in (None, file_digest(notebook))
    return record if whole else None


def stale(chapter: Chapter, profile: str) -> list[str]:
    """Return why a chapter's notebook must run again; nothing when it is fresh."""
    record = read_record(chapter, profile)
    if record is None:
        return ["never run"]
    now, then = run_parts(chapter, profile), record["parts"]
    if now == then:
        return []
    reasons = []
    for part in sorted({*now, *then}):
        if part not in then:
            reasons.append(f"new: {part}")
        elif part not in now:
            reasons.append(f"gone: {part}")
        elif now[part] != then[part]:
            change = f" ({then[part]} -> {now[part]})" if part.startswith("library") else ""
            reasons.append(f"changed: {part}{change}")
    return reasons
