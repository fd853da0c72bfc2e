"""Kills in the middle of a build: nothing to unlock, nothing finished run again, no orphan."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from collections import Counter
from pathlib import Path

import psutil
import pytest

# `make book`, but for the site.
BOOK = (
    "import sys\n"
    "from reprise import paths\n"
    "from reprise.pipeline import html, runner\n"
    "html.build = lambda root, **options: True\n"
    "sys.exit(runner.make_book(paths.root()))\n"
)


def make_stale(mini, *slugs: str) -> None:
    """Change chapters' code, but nothing that it computes; no kept cell fits any more."""
    for slug in slugs:
        with mini.path(f"src/reprise/{slug}/centre.py").open("a") as file:
            file.write("\nCHANGED = 1\n")


def table(mini, slug: str) -> bytes:
    return mini.run_file(f"{slug}/e1.csv").read_bytes()


def traced(path: Path) -> list[str]:
    """Return what the cells left: process, sizes, seed."""
    return path.read_text().splitlines() if path.is_file() else []


def cells(lines: list[str]) -> Counter[str]:
    return Counter(line.partition(" ")[2] for line in lines)


def at_work(mini) -> list[psutil.Process]:
    """Return the processes that work on this book or on a worktree of it."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            at = process.environ().get("REPRISE_ROOT", "")
            ours = at == str(mini.root) or at.startswith(f"{mini.root}/")
            if ours and process.pid != os.getpid() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def executing(mini) -> list[psutil.Process]:
    return [p for p in at_work(mini) if "reprise.pipeline.execute" in p.cmdline()]


def end(process: subprocess.Popen) -> str:
    out, err = process.communicate(timeout=60)
    return out + err


def test_after_a_kill_of_everything_the_next_run_goes_on_by_itself(mini, tmp_path):
    undisturbed = {slug: table(mini, slug) for slug in ("beta", "gamma")}
    make_stale(mini, "beta", "gamma")
    before, trace = mini.runs(), tmp_path / "trace"
    options = {"MINI_TRACE": str(trace), "REPRISE_JOBS": "1"}
    first = mini.start("run", "beta", "gamma", MINI_PAUSE="0.4", **options)
    # One chapter is done, the other in its sweep.
    mini.wait(lambda: len(traced(trace)) >= 6 + 3)
    done = [slug for slug, when in mini.runs().items() if when != before[slug]]
    assert len(done) == 1
    for process in [psutil.Process(first.pid), *at_work(mini)]:
        process.kill()
    end(first)
    finished = mini.runs()[done[0]]

    said = mini.reprise("run", "beta", "gamma", **options)
    assert done[0] not in said
    assert mini.runs()[done[0]] == finished
    assert {slug: table(mini, slug) for slug in undisturbed} == undisturbed
    # Of 12 cells none ran twice but the one that was cut short.
    lines = traced(trace)
    assert len(cells(lines)) == 6
    assert len(lines) <= 12 + 1
    assert at_work(mini) == []
    assert not [p for p in mini.run_file("").iterdir() if p.name.startswith(".")]


@pytest.mark.parametrize("executor_too", [False, True], ids=["parent", "parent and executor"])
def test_orphans_of_a_killed_parent_are_ended_before_the_next_run_begins(
    mini, tmp_path, executor_too
):
    """A sweep over loky's workers: killed alone, its parent would leave all of them at work."""
    stored = mini.path("data/results/beta/full/e1.csv")
    undisturbed = stored.read_bytes()
    shutil.rmtree(mini.cache / "cells" / "beta")
    trace = tmp_path / "trace"
    options = {"MINI_TRACE": str(trace), "REPRISE_JOBS": "2"}
    first = mini.start("full", "beta", MINI_PAUSE="0.5", **options)
    mini.wait(lambda: len(traced(trace)) >= 4)
    workers = {line.split()[0] for line in traced(trace)}
    assert len(workers) == 2
    victims = [psutil.Process(first.pid), *(executing(mini) if executor_too else [])]
    for process in victims:
        process.kill()
    assert any(str(p.pid) in workers for p in at_work(mini))  # the workers go on

    mini.reprise("full", "beta", **options)
    lines = traced(trace)
    own = [line.split()[0] in workers for line in lines]
    assert own.index(False) == sum(own), "an orphan computed beside the new run"
    assert len(cells(lines)) == 30
    assert len(lines) <= 30 + 6  # what the two had in hand or in their queue
    assert stored.read_bytes() == undisturbed
    assert at_work(mini) == []
    end(first)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda n: n.name)
def test_an_interrupted_run_takes_everything_with_it_and_leaves_the_last_good_one(
    mini, tmp_path, number
):
    make_stale(mini, "gamma")
    before, trace = mini.runs(), tmp_path / "trace"
    process = mini.start("run", "gamma", MINI_TRACE=str(trace), MINI_PAUSE="5")
    mini.wait(lambda: traced(trace))
    process.send_signal(number)
    end(process)
    assert process.returncode == 130
    assert at_work(mini) == []
    assert mini.runs() == before
    assert not mini.run_file("gamma.failed.json").exists()


def test_of_two_builds_at_once_the_second_waits_and_runs_nothing_again(mini, tmp_path):
    make_stale(mini, "gamma")
    trace = tmp_path / "trace"
    first = mini.start("-c", BOOK, MINI_TRACE=str(trace), MINI_PAUSE="0.3")
    mini.wait(lambda: traced(trace))
    second = mini.start("-c", BOOK, MINI_TRACE=str(trace))
    assert "gamma: done" in end(first)
    (line,) = end(second).splitlines()
    assert line.startswith(f"waiting for process {first.pid} (since 20")
    assert line.endswith(", which holds the build")
    assert (first.returncode, second.returncode) == (0, 0)
    assert set(cells(traced(trace)).values()) == {1}


def test_of_two_runs_of_a_chapter_at_once_the_second_finds_it_done(mini, tmp_path):
    make_stale(mini, "gamma")
    trace = tmp_path / "trace"
    both = [mini.start("run", "gamma", MINI_TRACE=str(trace), MINI_PAUSE="0.2") for _ in range(2)]
    for process in both:
        end(process)
    assert [process.returncode for process in both] == [0, 0]
    assert set(cells(traced(trace)).values()) == {1}
    assert len(traced(trace)) == 6


@pytest.mark.parametrize("name", ["gamma.json", "gamma.ipynb"])
def test_a_damaged_run_is_made_again(mini, name):
    path, before = mini.run_file(name), table(mini, "gamma")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    process = mini.start("-c", BOOK)
    assert "gamma: done" in end(process)
    assert process.returncode == 0
    assert table(mini, "gamma") == before
    assert "Chapter gamma" in mini.staged("gamma")


def test_a_damaged_run_that_cannot_be_made_again_gives_a_stub(mini):
    path = mini.run_file("gamma.ipynb")
    path.write_bytes(path.read_bytes()[:500])
    mini.edit("book/gamma.md", "print(e1.label", "1 / 0\nprint(e1.label")
    process = mini.start("-c", BOOK)
    assert "ZeroDivisionError" in end(process)
    assert process.returncode == 1
    assert "There is no good run to show instead." in mini.staged("gamma")
