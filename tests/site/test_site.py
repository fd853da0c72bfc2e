"""What the site holds for programs: claims to download, tables, links, the reference, the PDF."""

from __future__ import annotations

import csv
import functools
import io
import json
import re
from html.parser import HTMLParser
from urllib.parse import unquote, urldefrag, urljoin

import jsonschema
import pytest
import yaml

from reprise.claims import PARTS
from reprise.pipeline.site import catalog as catalogs
from reprise.rules import Status

pytestmark = [pytest.mark.html, pytest.mark.xdist_group("publication")]


@pytest.fixture(scope="session")
def claims(publication) -> dict:
    return json.loads((publication.site / "claims.json").read_text())


def rows(publication) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((publication.site / "claims.csv").read_text())))


def test_claims_fit_their_published_schema(publication, claims):
    schema = json.loads((publication.site / "claims.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(claims, schema)
    broken = json.loads(json.dumps(claims))
    broken["claims"][0]["verdict"] = "wonderful"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, schema)


def test_claims_hold_every_claim_with_its_verdict(publication, claims):
    found = {(c["chapter"], c["id"]): c["verdict"] for c in claims["claims"]}
    assert len(found) == len(claims["claims"]) == 2 * len(publication.chapters)
    for slug, (_, verdict) in publication.chapters.items():
        assert found[slug, "C2"] == verdict
    counted = [c["verdict"] for c in claims["claims"]]
    assert claims["counts"] == {str(s): counted.count(s) for s in Status if s in counted}


def test_the_schema_says_what_each_field_is(publication):
    schema = json.loads((publication.site / "claims.schema.json").read_text())
    fields = schema["properties"]["claims"]["items"]["properties"]
    assert set(fields) >= {"chapter", "id", "verdict", "lead", "runs", "url"}
    page = (publication.site / "book" / "scorecard.html").read_text()
    assert "claims.schema.json" in page


def test_the_table_says_the_same_as_the_document(publication, claims):
    lines = rows(publication)
    assert tuple(lines[0]) == catalogs.COLUMNS
    for claim in claims["claims"]:
        own = [r for r in lines if (r["chapter"], r["id"]) == (claim["chapter"], claim["id"])]
        assert {r["claim"] for r in own} == {claim["claim"]}
        assert {r["profile"]: r["run_verdict"] for r in own} == {
            run["profile"]: run["verdict"] for run in claim["runs"]
        }
        for run in claim["runs"]:
            values = {r["estimate"]: r["value"] for r in own if r["profile"] == run["profile"]}
            for estimate in run["estimates"].values():
                assert float(values[estimate["label"]]) == estimate["value"]


def test_one_chapter_has_both_profiles_and_the_full_one_leads(claims):
    first = next(c for c in claims["claims"] if c["chapter"] == "ordinary")
    assert [run["profile"] for run in first["runs"]] == ["full", "quick"]
    assert first["lead"] == "full"


class Links(HTMLParser):
    """The addresses that a page refers to, and the anchors that it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.anchors |= {v for k in ("id", "name") if (v := given.get(k))}
        for key in ("href", "src", "data-theme-src"):
            if value := given.get(key):
                self.links.add(value)


def test_every_link_within_the_book_leads_somewhere(publication):
    site = publication.site

    @functools.cache
    def read(name: str) -> Links:
        return Links((site / name).read_text())

    broken = []
    for name in publication.pages:
        for link in read(name).links:
            if re.match(r"(https?|mailto|data|javascript):", link) or link.startswith("#!"):
                continue
            target, anchor = urldefrag(unquote(urljoin(name, link)))
            target = target.partition("?")[0] or name
            if not (site / target).is_file():
                broken.append((name, link))
            elif anchor and target.endswith(".html") and not target.endswith("search.html"):
                deep = target == "book/scorecard.html" and "=" in anchor
                if not deep and anchor not in read(target).anchors:
                    broken.append((name, link))
    assert broken == []


def test_every_chapter_offers_notebook_tables_and_figures(publication):
    for slug in publication.chapters:
        page = (publication.site / "book" / f"{slug}.html").read_text()
        links = Links(page).links
        assert any(link.endswith(f"{slug}.ipynb") for link in links), slug
        assert any(link.endswith(".csv") for link in links), slug
        assert any(link.endswith(".svg") for link in links), slug


def test_only_parts_that_have_chapters_are_shown(publication):
    toc = yaml.safe_load((publication.root / "_build" / "stage" / "_toc.yml").read_text())
    shown = [part["caption"] for part in toc["parts"] if part["caption"] in PARTS]
    assert shown == list(PARTS[: len(publication.chapters)])
    front = (publication.site / "index.html").read_text()
    assert all(part not in front for part in PARTS[len(publication.chapters) :])


def test_each_part_shows_its_chapters_and_no_other(publication):
    for part, slug in zip(PARTS, publication.chapters, strict=False):
        name = "-".join(w for w in re.findall(r"[a-z]+", part.lower()) if w != "and")
        text = (publication.site / "book" / "parts" / f"{name}.html").read_text()
        article = text[text.index("<article") : text.index("</article>")]
        assert f"{slug}.html" in article
        assert not any(
            f"/{other}.html" in article for other in publication.chapters if other != slug
        )


def test_the_reference_has_a_page_per_paper_that_leads_back(publication):
    for slug in publication.chapters:
        page = Links((publication.site / "book" / "reference" / f"{slug}.html").read_text())
        assert f"reprise.{slug}.figures.theory" in page.anchors
        assert any(link.endswith(f"../{slug}.html") for link in page.links)


def test_a_change_of_results_shows_with_its_reason_once(publication):
    page = (publication.site / "book" / "changes.html").read_text()
    assert page.count("the first reference &amp; &lt;more&gt;") == 1


def test_no_page_names_this_machine(publication):
    for path in publication.site.rglob("*"):
        if path.suffix in (".html", ".js", ".json", ".csv", ".ipynb"):
            text = path.read_text()
            assert str(publication.root) not in text, path
            assert "Traceback" not in text, path


def test_the_pdf_holds_every_chapter(publication, browser, tmp_path):
    publication.reprise("pdf")
    pdf = publication.root / "_build" / "reprise.pdf"
    assert pdf.read_bytes()[:5] == b"%PDF-"
    joined = publication.root / "_build" / "single" / "_build" / "singlehtml" / "index.html"
    text = joined.read_text()
    page = Links(text)
    for slug in publication.chapters:
        assert f"document-book/{slug}" in page.anchors
        assert f"{slug.replace('_', '-')}-c2" in page.anchors
    within = [link[1:] for link in page.links if link.startswith("#") and "=" not in link]
    missing = [link for link in within if link and unquote(link) not in page.anchors]
    assert missing == []
    assert 'loading="lazy"' not in text
    # What a page links to that isn't in the document would be dead on paper.
    assert not [x for x in page.links if re.match(r"(\.\./|book/).*\.html", x)]
    assert list((publication.root / "_build").glob(".reprise.pdf*")) == []
