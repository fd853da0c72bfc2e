"""Make a new chapter: six rooms from templates, and its line in `_toc.yml`."""

from __future__ import annotations

import keyword
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path

import yaml

from reprise.claims import PARTS
from reprise.pipeline.book import SLUG, documents
from reprise.pipeline.cells import UserError
from reprise.results import write_bytes

TEMPLATES = Path(__file__).with_name("templates")
# Target -> template; the rooms in the order in which a reader of the list wants them.
FILES = {
    "book/@SLUG@.md": "chapter.md.txt",
    "book/profiles/@SLUG@.full.yml": "profile.yml.txt",
    "src/reprise/@SLUG@/__init__.py": "package_init.py.txt",
    "src/reprise/@SLUG@/centre.py": "centre.py.txt",
    "src/reprise/@SLUG@/claims.py": "claims.py.txt",
    "src/reprise/@SLUG@/figures.py": "figures.py.txt",
    "src/reprise/@SLUG@/summaries.py": "summaries.py.txt",
    "src/reprise/@SLUG@/experiments/__init__.py": "experiments_init.py.txt",
    "src/reprise/@SLUG@/experiments/configs.py": "configs.py.txt",
    "src/reprise/@SLUG@/experiments/e1.py": "e1.py.txt",
    "tests/@SLUG@/test_centre.py": "test_centre.py.txt",
    "tests/@SLUG@/test_claims.py": "test_claims.py.txt",
    "benchmarks/@SLUG@/test_speed.py": "test_speed.py.txt",
    "data/results/@SLUG@/.gitkeep": "",
}
LAST = ("Guide", "Reference")  # what stands after the parts in `_toc.yml`
ROOMS = ("src/reprise/@SLUG@", "tests/@SLUG@", "benchmarks/@SLUG@", "data/results/@SLUG@")


def new(root: Path, slug: str, part: str, title: str) -> list[Path]:
    """Write a new chapter and return its files, `_toc.yml` last.

    Parameters
    ----------
    root : the repository
    slug : lower-case letters, digits and `_`; the chapter's name everywhere
    part : a part of the book, or words of its name
    title : the paper's title

    Raises
    ------
    UserError
        For a slug that is taken or invalid, an unknown part, an empty title. Nothing is written.
    """
    check_slug(root, slug)
    part = find_part(part)
    title = " ".join(title.split())
    if not title or len(title) > 250:
        raise UserError("the title must be a line of 1 to 250 characters: give it as TITLE=...")
    toc = add_to_toc((root / "_toc.yml").read_text(), slug, part)
    words = {
        "SLUG": slug,
        "DASHED": slug.replace("_", "-"),  # of figures: as in a page's address
        "TITLE": title,
        "TITLE_DOC": docstring(title),
        "TITLE_PY": literal(title, indent=4, room=len("title=,")),
        "PART_PY": literal(part, indent=4, room=len("part=,")),
    }
    made = []
    try:
        for target, template in FILES.items():
            path = root / target.replace("@SLUG@", slug)
            text = (TEMPLATES / template).read_text() if template else ""
            write_bytes(path, fill(text, words).encode())
            made.append(path)
        tidy([path for path in made if path.suffix == ".py"], root)
        write_bytes(root / "_toc.yml", toc.encode())
    except OSError as error:
        for path in made:
            path.unlink(missing_ok=True)
        for room in ROOMS:  # they weren't there before
            shutil.rmtree(root / room.replace("@SLUG@", slug), ignore_errors=True)
        raise UserError(f"can't write the chapter: {error.strerror or error}; try again") from None
    return [*made, root / "_toc.yml"]


def tidy(paths: list[Path], root: Path) -> None:
    """Let ruff have the last word: quotes depend on the title, the order of imports on the slug."""
    names = [str(path) for path in paths]
    for words in (["check", "--select", "I", "--fix"], ["format"]):
        command = [sys.executable, "-m", "ruff", *words, "--quiet", "--no-cache", *names]
        subprocess.run(command, cwd=root, check=False, capture_output=True)


def check_slug(root: Path, slug: str) -> None:
    """Raise `UserError` unless a new chapter can have this slug."""
    if not SLUG.match(slug) or len(slug) > 40 or keyword.iskeyword(slug):
        raise UserError(
            f"{slug!r} can't be a slug: up to 40 lower-case letters, digits and _, a letter first"
        )
    taken = [*FILES, *ROOMS, "src/reprise/@SLUG@.py"]
    for room in taken:
        path = root / room.replace("@SLUG@", slug)
        if path.exists():
            name = path.relative_to(root).as_posix()
            raise UserError(f"{slug!r} is taken: {name} exists; choose another slug")


def find_part(text: str) -> str:
    """Return the part of the book that words of its name mean: "privacy" -> "Privacy".

    Raises
    ------
    UserError
        When none or several do.
    """
    wanted = text.lower().strip()
    exact = [part for part in PARTS if part.lower() == wanted]
    found = exact or [part for part in PARTS if wanted and wanted in part.lower()]
    if len(found) != 1:
        raise UserError(f"there is no part {text!r} (PART=...): choose one of {'; '.join(PARTS)}")
    return found[0]


def add_to_toc(text: str, slug: str, part: str) -> str:
    """Return a `_toc.yml` with a chapter added at the end of its part; comments stay.

    Raises
    ------
    UserError
        When the text isn't laid out as this book's is.
    """
    lines = text.rstrip("\n").split("\n")
    entry = f"  - file: book/{slug}"
    captions = {
        line.removeprefix("- caption:").strip().strip("'\""): number
        for number, line in enumerate(lines)
        if line.startswith("- caption:")
    }
    quoted = f'"{part}"' if ":" in part else part
    block = [f"- caption: {quoted}", "  chapters:", entry]
    if part in captions:
        later = [n for n in captions.values() if n > captions[part]]
        end = min(later, default=len(lines))
        files = [n for n in range(captions[part], end) if lines[n].startswith("  - file:")]
        lines.insert((max(files) if files else captions[part] + 1) + 1, entry)
    elif any(line.rstrip() == "parts:" for line in lines):
        after = [captions[p] for p in (*PARTS[PARTS.index(part) :], *LAST) if p in captions]
        place = min(after, default=len(lines))
        lines[place:place] = block
    else:
        lines += ["parts:", *block]
    made = "\n".join(lines) + "\n"
    found = yaml.safe_load(made)
    parts = found.get("parts", []) if isinstance(found, dict) else []
    own = [p for p in parts if p.get("caption") == part]
    before = set(documents(yaml.safe_load(text)))
    kept = before | {f"book/{slug}"} == set(documents(found))
    if not kept or not own or own[0]["chapters"][-1] != {"file": f"book/{slug}"}:
        raise UserError("_toc.yml is not laid out as `make new` knows it: add the chapter by hand")
    return made


def fill(text: str, words: Mapping[str, str]) -> str:
    """Return a template with its @WORDS@ replaced."""
    for name, value in words.items():
        text = text.replace(f"@{name}@", value)
    return text


def literal(text: str, *, indent: int, room: int) -> str:
    """Return Python source for a text that keeps to 100 columns, in pieces where it is long."""
    if indent + room + len(repr(text)) <= 100:
        return _quoted(text)
    pieces = textwrap.wrap(text, 90 - indent, drop_whitespace=False, break_on_hyphens=False)
    inner = "\n".join(" " * (indent + 4) + _quoted(piece) for piece in pieces)
    return "(\n" + inner + "\n" + " " * indent + ")"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def docstring(title: str) -> str:
    """Return a title as the body of a docstring, wrapped where it is long."""
    text = title.replace("\\", "\\\\").replace('"', "'")
    text = text if text.endswith((".", "?", "!")) else f"{text}."
    lines = textwrap.wrap(text, 90)
    return lines[0] if len(lines) == 1 else "\n".join(lines) + "\n"
