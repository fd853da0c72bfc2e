"""The pieces of the site, each alone: blocks, bibliography, descriptions, reference, joined PDF."""

from __future__ import annotations

import ast
from dataclasses import replace
from types import SimpleNamespace

import docutils.core
import pytest

from reprise import sphinx_ext
from reprise.claims import Paper
from reprise.pipeline import pdf
from reprise.pipeline.cells import UserError
from reprise.pipeline.site import blocks, documents, reference, render
from reprise.pipeline.site.catalog import Catalog

PAPER = Paper(
    title="Noise & Signal: 100% of the_truth",
    authors=("Ada Lovelace", "Émilie du Châtelet"),
    venue="ICLR 2025",
    arxiv="2501.00001",
    code="",
    part="Privacy",
    idea="An idea.",
    key_figure="fig",
)


@pytest.fixture
def catalog(tmp_path) -> Catalog:
    return Catalog(tmp_path, ())


# --- blocks -----------------------------------------------------------------------------------


def test_a_block_is_filled_and_the_rest_stays(catalog):
    page = "# Title\n\n```{reprise} verdict-kinds\n```\n\nText.\n"
    made = blocks.fill(page, catalog, "book/x.md")
    assert made.startswith("# Title\n\n| verdict | means |")
    assert made.endswith("\n\nText.\n")
    assert made.count("reprise-verdict") == 5
    assert blocks.fill("no block\n", catalog, "x.md") == "no block\n"


def test_an_unknown_block_names_page_and_closest(catalog):
    with pytest.raises(UserError, match=r"book/x\.md.*'scorecrad'.*scorecard"):
        blocks.fill("```{reprise} scorecrad\n```\n", catalog, "book/x.md")


# --- bibliography and descriptions ------------------------------------------------------------


def test_a_papers_entry_is_bibtex_with_its_marks_escaped():
    from pybtex.database import parse_string

    text = documents.bibtex(SimpleNamespace(slug="noise", paper=PAPER))
    entry = parse_string(text, "bibtex").entries["noise"]
    assert entry.fields["title"] == r"{Noise \& Signal: 100\% of the\_truth}"
    assert [" ".join((*p.first_names, *p.prelast_names, *p.last_names)) for p in
            entry.persons["author"]] == ["Ada Lovelace", "Émilie du Châtelet"]  # fmt: skip
    assert entry.fields["url"] == "https://arxiv.org/abs/2501.00001"
    assert entry.fields["year"] == str(PAPER.year)
    plain = documents.bibtex(SimpleNamespace(slug="x", paper=replace(PAPER, arxiv="")))
    assert "note" not in parse_string(plain, "bibtex").entries["x"].fields


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        ("# T\n\nFirst of [all](x.md), `code`. Second.\n", "First of all, code."),
        ("---\na: b\n---\n# T\n\n```{reprise} x\n```\n\nThen words? Yes.\n", "Then words?"),
        ("# T\n", ""),
        ("", ""),
    ],
)
def test_the_first_sentence_of_a_page(page, sentence):
    assert documents.first_sentence(page) == sentence


def test_every_part_has_an_introduction_and_a_name_of_its_own():
    from reprise.claims import PARTS

    assert set(documents.INTRODUCTIONS) == set(PARTS)
    assert len({documents.part_name(part) for part in PARTS}) == len(PARTS)


# --- reference --------------------------------------------------------------------------------


def function(code: str) -> ast.FunctionDef:
    return ast.parse(code).body[-1]


@pytest.mark.parametrize(
    ("code", "skip", "shown"),
    [
        ("def f(a, /, b: int = 2, *c, d=None, **e) -> str: ...", 0,
         "(a, /, b: int=2, *c, d=None, **e) -> str"),
        ("def f(self, x): ...", 1, "(x)"),
        ("def f(self, /, x): ...", 1, "(x)"),
        ("def f(): ...", 0, "()"),
    ],
)  # fmt: skip
def test_a_signature_is_shown_as_written(code, skip, shown):
    assert reference.signature(function(code), skip) == shown


def test_our_own_classes_are_named_in_full_and_no_others():
    code = "from reprise.rules import Rule as R\nfrom x import Y\ndef f(a: list[R], b: Y) -> R: ..."
    made = reference.signature(reference.qualified(ast.parse(code)).body[-1])
    assert made == "(a: list[~reprise.rules.Rule], b: Y) -> ~reprise.rules.Rule"


def test_public_names_come_from_the_literal_exports(tmp_path):
    init = tmp_path / "__init__.py"
    init.write_text('_EXPORTS = {"A": ".a", "b": ".b"}\n')
    assert reference.public(init) == {"A": "a", "b": "b"}
    init.write_text("x = 1\n")
    assert reference.public(init) == {}
    init.write_text("def broken(:\n")
    assert reference.public(init) == {}
    assert reference.public(tmp_path / "none.py") == {}


def test_a_module_shows_what_is_public_and_nothing_else(tmp_path):
    path = tmp_path / "m.py"
    path.write_text(
        '"""A module."""\n'
        "def shown(a: int) -> int:\n"
        '    """Return `a`.\n\n    Parameters\n    ----------\n    a : int\n        it\n    """\n'
        "def _hidden(): ...\n"
        "class Thing:\n"
        '    """A *thing* with_underscores."""\n'
        "    def __init__(self, size): ...\n"
        "    def grow(self, by=1): ...\n"
        "    def _secret(self): ...\n"
        "    @property\n"
        "    def width(self): ...\n"
    )
    made = reference._module(path, "reprise.x.m", "digest")
    assert ".. py:function:: shown(a: int) -> int" in made
    assert ".. py:class:: Thing(size)" in made
    assert "   .. py:method:: grow(by=1)" in made
    assert "   .. py:property:: width" in made
    assert "hidden" not in made
    assert "secret" not in made


@pytest.mark.parametrize(
    "text",
    ["a *star*", "under_score_", "a|b|", "`code`s", "``x``.", "back\\slash", "plain", "`a_` `*b*`"],
)
def test_plain_text_is_plain_in_restructuredtext(text):
    made = docutils.core.publish_string(
        reference.escape(text), writer_name="pseudoxml", settings_overrides={"report_level": 1}
    ).decode()
    assert "system_message" not in made
    assert "<emphasis>" not in made
    assert "<reference" not in made


def test_indented_blocks_stay_as_they_are():
    assert reference.prose("Text.\n\n    x = 1\n    y = 2") == "Text.\n\n::\n\n    x = 1\n    y = 2"


# --- words ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 CPU seconds"), (119, "119 CPU seconds"), (120, "2 CPU minutes"),
     (7199, "120 CPU minutes"), (7200, "2.0 CPU hours")],
)  # fmt: skip
def test_durations_in_words(seconds, words):
    assert render.duration(seconds) == words


@pytest.mark.parametrize(
    ("n_bytes", "words"), [(999, "1 kB"), (1_500_000, "1.5 MB"), (2_000_000_000, "2.0 GB")]
)
def test_sizes_in_words(n_bytes, words):
    assert render.size(n_bytes) == words


# --- the joined page, links to the repository --------------------------------------------------


@pytest.mark.parametrize(
    ("link", "within"),
    [
        ('href="../book/x.html#x-c1"', 'href="#x-c1"'),
        ('href="../x.html#x-c1"', 'href="#x-c1"'),
        ('href="book/x.html"', 'href="#document-book/x"'),
        ('href="../index.html"', 'href="#document-index"'),
        ('href="book/scorecard.html#verdict=partly&amp;x=1"',
         'href="#document-book/scorecard"'),
        ('src="../../figures/a.svg"', 'src="figures/a.svg"'),
        ('href="https://a.org/b.html#c"', 'href="https://a.org/b.html#c"'),
        ('href="claims.csv"', 'href="claims.csv"'),
    ],
)  # fmt: skip
def test_links_lead_within_the_joined_page(link, within):
    assert pdf.joined(f"<a {link}>") == f"<a {within}>"
    assert pdf.joined(pdf.joined(f"<a {link}>")) == f"<a {within}>"


@pytest.mark.parametrize("url", ["", "https://github.com/someone/reprise"])
def test_links_to_the_repository_stand_only_where_there_is_one(url):
    config = SimpleNamespace(html_theme_options={"repository_url": url})
    sphinx_ext.set_links(None, config)
    options = config.html_theme_options
    for name in ("use_repository_button", "use_edit_page_button", "use_issues_button"):
        assert options[name] is bool(url)


def test_scripts_that_stand_twice_and_those_of_thebe_are_left_out():
    def script(filename="", body=None):
        return SimpleNamespace(filename=filename, attributes={"body": body})

    given = [
        script("a.js"),
        script("a.js"),
        script("thebe.js"),
        script(body="const x = 1"),
        script(body="const x = 1"),
        script(body="thebelab"),
        script(body="const y = 1"),
    ]
    context = {"script_files": given}
    sphinx_ext.leave_out_scripts(None, "p", "t", context, None)
    assert context["script_files"] == [given[0], given[3], given[6]]
