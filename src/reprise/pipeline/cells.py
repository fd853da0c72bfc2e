"""Read a chapter's code cells and its parameters, without importing jupytext or running code.

jupytext takes a second to import, and the second `make book` may take three: so this reads the
few forms of MyST Markdown that hold code cells by itself. A test compares it with jupytext.
"""

from __future__ import annotations

import ast
import difflib
import io
import re
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import yaml

_OPEN = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$")
SCALARS = {"int": int, "float": float, "str": str, "bool": bool}


class UserError(Exception):
    """Wrong use, told in one line: what, where and what to do. The command exits with 2."""


@dataclass(frozen=True)
class Parameter:
    """One line of a parameters cell: `n_seeds: int = 5  # seeds per condition`."""

    name: str
    default: object
    type: str
    comment: str


def code_cells(text: str) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield (source, metadata) of each top-level `{code-cell}` of MyST Markdown, in order."""
    fence, body, info = "", [], ""
    comment = False
    for line in text.splitlines():
        if fence:
            closing = line.strip()
            if len(closing) >= len(fence) and set(closing) == {fence[0]}:
                if info.startswith("{code-cell}"):
                    yield _cell(body)
                fence = ""
            else:
                body.append(line)
            continue
        if comment or line.lstrip().startswith("<!--"):
            comment = "-->" not in line
            continue
        if found := _OPEN.match(line):
            fence, info, body = found[1], found[2].strip(), []


def _cell(lines: list[str]) -> tuple[str, dict[str, object]]:
    lines, options = list(lines), []
    if lines and lines[0].startswith("---"):
        lines.pop(0)
        while lines and not lines[0].startswith("---"):
            options.append(lines.pop(0))
        del lines[:1]
    else:
        while lines and lines[0].lstrip().startswith(":"):
            options.append(lines.pop(0).lstrip()[1:])
    if lines and not lines[0].strip():
        lines.pop(0)
    return "\n".join(lines), yaml.safe_load("\n".join(options)) or {}


def parameters(source: str, where: str) -> dict[str, Parameter]:
    """Return the parameters that a parameters cell declares.

    Parameters
    ----------
    source : the cell, annotated assignments of literal values
    where : the file, for messages

    Raises
    ------
    UserError
        For anything else in the cell, an annotation that isn't checked here, or a default that
        breaks its annotation.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise UserError(f"{where}: the parameters cell is not Python: {error.msg}") from None
    comments = {
        token.start[0]: token.string.lstrip("# ").strip()
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }
    found = {}
    for node in tree.body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if not (isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)):
            raise UserError(
                f"{where}: line {node.lineno} of the parameters cell is not like "
                "`n_seeds: int = 5  # seeds per condition`"
            )
        name, kind = node.target.id, ast.unparse(node.annotation)
        try:
            default = ast.literal_eval(node.value)
        except (ValueError, TypeError):
            raise UserError(f"{where}: parameter {name} must have a literal value") from None
        try:
            default = fit(default, node.annotation)
        except ValueError as error:
            raise UserError(f"{where}: parameter {name} {error}") from None
        found[name] = Parameter(name, default, kind, comments.get(node.end_lineno, ""))
    return found


def fit(value: object, annotation: ast.expr | str) -> object:
    """Return a value as an annotation wants it: an int where a float is asked becomes one.

    Knows int, float, str, bool, `list[...]` and `... | None`.

    Raises
    ------
    ValueError
        When it doesn't fit, or for another annotation; the message continues "parameter x ...".
    """
    if isinstance(annotation, str):
        annotation = ast.parse(annotation, mode="eval").body
    kind = ast.unparse(annotation)
    wrong = ValueError(f"must be {kind}, got {value!r}{_hint(value, kind)}")
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        for side in (annotation.left, annotation.right):
            try:
                return fit(value, side)
            except ValueError:
                continue
        raise wrong
    if isinstance(annotation, ast.Constant) and annotation.value is None:
        if value is None:
            return None
        raise wrong
    if isinstance(annotation, ast.Name) and annotation.id in SCALARS:
        if annotation.id == "float" and type(value) is int:
            return float(value)
        if type(value) is SCALARS[annotation.id]:
            return value
        raise wrong
    if (
        isinstance(annotation, ast.Subscript)
        and isinstance(annotation.value, ast.Name)
        and annotation.value.id == "list"
    ):
        if not isinstance(value, list):
            raise wrong
        try:
            return [fit(item, annotation.slice) for item in value]
        except ValueError:
            raise wrong from None
    raise ValueError(
        f"has the type {kind}; write int, float, str, bool, list[...] of them, or ... | None"
    )


def _hint(value: object, kind: str) -> str:
    if isinstance(value, str) and "float" in kind:
        try:
            return f" (in YAML write it with a point: {float(value)!r} as {float(value):.1e})"
        except ValueError:
            pass
    return ""


def merge(
    declared: Mapping[str, Parameter], overrides: Mapping[str, object], where: str
) -> dict[str, object]:
    """Return all parameters' values, with some overridden.

    Raises
    ------
    UserError
        For a name that isn't declared (with the closest one) or a value of another type.
    """
    merged = {name: parameter.default for name, parameter in declared.items()}
    for name, value in overrides.items():
        if name not in declared:
            raise UserError(f"{where}: there is no parameter {name!r}: {close(name, declared)}")
        try:
            merged[name] = fit(value, declared[name].type)
        except ValueError as error:
            raise UserError(f"{where}: parameter {name} {error}") from None
    return merged


def assignments(texts: list[str], declared: Mapping[str, Parameter]) -> dict[str, object]:
    """Return the values of `name=value` texts, read as their parameters' annotations say.

    Raises
    ------
    UserError
        For a text without `=`. Names and types are checked by `merge`.
    """
    values: dict[str, object] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals or not name:
            raise UserError(f"{text!r}: write parameters as name=value, such as n_seeds=3")
        kind = declared[name].type if name in declared else ""
        values[name] = _literal(value.strip(), kind)
    return values


def _literal(text: str, kind: str) -> object:
    words = {"true": True, "false": False, "none": None, "null": None}
    if kind == "str":
        return text.strip("'\"")
    if text.lower() in words:
        return words[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def close(name: str, known: object) -> str:
    """Return "did you mean x?", or the list of what there is."""
    names = [str(item) for item in known]
    if found := difflib.get_close_matches(name, names, n=1, cutoff=0.6):
        return f"did you mean {found[0]!r}?"
    return f"there is {', '.join(names)}" if names else "there is none"
