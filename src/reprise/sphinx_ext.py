"""The book's Sphinx extension: heads of pages, and links to where a page's source is.

The repository's address stands in one place, `repository: url` of `_config.yml`. While it is
unset there are no links to it: no 'edit this page', no Binder.
"""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

# What a page may load: its own files, and scripts and styles that stand in it. `data:` pictures
# are the theme's icons.
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; object-src 'none'; base-uri 'none'; "
    "form-action 'self'"
)
DESCRIPTION = (
    "Papers from ICLR 2025, played again: one executable chapter each, every claim judged by a "
    "rule that was written down before the experiment ran."
)
PICTURE = "_static/social.png"


def set_links(app: Any, config: Any) -> None:
    """Switch the theme's links to the repository on where its address is set, else off."""
    options = config.html_theme_options
    there = bool(options.get("repository_url"))
    for name in ("use_repository_button", "use_edit_page_button", "use_issues_button"):
        options[name] = there
    if there:
        options.setdefault("path_to_docs", "")


def edit_the_source(
    app: Any, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Let 'edit this page' name a page's source, and stand only where there is one.

    Chapters are staged as notebooks, the front page from `book/index.md`; pages that are made
    from all chapters have no source of their own.
    """
    staged = Path(app.srcdir) / page
    if page.startswith("book/") and staged.with_suffix(".ipynb").is_file():
        context["page_source_suffix"] = ".md"
    made = page == "index" or page.startswith("book/parts/") or staged.with_suffix(".rst").is_file()
    if made or not page.startswith("book/"):
        context["theme_use_edit_page_button"] = False


def add_head(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Put policy, description and social preview into the page's head."""
    described = _descriptions(app).get(page, DESCRIPTION)
    title = _text(context.get("title") or app.config.html_title)
    tags = [
        ("http-equiv", "Content-Security-Policy", POLICY),
        ("name", "description", described),
        ("property", "og:type", "website" if page == "index" else "article"),
        ("property", "og:site_name", app.config.html_title),
        ("property", "og:title", title),
        ("property", "og:description", described),
        ("name", "twitter:card", "summary_large_image"),
    ]
    if base := app.config.html_baseurl:  # a preview needs full addresses
        tags += [
            ("property", "og:url", f"{base.rstrip('/')}/{page}.html"),
            ("property", "og:image", f"{base.rstrip('/')}/{PICTURE}"),
        ]
    context["metatags"] = context.get("metatags", "") + "\n".join(
        f'<meta {kind}="{name}" content="{html.escape(text, quote=True)}" />'
        for kind, name, text in tags
    )


def leave_out_scripts(
    app: Any, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Leave out scripts that stand there twice, and those of thebe: cells can't run on a page.

    Extensions add theirs whenever Sphinx reads, which may be more than once in a build; a second
    `const` of the same name is an error in the reader's console.
    """
    kept = {}
    for script in context.get("script_files", []):
        body = (getattr(script, "attributes", None) or {}).get("body")
        key = (str(getattr(script, "filename", script)), body)
        if "thebe" not in f"{key[0]} {body}".lower():
            kept.setdefault(key, script)
    context["script_files"] = list(kept.values())


def refer_exactly(app: Any, doctree: Any) -> None:
    """Let a type in a signature refer to what it names, not to any object of that name.

    Sphinx takes the presence of the mark for its value, and then looks for a name like `Config` in
    every module: of two papers with a class of that name it finds both, and complains.
    """
    from sphinx.addnodes import pending_xref

    for node in doctree.findall(pending_xref):
        if node.get("refspecific") is False:
            del node["refspecific"]


def _descriptions(app: Any) -> dict[str, str]:
    """Return document -> one sentence, as staging has left them."""
    if not hasattr(app, "_reprise_descriptions"):
        path = Path(app.srcdir) / "descriptions.json"
        app._reprise_descriptions = json.loads(path.read_text()) if path.is_file() else {}
    return app._reprise_descriptions


def _text(markup: str) -> str:
    """Return HTML without its tags."""
    return html.unescape(re.sub(r"<[^>]+>", "", str(markup)))


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx, before the theme makes its buttons (its own priority is 500)."""
    app.connect("config-inited", set_links, priority=900)
    app.connect("doctree-read", refer_exactly)
    app.connect("html-page-context", edit_the_source, priority=100)
    app.connect("html-page-context", add_head, priority=600)
    app.connect("html-page-context", leave_out_scripts, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
