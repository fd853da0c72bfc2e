"""Who may import whom: the rules between the rooms."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parents[2] / "src"
STATISTICS = {"numpy", "pandas", "scipy", "math", "itertools", "functools", "statistics"}
CHEAP = {"numpy"}  # comes with reprise.estimate anyway
PLAIN = {"__future__", "dataclasses", "typing", "collections", "collections.abc", "math"}
NOT_FOR_DATA = ("claims", "rules", "sweep", "results", "style")


def papers(src: Path) -> set[str]:
    return {p.parent.name for p in (src / "reprise").glob("*/experiments") if p.is_dir()}


def imports(path: Path, src: Path) -> Iterator[tuple[str, bool]]:
    """Yield (full name, whether at the top level) of all that a module imports."""
    parts = path.relative_to(src).with_suffix("").parts
    package = parts[:-1]
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        top = node in tree.body
        if isinstance(node, ast.Import):
            for item in node.names:
                yield item.name, top
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            name = ".".join([*base, *([node.module] if node.module else [])])
            yield name, top
            for item in node.names:
                yield f"{name}.{item.name}", top


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def violations(src: Path) -> list[str]:
    known, found = papers(src), []
    for path in sorted((src / "reprise").rglob("*.py")):
        relative = path.relative_to(src / "reprise")
        room = relative.parts[0].removesuffix(".py")
        for name, top in imports(path, src):
            where = f"{relative.as_posix()} imports {name}"
            if room in known:
                others = [p for p in known - {room} if within(name, f"reprise.{p}")]
                if others or within(name, "reprise.pipeline"):
                    found.append(where)
            elif any(within(name, f"reprise.{p}") for p in known):
                found.append(where)
            if room in ("datasets", "lm") and any(
                within(name, f"reprise.{module}") for module in NOT_FOR_DATA
            ):
                found.append(where)
            if room in known and relative.parts[1:] == ("claims.py",):
                ours = within(name, "reprise.claims") or within(name, "reprise.estimate")
                plain = name.split(".")[0] in PLAIN | CHEAP or name == "reprise"
                if not (ours or plain or (not top and name.split(".")[0] in STATISTICS)):
                    found.append(where)
            own = f"reprise.{room}.experiments"  # a config may be split over several modules
            plain = name.split(".")[0] in {p.split(".")[0] for p in PLAIN}
            plain = plain or name == own or name.startswith(f"{own}.config")
            if room in known and relative.parts[1:] == ("experiments", "configs.py") and not plain:
                found.append(where)
            machinery = any(within(name, f"reprise.{m}") for m in ("sweep", "results", "estimate"))
            if room in known and relative.name == "figures.py" and machinery:
                found.append(where)
    return found


def unlazy(src: Path) -> list[str]:
    """Return the `__init__.py` files that do more than forward names lazily."""
    found = []
    for path in sorted((src / "reprise").rglob("__init__.py")):
        for node in ast.parse(path.read_text()).body:
            docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            plain_import = isinstance(node, (ast.Import, ast.ImportFrom)) and all(
                name.split(".")[0] in {"importlib", "__future__", "typing"}
                for name, _ in [(getattr(node, "module", None) or node.names[0].name, 0)]
            )
            exports = isinstance(node, (ast.Assign, ast.AnnAssign)) and {
                target.id for target in getattr(node, "targets", [getattr(node, "target", None)])
            } <= {"_EXPORTS", "__all__"}
            lazy = isinstance(node, ast.FunctionDef) and node.name in {"__getattr__", "__dir__"}
            guarded = isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
            if not (docstring or plain_import or exports or lazy or guarded):
                found.append(f"{path.relative_to(src).as_posix()}:{node.lineno}")
    return found


def test_every_import_keeps_to_its_room():
    assert violations(SRC) == []


def test_packages_forward_names_lazily_and_do_nothing_else():
    assert unlazy(SRC) == []


@pytest.mark.parametrize(
    "path, text",
    [
        ("a/method.py", "from reprise.b import method"),
        ("a/method.py", "from reprise import b"),
        ("a/method.py", "def f():\n    import reprise.b.method"),
        ("a/method.py", "from ..b.method import f"),
        ("a/experiments/e1.py", "from reprise.pipeline import book"),
        ("sweep.py", "from reprise.a.method import f"),
        ("datasets/images.py", "from reprise import results"),
        ("lm/tiny.py", "from reprise.style import show"),
        ("a/claims.py", "from reprise.a.method import f"),
        ("a/claims.py", "import pandas as pd"),
        ("a/experiments/configs.py", "import torch"),
        ("a/figures.py", "from reprise import sweep"),
    ],
)
def test_each_rule_is_seen_when_it_is_broken(tmp_path, path, text):
    for slug in ("a", "b"):
        (tmp_path / "reprise" / slug / "experiments").mkdir(parents=True)
    target = tmp_path / "reprise" / path
    target.parent.mkdir(exist_ok=True)
    target.write_text(text)
    assert violations(tmp_path)


def test_statistics_inside_a_function_of_claims_is_fine(tmp_path):
    (tmp_path / "reprise" / "a" / "experiments").mkdir(parents=True)
    text = "from reprise.claims import Claim\ndef f(rows):\n    import numpy as np\n"
    (tmp_path / "reprise" / "a" / "claims.py").write_text(text)
    assert violations(tmp_path) == []


def test_an_init_that_imports_eagerly_is_seen(tmp_path):
    (tmp_path / "reprise").mkdir()
    (tmp_path / "reprise" / "__init__.py").write_text("import torch\n")
    assert unlazy(tmp_path) == ["reprise/__init__.py:1"]
