"""The library's reference: a page per paper and one of the shared modules, from the docstrings.

Sources are parsed, never imported (a page of nineteen papers would import torch nineteen times).
The pages are reStructuredText with Sphinx's own Python directives, so that every function has an
anchor and can be referred to from the chapters.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from reprise.closure import file_digest

if TYPE_CHECKING:
    from reprise.pipeline.site.catalog import Catalog, Entry

SHARED = (
    "claims", "estimate", "rules", "verdicts", "results", "sweep", "style", "provenance",
    "datasets", "lm",
)  # fmt: skip


def names(catalog: Catalog) -> list[str]:
    """Return the documents below the overview, in order."""
    return [*(page(entry) for entry in catalog.entries), "book/reference/shared"]


def page(entry: Entry) -> str:
    """Return the document of a paper's reference page."""
    return f"book/reference/{entry.slug}"


def pages(catalog: Catalog) -> dict[str, str]:
    """Return name below the stage -> text of every page of the reference; the overview is ours."""
    src = catalog.root / "src" / "reprise"
    made = {}
    for entry in catalog.entries:
        made[f"{page(entry)}.rst"] = _paper(src, entry)
    found = [path for name in SHARED for path in _modules(src / name)]
    intro = "What all papers share: estimates, rules and verdicts, sweeps, results, data, style."
    made["book/reference/shared.rst"] = _page("Shared modules", intro, "", src, found)
    return made


def _paper(src: Path, entry: Entry) -> str:
    from reprise.pipeline.site.render import short

    exports = public(src / entry.slug / "__init__.py")
    intro = f"The code of the chapter :doc:`/book/{entry.slug}`: *{escape(entry.paper.title)}*."
    listed = ""
    if exports:
        head = f"In short: ``from reprise.{entry.slug} import ...``"
        roles = ", ".join(
            f":py:obj:`~reprise.{entry.slug}.{module}.{name}`" for name, module in exports.items()
        )
        listed = f"{head} gives {roles}."
    title = f"{escape(short(entry))}: ``reprise.{entry.slug}``"
    first = list(dict.fromkeys(exports.values()))
    modules = sorted(  # what is for use elsewhere comes first; sorting is stable
        _modules(src / entry.slug),
        key=lambda path: first.index(path.stem) if path.stem in first else len(first),
    )
    intro = f".. py:module:: reprise.{entry.slug}\n\n{intro}"
    return _page(title, intro, listed, src, modules)


def public(path: Path) -> dict[str, str]:
    """Return public name -> module of a package's lazy `_EXPORTS`, in order."""
    try:
        tree = ast.parse(path.read_text())
    except (OSError, SyntaxError):
        return {}
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Dict):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(t, ast.Name) and t.id == "_EXPORTS" for t in targets):
                found = ast.literal_eval(node.value)
                return {name: str(module).lstrip(".") for name, module in found.items()}
    return {}


def _modules(place: Path) -> list[Path]:
    """Return a module's file, or those of a package: its own first, then its subpackages'."""
    if not place.is_dir():
        return [place.with_suffix(".py")]
    found = [path for path in place.rglob("*.py") if path.name != "__init__.py"]
    return sorted(found, key=lambda path: (len(path.parts), path.name))


def _page(title: str, intro: str, listed: str, src: Path, modules: Iterable[Path]) -> str:
    parts = [f"{title}\n{'=' * len(title)}", intro, *([listed] if listed else [])]
    for path in modules:
        if path.is_file():
            name = ".".join(("reprise", *path.relative_to(src).with_suffix("").parts))
            if text := _module(path, name, file_digest(path)):
                parts.append(text)
    return "\n\n".join(parts) + "\n"


@lru_cache(maxsize=512)
def _module(path: Path, name: str, digest: str) -> str:
    """Return a module's section; "" where nothing in it is public."""
    tree = qualified(ast.parse(path.read_text()))
    objects = [_object(node, name) for node in tree.body]
    if not any(objects):
        return ""
    title = f"``{name.split('.', 2)[-1] if name.count('.') > 1 else name}``"
    about = _docstring(ast.get_docstring(tree))
    head = f"{title}\n{'-' * len(title)}\n\n.. py:module:: {name}"
    return "\n\n".join(part for part in (head, about, *objects) if part)


def qualified(tree: ast.Module) -> ast.Module:
    """Return a module's tree whose annotations name our own classes in full: `~reprise.rules.Rule`.

    Sphinx shows the last word of such a name and makes it a link.
    """
    ours = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("reprise.")
        for alias in node.names
    }

    class Qualify(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            if node.id not in ours:
                return node
            return ast.UnaryOp(ast.Invert(), ast.parse(ours[node.id], mode="eval").body)

    for node in ast.walk(tree):
        for field in ("annotation", "returns"):
            if (found := getattr(node, field, None)) is not None:
                setattr(node, field, Qualify().visit(found))
    return tree


def _object(node: ast.stmt, module: str) -> str:
    """Return the directive of a public function or class; "" for anything else."""
    name = getattr(node, "name", "_")
    if name.startswith("_"):
        return ""
    if isinstance(node, ast.FunctionDef):
        return _directive("function", f"{name}{signature(node)}", ast.get_docstring(node))
    if not isinstance(node, ast.ClassDef):
        return ""
    inner = [text for child in node.body if (text := _member(child))]
    body = "\n\n".join(inner)
    made = _directive("class", f"{name}{_constructor(node)}", ast.get_docstring(node))
    return made + ("\n\n" + _indented(body) if body else "")


def _member(node: ast.stmt) -> str:
    if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
        return ""
    marks = {d.id for d in node.decorator_list if isinstance(d, ast.Name)}
    marks |= {d.attr for d in node.decorator_list if isinstance(d, ast.Attribute)}
    text = ast.get_docstring(node)
    if marks & {"property", "cached_property"}:
        return _directive("property", node.name, text)
    kind = "method"
    options = [f":{mark}:" for mark in ("classmethod", "staticmethod") if mark in marks]
    first = 0 if "staticmethod" in marks else 1
    return _directive(kind, f"{node.name}{signature(node, skip=first)}", text, options)


def _constructor(node: ast.ClassDef) -> str:
    """Return the signature of a class: of its `__init__`, or of a dataclass's fields."""
    for child in node.body:
        if isinstance(child, ast.FunctionDef) and child.name == "__init__":
            return signature(child, skip=1)
    decorated = {ast.unparse(d).partition("(")[0].split(".")[-1] for d in node.decorator_list}
    if "dataclass" not in decorated:
        return ""
    fields = [
        ast.unparse(child)
        for child in node.body
        if isinstance(child, ast.AnnAssign)
        and isinstance(child.target, ast.Name)
        and not child.target.id.startswith("_")
        and "ClassVar" not in ast.unparse(child.annotation)
    ]
    return f"({', '.join(fields)})"


def signature(node: ast.FunctionDef, skip: int = 0) -> str:
    """Return a function's signature as it is written, on one line, without its first arguments."""
    arguments = copy.deepcopy(node.args)
    for _ in range(skip):
        (arguments.posonlyargs or arguments.args)[:1] = []
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"({ast.unparse(arguments)}){result}"


def _directive(kind: str, head: str, docstring: str | None, options: Iterable[str] = ()) -> str:
    head = " ".join(head.split()).replace("\\", "\\\\")
    lines = [f".. py:{kind}:: {head}", *(f"   {option}" for option in options)]
    body = _docstring(docstring)
    return "\n".join(lines) + ("\n\n" + _indented(body) if body else "")


def _indented(text: str) -> str:
    return "\n".join(f"   {line}" if line else "" for line in text.splitlines())


# --- docstrings -------------------------------------------------------------------------------


def _docstring(text: str | None) -> str:
    """Return a numpydoc docstring as reStructuredText."""
    if not text:
        return ""
    from numpydoc.docscrape import NumpyDocString

    # numpydoc takes what stands before the first section line by line; paragraphs are kept.
    found = NumpyDocString(text)
    summary = "\n".join(found["Summary"])
    parts = [prose(summary), prose("\n".join(found["Extended Summary"]))]
    for section in ("Parameters", "Attributes", "Returns", "Yields", "Raises"):
        if items := [_item(item.name, item.type, item.desc) for item in found[section]]:
            listed = items if len(items) == 1 else [f"- {item}" for item in items]
            parts.append(f":{section}:\n" + _indented("\n".join(listed)))
    for section in ("Notes", "References"):
        parts.append(prose("\n".join(found[section])))
    if found["Examples"]:
        parts.append("\n".join(found["Examples"]))
    return "\n\n".join(part for part in parts if part.strip())


def _item(name: str, kind: str, description: Iterable[str]) -> str:
    """Return an entry of a section: names in bold, then what they are."""
    words = _line(", ".join(part for part in (kind, " ".join(description)) if part))
    return f"**{escape(name)}**: {words}" if name and words else words or escape(name)


def _line(text: str) -> str:
    return escape(" ".join(text.split()))


def prose(text: str) -> str:
    """Return plain text as reStructuredText: `names` as code, indented blocks as they are."""
    blocks = []
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        if not block.strip():
            continue
        if all(line.startswith("    ") for line in block.splitlines()):
            blocks.append("::\n\n" + block)
        else:
            blocks.append(_line(block))
    return "\n\n".join(blocks)


def escape(text: str) -> str:
    """Return plain text as reStructuredText, on one line; what stands in backticks is code."""
    return "".join(_pieces(text))


def _pieces(text: str) -> Iterator[str]:
    for number, piece in enumerate(re.split(r"(``?[^`]+``?)", text)):
        if number % 2:
            # An empty escape on both sides: markup may touch a word or a full stop.
            yield f"\\ ``{piece.strip('`')}``\\ "
        else:
            yield re.sub(r"([\\*|`_])", r"\\\1", piece)
