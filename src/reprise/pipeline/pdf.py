"""The whole book as one PDF: Sphinx joins the pages, Chromium prints them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from reprise.pipeline import chromium
from reprise.pipeline.cells import UserError

FOOTER = (
    '<div style="font-size: 8px; width: 100%; text-align: center; color: #5b6169">'
    '<span class="pageNumber"></span></div>'
)
# The module of its command line can't be run with -m.
ENTRY = "from jupyter_book.cli.main import main; main()"
MARGINS = {"top": "16mm", "bottom": "16mm", "left": "14mm", "right": "14mm"}


def make(root: Path, tell: Callable[[str], None] = print) -> Path:
    """Print `_build/stage` to `_build/reprise.pdf` and return the file.

    Raises
    ------
    UserError
        When there is no stage or no Chromium.
    RuntimeError
        When Sphinx fails; names its log.
    """
    stage = root / "_build" / "stage"
    if not (stage / "_toc.yml").is_file():
        raise UserError("there are no pages yet: run `make book` first")
    if chromium.find() is None:
        raise UserError(f"a PDF needs Chromium: install it, or name it in {chromium.VARIABLE}")
    page = join(root)
    page.write_text(joined(page.read_text()))
    target = root / "_build" / "reprise.pdf"
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with chromium.browser() as browser:
            shown = browser.new_page()
            shown.goto(page.as_uri())
            shown.wait_for_function("window.MathJax?.startup?.promise !== undefined")
            shown.evaluate("() => MathJax.startup.promise.then(() => true)")
            shown.pdf(
                path=part,
                format="A4",
                print_background=True,
                margin=MARGINS,
                display_header_footer=True,
                header_template="<span></span>",
                footer_template=FOOTER,
                outline=True,
                tagged=True,
            )
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    tell(f"{target.relative_to(root).as_posix()}: {target.stat().st_size / 1e6:.1f} MB")
    return target


def join(root: Path) -> Path:
    """Build all pages as one and return it."""
    build = root / "_build"
    words = ["build", str(build / "stage"), "--config", str(root / "_config.yml")]
    words += ["--toc", str(build / "stage" / "_toc.yml"), "--path-output", str(build / "single")]
    log = build / "pdf.log"
    env = dict(os.environ)
    before = [p for p in env.get("PYTHONPATH", "").split(os.pathsep) if p]
    env["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([str(root / "src"), *before]))
    with log.open("w") as said:
        done = subprocess.run(
            [sys.executable, "-c", ENTRY, *words, "--builder", "singlehtml"],
            cwd=root,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
        )
    page = build / "single" / "_build" / "singlehtml" / "index.html"
    if done.returncode or not page.is_file():
        raise RuntimeError("joining the pages failed; see _build/pdf.log")
    return page


def joined(page: str) -> str:
    """Return the joined page with links that lead within it, and all pictures loaded at once.

    Raw HTML keeps the addresses that it had on its own page.
    """
    page = re.sub(r'((?:href|src)=")(?:\.\./)+', r"\1", page)
    page = re.sub(r'(href=")(?:book/)?[\w/-]+\.html(#[\w.-]+")', r"\1\2", page)
    page = re.sub(r'(href=")(book/[\w/-]+|index)\.html(?:#[^"]*)?"', r'\1#document-\2"', page)
    return page.replace(' loading="lazy"', "")
