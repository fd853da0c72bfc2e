from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from reprise import estimate
from reprise.fsgdm import responses, summaries


def trained(n_seeds: int = 4, **conditions: dict[str, float]) -> pd.DataFrame:
    """Return runs: column of conditions -> condition -> mean accuracy; seeds differ alike."""
    ((column, means),) = conditions.items()
    shared = np.random.default_rng(0).normal(0, 0.02, n_seeds)
    return pd.DataFrame(
        [
            {
                column: name,
                "seed": seed,
                "accuracy": mean + shared[seed] + 0.001 * (-1) ** (i + seed),
                "validation": mean + shared[seed],
                "loss": 1 - mean,
                "diverged": 0,
            }
            for i, (name, mean) in enumerate(means.items())
            for seed in range(n_seeds)
        ]
    )


def e2(**means: float) -> pd.DataFrame:
    last = trained(optimizer=means).assign(problem="fashion", net="resnet8", step=300)
    early = last.assign(step=30, accuracy=np.nan, validation=np.nan, loss=2.0)
    return pd.concat([early, last], ignore_index=True)


def test_every_summary_of_a_missing_table_is_none():
    for name in ("runs", "losses", "study", "tuned", "plane", "final", "control", "spectra"):
        assert getattr(summaries, name)(None) is None, name
    for name in ("three_title", "study_title", "tuned_title", "plane_title", "spectra_title"):
        assert getattr(summaries, name)(None) is None, name


def test_a_run_counts_once_with_its_last_row():
    found = summaries.runs(e2(EMA=0.6, Standard=0.7))
    assert len(found) == 8
    assert set(found.step) == {300}
    assert found.points.between(50, 80).all()


def test_means_are_those_of_the_t_interval():
    rows = trained(arm={"a": 0.5})
    (row,) = summaries.means(rows, ["arm"], "accuracy").itertuples()
    e = estimate.mean(rows.accuracy)
    assert (row.mean, row.low, row.high, row.n) == pytest.approx((e.value, e.low, e.high, 4))


def test_a_single_seed_has_no_interval():
    (row,) = summaries.means(trained(1, arm={"a": 0.5}), ["arm"], "accuracy").itertuples()
    assert np.isnan(row.low)
    assert np.isnan(row.high)


@pytest.mark.parametrize(
    ("fsgdm", "says"),
    [(0.75, "FSGDM beats Standard"), (0.65, "Standard beats FSGDM"), (0.7, "told apart")],
)
def test_the_title_of_the_three_turns_with_the_outcome(fsgdm, says):
    title = summaries.three_title(e2(EMA=0.6, Standard=0.7, FSGDM=fsgdm))
    assert "Standard beats EMA by 10" in title
    assert says in title


def test_the_title_names_its_data_when_there_are_others():
    rows = e2(EMA=0.6, Standard=0.7, FSGDM=0.7)
    both = pd.concat([rows, rows.assign(problem="digits")])
    assert summaries.three_title(rows).startswith("Standard beats EMA")
    assert summaries.three_title(both).startswith("Fashion-MNIST: Standard beats EMA")


def test_of_several_settings_validation_chooses_not_the_test():
    rows = pd.concat(
        [
            trained(value={0.085: 0.7}).assign(validation=0.8),
            trained(value={0.0085: 0.8}).assign(validation=0.7),
        ]
    ).assign(net="resnet8", family="LP", sequence="rising")
    found = summaries.study(rows).set_index("value")
    assert found.chosen.to_dict() == {0.085: True, 0.0085: False}


def test_of_fixed_sequences_nine_tenths_is_chosen_as_the_rules_say():
    rows = trained(value={0.3: 0.9, 0.9: 0.7}).assign(net="resnet8", family="LP", sequence="fixed")
    assert summaries.study(rows).set_index("value").chosen.to_dict() == {0.3: False, 0.9: True}


def test_tuning_shows_validation_and_the_end_shows_the_test():
    rows = trained(optimizer={"EMA": 0.5})
    tune = rows.assign(lr=0.1, phase="tune", validation=0.25)
    final = rows.assign(lr=0.1, phase="final", validation=0.25, accuracy=0.75, seed=rows.seed + 100)
    found = summaries.tuned(pd.concat([tune, final])).set_index("phase")
    assert found["mean"].to_dict() == pytest.approx({"tune": 25, "final": 75})


def test_the_plane_knows_each_cell_s_final_gain():
    rows = trained(v={1.0: 0.9}).assign(problem="digits", net="mlp", c=0.033)
    (row,) = summaries.plane(rows).itertuples()
    assert row.final_gain == pytest.approx(1 + 1 / 0.033)


def test_controls_are_split_into_momentum_and_rate():
    arms = {"Standard": 0.7, "FSGDM": 0.7, "Standard as FSGDM": 0.7, "FSGDM as Standard": 0.7}
    found = summaries.control(trained(arm=arms)).drop_duplicates("arm").set_index("arm")
    assert tuple(found.loc["Standard as FSGDM", ["momentum", "rate"]]) == ("Standard", "FSGDM")
    assert tuple(found.loc["FSGDM", ["momentum", "rate"]]) == ("FSGDM", "FSGDM")


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({}, "Neither filter nor step size"),
        ({"FSGDM": 0.8, "FSGDM as Standard": 0.8}, "The filter makes a difference, the step size"),
        ({"FSGDM": 0.8, "Standard as FSGDM": 0.8}, "The step size makes a difference, the filter"),
        ({"FSGDM": 0.8}, "Both the filter and the step size make a difference"),
    ],
)
def test_the_title_of_the_control_turns_with_the_outcome(changed, says):
    arms = dict.fromkeys(("Standard", "FSGDM", "Standard as FSGDM", "FSGDM as Standard"), 0.7)
    assert says in summaries.control_title(trained(arm=arms | changed))


def test_spectra_are_geometric_means_without_the_zero_frequency():
    rows = pd.DataFrame(
        [
            {"optimizer": "FSGDM", "part": "late", "frequency": w, "seed": s, "power": p}
            for s, p in enumerate((1.0, 100.0))
            for w in (0.0, 0.5)
        ]
    )
    (row,) = summaries.spectra(rows).itertuples()
    assert row.frequency == 0.5
    assert row.mean == pytest.approx(10)


@pytest.mark.parametrize(("late", "says"), [(0.8, "grows"), (0.4, "shrinks")])
def test_the_sentence_on_spectra_turns_with_the_outcome(late, says):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(
        [
            {
                "optimizer": "FSGDM",
                "part": part,
                "frequency": 0.5,
                "seed": seed,
                "power": 1.0,
                "above_half_power": share + rng.normal(0, 0.01),
            }
            for part, share in (("early", 0.6), ("middle", 0.6), ("late", late))
            for seed in range(4)
        ]
    )
    assert says in summaries.spectrum_sentence(rows)


@pytest.mark.parametrize(
    ("error", "says"), [(0.0, "is that of"), (3e-8, "within 10⁻⁷"), (0.004, "within 0.01")]
)
def test_the_title_of_the_gains_bounds_their_largest_error(error, says):
    rows = pd.DataFrame({"gain": [1.0, 2.0], "measured": [1.0 + error, 2.0]})
    assert says in summaries.gains_title(rows)


@pytest.mark.parametrize(
    ("bits", "says"),
    [
        (2.0, "FSGDM is ahead of Standard on the LSTM"),
        (2.4, "FSGDM is behind Standard on the LSTM"),
        (2.2, "FSGDM is not told apart from Standard on the LSTM"),
    ],
)
def test_the_title_of_language_turns_with_the_outcome(bits, says):
    noise = {"Standard": (0.0, 0.01, 0.02), "FSGDM": (0.02, 0.0, 0.01)}
    e6 = pd.DataFrame(
        [
            {"net": "lstm", "optimizer": name, "phase": "final", "seed": seed, "bits": mean + x}
            for name, mean in (("Standard", 2.2), ("FSGDM", bits))
            for seed, x in enumerate(noise[name])
        ]
    )
    assert summaries.language_title(e6, None) == says
    assert summaries.language_title(None, None) is None


def test_the_exact_sentence_says_the_largest_errors() -> None:
    e0 = pd.DataFrame({"sigma": [100, 1000], "difference": [0.0, 2e-16]})
    e1 = pd.DataFrame({"measured": [1.0, 2.002], "gain": [1.0, 2.0]})
    text = summaries.exact_sentence(e0, e1)
    assert "2 measured gains is 1.0e-03" in text
    assert "2 different lengths" in text
    assert "at most 2.0e-16" in text
    assert "not been made yet" in summaries.exact_sentence(None, None)


def test_the_rates_sentence_says_peak_crossing_and_means() -> None:
    text = summaries.rates_sentence(responses.effective_rates(c=0.033))
    # In closed form: peak 8.588 at 0.402, crossing at 0.297, means 5.005 and 5.
    assert "peaks after 40 % of training, at 8.6" in text
    assert "overtakes Standard-SGDM after 30 %" in text
    assert "it is 5.01 " in text
    assert "Standard-SGDM 5.00 " in text
    assert "overtakes" not in summaries.rates_sentence(responses.effective_rates(c=3.3))


def test_speed_gives_ratios_and_the_growth_exponent() -> None:
    rows = pd.DataFrame(
        [
            {"tensors": f"one tensor of {n}", "role": role, "n_parameters": n, "microseconds": t}
            for n in (10, 100, 1000, 10_000)
            for role, t in (("ours", n**1.2), ("peer", 3 * n**1.2))
        ]
    )
    assert summaries.speed(rows)["peer / ours"].tolist() == [3.0] * 4
    assert "to the power 1.20" in summaries.speed_sentence(rows)
    assert summaries.speed(None) is None
    assert "not been timed" in summaries.speed_sentence(None)


def test_white_noise_is_the_reference_of_the_spectra() -> None:
    assert pytest.approx(96.643, abs=1e-3) == summaries.WHITE


def test_the_tuning_sentence_gives_the_budget_and_names_who_has_none() -> None:
    rows = pd.DataFrame(
        [
            {"optimizer": o, "phase": p, "lr": lr, "seed": seed}
            for o, p, lr, seeds in (
                ("A", "tune", 0.1, [99]),
                ("A", "tune", 0.03, [99]),
                ("A", "final", 0.1, [0, 1]),
                ("Adam", "final", 3e-4, [0, 1]),
            )
            for seed in seeds
        ]
    )
    text = summaries.tuning_sentence(rows, "Agents")
    assert text.startswith("Agents: A choose from the learning rates 0.03, 0.1 with 1 tuning seed")
    assert "run on 2 seeds" in text
    assert "Adam is not tuned: it runs at its usual 0.0003" in text
    assert summaries.tuning_sentence(None, "Agents") == ""
