"""The published book in a real browser, as readers of all kinds use it."""

from __future__ import annotations

import re

import pytest
from axe_playwright_python.sync_playwright import Axe

from reprise.rules import Status

pytestmark = [pytest.mark.html, pytest.mark.xdist_group("publication")]

KINDS = ("index.html", "book/scorecard.html", "book/ordinary.html", "book/guide/verdicts.html")
PHONE = {"viewport": {"width": 390, "height": 844}}
# The theme's own elements; what axe finds in them isn't ours to mend.
THEME = (
    ".pst-", ".search-button", ".theme-switch", ".sidebar-toggle", ".primary-toggle",
    ".secondary-toggle", ".btn-", ".headerlink", ".bd-sidebar", ".navbar", ".toctree",
    ".skip-link", ".back-to-top",
    "details > summary", "['summary']",  # the triangles of its table of contents
    ".citation-list",  # a list of docutils whose entries have a role of their own
)  # fmt: skip


def shown(page) -> list[str]:
    """Return the claims that the scorecard shows, in order: "Chapter C1"."""
    return page.locator("#all-claims tbody tr:visible th a").all_inner_texts()


def verdicts(page) -> list[str]:
    """Return the leading verdicts of the rows that are shown."""
    cells = page.locator("#all-claims tbody tr:visible td:last-child .reprise-verdict")
    return [re.sub(r"^\W+ ?", "", text).strip() for text in cells.all_inner_texts()]


# --- front page -------------------------------------------------------------------------------


def test_the_front_page_shows_numbers_and_a_card_per_chapter(tab, publication):
    page = tab().open("index.html")
    numbers = page.locator(".reprise-numbers").inner_text()
    assert re.search(r"\b5\b", numbers)
    assert re.search(r"\b10\b", numbers)
    cards = page.locator(".reprise-card")
    assert cards.count() == 5
    for place in range(5):
        picture = cards.nth(place).locator("img")
        picture.scroll_into_view_if_needed()
        page.wait_for_function("image => image.complete", arg=picture.element_handle())
        assert picture.evaluate("image => image.naturalWidth") > 100
    bars = page.locator(".reprise-stack").evaluate_all("all => all.map(e => e.ariaLabel)")
    assert bars[0] == "6 reproduced, 1 partly, 1 inconclusive, 1 not reproduced, 1 not tested"
    assert len(bars) == 6
    cards.first.locator("h3 a").click()
    assert page.url == f"{publication.address}/book/ordinary.html"
    assert page.locator("article h1").inner_text().startswith("Ordinary: A Paper of Many Words")


def test_a_verdict_of_the_legend_leads_to_its_claims(tab):
    page = tab().open("index.html")
    page.locator(".reprise-legend a", has_text="not reproduced").click()
    page.wait_for_selector("#claims-filter:visible")
    assert verdicts(page) == ["not reproduced"]


# --- scorecard --------------------------------------------------------------------------------


def test_the_scorecard_sorts_up_down_and_back(tab):
    page = tab().open("book/scorecard.html")
    order = [str(status) for status in Status]
    before = shown(page)
    assert len(before) == 10
    head = page.locator("#all-claims th[data-key=verdict]")
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    places = [order.index(v) for v in verdicts(page)]
    assert places == sorted(places)
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert [order.index(v) for v in verdicts(page)] == sorted(places, reverse=True)
    head.locator("button").click()
    assert head.get_attribute("aria-sort") is None
    assert shown(page) == before


def test_numbers_sort_as_numbers_and_unknown_ones_come_last(tab):
    page = tab().open("book/scorecard.html")
    cell = "#all-claims tbody tr:visible td:nth-of-type(2)"
    for direction in (1, -1):
        page.locator("#all-claims th[data-key=value] button").click()
        given = page.locator(cell).evaluate_all("all => all.map(e => e.dataset.sort)")
        known = [float(value) for value in given if value]
        assert known == sorted(known, reverse=direction < 0)
        assert "" not in given[: len(known)]
        assert len(known) < len(given)


def test_the_scorecard_filters_by_part_chapter_verdict_and_profile(tab):
    page = tab().open("book/scorecard.html")
    form = page.locator("#claims-filter")
    count = page.locator("#claims-count")
    assert count.inner_text() == "10 claims"
    form.locator("[name=part]").select_option("Privacy")
    assert shown(page) == ["Unclear C1", "Unclear C2"]
    assert count.inner_text() == "2 of 10 claims"
    form.locator("[name=verdict]").select_option("inconclusive")
    assert shown(page) == ["Unclear C2"]
    form.locator("[type=reset]").click()
    form.locator("[name=chapter]").select_option("half_true")
    assert shown(page) == ["Half True C1", "Half True C2"]
    form.locator("[type=reset]").click()
    form.locator("[name=profile]").select_option("full")  # one chapter has a full run
    assert shown(page) == ["Ordinary C1", "Ordinary C2"]
    form.locator("[name=profile]").select_option("quick")
    assert len(shown(page)) == 10


def test_the_scorecard_is_searched_by_all_words_and_says_when_nothing_fits(tab):
    page = tab().open("book/scorecard.html")
    field = page.locator("#claims-filter [name=q]")
    field.fill("second too_large")
    assert shown(page) == ["Too Large C2"]
    field.fill("no such claim at all")
    assert shown(page) == []
    assert page.locator("#claims-none").is_visible()
    page.locator("#claims-none button").click()
    assert len(shown(page)) == 10
    assert field.evaluate("field => field === document.activeElement")


def test_what_is_chosen_is_in_the_address(tab):
    page = tab().open("book/scorecard.html")
    page.locator("#claims-filter [name=verdict]").select_option("not tested")
    page.locator("#claims-filter [name=q]").fill("Large")
    page.locator("#all-claims th[data-key=claim] button").click()
    address = page.url
    assert shown(page) == ["Too Large C2"]
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector("#claims-filter:visible")
    assert shown(page) == ["Too Large C2"]
    assert page.locator("#claims-filter [name=q]").input_value() == "Large"
    assert page.locator("#all-claims th[data-key=claim]").get_attribute("aria-sort")
    page.locator("#claims-filter [type=reset]").click()
    assert "verdict=" not in page.url


def test_a_deep_link_filters_and_nonsense_in_it_does_no_harm(tab):
    own = tab()
    page = own.open("book/scorecard.html#chapter=backwards&sort=-verdict")
    assert shown(page) == ["Backwards C2", "Backwards C1"]
    page = own.open("index.html")
    page = own.open("book/scorecard.html#verdict=wonderful&sort=nothing&x=%3Cscript%3E")
    assert len(shown(page)) == 10


def test_a_claim_of_the_scorecard_leads_to_its_very_section(tab):
    page = tab().open("book/scorecard.html")
    page.locator("#row-half-true-c2 th a").click()
    page.wait_for_load_state("load")
    assert page.url.endswith("book/half_true.html#half-true-c2")
    section = page.locator("#half-true-c2")
    assert section.count() == 1
    text = page.locator("section:has(#half-true-c2), section#half-true-c2").last.inner_text()
    assert "partly" in text


def test_without_javascript_all_claims_are_there_to_read(tab):
    own = tab(java_script_enabled=False)
    own.page.goto(f"{own.base}/book/scorecard.html")
    page = own.page
    assert page.locator("#all-claims tbody tr:visible").count() == 10
    assert not page.locator("#claims-filter").is_visible()


# --- chapters, search, modes ------------------------------------------------------------------


def test_a_chapter_shows_verdicts_figures_and_typeset_mathematics(tab):
    page = tab().open("book/ordinary.html")
    table = page.locator(".reprise-claims").first
    assert "reproduced" in table.inner_text()
    assert page.locator("mjx-container").count() >= 3
    figures = page.locator("figure img, .cell_output img")
    assert figures.count() >= 2
    notes = page.locator(".made-by")
    assert notes.count() >= 2
    assert "reprise.ordinary.figures" in notes.first.locator("a").first.get_attribute("href")
    with page.expect_download() as found:
        notes.first.locator("a[download]").click()
    assert found.value.suggested_filename == "fig-ordinary-theory.svg"


def test_the_made_by_link_leads_to_the_function(tab):
    page = tab().open("book/ordinary.html")
    page.locator(".made-by a").first.click()
    page.wait_for_load_state("load")
    assert page.url.endswith("book/reference/ordinary.html#reprise.ordinary.figures.theory")
    assert page.locator('[id="reprise.ordinary.figures.theory"]').is_visible()


@pytest.mark.parametrize("words", ["median", "equivalence"])
def test_search_finds_pages(tab, words):
    page = tab().open(f"search.html?q={words}")
    page.wait_for_selector("#search-results li a")
    assert page.locator("#search-results li a").count() >= 1


def test_dark_mode_turns_page_and_figures(tab):
    page = tab(color_scheme="dark").open("book/ordinary.html")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    red, green, blue = map(int, re.findall(r"\d+", colour)[:3])
    assert max(red, green, blue) < 60
    frame = page.locator(".bd-content img[src$='.svg']").first
    assert frame.evaluate("e => getComputedStyle(e).filter") == "none"
    assert frame.evaluate("e => getComputedStyle(e).backgroundColor") == "rgba(0, 0, 0, 0)"


def test_print_leaves_the_text_alone(tab):
    page = tab().open("book/ordinary.html")
    page.emulate_media(media="print")
    for name in (".bd-sidebar-primary", ".bd-sidebar-secondary", ".prev-next-footer"):
        assert not page.locator(name).first.is_visible(), name
    assert page.locator(".reprise-claims").first.is_visible()
    assert page.pdf(format="A4")[:5] == b"%PDF-"


def test_the_scorecard_works_by_keyboard_alone(tab):
    page = tab().open("book/scorecard.html")

    def tab_to(selector: str) -> None:
        for _ in range(120):
            page.keyboard.press("Tab")
            if page.evaluate("s => document.activeElement.matches(s)", selector):
                return
        pytest.fail(f"{selector} can't be reached")

    tab_to("#claims-filter [name=q]")
    page.keyboard.type("second")
    assert len(shown(page)) == 5
    tab_to("#claims-filter [name=verdict]")
    page.keyboard.press("ArrowDown")
    assert verdicts(page) == ["reproduced"]
    tab_to("#claims-filter [type=reset]")
    page.keyboard.press("Enter")
    tab_to("#all-claims th[data-key=verdict] button")
    page.keyboard.press("Space")
    assert verdicts(page)[-1] == "not tested"
    ring = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    shadow = page.evaluate("getComputedStyle(document.activeElement).boxShadow")
    assert ring != "none" or shadow != "none", "one must see where one is"
    tab_to("#all-claims tbody tr th a")
    page.keyboard.press("Enter")
    page.wait_for_url("**/book/*.html#*")


@pytest.mark.parametrize("name", KINDS)
def test_nothing_moves_while_a_page_loads(tab, name):
    own = tab()
    own.page.add_init_script(
        "window.moved = 0; new PerformanceObserver(list => list.getEntries().forEach("
        "entry => { window.moved += entry.hadRecentInput ? 0 : entry.value; }))"
        ".observe({type: 'layout-shift', buffered: true});"
    )
    page = own.open(name)
    page.wait_for_load_state("networkidle")
    assert page.evaluate("window.moved") < 0.1  # what is called good


@pytest.mark.parametrize("name", KINDS)
def test_it_works_from_a_folder(tab, publication, name):
    page = tab(base=publication.site.as_uri()).open(name)
    assert page.locator("article h1").first.is_visible()
    if name == "book/scorecard.html":
        page.locator("#claims-filter [name=q]").fill("second")
        assert len(shown(page)) == 5
    if name == "book/ordinary.html":
        assert page.locator("mjx-container").count() >= 3


# --- every page -------------------------------------------------------------------------------

PICTURES = """() => Array.from(document.images).map(i => ({
    src: i.getAttribute('src'), alt: i.getAttribute('alt'), width: i.naturalWidth,
    card: i.closest('[aria-hidden=true]') !== null}))"""
OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


def test_every_page_is_whole(tab, publication):
    """Errors and foreign requests fail at the fixture's end; here: pictures, mathematics, head."""
    own = tab()
    titles = {}
    for name in publication.pages:
        page = own.open(name)
        page.evaluate("() => Array.from(document.images).forEach(i => i.loading = 'eager')")
        page.wait_for_function("() => Array.from(document.images).every(i => i.complete)")
        for picture in page.evaluate(PICTURES):
            assert picture["width"] > 0, (name, picture)
            assert picture["alt"] is not None, (name, picture)
            assert picture["alt"] or picture["card"], (name, picture)
        text = page.locator("main").inner_text()
        for raw in ("$$", "\\frac", "\\(", "\\[", "{reprise}", "{doc}", "{py:", "{cite"):
            assert raw not in text, (name, raw)
        assert page.locator("mjx-merror").count() == 0, name
        titles[name] = page.title()
        if name != "search.html":
            policy = page.locator("meta[http-equiv=Content-Security-Policy]")
            assert "default-src 'self'" in policy.get_attribute("content")
            assert page.locator("meta[name=description]").first.get_attribute("content"), name
        headings = page.locator("article h1, .bd-search-container h1")
        assert headings.count() == 1, name
    assert len(set(titles.values())) == len(titles)


def test_no_page_is_wider_than_a_phone(tab, publication):
    own = tab(**PHONE)
    for name in publication.pages:
        page = own.open(name)
        assert page.evaluate(OVERFLOW) <= 0, name


def ours(violations: list[dict]) -> list[tuple[str, str]]:
    """Return (rule, element) of the serious and critical findings that aren't the theme's."""
    return [
        (found["id"], str(node["target"]))
        for found in violations
        if found["impact"] in ("serious", "critical")
        for node in found["nodes"]
        if not any(mark in str(node["target"]) for mark in THEME)
    ]


@pytest.mark.parametrize(
    "options",
    [{"color_scheme": "light"}, {"color_scheme": "dark"}, {"color_scheme": "light", **PHONE}],
    ids=["light", "dark", "phone"],
)
def test_axe_finds_nothing_serious(tab, publication, options):
    own, found = tab(**options), {}
    for name in publication.pages:
        page = own.open(name)
        if bad := ours(Axe().run(page, options={"preload": False}).response["violations"]):
            found[name] = bad
    assert found == {}
