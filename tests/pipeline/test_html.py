from __future__ import annotations

import re
import resource
from pathlib import Path
from types import SimpleNamespace

import pytest

from reprise import sphinx_ext
from reprise.pipeline import html


def page(mini, name: str) -> str:
    return mini.path(f"_build/html/{name}").read_text()


def stamps(folder: Path) -> dict[str, int]:
    return {
        p.relative_to(folder).as_posix(): p.stat().st_mtime_ns
        for p in folder.rglob("*")
        if p.is_file()
    }


def cpu(mini, *words: str, code: int = 0) -> tuple[str, float]:
    """Return what a command says and the CPU-seconds that it took: others' load doesn't count."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = mini.reprise(*words, code=code)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return said, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.html
def test_a_book_and_what_a_change_of_it_costs(mini):
    """A first build, one with nothing changed, one of changed prose; failures and warnings."""
    site, runs = mini.path("_build/html"), mini.runs()
    assert re.search(r"^site built in .* s: _build/html \(\d+ pages\)$", mini.reprise("book"), re.M)
    assert mini.runs() == runs  # the runs were there
    assert "Prose of beta, before its code." in page(mini, "book/beta.html")
    assert 'alt="A dot of beta."' in page(mini, "book/beta.html")
    assert "A caption of beta." in page(mini, "book/beta.html")
    assert "injected" not in page(mini, "book/beta.html")
    assert 'content="0; url=book/intro.html"' in page(mini, "index.html")
    scripts = re.findall(r'src="([^"]*(?:mathjax|tex-)[^"]*)"', page(mini, "book/alpha.html"))
    assert scripts
    for source in scripts:  # from this site, and there
        assert (site / "book" / source.partition("?")[0]).resolve().is_file(), source

    # Nothing changed: no notebook, no HTML, at most 3 s.
    before = stamps(site)
    said, seconds = cpu(mini, "book")
    assert said == ""
    assert seconds < 3
    assert stamps(site) == before
    assert mini.runs() == runs

    # Prose, caption and alt text: that page, no code, within 25 s.
    for old in ("Prose of beta", "A caption of beta", "A dot of beta"):
        mini.edit("book/beta.md", old, f"New. {old}")
    said, seconds = cpu(mini, "book")
    assert "started" not in said
    assert seconds < 25
    assert mini.runs() == runs
    for new in ("New. Prose of beta", 'alt="New. A dot of beta."', "New. A caption of beta"):
        assert new in page(mini, "book/beta.html")
    assert stamps(site)["book/alpha.html"] == before["book/alpha.html"]

    # A warning: the site of before stays, exit status 1, and the warning is shown, each time.
    before = stamps(site)
    mini.edit("book/intro.md", "Of three", "See {ref}`nowhere`. Of three")
    for _ in range(2):
        said = mini.reprise("book", code=1)
        assert "book/intro.md:3: WARNING: undefined label: 'nowhere'" in said
        assert "the last good site stays" in said
        assert stamps(site) == before
    mini.edit("book/intro.md", "See {ref}`nowhere`. ", "")


@pytest.mark.html
def test_a_failing_chapter_is_shown_by_its_last_good_page_or_a_stub(mini):
    before = mini.runs()
    mini.run_file("gamma.ipynb").unlink()
    for slug in ("beta", "gamma"):
        mini.edit(
            f"book/{slug}.md", "print(e1.label", "raise ValueError('no luck')\nprint(e1.label"
        )
        mini.edit(f"book/{slug}.md", "Prose of", "Later prose of")
    said = mini.reprise("book", code=1)
    message = "cell 2 (raise ValueError('no luck')): ValueError: no luck"
    head, _, tail = said.partition("2 failed:\n")
    assert sorted(tail.splitlines()) == [f"  beta: {message}", f"  gamma: {message}"]
    assert "published nevertheless" not in head  # and without a warning
    beta, gamma = page(mini, "book/beta.html"), page(mini, "book/gamma.html")
    assert "The newest run of this chapter failed" in beta
    assert "ValueError: no luck" in re.sub("<[^>]*>", "", beta)
    assert "Prose of beta" in beta  # the whole last good page, prose included
    assert "Later prose" not in beta
    assert "There is no good run to show instead." in gamma
    assert "Chapter gamma" in gamma
    assert "failed" not in page(mini, "book/alpha.html")
    assert mini.run_file("beta.ipynb").stat().st_mtime_ns == before["beta"]
    assert mini.run_file("beta.failed.ipynb").is_file()


# --- without a build --------------------------------------------------------------------------


@pytest.fixture
def small(tmp_path, monkeypatch) -> SimpleNamespace:
    """A stage, and a builder that writes the site that `files` says, and a log."""
    root = tmp_path / "r"
    for name in ("_config.yml", "_build/stage/_toc.yml", "_build/stage/book/x.ipynb"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    state = SimpleNamespace(root=root, files={"index.html": "one"}, log="", code=0, built=[])

    def run(root: Path, strict: bool) -> int:
        state.built.append(strict)
        (root / "_build" / "html.log").write_text(state.log)
        for name, text in state.files.items():
            path = root / "_build" / "site" / "_build" / "html" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return state.code

    monkeypatch.setattr(html, "_run", run)
    state.site = root / "_build" / "html"
    return state


def build(small, **options) -> tuple[bool, list[str]]:
    lines: list[str] = []
    return html.build(small.root, tell=lines.append, **options), lines


def test_nothing_is_built_twice(small):
    assert build(small)[0]
    good, lines = build(small)
    assert good
    assert lines == []
    assert small.built == [True]


@pytest.mark.parametrize(
    "name",
    ["_config.yml", "_build/stage/_toc.yml", "_build/stage/book/x.ipynb", "_build/stage/new.md"],
)
def test_any_change_is_built(small, name):
    build(small)
    (small.root / name).write_text("changed")
    build(small)
    assert len(small.built) == 2


def test_a_site_that_was_removed_is_built_again(small):
    build(small)
    (small.site / "index.html").unlink()
    build(small)
    assert (small.site / "index.html").read_text() == "one"


def test_changed_settings_begin_from_nothing_and_changed_pages_do_not(small):
    build(small)
    work = small.root / "_build" / "site" / "kept"
    work.write_text("")
    (small.root / "_build" / "stage" / "book" / "x.ipynb").write_text("changed")
    build(small)
    assert work.is_file()
    (small.root / "_config.yml").write_text("changed")
    build(small)
    assert not work.exists()


LOG = """\x1b[91m/some/_build/stage/book/x.ipynb:3: WARNING: undefined label: 'y' [ref.ref]\x1b[0m
reading sources... [100%] book/x
/some/_build/stage/book/x.ipynb:3: WARNING: undefined label: 'y' [ref.ref]
build finished with problems, 1 warning (with warnings treated as errors).
"""


@pytest.mark.parametrize("strict", [True, False])
def test_warnings_are_shown_and_keep_the_last_good_site_when_strict(small, strict):
    build(small)
    small.log, small.code, small.files = LOG, 1, {"index.html": "two"}
    (small.root / "_build/stage/_toc.yml").write_text("changed")
    good, lines = build(small, strict=strict)
    assert not good
    assert lines[0] == "  book/x.ipynb:3: WARNING: undefined label: 'y' [ref.ref]"
    assert len(lines) == 2
    assert (small.site / "index.html").read_text() == ("one" if strict else "two")
    # It isn't taken for good the next time either.
    assert not build(small, strict=strict)[0]


def test_only_what_differs_is_copied_and_what_is_gone_is_removed(tmp_path):
    made, site = tmp_path / "made", tmp_path / "site"
    for name in ("a.html", "b.html", "x/c.html"):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text(name)
    assert html.publish(made, site) == 3
    assert html.publish(made, site) == 0
    (made / "a.html").write_text("A.html")
    (made / "x" / "c.html").unlink()
    assert html.publish(made, site) == 2
    assert {p.name: p.read_text() for p in site.rglob("*")} == {
        "a.html": "A.html",
        "b.html": "b.html",
    }


@pytest.mark.parametrize(
    "name, published",
    [
        ("_static/mathjax/tex-chtml.js", True),
        ("_static/mathjax/input/tex.js", True),
        ("_static/mathjax/output/chtml/fonts/x.woff", True),
        ("_static/mathjax/tex-svg-full.js", False),
        ("_static/mathjax/output/svg/fonts/tex.js", False),
        ("book/x.html", True),
        (".buildinfo", False),
    ],
)
def test_only_the_mathjax_that_pages_ask_for_is_published(name, published):
    assert html._published(Path(name)) is published


def test_edit_links_name_the_source_of_a_chapter(tmp_path):
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "x.ipynb").write_text("")
    (tmp_path / "book" / "intro.md").write_text("")
    app = SimpleNamespace(srcdir=str(tmp_path))
    for name, suffix in (("book/x", ".md"), ("book/intro", "own"), ("search", "own")):
        context = {"page_source_suffix": "own"}
        sphinx_ext.edit_the_source(app, name, "page.html", context, None)
        assert context["page_source_suffix"] == suffix
