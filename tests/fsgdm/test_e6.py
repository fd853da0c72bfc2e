from __future__ import annotations

import math
from dataclasses import fields, replace

import numpy as np
import pytest

from reprise.fsgdm.experiments import e6
from reprise.fsgdm.experiments.config_e6 import E6, FULL

SMALL = FULL | {"n_seeds": 2, "lrs": (0.1, 1.0), "steps": 12, "n_stages": 4, "length": 16}


@pytest.fixture(autouse=True)
def novel(monkeypatch):
    """A short made-up text instead of the novel, which only the full profile fetches."""
    words = np.array(["the", "whale", "sea", "Ahab", "and", "ship", "deep"])
    text = " ".join(words[np.random.default_rng(0).integers(len(words), size=1200)])
    monkeypatch.setattr(e6, "novel", lambda: text)
    return text


def _cell(**change) -> E6:
    one = {"nets": ("lstm",), "optimizers": ("FSGDM",), "lrs": (0.3,)}
    return E6(**(SMALL | one | change))


def _row(cell: E6, bits: float) -> dict:
    return {
        "net": cell.nets[0],
        "optimizer": cell.optimizers[0],
        "lr": cell.lrs[0],
        "phase": cell.phase,
        "seed": 99,
        "bits_tuning": bits,
        "bits": -bits,
    }


def test_every_field_tells_the_papers_value():
    assert all(field.metadata["paper"] for field in fields(E6))
    assert E6(**FULL).lrs == (0.1, 0.3, 1.0)


def test_every_column_is_a_key_or_has_a_tolerance():
    (row,) = e6.run(_cell(), 0)
    assert set(row) == {*E6.KEYS, *E6.TOLERANCES}
    assert all(type(value) in (int, float, str) for value in row.values())


def test_first_the_whole_grid_is_tuned_with_the_extra_seed_alone():
    config = E6(**SMALL)
    cells = e6.cells(config, [])
    assert len(cells) == len(set(cells)) == 2 * 3 * 2
    assert {cell.phase for cell in cells} == {"tune"}
    assert all(list(e6.seeds(cell)) == [99] for cell in cells)


def test_then_each_optimizer_runs_all_seeds_at_its_own_best_learning_rate():
    config = E6(**SMALL)
    grid = e6.cells(config, [])
    rows = [_row(cell, cell.lrs[0] if cell.nets[0] == "lstm" else -cell.lrs[0]) for cell in grid]
    cells = e6.cells(config, rows)
    assert cells[: len(grid)] == grid
    final = cells[len(grid) :]
    assert len(final) == 6
    assert all(cell.phase == "final" for cell in final)
    assert {cell.lrs for cell in final if cell.nets == ("lstm",)} == {(0.1,)}
    assert {cell.lrs for cell in final if cell.nets == ("transformer",)} == {(1.0,)}
    assert all(list(e6.seeds(cell)) == [0, 1] for cell in final)
    done = [_row(cell, 0.0) for cell in final]
    assert e6.cells(config, rows + done) == cells  # nothing new: the sweep ends


def test_nothing_is_chosen_before_its_whole_grid_is_there():
    config = E6(**SMALL)
    rows = [_row(cell, 1.0) for cell in e6.cells(config, [])]
    first = [row for row in rows if row["net"] == "lstm" and row["optimizer"] == "EMA"]
    assert len(e6.cells(config, first[:1])) == 12
    assert len(e6.cells(config, first)) == 13


def test_the_choice_does_not_look_at_the_text_that_judges():
    rows = [
        {"net": "lstm", "optimizer": "EMA", "phase": "tune", "lr": lr, "bits_tuning": b, "bits": a}
        for lr, b, a in ((0.1, 2.0, 1.0), (1.0, 1.0, 2.0))
    ]
    assert e6.best_lr(rows, "lstm", "EMA", (0.1, 1.0)) == 1.0


def test_the_three_parts_of_the_text_follow_each_other_and_lose_nothing(novel):
    vocabulary, training, tuning, judging = e6._text(novel)
    assert "".join(map(vocabulary.decode, (training, tuning, judging))) == novel
    assert len(training) == len(novel) * 90 // 100
    assert abs(len(tuning) - len(judging)) <= 1


@pytest.mark.parametrize("net", ["lstm", "transformer"])
def test_the_same_seed_gives_the_same_row_and_another_one_does_not(net):
    cell = _cell(nets=(net,))
    assert e6.run(cell, 1) == e6.run(cell, 1)
    assert e6.run(cell, 1)[0]["bits"] != e6.run(cell, 2)[0]["bits"]


def test_ema_at_ten_times_the_learning_rate_is_standard():
    standard = e6.run(_cell(optimizers=("Standard",), lrs=(0.1,)), 0)[0]
    ema = e6.run(_cell(optimizers=("EMA",), lrs=(1.0,)), 0)[0]
    assert ema["bits"] == pytest.approx(standard["bits"], rel=1e-4)  # float32, 12 steps


def test_all_optimizers_of_a_seed_start_equal_and_see_the_same_batches():
    # No learning rate, no difference: with the smallest one all three still agree.
    found = [
        e6.run(_cell(optimizers=(name,), lrs=(1e-12,)), 0)[0]
        for name in ("EMA", "Standard", "FSGDM")
    ]
    assert len({row["bits_train"] for row in found}) == 1


@pytest.mark.parametrize("net", ["lstm", "transformer"])
def test_a_run_that_diverges_counts_as_guessing(novel, net):
    (row,) = e6.run(_cell(nets=(net,), lrs=(1e30,)), 0)
    guess = math.log2(len(set(novel)))
    assert row["diverged"] == 1
    assert row["bits"] == row["bits_tuning"] == row["bits_train"] == guess


def test_it_learns_more_than_the_frequencies_of_the_letters(novel):
    (row,) = e6.run(_cell(optimizers=("Standard",), lrs=(0.3,), steps=150), 0)
    counts = np.unique(list(novel), return_counts=True)[1] / len(novel)
    assert row["bits"] < -(counts * np.log2(counts)).sum()


def test_a_config_with_several_conditions_is_no_cell():
    with pytest.raises(ValueError, match="`nets` must hold one value a cell"):
        e6.run(E6(**SMALL), 0)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("n_seeds", 0, "`n_seeds` must be an integer of at least 1, got 0"),
        ("steps", 2.5, "`steps` must be an integer of at least 1, got 2.5"),
        ("steps", 3, "`steps` must be at least n_stages=4, got 3"),
        ("n_seeds", True, "`n_seeds` must be an integer"),
        ("nets", ("gru",), "`nets` must be some of .*, got"),
        ("optimizers", (), "`optimizers` must be some of"),
        ("lrs", (0.1, -1.0), "`lrs` must be a tuple of positive numbers"),
        ("lrs", [0.1], "`lrs` must be a tuple"),
        ("phase", "train", "`phase` must be one of"),
        ("tuning_seed", 1, "`tuning_seed` must not be one of the 2 seeds, got 1"),
        ("c", 0, "`c` must be a positive number, got 0"),
        ("v", -1.0, "`v` must be a positive number, got -1.0"),
        ("u", 1.0, r"`u` must lie in \[0, 1\), got 1.0"),
    ],
)
def test_a_bad_config_names_field_and_value(field, value, message):
    with pytest.raises(ValueError, match=message):
        replace(E6(**SMALL), **{field: value})
