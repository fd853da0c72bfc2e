"""What code a module depends on, and digests of it that ignore comments, docstrings and layout."""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

PACKAGE = "reprise"

# These never change a result: they draw, judge, store, measure, schedule or fetch. A config's
# values are part of a digest by themselves, and an asset's content is held by its hash.
NOT_RESULT = frozenset(
    {
        "reprise.claims",
        "reprise.closure",
        "reprise.estimate",
        "reprise.paths",
        "reprise.pipeline",
        "reprise.provenance",
        "reprise.results",
        "reprise.rules",
        "reprise.style",
        "reprise.sweep",
        "reprise.verdicts",
        "reprise.datasets.registry",
        "reprise.datasets.fetch",
        "reprise.datasets.sources",
    }
)
NOT_RESULT_IN_PAPER = frozenset({"figures", "claims", "summaries", "configs"})


@dataclass(frozen=True)
class Module:
    """One parsed source file: its digest and what it refers to."""

    name: str
    path: Path
    digest: str
    imports: tuple[str, ...]  # modules of this package, by full name
    libraries: tuple[str, ...]  # top-level names of everything else
    data: tuple[Path, ...]  # files of the package that the source names
    is_package: bool = field(default=False)


def _tokens(node: object) -> Iterator[str]:
    """Yield node types and non-empty fields, depth first: what all Python versions agree on."""
    if isinstance(node, ast.Constant):
        yield f"{type(node.value).__name__}:{node.value!r}"
    elif isinstance(node, ast.AST):
        yield f"({type(node).__name__}"
        for name, value in ast.iter_fields(node):
            if value is None or value == []:
                continue
            yield name
            yield from _tokens(value)
        yield ")"
    elif isinstance(node, list):
        yield "["
        for item in node:
            yield from _tokens(item)
        yield "]"
    else:
        yield repr(node)


def _drop_docstrings(tree: ast.AST) -> ast.AST:
    holders = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, holders) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return tree


def source_digest(source: str) -> str:
    """Return the SHA-256 of a source's syntax tree, without comments, docstrings and layout."""
    tokens = "\n".join(_tokens(_drop_docstrings(ast.parse(source))))
    return hashlib.sha256(tokens.encode()).hexdigest()


def _locate(name: str, src: Path) -> Path | None:
    base = src.joinpath(*name.split("."))
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path
    return None


@lru_cache(maxsize=4096)
def _lazy_exports(path: Path, stamp: tuple[int, int]) -> dict[str, str]:
    """Return name -> submodule of a lazy `__init__`, from its `_EXPORTS` dictionary."""
    for node in ast.parse(path.read_text()).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(target, ast.Name) and target.id == "_EXPORTS" and node.value is not None:
            return ast.literal_eval(node.value)
    return {}


def _exports(path: Path) -> dict[str, str]:
    stat = path.stat()
    return _lazy_exports(path, (stat.st_mtime_ns, stat.st_size))


def _member(package: str, name: str, src: Path) -> list[str]:
    """Return the modules that `package.name` stands for: a submodule, or where it is defined."""
    if _locate(f"{package}.{name}", src):
        return [f"{package}.{name}"]
    init = _locate(package, src)
    if init is None:
        return []
    if init.name != "__init__.py":
        return [package]
    exports = _exports(init)
    if name in exports:
        return [f"{package}.{exports[name].lstrip('.')}"]
    return [package]


def _everything_in(package: str, src: Path) -> list[str]:
    init = _locate(package, src)
    if init is None or init.name != "__init__.py":
        return [package]
    names = [package]
    for path in sorted(init.parent.rglob("*.py")):
        parts = path.relative_to(src).with_suffix("").parts
        names.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return names


def _imports(tree: ast.AST, name: str, is_package: bool, src: Path) -> tuple[set[str], set[str]]:
    inside: set[str] = set()
    outside: set[str] = set()
    aliases: dict[str, str] = {}  # local name -> package of ours, whose members are looked up
    here = name.split(".") if is_package else name.split(".")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for item in node.names:
                top = item.name.split(".")[0]
                if top != PACKAGE:
                    outside.add(top)
                elif item.asname:
                    aliases[item.asname] = item.name
                else:
                    inside.add(item.name)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                base = here[: len(here) - node.level + 1]
                package = ".".join([*base, *([node.module] if node.module else [])])
            else:
                package = node.module or ""
            if package.split(".")[0] != PACKAGE:
                outside.add(package.split(".")[0])
                continue
            for item in node.names:
                if item.name == "*":
                    inside.update(_everything_in(package, src))
                    continue
                for module in _member(package, item.name, src):
                    path = _locate(module, src)
                    if path and path.name == "__init__.py" and module != package:
                        aliases[item.asname or item.name] = module
                    else:
                        inside.add(module)
    # A package bound to a name: only the members that are used count. Used in any other way
    # (passed on, getattr), all of it does.
    used: dict[str, set[str]] = {alias: set() for alias in aliases}
    bare: dict[str, int] = dict.fromkeys(aliases, 0)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in aliases:
            bare[node.id] += 1
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in aliases
        ):
            used[node.value.id].add(node.attr)
            bare[node.value.id] -= 1
    for alias, package in aliases.items():
        if bare[alias]:
            inside.update(_everything_in(package, src))
        for member in used[alias]:
            inside.update(_member(package, member, src))
    return inside, outside


# What `_read` found, by name and content of a source; `reprise.pipeline.memory` keeps it on disk.
memo: dict[str, dict[str, Any]] | None = None


@lru_cache(maxsize=4096)
def _parse(name: str, path: Path, src: Path, stamp: tuple[int, int]) -> Module:
    source = path.read_text()
    key = hashlib.sha256(f"{name}\0{source}".encode()).hexdigest()
    known = memo.get(key) if memo is not None else None
    if known is None:
        known = _read(name, path, src, source)
        if memo is not None:
            memo[key] = known
    return Module(
        name=name,
        path=path,
        digest=known["digest"],
        imports=tuple(known["imports"]),
        libraries=tuple(known["libraries"]),
        data=tuple(path.parent / text for text in known["data"]),
        is_package=path.name == "__init__.py",
    )


def _read(name: str, path: Path, src: Path, source: str) -> dict[str, Any]:
    tree = ast.parse(source)
    is_package = path.name == "__init__.py"
    inside, outside = _imports(tree, name, is_package, src)
    strings = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and 0 < len(node.value) < 120
        and "\n" not in node.value
        and "\0" not in node.value
    }
    data = sorted(
        text
        for text in strings
        if "." in text.strip("./")
        and not text.endswith(".py")
        and (path.parent / text).is_file()
        and (path.parent / text).resolve().is_relative_to(src.resolve())
    )
    return {
        "digest": source_digest(source),
        "imports": sorted(inside - {name}),
        "libraries": sorted(outside - {"__future__"}),
        "data": data,
    }


def forget() -> None:
    """Forget what was parsed in this process."""
    _parse.cache_clear()
    _lazy_exports.cache_clear()


def parse(name: str, src: Path) -> Module:
    """Return the parsed module `name` of the sources below `src`.

    Raises
    ------
    ValueError
        When there is no such module.
    """
    path = _locate(name, src)
    if path is None:
        raise ValueError(f"`name`: there is no module {name!r} below {src.name}/")
    stat = path.stat()
    return _parse(name, path, src, (stat.st_mtime_ns, stat.st_size))


def no_result(name: str) -> bool:
    """Return whether a module by its name can't change a result."""
    parts = name.split(".")
    return any(".".join(parts[: i + 1]) in NOT_RESULT for i in range(len(parts))) or (
        len(parts) > 2 and parts[-1] in NOT_RESULT_IN_PAPER
    )


def closure(names: Iterable[str], src: Path, *, results_only: bool) -> dict[str, Module]:
    """Return all modules that `names` import inside the package, followed to the end.

    Parameters
    ----------
    names : full module names to start from
    src : the folder that holds the package
    results_only : leave out what can't change a result (see `no_result`)
    """
    found: dict[str, Module] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in found or (results_only and no_result(name)):
            continue
        if _locate(name, src) is None:
            continue
        module = parse(name, src)
        found[name] = module
        waiting.extend(module.imports)
    # A lazy `__init__` only forwards names; what is behind the names is in the closure itself.
    return {
        name: module
        for name, module in sorted(found.items())
        if not (module.is_package and (_exports(module.path) or not _has_code(module.path)))
    }


def _has_code(path: Path) -> bool:
    """Return whether an `__init__` does more than forward names lazily."""
    plain = (ast.Import, ast.ImportFrom)
    body = _drop_docstrings(ast.parse(path.read_text())).body
    return any(not isinstance(node, plain) for node in body)


def digest_of(value: object) -> str:
    """Return the SHA-256 of a plain value (as canonical JSON)."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
