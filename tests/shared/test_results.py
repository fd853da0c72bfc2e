from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reprise import results

RUN = """
from reprise import results
from reprise.toy.experiments.configs import configs
run = results.open("toy", profile="quick", configs=configs({"n_seeds": 2}))
table = run.run("e1")
print(table.label)
"""


@pytest.fixture
def rows() -> pd.DataFrame:
    return pd.DataFrame({"name": ["a", "b"], "x": [0.1 + 0.2, np.nan], "ok": [True, False]})


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(-(2**53), 2**53),
            st.floats(allow_nan=True, allow_infinity=True),
            st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1),
        ),
        min_size=1,
    )
)
def test_a_table_survives_the_disk_to_the_bit(tmp_path_factory, values) -> None:
    folder = tmp_path_factory.mktemp("t")
    before = pd.DataFrame(values, columns=["i", "f", "s"])
    before["s"] = "s" + before["s"]  # texts that look like numbers are read as numbers
    after = results.read_table(folder, "e1", results.write_table(folder, "e1", before))
    assert after["f"].to_numpy().view(np.int64).tolist() == [
        np.float64(v).view(np.int64) if v == v else np.float64("nan").view(np.int64)
        for v in before["f"]
    ]
    assert after["i"].tolist() == before["i"].tolist()
    assert after["s"].tolist() == before["s"].tolist()


def test_a_large_table_is_stored_as_parquet(tmp_path: Path) -> None:
    before = pd.DataFrame({"x": np.random.default_rng(0).normal(size=60_000)})
    entry = results.write_table(tmp_path, "e1", before)
    assert entry["file"] == "e1.parquet"
    assert results.read_table(tmp_path, "e1", entry).equals(before)


def flip(data: bytes) -> bytes:
    return data[:12] + bytes([data[12] ^ 1]) + data[13:]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (flip, "is damaged"),
        (lambda data: data[: len(data) // 2], "is damaged"),
        (lambda data: b"name,x\na,1\nb,2\n", r"lacks the columns \['ok'\]"),
        (lambda data: data + data.splitlines()[-1] + b"\n", "3 rows, not 2"),
    ],
)
def test_a_damaged_table_is_reported_with_its_path(tmp_path, rows, damage, message) -> None:
    entry = results.write_table(tmp_path, "e1", rows)
    path = tmp_path / "e1.csv"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(results.Corrupt, match=rf"e1\.csv.*{message}"):
        results.read_table(tmp_path, "e1", entry)


def test_a_lost_table_is_reported_with_its_path(tmp_path, rows) -> None:
    entry = results.write_table(tmp_path, "e1", rows)
    (tmp_path / "e1.csv").unlink()
    with pytest.raises(results.Corrupt, match=r"e1\.csv is missing, but run\.json lists it"):
        results.read_table(tmp_path, "e1", entry)


@pytest.mark.parametrize("where", ["fsync", "replace"])
def test_a_full_disk_leaves_the_last_good_table(tmp_path, rows, monkeypatch, where) -> None:
    entry = results.write_table(tmp_path, "e1", rows)

    def full(*args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    if where == "fsync":
        monkeypatch.setattr(os, "fsync", full)
    else:
        monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        results.write_table(tmp_path, "e1", rows * 2)
    monkeypatch.undo()
    assert results.read_table(tmp_path, "e1", entry).equals(rows)
    assert [p.name for p in tmp_path.iterdir()] == ["e1.csv"]


def test_a_run_writes_its_table_and_where_it_came_from(toy) -> None:
    out = toy.root / "_build" / "scratch" / "quick" / "toy"
    assert toy.python(RUN) == "quick run, 2 seeds\n"
    run = json.loads((out / "run.json").read_text())
    entry = run["experiments"]["e1"]
    assert entry["config"]["fields"] == {"powers": [1, 2, 3], "pause": 0.0, "n_seeds": 2}
    assert set(entry["versions"]) >= {"numpy"}
    assert entry["rows"] == 6
    text = json.dumps(run)
    assert str(toy.root) not in text
    assert os.uname().nodename not in text


def test_the_same_run_twice_gives_the_same_bytes(toy) -> None:
    out = toy.root / "_build" / "scratch" / "quick" / "toy"
    toy.python(RUN)
    first = (out / "e1.csv").read_bytes()
    toy.python(RUN, REPRISE_FRESH="1", REPRISE_JOBS="2")
    assert (out / "e1.csv").read_bytes() == first


def test_an_experiment_left_out_is_read_from_the_stored_full_run(toy) -> None:
    code = RUN + "print(table.missing, table.profile)"
    assert toy.python(code, REPRISE_ONLY="e2") == "full run: not yet\nTrue full\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "damaged"),
        ('{"schema": 1}', "'slug' is a required property"),
        ('{"schema": 2, "slug": "a", "profile": "quick", "experiments": {}}', r"\$\.schema"),
        (
            '{"schema": 1, "slug": "a", "profile": "quick", "experiments": {"e1": {}}}',
            r"experiments\.e1",
        ),
    ],
)
def test_a_damaged_run_json_is_reported_with_its_path(tmp_path, text, message) -> None:
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(results.Corrupt, match=rf"run\.json.*{message}"):
        results.read_run(tmp_path)


class Declared:
    KEYS = ("k", "seed")
    TOLERANCES = {"x": "exact"}  # noqa: RUF012


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"k": [1], "seed": [0]}, r"differing: \['x'\]"),
        ({"k": [1], "seed": [0], "x": [1], "y": [2]}, r"differing: \['y'\]"),
        ({"k": [1, 1], "seed": [0, 0], "x": [1, 2]}, r"two rows for \{'k': 1, 'seed': 0\}"),
    ],
)
def test_a_table_must_have_just_the_declared_columns_and_distinct_keys(table, message) -> None:
    with pytest.raises(ValueError, match=message):
        results.check_rows(Declared, pd.DataFrame(table), "toy/e1")


def test_unknown_profile_is_refused() -> None:
    with pytest.raises(ValueError, match="must be 'quick' or 'full', got 'fast'"):
        results.open("toy", profile="fast", configs={})


@pytest.mark.parametrize(
    ("rows", "seeds", "label"),
    [
        ({"seed": [0, 1, 2]}, 3, "quick run, 3 seeds"),
        ({"seed": [9, 0, 1], "phase": ["tune", "final", "final"]}, 2, "quick run, 2 seeds"),
        ({"seed": [9], "phase": ["tune"]}, 3, "quick run, 3 seeds"),
    ],
)
def test_seeds_that_only_tune_do_not_count(rows, seeds, label) -> None:
    table = results.Table("e1", "quick", "fresh", pd.DataFrame(rows), {"n_seeds": 3})
    assert table.seeds == seeds
    assert table.label == label
    assert results.Table("e1", "full", "not yet").seeds is None
