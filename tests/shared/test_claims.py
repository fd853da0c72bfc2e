from __future__ import annotations

import json
from dataclasses import replace

import jsonschema
import pandas as pd
import pytest

from reprise import claims, estimate, results, verdicts
from reprise.claims import Claim, Judgement, Measure, Paper, Status, Verdict, sign
from reprise.estimate import Estimate

ROWS = pd.DataFrame({"seed": [0, 1, 2], "x": [1.0, 1.1, 0.9]})
MEASURES = {
    "gain": Measure(("e1",), lambda t: estimate.mean(t["e1"]["x"], unit="points"), "our gain"),
    "later": Measure(("e2",), lambda t: estimate.mean(t["e2"]["x"]), "a later gain"),
    "never": Measure(("e1",), lambda t: None, "what this table can't give"),
}


def claim(**more: object) -> Claim:
    plain = {
        "id": "C1",
        "text": "A is better than B & more.",
        "paper": "5 points",
        "where": "Table 1",
        "rule": sign("gain"),
        "fixed": "before any run",
        "effect": 5.0,
        "unit": "points",
    }
    return Claim(**(plain | more))


def judged(status: Status = Status.REPRODUCED, profile: str = "quick", **more) -> Judgement:
    verdict = Verdict(status, "because", 0.5, 0.25)
    return Judgement(
        claim(**more), verdict, {"gain": Estimate(1, 0.5, 1.5)}, profile, {"gain": "our gain"}
    )


def test_a_claim_is_judged_from_the_tables_at_hand() -> None:
    (j,) = claims.judge([claim()], MEASURES, {"e1": ROWS, "e2": None}, profile="quick")
    assert j.verdict.status is Status.REPRODUCED
    assert j.estimates["gain"].value == pytest.approx(1)
    assert j.labels == {"gain": "our gain"}


@pytest.mark.parametrize("name", ["later", "never"])
def test_a_claim_without_its_table_is_not_tested_and_says_why(name) -> None:
    tables = {"e1": ROWS}
    (j,) = claims.judge([claim(rule=sign(name))], MEASURES, tables, profile="quick")
    assert j.verdict.status is Status.NOT_TESTED
    assert MEASURES[name].label in j.verdict.reason
    own = claim(rule=sign(name), untested="needs a cluster")
    (j,) = claims.judge([own], MEASURES, tables, profile="quick")
    assert j.verdict.reason == "needs a cluster"


def test_a_failing_measure_is_named_with_its_claim() -> None:
    with pytest.raises(ValueError, match="claim C1: measure 'gain' of e1: KeyError: 'x'"):
        claims.judge([claim()], MEASURES, {"e1": ROWS[["seed"]]}, profile="quick")
    nan = ROWS.assign(x=float("nan"))
    with pytest.raises(ValueError, match="claim C1: measure 'gain' of e1: .*must be finite"):
        claims.judge([claim()], MEASURES, {"e1": nan}, profile="quick")


def test_a_failing_rule_is_named_by_its_claim() -> None:
    def fails(estimates):
        raise ZeroDivisionError("no pairs")

    with pytest.raises(ValueError, match="claim C1: no pairs"):
        claims.judge(
            [claim(rule=claims.custom(("gain",), fails))], MEASURES, {"e1": ROWS}, profile="quick"
        )


@pytest.mark.parametrize(
    ("some", "measures", "message"),
    [
        ([claim(), claim()], MEASURES, "claim C1 is there twice"),
        ([claim(rule=sign("lost"))], MEASURES, "asks for the estimate 'lost', which no measure"),
        ([claim(beside=("lost",))], MEASURES, "asks for the estimate 'lost'"),
        ([], {"m": Measure(("e9",), lambda t: None, "")}, "reads the experiment 'e9'"),
    ],
)
def test_claims_measures_and_experiments_must_fit(some, measures, message) -> None:
    with pytest.raises(ValueError, match=message):
        claims.check(some, measures, ["e1", "e2"])


def test_what_fits_passes() -> None:
    claims.check([claim(), claim(id="C2")], MEASURES, ["e1", "e2"])


@pytest.mark.parametrize(
    ("stored", "current", "leads"),
    [
        (None, True, "quick"),
        (Status.REPRODUCED, True, "full"),
        (Status.REPRODUCED, False, "quick"),
        (Status.NOT_TESTED, True, "quick"),
    ],
)
def test_the_stored_full_run_leads_when_it_is_current_and_tells(stored, current, leads) -> None:
    full = None if stored is None else judged(stored, "full")
    head = claims.headline(judged(Status.INCONCLUSIVE), full, current=current)
    assert head.profile == leads


def test_the_document_fits_its_schema() -> None:
    found = [
        judged(status, id=f"C{i}", fixed="after a pilot", effect=None)
        for i, status in enumerate(Status)
    ]
    document = claims.document(
        "toy", found, profile="quick", digests={"e1": "0" * 64}, date=results.now()
    )
    document = json.loads(json.dumps(document))
    jsonschema.validate(document, results.schema("claims"))
    broken = json.loads(json.dumps(document))
    broken["claims"][0]["verdict"] = "maybe"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, results.schema("claims"))


def test_bad_papers_are_refused() -> None:
    good = {
        "title": "T",
        "authors": ("A",),
        "venue": "V",
        "arxiv": "",
        "code": "",
        "part": "Privacy",
        "idea": "I",
        "key_figure": "k",
    }
    assert Paper(**good).year == 2025
    with pytest.raises(ValueError, match=r"`part` must be one of.*'Poetry'"):
        Paper(**(good | {"part": "Poetry"}))
    with pytest.raises(ValueError, match="`idea` must not be empty"):
        Paper(**(good | {"idea": ""}))


# --- how verdicts are shown ------------------------------------------------------------------


def shown(live: Status, full: Status | None = None, *, current: bool = True):
    stored = {} if full is None else {"C1": judged(full, "full")}
    made = verdicts.lines("toy", [judged(live)], stored, {"C1": current})
    return verdicts.Verdicts("toy", made, full_pending=full is None)


@pytest.mark.parametrize("status", list(Status))
def test_every_verdict_has_a_shape_a_word_and_a_sentence(status) -> None:
    badge = verdicts.badge(status)
    assert f"reprise-{status.replace(' ', '-')}" in badge
    assert status in badge
    assert verdicts.MARKS[status] in badge
    assert verdicts.OPENINGS[status] in verdicts.sentence(judged(status))
    assert len(set(verdicts.MARKS.values())) == len(Status)


def test_the_table_shows_both_runs_and_leads_with_the_full_one() -> None:
    html = shown(Status.INCONCLUSIVE, Status.REPRODUCED)._repr_html_()
    assert html.index(">full<") < html.index(">quick<")
    assert verdicts.badge(Status.REPRODUCED) in html
    assert "quick: inconclusive" in html
    assert 'href="#toy-c1"' in html
    assert "A is better than B &amp; more." in html
    assert "smallest effect seen 0.25 points; the paper's 5" in html
    assert "rule fixed before any run" in html


def test_the_table_names_what_a_rule_can_see() -> None:
    j = judged()
    told = claims.bound("gain", above=0.25)(j.estimates)
    html = verdicts.Verdicts("toy", verdicts.lines("toy", [replace(j, verdict=told)]))._repr_html_()
    assert "distance to the bound 0.75 points; the paper's 5" in html
    assert "smallest effect" not in html


def test_the_table_says_when_no_full_run_or_an_old_one_is_stored() -> None:
    assert "No full run is stored yet" in shown(Status.PARTLY)._repr_html_()
    old = shown(Status.PARTLY, Status.REPRODUCED, current=False)
    assert "full, by an earlier version of the code" in old._repr_html_()
    assert old["C1"].head.profile == "quick"
    assert old.counts() == {Status.PARTLY: 1}


def test_a_claims_section_has_its_numbers_comment_and_lines_beside() -> None:
    j = judged(beside=("gain",), comment=lambda e, v: f"So {v.status}.")
    line = verdicts.Line("toy", j)
    text = line._repr_markdown_()
    assert "Because." in text
    assert "our gain: 1.00 [0.50, 1.50]." in text
    assert "So reproduced." in text
    silent = replace(j, verdict=Verdict(Status.NOT_TESTED, "no table"))
    assert silent.comment == ""


def test_unknown_claims_are_named_and_the_text_has_a_line_per_run() -> None:
    both = shown(Status.INCONCLUSIVE, Status.REPRODUCED)
    assert repr(both).splitlines()[0].startswith("C1 full   reproduced")
    assert repr(both).splitlines()[1].startswith("C1 quick  inconclusive")
    with pytest.raises(KeyError, match="no claim 'C9'"):
        both["C9"]


def test_the_bar_counts_the_leading_verdicts() -> None:
    bar = shown(Status.INCONCLUSIVE, Status.REPRODUCED).bar
    assert "Of 1 claims" in bar._repr_html_()
    assert "</span> 1 reproduced" in bar._repr_html_()
    assert repr(bar) == "1 reproduced"


def test_links_are_written_as_sphinx_writes_ids() -> None:
    made = verdicts.Verdicts("two_words", verdicts.lines("two_words", [judged()]))
    assert 'href="#two-words-c1"' in made._repr_html_()


def test_a_run_with_changed_parameters_leads() -> None:
    stored = {"C1": judged(Status.REPRODUCED, "full")}
    (line,) = verdicts.lines("toy", [judged(Status.PARTLY)], stored, {"C1": True}, live_leads=True)
    assert line.head.profile == "quick"
    assert [label for label, _ in line.runs] == ["quick", "full"]
