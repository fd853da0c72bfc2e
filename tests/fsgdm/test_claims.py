"""Every rule of the chapter on made-up tables, for each outcome that it can give."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from reprise import claims as shared
from reprise import estimate
from reprise.claims import Status
from reprise.estimate import Estimate
from reprise.fsgdm import claims
from reprise.fsgdm.experiments.configs import configs

from .test_configs import FULL, QUICK

R, P, I, N, T = (
    Status.REPRODUCED,
    Status.PARTLY,
    Status.INCONCLUSIVE,
    Status.NOT_REPRODUCED,
    Status.NOT_TESTED,
)
NOISE = np.array([-0.004, 0.001, 0.003, -0.002, 0.002])
SIGNS = {R: 0.05, I: 0.0, N: -0.05}


def status(claim_id: str, tables: dict[str, pd.DataFrame]) -> Status:
    return judged(claim_id, tables).verdict.status


def judged(claim_id: str, tables: dict[str, pd.DataFrame]):
    found = shared.judge(claims.CLAIMS, claims.MEASURES, tables, profile="full")
    return next(j for j in found if j.claim.id == claim_id)


def runs(**keys_and_shift: object) -> pd.DataFrame:
    shift = keys_and_shift.pop("shift")
    wobble = NOISE if keys_and_shift.pop("wobble", True) else 0 * NOISE
    return pd.DataFrame(
        {
            **keys_and_shift,
            "seed": range(5),
            "accuracy": 0.7 + shift + wobble,
            "validation": 0.7 + shift,
            "loss": 0.1,
            "diverged": False,
        }
    )


def three(problem: str, **shifts: float) -> pd.DataFrame:
    return pd.concat(
        runs(problem=problem, net="resnet8", optimizer=o, step=300, shift=s, wobble=o == "FSGDM")
        for o, s in shifts.items()
    )


def study(**shifts: float) -> pd.DataFrame:
    parts = []
    for i, (name, shift) in enumerate(shifts.items()):
        family, sequence, value = name.split("_")
        parts.append(
            runs(
                problem="fashion",
                net="resnet8",
                family=family,
                sequence=sequence,
                value=float(value.replace("p", ".")),
                shift=shift,
                wobble=i == 0,
            )
        )
    return pd.concat(parts)


def test_claims_measures_and_experiments_fit() -> None:
    shared.check(claims.CLAIMS, claims.MEASURES, configs(FULL))
    assert [c.id for c in claims.CLAIMS] == [f"C{i}" for i in range(1, 10)]


@pytest.mark.parametrize(
    ("gain", "peak", "expected"), [(0, 0, R), (0.01, 0.01, N), (0.01, 0, P), (0, 0.002, P)]
)
def test_c1_needs_all_gains_and_all_peaks(gain, peak, expected) -> None:
    e1 = pd.DataFrame(
        {
            "coupling": ["orthodox", "orthodox", "unorthodox", "unorthodox"],
            "u": 0.9,
            "gain": [1.0, 0.5, 10.0, 3.0],
            "measured": [1.0, 0.5, 10.0, 3.0 * (1 + gain)],
        }
    )
    e1.loc[2, ["gain", "measured"]] *= 1 + peak
    if gain and peak:
        e1.loc[0, "measured"] = 1.02
    assert status("C1", {"e1": e1}) is expected


def test_c1_refuses_a_gain_that_is_not_a_number() -> None:
    e1 = pd.DataFrame(
        {"coupling": "orthodox", "u": 0.9, "gain": [1.0, 0.5], "measured": [1.0, np.nan]}
    )
    with pytest.raises(ValueError, match="claim C1: measure 'gain_error'.*nan"):
        status("C1", {"e1": e1})


@pytest.mark.parametrize("expected", [R, I, N])
def test_c2_is_the_sign_of_standard_minus_ema(expected) -> None:
    e2 = three("fashion", EMA=0.0, Standard=SIGNS[expected], FSGDM=0.0)
    e2.loc[e2["optimizer"] == "Standard", "accuracy"] += NOISE
    curve = e2.assign(step=10, accuracy=np.nan)
    assert status("C2", {"e2": pd.concat([curve, e2])}) is expected


@pytest.mark.parametrize(
    ("tuned", "words"),
    [
        (0.0, "an effect of the learning rate"),
        (0.05, "lies above 0"),
        (-0.05, "lies below 0"),
    ],
)
def test_c2_and_c6_say_what_tuning_does(tuned, words) -> None:
    tables = {
        "e2": three("fashion", EMA=0, Standard=0.05, FSGDM=0.1),
        "e4": pd.concat(
            [
                runs(optimizer="EMA", lr=1.0, phase="final", shift=0, wobble=False),
                runs(optimizer="Standard", lr=0.1, phase="final", shift=tuned),
                runs(optimizer="FSGDM", lr=0.1, phase="final", shift=2 * tuned, wobble=False),
                runs(optimizer="FSGDM", lr=0.3, phase="tune", shift=0.2),
            ]
        ),
    }
    assert words in judged("C2", tables).comment
    assert words in judged("C6", tables).comment
    assert judged("C2", {"e2": tables["e2"]}).comment == ""


def test_c6_blames_the_learning_rate_for_no_effect_that_is_not_there() -> None:
    e4 = pd.concat(
        [
            runs(optimizer=o, lr=0.1, phase="final", shift=0, wobble=o == "FSGDM")
            for o in ("EMA", "Standard", "FSGDM")
        ]
    )
    level = judged("C6", {"e2": three("fashion", EMA=0, Standard=0, FSGDM=0), "e4": e4})
    assert level.verdict.status is I
    assert "tuned for each, the interval covers 0, too." in level.comment
    assert "an effect of the learning rate" not in level.comment


@pytest.mark.parametrize(("rate", "said"), [(1.0, True), (0.1, False)])
def test_c3_blames_the_step_size_only_where_tuning_says_so(rate, said) -> None:
    e3 = study(LP_rising_0p0085=0.0, LP_falling_0p0085=0.0)
    e4 = pd.concat(
        [
            runs(optimizer="EMA", lr=rate, phase="final", shift=0),
            runs(optimizer="Standard", lr=0.1, phase="final", shift=0, wobble=False),
            runs(optimizer="FSGDM", lr=0.1, phase="final", shift=0, wobble=False),
            runs(optimizer="EMA", lr=0.01, phase="tune", shift=0),
        ]
    )
    assert ("held back by its step size" in judged("C3", {"e3": e3, "e4": e4}).comment) is said
    won = study(LP_rising_0p0085=0.05, LP_falling_0p0085=0.0)
    assert judged("C3", {"e3": won, "e4": e4}).comment == ""
    assert judged("C3", {"e3": e3}).comment == ""


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ({"HP_rising_0p01": 0.1}, "No system of the table has a lower"),
        ({"HP_rising_0p01": -0.1}, "1 other system has a lower"),
        ({"HP_rising_0p01": -0.1, "HPG_rising_0p01": -0.2}, "2 other systems have a lower"),
    ],
)
def test_c4_says_whether_another_system_is_worse_still(others, words) -> None:
    e3 = study(LP_fixed_0p9=0.2, HP_fixed_0p9=0.0, **others)
    assert words in judged("C4", {"e3": e3}).comment


@pytest.mark.parametrize(
    ("shift", "spread", "words"),
    [
        (0.0, 1.0, ("would have been seen", "can't be told apart")),
        (0.05, 1.0, ("would have been seen", "is ahead of the fixed one")),
        (-0.05, 1.0, ("would have been seen", "is behind the fixed one")),
        (0.0, 9.0, ("could have been missed",)),
    ],
)
def test_c6_says_what_it_could_have_seen_and_why(shift, spread, words) -> None:
    e2 = three("fashion", EMA=0, Standard=0, FSGDM=0)
    e2.loc[e2["optimizer"] == "FSGDM", "accuracy"] = 0.7 + spread * NOISE
    b1 = pd.concat(
        [
            runs(arm="FSGDM", shift=shift),
            runs(arm="Standard as FSGDM", shift=0, wobble=False),
        ]
    )
    comment = judged("C6", {"e2": e2, "b1": b1}).comment
    assert all(word in comment for word in words)
    ahead = three("fashion", EMA=0, Standard=0, FSGDM=0.1)
    assert judged("C6", {"e2": ahead, "b1": b1}).comment == ""


@pytest.mark.parametrize("expected", [R, I, N])
def test_c3_compares_the_best_rising_with_the_best_falling_by_validation(expected) -> None:
    e3 = study(
        LP_rising_0p0085=SIGNS[expected],
        LP_rising_0p085=-0.3,
        LP_falling_0p0085=0.0,
        LP_falling_0p085=-0.3,
    )
    # A setting that is better on test but worse on validation must not be chosen.
    lure = e3["value"].eq(0.085) & e3["sequence"].eq("falling")
    e3.loc[lure, "accuracy"] = 0.99
    assert status("C3", {"e3": e3}) is expected


@pytest.mark.parametrize("expected", [R, I, N])
def test_c4_compares_fixed_low_pass_with_fixed_high_pass_at_point_nine(expected) -> None:
    e3 = study(LP_fixed_0p9=SIGNS[expected], HP_fixed_0p9=0, HP_fixed_0p3=0.2, LP_fixed_0p3=0.2)
    assert status("C4", {"e3": e3}) is expected


@pytest.mark.parametrize("expected", [R, I, N])
@pytest.mark.parametrize("rival", ["LPG_fixed_0p9", "LPG_falling_0p01", "HPG_fixed_0p3"])
def test_c5_compares_with_the_best_other_gain_system(expected, rival) -> None:
    others = dict.fromkeys(["LPG_fixed_0p9", "LPG_falling_0p01", "HPG_fixed_0p3"], -0.2)
    e3 = study(LPG_rising_0p01=SIGNS[expected], **(others | {rival: 0.0}), LP_fixed_0p9=0.3)
    found = judged("C5", {"e3": e3})
    assert found.verdict.status is expected
    assert "The best of 3 other decoupled systems" in found.comment
    assert ("don't tell us why" in found.comment) is (expected is not R)


def test_c5_counts_only_what_its_rule_chooses_among_and_says_what_is_missing() -> None:
    systems = ["LPG_fixed_0p9", "LPG_fixed_0p3", "LPG_falling_0p01", "LP_fixed_0p9"]
    e3 = study(LPG_rising_0p01=0.0, **dict.fromkeys(systems, -0.2))
    comment = judged("C5", {"e3": e3}).comment
    assert "The best of 2 other" in comment
    assert "no decoupled high-pass" in comment


def test_the_plain_net_stands_beside_c3_c4_and_c5() -> None:
    names = ("LP_rising_0p01", "LP_falling_0p01", "LP_fixed_0p9", "HP_fixed_0p9")
    names += ("LPG_rising_0p01", "LPG_fixed_0p9")
    record = study(**dict.fromkeys(names, 0.0))
    shifts = dict.fromkeys(names, 0.0) | {"LP_rising_0p01": 0.05, "HP_fixed_0p9": -0.2}
    plain = study(**shifts).assign(net="vgg_mini")
    e4 = pd.concat(
        runs(optimizer=o, lr=lr, phase="final", shift=0, wobble=o == "EMA")
        for o, lr in (("EMA", 1.0), ("Standard", 0.1), ("FSGDM", 0.1))
    )
    tables = {"e3": pd.concat([record, plain]), "e4": e4}
    c3 = judged("C3", tables)
    assert c3.verdict.status is I
    assert c3.estimates["rising_falling_plain"].value == pytest.approx(5)
    assert "the plain net's interval lies in the paper's direction" in c3.comment
    assert judged("C4", tables).estimates["low_high_plain"].value == pytest.approx(20)
    assert judged("C5", tables).estimates["rising_gain_plain"].value == pytest.approx(0)


@pytest.mark.parametrize(("ema", "said"), [(1.0, True), (0.3, False)])
def test_c2_says_when_its_tuned_line_compares_a_method_with_itself(ema, said) -> None:
    e4 = pd.concat(
        runs(optimizer=o, lr=lr, phase="final", shift=0, wobble=o == "EMA")
        for o, lr in (("EMA", ema), ("Standard", 0.1), ("FSGDM", 0.1))
    )
    e2 = three("fashion", EMA=0, Standard=0.05, FSGDM=0.1)
    assert ("rounding errors" in judged("C2", {"e2": e2, "e4": e4}).comment) is said


@pytest.mark.parametrize(("lr", "said"), [(0.3, True), (0.03, False)])
def test_c9_says_when_a_rate_is_the_largest_of_its_grid(lr, said) -> None:
    e7 = pd.concat(
        pd.DataFrame({"optimizer": o, "phase": p, "lr": x, "seed": range(5), "last_return": NOISE})
        for o, p, x in (
            ("FSGDM", "final", lr),
            ("Standard", "final", 0.03),
            ("FSGDM", "tune", 0.3),
            ("Standard", "tune", 0.3),
        )
    )
    e7.loc[e7["optimizer"] == "Standard", "last_return"] = 0.0
    assert ("Of the 2 momentum methods 1 chose" in judged("C9", {"e7": e7}).comment) is said


@pytest.mark.parametrize(
    ("rho", "hits", "expected"),
    [(0.6, 4, R), (0.6, 3, P), (0.4, 4, P), (0.4, 3, I)],
)
def test_c7_needs_four_of_six_cells(rho, hits, expected) -> None:
    estimates = {
        "stages": estimate.exact(0.0),
        "map_correlation": Estimate(0.8, rho, 0.9, n=3, how="bootstrap"),
        "cells_at_the_thumb": estimate.exact(hits),
    }
    assert claims.judge_plane(estimates).status is expected


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ((R, R, R), R),
        ((R, R, I), R),
        ((R, R, N), P),
        ((R, I, I), P),
        ((I, I, I), I),
        ((N, I, I), P),
        ((N, N, R), N),
        ((N, N, N), N),
        ((R,), R),
        ((I,), I),
        ((N,), N),
    ],
)
def test_c6_counts_data_sets_and_takes_fashion_alone_by_the_general_rule(kinds, expected) -> None:
    sets = ("fashion", "mnist", "digits")
    e2 = pd.concat(
        three(p, EMA=0, Standard=0, FSGDM=SIGNS[k]) for p, k in zip(sets, kinds, strict=False)
    )
    assert status("C6", {"e2": e2}) is expected


def plane(*, alike: bool | None, thumb: bool, n_seeds: int = 3) -> pd.DataFrame:
    """Maps of two problems; `alike` None for half alike, `thumb`: best along the rule's line."""
    cs, vs = (0.0033, 0.01, 0.033, 0.1, 0.33), (0.1, 0.3, 1.0, 3.0, 10.0)
    rng = np.random.default_rng(0)
    rows = []
    unlike = rng.permutation(25)
    for problem in ("digits", "mnist"):
        for i, (c, v) in enumerate(itertools.product(cs, vs)):
            off = abs(np.log(v * (1 + 1 / c) / 30.992))
            score = -off if thumb else -abs(np.log(v * (1 + 1 / c) / 3000))
            if problem == "mnist" and alike is False:
                score = -score
            if problem == "mnist" and alike is None:
                score = 0.75 * score + 0.35 * unlike[i]
            for seed in range(n_seeds):
                noise = rng.normal(scale=1e-3 if alike is not None else 1.5)
                rows.append(
                    {"problem": problem, "c": c, "v": v, "seed": seed, "accuracy": score + noise}
                )
    return pd.DataFrame(rows)


def stages(off: float) -> pd.DataFrame:
    return pd.DataFrame({"difference": [0.0, off]})


@pytest.mark.parametrize(
    ("off", "alike", "thumb", "expected"),
    [
        (0.0, True, True, R),
        (0.0, True, False, P),
        (1e-3, True, True, I),
        (0.0, False, False, N),
        (1e-3, False, False, N),
    ],
)
def test_c7_joins_stages_maps_and_rule_of_thumb(off, alike, thumb, expected) -> None:
    tables = {"e0": stages(off), "e5": plane(alike=alike, thumb=thumb)}
    assert status("C7", tables) is expected


def test_c7_is_inconclusive_where_the_correlation_cannot_be_told() -> None:
    tables = {"e0": stages(0.0), "e5": plane(alike=None, thumb=False)}
    found = judged("C7", tables)
    rho = found.estimates["map_correlation"]
    assert rho.low < 0.5 < rho.high
    assert found.verdict.status is I


def test_c7_is_not_tested_on_the_quick_map() -> None:
    quick = plane(alike=True, thumb=True)
    quick = quick[quick["problem"] == "digits"]
    assert status("C7", {"e0": stages(0.0), "e5": quick}) is T


@pytest.mark.parametrize(
    ("lstm", "transformer", "expected"),
    [(R, R, R), (R, N, P), (R, I, P), (N, I, N), (N, N, N), (I, I, I)],
)
def test_c8_needs_both_nets(lstm, transformer, expected) -> None:
    parts = []
    for net, kind in (("lstm", lstm), ("transformer", transformer)):
        for optimizer, bits in (("Standard", 2.0 + SIGNS[kind]), ("FSGDM", 2.0)):
            noise = NOISE if optimizer == "Standard" else 0 * NOISE
            for phase in ("final", "tune"):
                parts.append(
                    pd.DataFrame(
                        {
                            "net": net,
                            "optimizer": optimizer,
                            "phase": phase,
                            "lr": 0.3 if phase == "final" else 1.0,
                            "seed": range(5),
                            "bits": (bits if phase == "final" else 9) + noise,
                        }
                    )
                )
    e6 = pd.concat(parts)
    found = judged("C8", {"e6": e6})
    assert found.verdict.status is expected
    assert found.comment == ""
    e6.loc[(e6["net"] == "lstm") & (e6["phase"] == "final"), "lr"] = 1.0
    assert "Of the 4 pairs of net and optimizer 2 chose" in judged("C8", {"e6": e6}).comment


@pytest.mark.parametrize("expected", [R, I, N])
def test_c9_is_the_sign_of_the_difference_of_returns(expected) -> None:
    e7 = pd.concat(
        pd.DataFrame(
            {
                "optimizer": o,
                "phase": "final",
                "lr": 0.03,
                "seed": range(5),
                "last_return": r + n * NOISE,
            }
        )
        for o, r, n in (("FSGDM", SIGNS[expected], 1), ("Standard", 0, 0), ("Adam", 9, 0))
    )
    assert status("C9", {"e7": e7}) is expected


def test_without_tables_nothing_is_tested_and_says_why() -> None:
    found = shared.judge(claims.CLAIMS, claims.MEASURES, {}, profile="quick")
    assert {j.verdict.status for j in found} == {T}
    assert all(j.verdict.reason for j in found)
    assert configs(QUICK).keys() < configs(FULL).keys()
