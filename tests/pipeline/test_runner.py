from __future__ import annotations

import json
import re
import signal

import pytest

from reprise.pipeline import book, digests, html, locks, pool, runner, status
from reprise.pipeline.cells import UserError
from reprise.pipeline.places import cpu_seconds, places


@pytest.fixture
def no_html(monkeypatch) -> list[bool]:
    """Build no site; remember how strictly one was asked for."""
    asked: list[bool] = []
    monkeypatch.setattr(
        html, "build", lambda root, *, strict, tell: bool(asked.append(strict)) or 1
    )
    return asked


def stale(mini, profile: str = "quick") -> set[str]:
    return {c.slug for c in book.chapters(mini.root) if digests.stale(c, profile)}


def test_nothing_is_stale_after_a_run_of_everything(mini):
    assert stale(mini) == set()


@pytest.mark.parametrize(
    "name, old, new, expected",
    [
        ("src/reprise/gamma/centre.py", "values**2", "values**4", {"gamma"}),
        ("src/reprise/gamma/dots.py", 'r="4"', 'r="3"', {"gamma"}),
        ("src/reprise/alpha/experiments/e1.py", '"mse"', '"mse" ""', set()),  # the same tree
        ("src/reprise/common.py", "OFFSET = 0", "OFFSET = 1", {"alpha", "beta"}),
        ("src/reprise/common.py", "Shared.", "Shared by two.", set()),
        ("src/reprise/common.py", "OFFSET = 0", "# why\nOFFSET = 0", set()),
        ("src/reprise/apart.py", "ALONE = 1", "ALONE = 2", set()),
        ("src/reprise/gamma/__init__.py", '{"', '{"errors": "figures", "', set()),
        ("book/gamma.md", "print(e1.label", "print(e1.label, 1", {"gamma"}),
        ("book/gamma.md", "n_seeds: int = 2", "n_seeds: int = 3", {"gamma"}),
        ("book/gamma.md", "Prose of", "Other prose of", set()),
        ("book/profiles/gamma.full.yml", "n_seeds: 10", "n_seeds: 11", {"gamma"}),
        ("book/intro.md", "Of three", "Of some", set()),
        ("src/reprise/pipeline/stage.py", "ONE = 1", "", set()),
        ("src/reprise/datasets/images.py", "", "", set()),
    ],
)
def test_a_change_makes_just_the_right_chapters_stale(mini, name, old, new, expected):
    if old in ("", "ONE = 1"):  # something unrelated is added
        with mini.path(name).open("a") as file:
            file.write("\n\ndef unrelated():\n    return 1\n")
    else:
        mini.edit(name, old, new)
    assert stale(mini) == expected


def test_touching_files_makes_nothing_stale(mini):
    for path in (*mini.root.rglob("*.py"), *mini.path("book").rglob("*.*")):
        path.touch()
    assert stale(mini) == set()


def test_a_profile_file_changes_its_profile_and_the_quick_page_that_shows_its_tables(mini):
    mini.edit("book/profiles/beta.full.yml", "n_seeds: 10", "n_seeds: 11")
    assert stale(mini) == {"beta"}
    chapter = book.chapter(mini.root, "beta")
    assert "changed: parameters" in digests.stale(chapter, "full")
    assert digests.stale(chapter, "quick") == ["changed: full digest of e1"]


def test_with_nothing_changed_no_notebook_runs(mini, no_html, capsys):
    before = mini.runs()
    assert runner.make_book(mini.root) == 0
    assert mini.runs() == before
    assert capsys.readouterr().out == ""
    assert no_html == [True]


def test_only_the_changed_chapter_runs(mini, no_html, capsys):
    before = mini.runs()
    mini.edit("src/reprise/gamma/centre.py", "values**2", "values**4")
    assert runner.make_book(mini.root) == 0
    after = mini.runs()
    assert {slug for slug in after if after[slug] != before[slug]} == {"gamma"}
    said = capsys.readouterr().out
    assert said.startswith("gamma: started (1 running, 0 waiting)\n")
    assert "gamma: done in " in said
    assert stale(mini) == set()
    assert "Results of an earlier" not in mini.staged("gamma")


def test_the_first_run_said_what_ran_what_is_left_and_each_sweeps_cells(mini):
    said = mini.path("first.log").read_text()
    for slug, cells in (("alpha", 10), ("beta", 6), ("gamma", 6)):
        assert re.search(rf"^{slug}: started \(\d running, \d waiting\)$", said, flags=re.M)
        assert re.search(rf"^{slug}: \d+ s, cells e1 {cells}/{cells}$", said, flags=re.M)
        assert re.search(rf"^{slug}: done in \d+ s \(\d+ CPU-seconds\)", said, flags=re.M)
    assert "; 2 left" in said
    assert "; 1 left" in said


def test_a_failing_chapter_stops_itself_alone_and_is_tried_again(mini, no_html, capsys):
    before = mini.runs()
    mini.edit("book/gamma.md", "print(chapter.stored", "raise ValueError('no luck')\nprint(chapter")
    mini.edit("book/beta.md", "e1.label, len", "e1.label, 'again', len")
    assert runner.make_book(mini.root) == 1
    after = mini.runs()
    assert {slug for slug in after if after[slug] != before[slug]} == {"beta"}
    printed = capsys.readouterr()
    message = "cell 2 (raise ValueError('no luck')): ValueError: no luck"
    assert "gamma: FAILED after " in printed.out
    assert printed.err == f"1 failed:\n  gamma: {message}\n"
    assert mini.run_file("gamma.failed.ipynb").is_file()
    assert "The newest run of this chapter failed" in mini.staged("gamma")
    assert message in mini.staged("gamma")
    assert "again" in mini.staged("beta")
    assert no_html == [False]  # the site is built all the same

    # The next call tries the failed one again, and only it.
    assert runner.make_book(mini.root) == 1
    assert "beta" not in capsys.readouterr().out
    mini.edit("book/gamma.md", "raise ValueError('no luck')\nprint(chapter", "print(chapter.stored")
    assert runner.make_book(mini.root) == 0  # as it was: its last good run is current
    assert mini.runs() == after
    assert "failed" not in mini.staged("gamma")


def test_a_failure_by_chance_of_current_code_is_tried_again(mini, no_html, capsys):
    chapter = book.chapter(mini.root, "gamma")
    report = {
        "cell": 1,
        "excerpt": "x",
        "error": "E",
        "digest": digests.run_digest(chapter, "quick"),
    }
    mini.run_file("gamma.failed.json").write_text(json.dumps(report))
    before = mini.runs()
    assert runner.make_book(mini.root) == 0
    assert mini.runs()["gamma"] != before["gamma"]
    assert not mini.run_file("gamma.failed.json").exists()


def test_a_chapter_whose_source_cannot_be_parsed_fails_alone(mini, no_html, capsys):
    with mini.path("src/reprise/gamma/centre.py").open("a") as file:
        file.write("def (\n")
    assert runner.make_book(mini.root) == 1
    assert "  gamma: SyntaxError in " in capsys.readouterr().err


def test_wrong_use_stops_before_anything_runs(mini, no_html):
    mini.edit("book/gamma.md", "[parameters]", "[params]")
    with pytest.raises(UserError, match="no cell tagged `parameters`"):
        runner.make_book(mini.root)
    assert no_html == []
    assert not mini.path("_build/stage").exists()


def test_a_missing_asset_is_a_failure_and_its_page_is_the_last_good_one(
    mini, no_html, capsys, monkeypatch
):
    from reprise.datasets import registry

    mini.edit("src/reprise/gamma/centre.py", "values**2", "values**4")
    needed = registry.needed
    monkeypatch.setattr(
        registry, "needed", lambda s=None, p=None: ["nowhere"] if s == "gamma" else needed(s, p)
    )
    monkeypatch.setattr(registry, "state", lambda name: "missing")
    monkeypatch.setattr("reprise.pipeline.assets.fetch_missing", lambda root, names: ["no nowhere"])
    before = mini.runs()
    assert runner.make_book(mini.root) == 1
    assert mini.runs() == before
    said = capsys.readouterr().err
    assert "no nowhere" in said
    assert "  gamma: missing: nowhere (fetch with: reprise assets --fetch)" in said
    assert "Data of this chapter are missing here" in mini.staged("gamma")


def test_a_second_build_stops_after_its_time_out_and_says_who_builds(mini):
    with locks.hold(mini.path("_build/build.lock"), what="the build") as held:
        pid = held.holder["pid"]
        said = mini.reprise("book", code=2, REPRISE_WAIT="0.5")
    waiting, gave_up = said.splitlines()
    assert waiting.startswith(f"waiting for process {pid} (since 20")
    assert waiting.endswith("which holds the build")
    assert gave_up.startswith("reprise: gave up after 0 s: the build is held by process")
    assert not mini.path("_build/stage").exists()


@pytest.mark.parametrize(
    "ci, cpu, code, words",
    [
        ("", 91.0, 0, "warning: gamma: its quick run took 91 CPU-seconds; at most 90 are meant"),
        ("", 151.0, 0, "warning: gamma"),
        ("true", 149.0, 0, "warning: gamma"),
        ("true", 151.0, 1, "gamma: its quick run took 151 CPU-seconds"),
        ("true", 89.0, 0, ""),
    ],
)
def test_a_quick_run_that_is_too_long_is_warned_of_and_fails_in_ci(
    mini, monkeypatch, capsys, ci, cpu, code, words
):
    monkeypatch.setenv("CI", ci)
    record = dict(mini.record("gamma"), cpu_seconds=cpu)
    mini.run_file("gamma.json").write_text(json.dumps(record))
    assert runner.summary({}, book.chapters(mini.root)) == code
    said = capsys.readouterr().err
    assert words in said
    assert bool(said) == bool(words)


def test_kept_cells_count_as_if_they_had_been_run(mini):
    path = mini.run_file("gamma/run.json")
    run = json.loads(path.read_text())
    run["experiments"]["e1"]["cpu_seconds"] = 77.0
    path.write_text(json.dumps(run))
    assert cpu_seconds(places(mini.root, "quick", "gamma")) == 77.0
    assert cpu_seconds(places(mini.root, "quick", "nowhere")) == 0.0


def test_a_chapter_that_another_process_runs_is_waited_for_and_said(mini, monkeypatch, capsys):
    mini.edit("src/reprise/gamma/centre.py", "values**2", "values**4")
    monkeypatch.setenv("REPRISE_WAIT", "0.5")
    with locks.hold(mini.run_file("gamma.lock"), what="x") as held:
        assert runner.run_chapters(mini.root, ["gamma"]) == 1
        pid = held.holder["pid"]
    printed = capsys.readouterr()
    assert f"gamma: waiting for process {pid} (since 20" in printed.out
    assert "gave up after" in printed.err


def test_a_hangup_that_is_ignored_stays_ignored():
    def handler() -> object:
        with pool._stoppable():
            return signal.getsignal(signal.SIGHUP)

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert handler() == signal.SIG_IGN
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        assert callable(handler())
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)


def test_the_longest_starts_first_and_never_more_than_asked_for_at_once(mini, monkeypatch):
    started, alive = [], []

    class Process:
        def __init__(self) -> None:
            self.left = 2
            alive.append(self)
            assert len(alive) <= 2

        returncode = 0

        def poll(self) -> int | None:
            self.left -= 1
            if self.left:
                return None
            alive.remove(self)
            return 0

    monkeypatch.setattr(pool, "start", lambda job: started.append(job.chapter.slug) or Process())
    for slug, seconds in (("alpha", 2), ("beta", 50), ("gamma", 9)):
        record = dict(mini.record(slug), seconds=seconds)
        mini.run_file(f"{slug}.json").write_text(json.dumps(record))
    jobs = [runner.Job(chapter) for chapter in book.chapters(mini.root)]
    outcomes = runner.run_jobs(jobs, n=2)
    assert started == ["beta", "gamma", "alpha"]
    assert all(outcome.ok for outcome in outcomes.values())
    mini.run_file("alpha.json").unlink()  # never ran: perhaps the longest
    started.clear()
    runner.run_jobs(jobs, n=2)
    assert started[0] == "alpha"


def test_the_number_of_jobs_is_checked(monkeypatch):
    monkeypatch.setenv("REPRISE_JOBS", "3")
    assert runner.default_jobs() == 3
    monkeypatch.setenv("REPRISE_JOBS", "0")
    with pytest.raises(UserError, match="REPRISE_JOBS must be a whole number from 1, got '0'"):
        runner.default_jobs()


def test_a_stored_full_table_of_an_earlier_version_is_marked_in_page_and_status(mini, no_html):
    def outdated() -> list[str]:
        (row,) = [row for row in status.states(mini.root) if row["slug"] == "beta"]
        return row["full"]["outdated"]

    assert outdated() == []
    runner.make_book(mini.root)
    assert "stored full run of 20" in mini.staged("beta")
    assert "earlier version" not in mini.staged("beta")

    # A changed figure function marks nothing.
    mini.edit(
        "src/reprise/beta/figures.py", "    return ax", "    ax.margins(y=0.1)\n    return ax"
    )
    assert outdated() == []

    mini.edit("src/reprise/beta/centre.py", "values**2", "values**4")
    assert outdated() == ["e1"]
    assert runner.make_book(mini.root) == 0
    assert "made by an earlier version of the code" in mini.staged("beta")
