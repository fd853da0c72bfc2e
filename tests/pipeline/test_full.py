from __future__ import annotations

import json

import pytest

from reprise import results
from reprise.pipeline import book, full
from reprise.pipeline.accept import read_changes
from reprise.pipeline.book import UserError

# A second experiment of beta: like the first, but it fails after its first seed.
BREAKING = '''
"""A second experiment, which fails."""

from reprise.beta.experiments.configs import Errors
from reprise.beta.experiments.e1 import run as first


def run(config: Errors, seed: int) -> list[dict]:
    if seed:
        raise RuntimeError("no second seed")
    return first(config, seed)
'''


def stored(mini, slug: str = "beta"):
    return mini.path(f"data/results/{slug}/full")


def worktrees(mini) -> list[str]:
    return full.git(mini.root, "worktree", "list", "--porcelain").split("\n\n")


def test_a_full_run_leaves_table_provenance_and_claims(mini):
    folder = stored(mini)
    assert sorted(p.name for p in folder.iterdir()) == ["claims.json", "e1.csv", "run.json"]
    run = results.read_run(folder)
    claims = results.read_json(folder / "claims.json", "claims")
    assert run["profile"] == claims["profile"] == "full"
    entry = run["experiments"]["e1"]
    assert len(results.read_table(folder, "e1", entry)) == entry["rows"]
    assert entry["n_seeds"] == book.chapter(mini.root, "beta").configs("full")["e1"].n_seeds
    assert len(entry["commit"]) == 40
    assert not entry["dirty"]
    assert results.stored("beta", "e1").current
    # Nothing of its worktree is left.
    assert len(worktrees(mini)) == 1
    assert [p.name for p in mini.path("_build/worktree").iterdir()] == ["beta.lock"]


def claim(verdict, value=None):
    return {"C1": {"verdict": verdict, "estimates": {"gain": {"value": value}} if value else {}}}


def tables(commit, *names):
    return {name: {"commit": commit, "date": f"2026-01-0{name[1]}T00:00:00Z"} for name in names}


def test_a_full_run_tells_the_history_what_it_changed(mini):
    (entry,) = [
        entry
        for entry in read_changes(stored(mini).parent / "changes.json")
        if entry["profile"] == "full"
    ]
    assert entry["why"] == "Full run of e1."
    verdicts = [change for change in entry["changes"] if change["what"].endswith(": verdict")]
    known = results.read_json(stored(mini) / "claims.json", "claims")["claims"]
    assert {v["what"]: v["new"] for v in verdicts} == {
        f"{one['id']}: verdict": one["verdict"] for one in known
    }


def test_tables_of_one_commit_make_one_entry_and_those_of_the_next_another():
    first = full.remember([], {}, claim("not tested"), tables("a", "e1"))
    second = full.remember(first, claim("not tested"), claim("partly", 2.0), tables("a", "e2"))
    (entry,) = second
    assert entry["why"] == "Full run of e1, e2."
    assert entry["date"] == "2026-01-02T00:00:00Z"
    assert entry["changes"] == [
        {"what": "C1: verdict", "old": None, "new": "partly"},
        {"what": "C1: gain", "old": None, "new": 2.0},
    ]
    # The same again changes nothing, as after a kill between two writes.
    assert full.remember(second, claim("partly", 2.0), claim("partly", 2.0), tables("a", "e2")) == (
        second
    )
    third = full.remember(second, claim("partly", 2.0), claim("partly", 3.0), tables("b", "e2"))
    assert third[:1] == second
    assert third[1]["changes"] == [{"what": "C1: gain", "old": 2.0, "new": 3.0}]
    # What comes back to where it was is no change.
    assert full.remember(third, claim("partly", 3.0), claim("partly", 2.0), tables("b", "e3")) == (
        second
    )
    # An entry of the quick reference is never taken into one of a full run.
    quick = [{"date": "", "why": "x", "profile": "quick", "changes": []}]
    longer = full.remember(quick, {}, claim("partly"), tables("a", "e1"))
    assert longer[:1] == quick
    assert len(longer) == 2


def test_the_committed_version_runs_and_uncommitted_changes_are_warned_of(mini):
    before = results.read_run(stored(mini))["experiments"]["e1"]
    mini.edit("src/reprise/beta/centre.py", "OFFSET\n", "OFFSET\n\nLATER = 1 / 0\n")
    mini.path("book/gamma.md").write_text("something else")
    said = mini.reprise("full", "beta", "-e", "e1", REPRISE_FRESH="1")
    warning = "warning: src/reprise/beta/centre.py has uncommitted changes; HEAD's version runs"
    assert warning in said
    assert "gamma" not in said
    after = results.read_run(stored(mini))["experiments"]["e1"]
    assert after["digest"] == before["digest"]
    assert after["sha256"] == before["sha256"]
    assert after["date"] > before["date"]


def test_what_was_finished_is_stored_although_a_later_experiment_fails(mini):
    configs = mini.path("src/reprise/beta/experiments/configs.py")
    text = configs.read_text()
    mini.path("src/reprise/beta/experiments/e2.py").write_text(BREAKING)
    configs.write_text(
        text
        + "\n\n_configs = configs\n\n\ndef configs(parameters):\n"
        + "    found = dict(_configs(parameters))\n"
        + '    return {**found, "e2": found["e1"]} if parameters["profile"] == "full" else found\n'
    )
    mini.edit("book/beta.md", 'print(chapter.stored("e1").label)', 'e2 = chapter.run("e2")')
    mini.edit("src/reprise/beta/centre.py", "OFFSET\n", "OFFSET\n\nNEW = 1\n")
    mini.git("add", "-A")
    mini.git("commit", "-qm", "a second experiment")
    commit = full.git(mini.root, "rev-parse", "HEAD")
    assert not results.stored("beta", "e1").current

    said = mini.reprise("full", "beta", code=1)
    assert 'beta: failed: cell 2 (e2 = chapter.run("e2")): RuntimeError: no second seed' in said
    assert "beta: stored before that: e1" in said
    entries = results.read_run(stored(mini))["experiments"]
    assert list(entries) == ["e1"]
    assert entries["e1"]["commit"] == commit
    assert results.stored("beta", "e1").current
    assert len(worktrees(mini)) == 1

    # One experiment alone: the other's stored table stays, to the byte, and the claims take both.
    mini.edit("src/reprise/beta/experiments/e2.py", "    if seed:\n", "    if seed < 0:\n")
    mini.git("commit", "-qam", "it works")
    before = (stored(mini) / "e1.csv").read_bytes()
    mini.reprise("full", "beta", "-e", "e2")
    entries = results.read_run(stored(mini))["experiments"]
    assert list(entries) == ["e1", "e2"]
    assert entries["e1"]["commit"] == commit
    assert (stored(mini) / "e1.csv").read_bytes() == before
    claims = json.loads((stored(mini) / "claims.json").read_text())
    assert set(claims["digests"]) == {"e1", "e2"}


def test_a_chapter_that_is_not_committed_is_refused(mini):
    mini.reprise("new", "delta", "--part", "privacy", "--title", "Delta")
    assert "commit it first" in mini.reprise("full", "delta", code=2)
    assert not mini.path("_build/worktree/delta").exists()
    with pytest.raises(UserError, match="has no experiment 'e9'"):
        full.run_full(mini.root, "beta", ["e9"])


@pytest.mark.parametrize("name", ["e1.csv", "run.json"])
def test_a_damaged_stored_file_is_named_and_not_written_over(mini, name):
    out = mini.path("_build/run/full/beta")
    path = stored(mini) / name
    path.write_bytes(path.read_bytes()[:-20])
    before = {p.name: p.read_bytes() for p in stored(mini).iterdir()}
    item = book.chapter(mini.root, "beta")
    with pytest.raises(results.Corrupt, match=f"data/results/beta/full/{name} is damaged"):
        full.store(item, out, stored(mini))
    assert {p.name: p.read_bytes() for p in stored(mini).iterdir()} == before


def test_a_full_disk_leaves_the_stored_results(mini, monkeypatch):
    item = book.chapter(mini.root, "beta")
    out = mini.path("_build/run/full/beta")
    run = results.read_run(out)
    run["experiments"]["e1"]["date"] = "2999-01-01T00:00:00Z"
    results.write_json(out / "run.json", run)
    before = {p.name: p.read_bytes() for p in stored(mini).iterdir()}

    def no_space(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", no_space)
    with pytest.raises(OSError, match="No space left"):
        full.store(item, out, stored(mini))
    assert {p.name: p.read_bytes() for p in stored(mini).iterdir()} == before
    assert results.stored("beta", "e1").current


def test_worktrees_of_killed_runs_are_removed_and_running_ones_stay(mini):
    from reprise.pipeline import locks

    base = mini.path("_build/worktree")
    for slug in ("alpha", "gamma"):
        full.git(mini.root, "worktree", "add", "--quiet", "--detach", str(base / slug), "HEAD")
    (base / "rubbish").mkdir()
    with (
        locks.hold(base / "gamma.lock", what="the full run of gamma"),
        full.worktree(mini.root, "beta") as tree,
    ):
        assert (tree / "book" / "beta.md").is_file()
        assert sorted(p.name for p in base.iterdir() if p.is_dir()) == ["beta", "gamma"]
    assert sorted(p.name for p in base.iterdir() if p.is_dir()) == ["gamma"]
    assert len(worktrees(mini)) == 2


def test_a_git_command_that_fails_says_so_in_one_line(mini):
    with pytest.raises(UserError) as caught:
        full.git(mini.root, "checkout", "nothing-like-this")
    assert str(caught.value).startswith("git checkout nothing-like-this: error: pathspec")
    assert "\n" not in str(caught.value)
