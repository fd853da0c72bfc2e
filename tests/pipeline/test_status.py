from __future__ import annotations

import json

from reprise.pipeline import digests, status


def one(made) -> dict:
    (row,) = status.states(made.root)
    return row


def test_a_list_needs_no_run_and_no_import(made):
    (row,) = status.listing(made.root)
    assert row == {
        "slug": "toy",
        "title": "Toy",
        "part": "Privacy",
        "profiles": ["quick", "full"],
        "experiments": ["e1"],
    }


def test_a_chapter_with_broken_claims_is_still_listed(made):
    (made.item.package / "claims.py").write_text("PAPER = Paper(title=")
    (row,) = status.listing(made.root)
    assert (row["slug"], row["title"]) == ("toy", "")


def test_a_stale_chapter_says_why(made, monkeypatch):
    monkeypatch.setattr(digests, "stale", lambda item, profile: ["changed: code cells"])
    assert (one(made)["state"], one(made)["why"]) == ("stale", ["changed: code cells"])
    assert (one(made)["quick"], one(made)["full"]) == (None, None)


def test_verdicts_age_time_and_memory_come_from_the_results(made):
    made.write(made.run, made.rows())
    made.write(made.full, made.rows(profile="full", factor=0.5), profile="full")
    row = one(made)
    assert row["state"] == "fresh"
    assert row["quick"]["verdicts"] == {"reproduced": 1}
    assert row["full"]["verdicts"] == {"not reproduced": 1}
    assert row["full"]["outdated"] == []
    assert (row["full"]["cpu_seconds"], row["full"]["peak_mb"]) == (1.2, 100)


def test_a_full_table_of_an_earlier_version_of_the_code_is_marked(made, capsys):
    made.write(made.full, made.rows(profile="full"), profile="full")
    path = made.item.package / "centre.py"
    path.write_text(path.read_text().replace("values**2", "abs(values) ** 2"))
    assert one(made)["full"]["outdated"] == ["e1"]
    status.report(made.root)
    assert "earlier version of the code" in " ".join(capsys.readouterr().out.split())


def test_a_changed_figure_or_comment_marks_nothing(made):
    made.write(made.full, made.rows(profile="full"), profile="full")
    for name in ("figures", "summaries", "claims", "centre"):
        path = made.item.package / f"{name}.py"
        text = path.read_text() + "\n# a comment\n"
        path.write_text(text + ("" if name == "centre" else "UNUSED = 1\n"))
    assert one(made)["full"]["outdated"] == []


def test_an_experiment_without_a_full_table_is_listed(made):
    path = made.item.package / "experiments" / "configs.py"
    made.write(made.full, made.rows(profile="full"), profile="full")
    (path.parent / "e2.py").write_text((path.parent / "e1.py").read_text())
    text = path.read_text().replace("    return {\n", '    return {"e2": None,\n')
    path.write_text(text)
    assert one(made)["full"]["missing"] == ["e2"]


def test_a_damaged_table_is_named_and_hides_nothing_else(made):
    made.write(made.full, made.rows(profile="full"), profile="full")
    (made.full / "e1.csv").write_text("half of")
    row = one(made)
    assert row["state"] == "broken"
    assert "data/results/toy/full/e1.csv is damaged" in row["why"][0]


def test_the_report_comes_as_json_too(made, capsys):
    made.write(made.run, made.rows())
    status.report(made.root, as_json=True)
    (row,) = json.loads(capsys.readouterr().out)
    assert row["slug"] == "toy"


def test_a_claims_headline_is_the_full_verdict_while_it_is_current(made):
    made.write(made.run, made.rows(factor=0.5))
    made.write(made.full, made.rows(profile="full"), profile="full")
    (row,) = status.claims(made.root, "toy")
    assert (row["verdict"], row["run"], row["quick"]) == ("reproduced", "full", "not reproduced")
    path = made.item.package / "centre.py"
    path.write_text(path.read_text().replace("values**2", "abs(values) ** 2"))
    (row,) = status.claims(made.root, "toy")
    assert (row["verdict"], row["run"]) == ("not reproduced", "quick")


def test_without_a_run_there_are_no_claims_to_show(made):
    assert status.claims(made.root) == []
