from __future__ import annotations

import errno
import json
import shutil
from pathlib import Path

import pytest

from reprise import results
from reprise.pipeline import accept as module
from reprise.pipeline import digests
from reprise.pipeline.accept import accept, read_changes
from reprise.pipeline.cells import UserError
from reprise.pipeline.verify import verify


def content(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_the_first_reference_is_taken_and_verified(made, capsys):
    made.write(made.run, made.rows())
    assert accept(made.root, "toy", "first  reference") is True
    assert content(made.stored) == content(made.run)
    (entry,) = read_changes(made.stored.parent / "changes.json")
    assert (entry["why"], entry["profile"]) == ("first reference", "quick")
    assert {"what": "C1: verdict", "old": None, "new": "reproduced"} in entry["changes"]
    assert verify(made.root) is True
    assert "C1: verdict" in capsys.readouterr().out


def test_old_and_new_of_every_verdict_and_number_are_shown_and_stored(made, capsys):
    made.write(made.stored, made.rows())
    made.write(made.run, made.rows(factor=0.5))
    assert accept(made.root, "toy", "the median is better now") is True
    said = capsys.readouterr().out
    for text in ("C1: verdict", "reproduced", "not reproduced", "C1: log_ratio", "e1: mse"):
        assert text in said
    (entry,) = read_changes(made.stored.parent / "changes.json")
    changes = {c["what"]: (c["old"], c["new"]) for c in entry["changes"]}
    assert changes["C1: verdict"] == ("reproduced", "not reproduced")
    old, new = changes["C1: log_ratio"]
    assert old > 0 > new
    assert any(what.startswith("e1: mse at ") for what in changes)


def test_reasons_add_up_in_order(made):
    for why in ("one", "two"):
        made.write(made.run, made.rows())
        accept(made.root, "toy", why)
    assert [e["why"] for e in read_changes(made.stored.parent / "changes.json")] == ["one", "two"]
    assert read_changes(made.stored.parent / "changes.json")[1]["changes"] == []


def test_a_reason_is_needed(made):
    made.write(made.run, made.rows())
    with pytest.raises(UserError, match="say why"):
        accept(made.root, "toy", "  ")
    assert not made.stored.exists()


def test_a_run_that_failed_is_not_accepted(made, monkeypatch, capsys):
    made.write(made.stored, made.rows())
    made.write(made.run, made.rows(factor=2))
    before = content(made.stored.parent)
    monkeypatch.setattr(digests, "stale", lambda item, profile: ["never run"])
    monkeypatch.setattr(module, "run_stale", lambda root, chosen: None)
    assert accept(made.root, "toy", "why") is False
    assert "no current quick run (never run)" in capsys.readouterr().err
    assert content(made.stored.parent) == before


@pytest.mark.parametrize("place", ["copy", "rename", "log"])
def test_a_full_disk_leaves_the_old_reference(made, monkeypatch, place):
    made.write(made.run, made.rows())
    accept(made.root, "toy", "first")
    made.write(made.run, made.rows(factor=2))
    before = content(made.stored.parent)

    def full(*args, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    real = Path.replace

    def second(self, target):
        late = self.name == (".quick.new" if place == "rename" else ".changes.json.part")
        return full() if late else real(self, target)

    if place == "copy":
        monkeypatch.setattr(shutil, "copyfile", full)
    else:
        monkeypatch.setattr(Path, "replace", second)
    with pytest.raises(UserError, match=r"can't write data/results/toy \(No space left"):
        accept(made.root, "toy", "second")
    monkeypatch.undo()
    assert content(made.stored.parent) == before


@pytest.mark.parametrize("step", range(3))
def test_a_swap_that_was_killed_leaves_the_old_or_the_new_reference(made, monkeypatch, step):
    class Killed(BaseException):
        pass

    made.write(made.run, made.rows())
    accept(made.root, "toy", "first")
    old = content(made.stored.parent)
    made.write(made.run, made.rows(factor=2))
    real, done = Path.replace, []

    def kill(self, target):
        # No clean-up after a kill: from here on nothing more happens.
        if len(done) == step:
            for name in ("rename", "unlink"):
                monkeypatch.setattr(Path, name, lambda *a, **k: None)
            monkeypatch.setattr(shutil, "rmtree", lambda *a, **k: None)
            raise Killed
        done.append(self)
        return real(self, target)

    monkeypatch.setattr(Path, "replace", kill)
    with pytest.raises(Killed):
        accept(made.root, "toy", "second")
    monkeypatch.undo()
    monkeypatch.setenv("REPRISE_ROOT", str(made.root))
    monkeypatch.setattr(digests, "stale", lambda item, profile: [])
    assert verify(made.root) is (step == 2)  # it recovers first
    now = content(made.stored.parent)
    if step < 2:
        assert now == old
    else:
        assert content(made.stored) == content(made.run)
        assert len(read_changes(made.stored.parent / "changes.json")) == 2


def test_a_damaged_reference_is_named_and_replaced_when_asked(made, capsys):
    made.write(made.stored, made.rows())
    (made.stored / "e1.csv").write_text("half of")
    made.write(made.run, made.rows())
    assert accept(made.root, "toy", "repair") is True
    assert "data/results/toy/quick/e1.csv is damaged" in capsys.readouterr().err
    (entry,) = read_changes(made.stored.parent / "changes.json")
    assert entry["why"] == "repair (the old reference was damaged)"
    assert content(made.stored) == content(made.run)


def test_a_damaged_run_is_not_accepted(made):
    made.write(made.stored, made.rows())
    made.write(made.run, made.rows(factor=2))
    (made.run / "e1.csv").write_text("half of")
    before = content(made.stored.parent)
    with pytest.raises(results.Corrupt, match=r"e1\.csv is damaged"):
        accept(made.root, "toy", "why")
    assert content(made.stored.parent) == before


@pytest.mark.parametrize("text", ["[", "{}", '[{"why": "x"}]', "[1]"])
def test_a_damaged_history_is_reported_and_left_alone(made, text):
    made.write(made.run, made.rows())
    path = made.stored.parent / "changes.json"
    path.write_text(text)
    with pytest.raises(results.Corrupt, match=r"changes\.json is damaged"):
        accept(made.root, "toy", "why")
    assert path.read_text() == text


def test_full_results_are_not_touched(made):
    made.write(made.full, made.rows(profile="full"), profile="full")
    before = content(made.full)
    made.write(made.run, made.rows())
    accept(made.root, "toy", "first")
    assert content(made.full) == before
    assert json.loads((made.stored / "run.json").read_text())["profile"] == "quick"
