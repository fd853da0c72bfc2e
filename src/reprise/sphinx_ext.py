"""The book's Sphinx extension: 'edit this page' names the chapter's source, not the staged file."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def edit_the_source(
    app: Any, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Give the theme the suffix of a page's source: chapters are staged as notebooks."""
    if page.startswith("book/") and (Path(app.srcdir) / f"{page}.ipynb").is_file():
        context["page_source_suffix"] = ".md"


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx, before the theme makes its buttons (its own priority is 500)."""
    app.connect("html-page-context", edit_the_source, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
