from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from reprise import results
from reprise.pipeline import digests
from reprise.pipeline.verify import allowance, compare_chapter, report, turned, verify


def state(made) -> str:
    return compare_chapter(made.item).state


def test_the_same_results_pass(made, capsys):
    made.write(made.stored, made.rows())
    made.write(made.run, made.rows())
    assert verify(made.root) is True
    assert capsys.readouterr().out == "toy: same, 40 values compared\n"


def test_a_move_within_the_tolerance_is_reported_and_passes(made, capsys):
    made.write(made.stored, made.rows())
    rows = made.rows()
    rows.loc[3, "mse"] *= 1 + 1e-12
    made.write(made.run, rows)
    assert verify(made.root) is True
    said = capsys.readouterr().out
    assert "what moved" in said
    assert "e1 mse" in said
    assert "1 of 40" in said
    assert "toy: moved" in said


def test_a_move_beyond_the_tolerance_fails_and_is_named(made, capsys):
    made.write(made.stored, made.rows())
    rows = made.rows()
    rows.loc[3, "mse"] *= 1.01
    made.write(made.run, rows)
    assert verify(made.root) is False
    said = capsys.readouterr().out
    assert "FAILED" in said
    assert "distribution=normal, estimator=mean, n_samples=11, seed=3" in " ".join(said.split())


def test_a_changed_verdict_fails(made, capsys):
    made.write(made.stored, made.rows())
    made.write(made.run, made.rows(factor=0.5))
    found = compare_chapter(made.item)
    assert found.state == "failed"
    (verdict,) = found.verdicts
    assert (verdict.old, verdict.new, verdict.ok) == ("reproduced", "not reproduced", False)
    report([found])
    assert "verdict C1" in capsys.readouterr().out


def test_a_new_chapter_has_no_reference_and_passes_with_a_notice(made, capsys):
    made.write(made.run, made.rows())
    assert verify(made.root) is True
    assert 'toy: no reference yet (take one with: make accept C=toy WHY="..."' in (
        capsys.readouterr().out
    )


def test_a_chapter_that_was_not_run_fails(made, monkeypatch):
    made.write(made.stored, made.rows())
    made.write(made.run, made.rows())
    monkeypatch.setattr(digests, "stale", lambda item, profile: ["changed: code cells"])
    found = compare_chapter(made.item)
    assert (found.state, found.ok) == ("not run", False)
    assert found.notes == ["no current quick run: changed: code cells"]


def test_a_run_that_left_no_tables_fails(made):
    made.write(made.stored, made.rows())
    assert state(made) == "not run"


def test_an_experiment_that_only_one_side_has_fails(made):
    made.write(made.stored, made.rows())
    made.write(made.run, made.rows())
    path = made.run / "run.json"
    run = json.loads(path.read_text())
    run["experiments"]["e2"] = run["experiments"].pop("e1")
    path.write_text(json.dumps(run))
    found = compare_chapter(made.item)
    assert found.state == "failed"
    assert found.notes == ["e1 is not in the fresh run", "e2 is not in the reference"]


def cut(path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path) -> None:
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)


def drop_column(path) -> None:
    lines = path.read_text().splitlines()
    path.write_text("\n".join(line.rpartition(",")[0] for line in lines) + "\n")


def remove(path) -> None:
    path.unlink()


@pytest.mark.parametrize(
    "name, damage",
    [
        ("e1.csv", cut),
        ("e1.csv", flip),
        ("e1.csv", drop_column),
        ("e1.csv", remove),
        ("run.json", cut),
        ("run.json", remove),
        ("claims.json", cut),
    ],
)
def test_a_damaged_reference_is_reported_with_its_path_and_left_alone(made, name, damage):
    made.write(made.stored, made.rows())
    made.write(made.run, made.rows())
    damage(made.stored / name)
    before = {p.name: p.read_bytes() for p in made.stored.iterdir()}
    with pytest.raises(results.Corrupt, match=f"data/results/toy/quick/{name}"):
        verify(made.root)
    assert {p.name: p.read_bytes() for p in made.stored.iterdir()} == before


def claim(verdict: str, margin: float | None = 0.1, **estimate) -> dict:
    own = {"value": 1.0, "low": 0.5, "high": 1.5, "se": 0.2} | estimate
    return {"verdict": verdict, "margin": margin, "estimates": {"gain": own}}


MEASURES = {"gain": SimpleNamespace(experiments=("e1",))}


def config(**tolerances: str) -> dict:
    return {"e1": SimpleNamespace(TOLERANCES=tolerances)}


@pytest.mark.parametrize(
    "margin, tolerance, ok",
    [
        (0.7, "statistical:4", True),  # 4 standard errors of a difference, 0.28
        (1.2, "statistical:4", False),
        (1e-10, "rtol:1e-9", True),
        (1e-8, "rtol:1e-9", False),
        (0.0, "exact", True),
        (1e-8, "exact", False),
        (None, "statistical:4", False),
        (9.0, "timing", True),
    ],
)
def test_a_turned_verdict_passes_only_when_its_stored_margin_is_within_tolerance(
    margin, tolerance, ok
):
    old, new = {"C1": claim("reproduced", margin)}, {"C1": claim("inconclusive", 0.0)}
    (found,) = turned(old, new, MEASURES, config(x=tolerance))
    assert (found.ok, found.old, found.new) == (ok, "reproduced", "inconclusive")


def test_a_margin_that_is_only_small_in_the_fresh_run_does_not_count():
    old, new = {"C1": claim("reproduced", 5.0)}, {"C1": claim("inconclusive", 0.0)}
    assert not turned(old, new, MEASURES, config(x="statistical:4"))[0].ok


def test_without_a_standard_error_the_interval_gives_it():
    wide = claim("reproduced", se=None)
    assert allowance(wide, MEASURES, config(x="statistical:4")) == pytest.approx(2**0.5)


def test_a_claim_that_only_one_side_has_fails():
    old, new = {"C1": claim("reproduced")}, {"C2": claim("reproduced")}
    found = turned(old, new, MEASURES, config(x="exact"))
    assert [(v.claim, v.ok, v.why) for v in found] == [
        ("C1", False, "not in the fresh run"),
        ("C2", False, "not in the reference"),
    ]
