from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reprise.pipeline.compare import parse_tolerance, tables

KEYS = ("method", "seed")


def table(values, column: str = "loss") -> pd.DataFrame:
    rows = [
        {"method": method, "seed": seed, column: value}
        for method, of_seed in values.items()
        for seed, value in enumerate(of_seed)
    ]
    return pd.DataFrame(rows)


def one(old, new, tolerance: str, keys=KEYS):
    (found,) = tables(old, new, keys, {"loss": tolerance})
    return found


@pytest.mark.parametrize("tolerance", ["exact", "rtol:1e-9", "statistical:4", "timing"])
def test_a_table_equals_itself_in_any_order(tolerance):
    old = table({"a": [1.0, 2.0, np.nan], "b": [3.0, 3.0, 3.0]})
    found = one(old, old.sample(frac=1, random_state=1), tolerance)
    assert found.ok
    assert found.moved == 0


def test_exact_sees_the_last_bit():
    old, new = table({"a": [1.0]}), table({"a": [np.nextafter(1.0, 2)]})
    assert not one(old, new, "exact").ok
    assert one(old, new, "rtol:1e-9").ok


def test_rtol_fails_just_above_its_size():
    old = table({"a": [100.0]})
    assert one(old, table({"a": [100.0 * (1 + 0.9e-3)]}), "rtol:1e-3").ok
    found = one(old, table({"a": [100.0 * (1 + 1.2e-3)]}), "rtol:1e-3")
    assert (found.failed, found.old, found.where) == (1, 100.0, "method=a, seed=0")


def test_statistical_allows_k_standard_errors_of_the_difference():
    old = table({"a": [1.0, 2.0, 3.0]})  # spread 1; of the difference of two means: 0.816
    assert one(old, table({"a": [4.2, 5.2, 6.2]}), "statistical:4").ok
    found = one(old, table({"a": [4.4, 5.4, 6.4]}), "statistical:4")
    assert not found.ok
    assert found.share == pytest.approx(3.4 / (4 * np.sqrt(2 / 3)))


def test_statistical_compares_each_condition_by_its_own_spread():
    quiet = {name: [5.0, 5.01, 5.02] for name in "bcde"}
    old = table({"a": [1.0, 2.0, 3.0], **quiet})
    moved = {"a": [1.5, 2.5, 3.5], **quiet, "b": [5.5, 5.51, 5.52]}
    found = one(old, table(moved), "statistical:4")
    assert (found.compared, found.moved, found.failed, found.where) == (5, 2, 1, "method=b")


def test_a_condition_whose_few_seeds_agree_by_chance_has_the_spread_of_the_others():
    """So does one that diverged on the stored machine, and is at chance level with every seed."""
    usual = {name: [0.70, 0.72, 0.74] for name in "abc"}
    old = table({**usual, "stuck": [0.1, 0.1, 0.1]})
    assert one(old, table({**usual, "stuck": [0.1, 0.1, 0.103]}), "statistical:4").ok
    assert not one(old, table({**usual, "stuck": [0.2, 0.2, 0.2]}), "statistical:4").ok


def test_what_should_be_zero_may_move_by_the_rounding_of_the_column():
    old = table({"a": [3.0], "b": [1.7e-17]})
    assert one(old, table({"a": [3.0], "b": [-2.1e-17]}), "statistical:4").ok
    assert not one(old, table({"a": [3.0], "b": [1e-6]}), "statistical:4").ok


@pytest.mark.parametrize("values", [[2.0, 2.0, 2.0], [2.0]])
def test_without_spread_only_rounding_may_move(values):
    old = table({"a": values})
    assert one(old, table({"a": [v + 1e-12 for v in values]}), "statistical:4").ok
    assert not one(old, table({"a": [v + 1e-6 for v in values]}), "statistical:4").ok


def test_statistical_needs_no_condition_beside_the_seed():
    old = pd.DataFrame({"seed": [0, 1, 2], "loss": [1.0, 2.0, 3.0]})
    assert one(old, old.assign(loss=old.loss + 0.1), "statistical:4", keys=("seed",)).ok
    assert not one(old, old.assign(loss=old.loss + 9), "statistical:4", keys=("seed",)).ok


@pytest.mark.parametrize("tolerance", ["exact", "rtol:0.5", "statistical:9"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_number_that_became_none_fails(tolerance, bad):
    old = table({"a": [1.0, 2.0, 3.0]})
    assert not one(old, table({"a": [1.0, 2.0, bad]}), tolerance).ok
    assert not one(table({"a": [1.0, 2.0, bad]}), old, tolerance).ok


def test_a_missing_value_in_both_tables_hides_no_other_change():
    old, new = table({"a": [1.0, 2.0, 3.0, np.nan]}), table({"a": [9.0, 9.0, 9.0, np.nan]})
    assert not one(old, new, "statistical:4").ok
    assert one(old, old, "statistical:4").ok


def test_timing_is_never_compared():
    found = one(table({"a": [1.0]}), table({"a": [50.0]}), "timing")
    assert (found.ok, found.compared) == (True, 0)


def test_texts_and_booleans_are_compared_exactly():
    old = table({"a": ["x", "y"], "b": ["x", "y"]})
    assert one(old, old, "statistical:4").ok
    assert not one(old, table({"a": ["x", "y"], "b": ["x", "z"]}), "exact").ok
    flags = table({"a": [True, False]})
    assert one(flags, flags, "exact").ok
    assert not one(flags, table({"a": [True, True]}), "exact").ok


def test_lost_and_new_rows_fail_by_name():
    old, new = table({"a": [1.0, 2.0]}), table({"a": [1.0], "b": [3.0]})
    notes = [c.where for c in tables(old, new, KEYS, {"loss": "exact"}) if not c.ok]
    assert notes == [
        "1 rows no longer made, first: method=a, seed=1",
        "1 rows not in the reference, first: method=b, seed=0",
    ]


def test_lost_and_new_columns_fail_by_name():
    old = table({"a": [1.0]}).assign(gone=1)
    new = table({"a": [1.0]}).assign(added=1)
    found = tables(old, new, KEYS, {"loss": "exact", "added": "exact"})
    assert {(c.column, c.where) for c in found if not c.ok} == {
        ("gone", "not in the fresh table"),
        ("added", "not in the stored table"),
    }
    found = tables(old.drop(columns="seed"), new, KEYS, {"loss": "exact"})
    assert any(c.column == "seed" and not c.ok for c in found)


@pytest.mark.parametrize("text", ["about", "rtol", "rtol:-1", "statistical:", "exact:1", ""])
def test_another_tolerance_is_refused(text):
    with pytest.raises(ValueError, match="a tolerance must be exact, rtol:x"):
        parse_tolerance(text)


def test_tolerances_are_read():
    assert parse_tolerance("rtol:1e-9") == ("rtol", 1e-9)
    assert parse_tolerance("statistical:4") == ("statistical", 4.0)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=6),
    st.floats(0.5, 8),
    st.floats(-3, 3),
)
def test_a_wider_tolerance_never_fails_what_a_narrower_passes(values, k, shift):
    old = table({"a": values})
    new = table({"a": [v + shift for v in values]})
    narrow, wide = one(old, new, f"statistical:{k:.3f}"), one(old, new, f"statistical:{2 * k:.3f}")
    assert wide.ok or not narrow.ok
