from __future__ import annotations

import numpy as np
import pytest

from reprise.fsgdm import responses


def test_frozen_systems_have_one_curve_and_fsgdm_starts_flat_at_gain_one():
    frame = responses.frequency_responses(c=0.033, v=1.0)
    for system, dc in (("EMA", 1), ("Standard", 10)):
        one = frame[frame.system == system]
        assert one.groupby("omega").gain.nunique().max() == 1
        assert one.dc.to_numpy() == pytest.approx(dc)
        assert one.half_power.iloc[0] == pytest.approx(0.10545811702189975, rel=1e-12)
    fsgdm = frame[frame.system == "FSGDM"]
    assert fsgdm[fsgdm.progress == 0].gain.to_numpy() == pytest.approx(1)
    assert fsgdm[fsgdm.progress == 1].dc.iloc[0] == pytest.approx(1 + 1 / 0.033)


def test_the_first_and_the_last_stage_are_among_the_curves_whatever_the_step():
    frame = responses.frequency_responses(n_stages=300, every=70)
    progress = frame.loc[frame.system == "FSGDM", "progress"]
    assert {progress.min(), progress.max()} == {0.0, 1.0}
    assert not frame.duplicated(["system", "progress", "omega"]).any()


@pytest.mark.parametrize("every", [0, 301])
def test_a_step_between_stages_that_leaves_none_is_refused(every):
    with pytest.raises(ValueError, match=f"`every`.*{every}"):
        responses.frequency_responses(n_stages=300, every=every)


def test_toy_families_with_gain_are_ten_times_those_without():
    toy = responses.toy_gradient(u=0.9, seed=3).pivot(index="t", columns="family", values="output")
    assert np.allclose(toy["LPG"], 10 * toy["LP"])
    assert np.allclose(toy["HPG"], 10 * toy["HP"])


def test_toy_low_pass_is_smoother_and_high_pass_rougher_than_the_gradient():
    toy = responses.toy_gradient(u=0.9, seed=0)

    def roughness(x):
        return np.abs(np.diff(x)).mean() / np.std(x)

    got = {family: roughness(own.output) for family, own in toy.groupby("family")}
    assert got["LP"] < roughness(toy[toy.family == "LP"].gradient) < got["HP"]


def test_gain_curves_follow_the_systems_of_the_table():
    import pandas as pd

    rows = pd.DataFrame({"coupling": ["orthodox", "unorthodox"], "u": [0.9, -0.3]})
    curves = responses.gain_curves(rows)
    ends = curves.groupby("coupling").gain.agg(["first", "last"])
    assert ends.loc["orthodox"].to_numpy() == pytest.approx([1, 0.1 / 1.9])
    assert ends.loc["unorthodox"].to_numpy() == pytest.approx([1 / 1.3, 1 / 0.7])


def test_effective_rates_have_equal_means_at_the_paper_s_c():
    frame = responses.effective_rates(c=0.033)
    peak = frame[frame.system == "FSGDM"].sort_values("rate").iloc[-1]
    assert peak.rate == pytest.approx(8.588, abs=2e-3)
    assert peak.progress == pytest.approx(0.402, abs=4e-3)
    means = {s: np.trapezoid(own.rate, own.progress) for s, own in frame.groupby("system")}
    assert means["FSGDM"] == pytest.approx(0.5 + (0.25 - 1 / np.pi**2) / 0.033, rel=1e-4)
    assert means["Standard"] == pytest.approx(5, rel=1e-4)


def test_the_closed_loop_agrees_with_the_open_one_fast_and_vanishes_slowly():
    frame = responses.closed_loop(us=(0.0, 0.9), step=0.01)
    wide = frame.pivot(index=["u", "omega"], columns="loop", values="gain").reset_index()
    fast, slow = wide[wide.omega == np.pi], wide[wide.omega == wide.omega.min()]
    assert fast.closed.to_numpy() == pytest.approx(fast.open.to_numpy(), rel=0.01)
    assert (slow.closed < 0.4 * slow.open).all()
