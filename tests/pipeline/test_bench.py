from __future__ import annotations

import pytest

from reprise.pipeline.bench import bench, seconds, table
from reprise.pipeline.book import UserError


def item(group: str, role: str, size: object, median: float) -> dict:
    return {
        "name": f"test_{role}",
        "fullname": f"benchmarks/toy/test_speed.py::test_{role}[{size}]",
        "group": group,
        "params": {"size": size},
        "extra_info": {"role": role},
        "stats": {"median": median},
    }


def test_the_table_pairs_ours_with_each_peer_by_size():
    found = [
        item("step", "peer:torch", 100, 3e-3),
        item("step", "ours", 100, 1e-3),
        item("step", "ours", 10, 1e-4),
        item("step", "peer:torch", 10, 1e-4),
        item("step", "peer:other", 10, 5e-5),
    ]
    rows = [(r["size"], r["ours"], r["peer"], r["theirs"], r["ratio"]) for r in table(found)]
    assert rows == [
        (10, "100 us", "other", "50 us", "0.50x"),
        (10, "100 us", "torch", "100 us", "1.00x"),
        (100, "1 ms", "torch", "3 ms", "3.00x"),
    ]


def test_a_benchmark_without_role_is_named():
    with pytest.raises(ValueError, match=r"test_x.*must be 'ours' or 'peer:NAME', got 'me'"):
        table([item("step", "me", 1, 1.0) | {"fullname": "test_x"}])


def test_times_have_a_fitting_unit():
    assert [seconds(t) for t in (2.5, 0.0123, 4.5e-6, 7e-9, None)] == [
        "2.5 s",
        "12.3 ms",
        "4.5 us",
        "7 ns",
        "",
    ]


BENCHMARK = """
import pytest

@pytest.mark.parametrize("size", [10, 100])
@pytest.mark.parametrize("role", ["ours", "peer:builtin"])
@pytest.mark.benchmark(group="sum", min_rounds=1, max_time=0.01)
def test_sum(benchmark, role, size):
    benchmark(sum, range(size))
"""


@pytest.fixture
def repository(tmp_path):
    (tmp_path / "src" / "reprise" / "toy").mkdir(parents=True)
    (tmp_path / "_toc.yml").write_text(
        "format: jb-book\nroot: book/intro\nchapters:\n- file: book/toy\n"
    )
    (tmp_path / "benchmarks" / "toy").mkdir(parents=True)
    return tmp_path


def test_benchmarks_run_and_print_one_table(repository, capsys):
    (repository / "benchmarks" / "toy" / "test_speed.py").write_text(BENCHMARK)
    assert bench(repository, "toy") is True
    printed = capsys.readouterr().out
    assert printed.count("builtin") == 2
    assert (repository / "_build" / "bench" / "toy.json").is_file()


def test_a_failing_benchmark_fails(repository, capsys):
    text = BENCHMARK + "\ndef test_bad(benchmark):\n    benchmark(lambda: 1 / 0)\n"
    (repository / "benchmarks" / "toy" / "test_speed.py").write_text(text)
    assert bench(repository, "toy") is False
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_a_chapter_without_benchmarks_is_refused(repository):
    with pytest.raises(UserError, match="no benchmarks in benchmarks/toy"):
        bench(repository, "toy")
