"""What the paper claims, and the rules that decide; the tables are those of `experiments`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from reprise.claims import (
    Claim,
    Measure,
    Paper,
    Status,
    Verdict,
    all_of,
    combine,
    custom,
    sign,
    smallest_effect,
)
from reprise.claims import exact as exactly
from reprise.estimate import Estimate, exact, paired

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

    Tables = Mapping[str, pd.DataFrame]
    Estimates = Mapping[str, Estimate]

PAPER = Paper(
    title="On the Performance Analysis of Momentum Method: A Frequency Domain Perspective",
    authors=(
        "Xianliang Li",
        "Jun Luo",
        "Zhiwei Zheng",
        "Hanxiao Wang",
        "Li Luo",
        "Lingkun Wen",
        "Linlong Wu",
        "Sheng Xu",
    ),
    venue="ICLR 2025",
    arxiv="2411.19671",
    code="https://github.com/yinleung/FSGDM",
    part="Optimisation and scaling",
    idea="Momentum is a filter over training time: keep the gradient as it is early, amplify its "
    "slow part more and more, damp its fast part late.",
    key_figure="fig-responses",
    url="https://openreview.net/forum?id=tznvtmSEiN",
)

POINTS = "points of accuracy"
RULE_OF_THUMB = 30.992
BASE_RATE = 0.1
RELEASED_GAIN = 81.24 - 79.70  # FSGDM - Standard, last-10-epoch maxima of the released log
WITHIN = 1.6
SETS = {"fashion": "Fashion-MNIST", "mnist": "MNIST", "digits": "digits"}


# --- measures --------------------------------------------------------------------------------


def _final(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row per run: its last, where the accuracies stand, in points."""
    last = rows.dropna(subset=["accuracy"])
    return last.assign(points=100 * last["accuracy"])


def _three(problem: str, a: str, b: str) -> Callable[[Tables], Estimate | None]:
    def compute(tables: Tables) -> Estimate | None:
        runs = _final(tables["e2"])
        runs = runs[runs["problem"] == problem]
        if runs.empty:
            return None
        return paired(runs, "points", "optimizer", a, b, unit=POINTS)

    return compute


def _tuned(a: str, b: str) -> Callable[[Tables], Estimate | None]:
    def compute(tables: Tables) -> Estimate | None:
        runs = _final(tables["e4"])
        runs = runs[runs["phase"] == "final"]
        return paired(runs, "points", "optimizer", a, b, unit=POINTS)

    return compute


def candidates(
    rows: pd.DataFrame, family: str, sequence: str, net: str = "resnet8"
) -> pd.DataFrame:
    """Return a net's runs of all settings among which validation chooses.

    Parameters
    ----------
    rows : the table of e3
    family, sequence : of which to choose; a fixed sequence is u = 0.9, but for HPG, whose best
        setting of any kind is what C5 compares with
    """
    runs = _final(rows)
    runs = runs[(runs["net"] == net) & (runs["family"] == family) & (runs["sequence"] == sequence)]
    if sequence == "fixed" and family != "HPG":
        return runs[np.isclose(runs["value"], 0.9)]
    return runs


def chosen(rows: pd.DataFrame, family: str, sequence: str, net: str = "resnet8") -> pd.DataFrame:
    """Return the runs of the candidate of best mean validation accuracy (see `candidates`)."""
    runs = candidates(rows, family, sequence, net)
    if runs.empty:
        return runs
    best = runs.groupby("value")["validation"].mean().idxmax()
    return runs[np.isclose(runs["value"], best)]


def _study(
    a: tuple[str, str], others: tuple[tuple[str, str], ...], net: str = "resnet8"
) -> Callable[[Tables], Estimate | None]:
    """Compare a system with the best (by validation) of others that the table holds."""

    def compute(tables: Tables) -> Estimate | None:
        import pandas as pd

        one = chosen(tables["e3"], *a, net)
        rest = [r for r in (chosen(tables["e3"], *other, net) for other in others) if not r.empty]
        if one.empty or not rest:
            return None
        best = max(rest, key=lambda runs: runs["validation"].mean())
        both = pd.concat([one.assign(side="a"), best.assign(side="b")])
        return paired(both, "points", "side", "a", "b", unit=POINTS)

    return compute


def _rivals(tables: Tables) -> Estimate:
    """Return how many systems C5's rule chooses among, of those that the table holds."""
    return exact(
        sum(candidates(tables["e3"], *other)["value"].nunique() for other in OTHERS_OF_LPG)
    )


def _high_passes(tables: Tables) -> Estimate:
    """Return how many decoupled high-passes the table holds."""
    own = tables["e3"][tables["e3"]["family"] == "HPG"]
    return exact(len(own.drop_duplicates(["sequence", "value"])))


def _below_high_pass(tables: Tables) -> Estimate | None:
    """Return how many systems on resnet8 have a lower mean accuracy than HP with u = 0.9."""
    runs = _final(tables["e3"])
    means = runs[runs["net"] == "resnet8"].groupby(["family", "sequence", "value"])["points"].mean()
    key = ("HP", "fixed", 0.9)
    return exact((means < means[key]).sum()) if key in means.index else None


def _best_rate(optimizer: str) -> Callable[[Tables], Estimate]:
    def compute(tables: Tables) -> Estimate:
        final = tables["e4"][tables["e4"]["phase"] == "final"]
        return exact(final.loc[final["optimizer"] == optimizer, "lr"].iloc[0])

    return compute


def _largest_rate(experiment: str, *by: str) -> Callable[[Tables], Estimate | None]:
    """Count the tuned conditions whose best learning rate is the largest of the grid."""

    def compute(tables: Tables) -> Estimate | None:
        rows = tables[experiment]
        tune = rows[rows["phase"] == "tune"]
        if tune.empty:
            return None
        final = rows[(rows["phase"] == "final") & rows["optimizer"].isin(tune["optimizer"])]
        best = final.drop_duplicates(list(by))["lr"]
        return exact((best == tune["lr"].max()).sum(), n=len(best))

    return compute


def _arms(a: str, b: str) -> Callable[[Tables], Estimate]:
    return lambda tables: paired(_final(tables["b1"]), "points", "arm", a, b, unit=POINTS)


def _largest(errors: ArrayLike) -> float:
    """Return the largest; nan where one is, which pandas' own maximum would pass over."""
    return float(np.max(np.asarray(errors, dtype=float)))


def _largest_error(tables: Tables) -> Estimate:
    e1 = tables["e1"]
    return exact(_largest(np.abs(e1["measured"] - e1["gain"]) / e1["gain"]))


def _peaks(tables: Tables) -> Estimate:
    """Return the largest relative error of the predicted peaks, 1 or 1 / (1 - |u|)."""
    groups = tables["e1"].groupby(["coupling", "u"])["measured"]
    peaks = groups.agg(_largest).reset_index()
    size = peaks["u"].abs()
    predicted = np.where(peaks["coupling"] == "orthodox", 1.0, 1 / (1 - size))
    return exact(_largest(np.abs(peaks["measured"] / predicted - 1)))


def _stages(tables: Tables) -> Estimate:
    return exact(_largest(tables["e0"]["difference"]))


def cell_means(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return problem -> table of runs (seeds down, cells of c and v across) of e5."""
    return {
        problem: group.pivot_table(index="seed", columns=["c", "v"], values="accuracy")
        for problem, group in rows.groupby("problem")
    }


def _maps(tables: Tables) -> list[pd.DataFrame] | None:
    """Return the two whole maps of e5 that C7 is judged by; None where they aren't there."""
    maps = list(cell_means(tables["e5"]).values())
    return maps if len(maps) == 2 and maps[0].shape[1] >= 25 else None


def _rank_correlation(tables: Tables) -> Estimate | None:
    """Return Spearman's correlation of the two maps of means; the bootstrap is over seeds."""
    from scipy import stats

    maps = _maps(tables)
    if maps is None:
        return None
    value = stats.spearmanr(maps[0].mean(), maps[1].mean()).statistic
    rng = np.random.default_rng(0)
    draws = []
    for _ in range(2000):
        means = [m.iloc[rng.integers(len(m), size=len(m))].mean() for m in maps]
        draws.append(stats.spearmanr(*means).statistic)
    low, high = np.quantile(draws, [0.025, 0.975])
    return Estimate(
        float(value),
        float(min(low, value)),
        float(max(high, value)),
        n=len(maps[0]),
        how="percentile bootstrap over seeds",
    )


def _cells_at_the_thumb(tables: Tables) -> Estimate | None:
    """Return how many of the best 6 cells, by mean rank over the maps, follow the rule of thumb."""
    maps = _maps(tables)
    if maps is None:
        return None
    ranks = sum(m.mean().rank(ascending=False) for m in maps)
    best = ranks.sort_values(kind="stable").index[:6]
    gains = [v * (1 + 1 / c) for c, v in best]
    return exact(sum(RULE_OF_THUMB / WITHIN <= g <= RULE_OF_THUMB * WITHIN for g in gains))


def _bits(net: str) -> Callable[[Tables], Estimate | None]:
    def compute(tables: Tables) -> Estimate | None:
        runs = tables["e6"]
        runs = runs[(runs["net"] == net) & (runs["phase"] == "final")]
        return paired(runs, "bits", "optimizer", "Standard", "FSGDM", unit="bits per character")

    return compute


def _returns(tables: Tables) -> Estimate:
    runs = tables["e7"]
    runs = runs[runs["phase"] == "final"]
    return paired(runs, "last_return", "optimizer", "FSGDM", "Standard", unit="return")


OTHERS_OF_LPG = (
    ("LPG", "fixed"),
    ("LPG", "falling"),
    ("HPG", "rising"),
    ("HPG", "fixed"),
    ("HPG", "falling"),
)

MEASURES = {
    "gain_error": Measure(("e1",), _largest_error, "largest relative error of a measured gain"),
    "peak_error": Measure(("e1",), _peaks, "largest relative error of a peak gain"),
    "standard_ema": Measure(("e2",), _three("fashion", "Standard", "EMA"), "Standard − EMA"),
    "standard_ema_mnist": Measure(
        ("e2",), _three("mnist", "Standard", "EMA"), "Standard − EMA, MNIST"
    ),
    "standard_ema_digits": Measure(
        ("e2",), _three("digits", "Standard", "EMA"), "Standard − EMA, digits"
    ),
    "standard_ema_tuned": Measure(
        ("e4",), _tuned("Standard", "EMA"), "Standard − EMA, each at its best learning rate"
    ),
    "rising_falling": Measure(
        ("e3",), _study(("LP", "rising"), (("LP", "falling"),)), "LP rising − LP falling"
    ),
    "low_high": Measure(
        ("e3",), _study(("LP", "fixed"), (("HP", "fixed"),)), "LP fixed .9 − HP fixed .9"
    ),
    "rising_gain": Measure(
        ("e3",), _study(("LPG", "rising"), OTHERS_OF_LPG), "LPG rising − the best other gain system"
    ),
    "rivals": Measure(("e3",), _rivals, "other decoupled systems to choose among"),
    "high_passes": Measure(("e3",), _high_passes, "decoupled high-passes in the table"),
    "rising_falling_plain": Measure(
        ("e3",),
        _study(("LP", "rising"), (("LP", "falling"),), "vgg_mini"),
        "LP rising − LP falling on the plain net",
    ),
    "low_high_plain": Measure(
        ("e3",),
        _study(("LP", "fixed"), (("HP", "fixed"),), "vgg_mini"),
        "LP fixed .9 − HP fixed .9 on the plain net",
    ),
    "rising_gain_plain": Measure(
        ("e3",),
        _study(("LPG", "rising"), OTHERS_OF_LPG, "vgg_mini"),
        "LPG rising − the best other gain system on the plain net",
    ),
    "fsgdm_standard_fashion": Measure(
        ("e2",), _three("fashion", "FSGDM", "Standard"), "FSGDM − Standard, Fashion-MNIST"
    ),
    "fsgdm_standard_mnist": Measure(
        ("e2",), _three("mnist", "FSGDM", "Standard"), "FSGDM − Standard, MNIST"
    ),
    "fsgdm_standard_digits": Measure(
        ("e2",), _three("digits", "FSGDM", "Standard"), "FSGDM − Standard, digits"
    ),
    "fsgdm_standard_tuned": Measure(
        ("e4",), _tuned("FSGDM", "Standard"), "FSGDM − Standard, each at its best learning rate"
    ),
    "below_high_pass": Measure(("e3",), _below_high_pass, "systems below HP fixed .9"),
    "ema_rate": Measure(("e4",), _best_rate("EMA"), "EMA's best learning rate"),
    "standard_rate": Measure(("e4",), _best_rate("Standard"), "Standard's best learning rate"),
    "edge_pendulum": Measure(
        ("e7",),
        _largest_rate("e7", "optimizer"),
        "momentum methods at the largest learning rate of the grid",
    ),
    "same_rate": Measure(
        ("b1",),
        _arms("FSGDM", "Standard as FSGDM"),
        "FSGDM − Standard, both at FSGDM's effective learning rate",
    ),
    "stages": Measure(("e0",), _stages, "largest difference of a stage's u between lengths"),
    "map_correlation": Measure(("e5",), _rank_correlation, "rank correlation of the two maps"),
    "cells_at_the_thumb": Measure(
        ("e5",), _cells_at_the_thumb, "best 6 cells that follow the rule of thumb"
    ),
    "bits_lstm": Measure(("e6",), _bits("lstm"), "Standard − FSGDM, LSTM"),
    "bits_transformer": Measure(("e6",), _bits("transformer"), "Standard − FSGDM, Transformer"),
    "edge": Measure(
        ("e6",),
        _largest_rate("e6", "net", "optimizer"),
        "pairs at the largest learning rate of the grid",
    ),
    "returns": Measure(("e7",), _returns, "FSGDM − Standard, last 20 training episodes"),
}


# --- rules -----------------------------------------------------------------------------------


def _comment_tuned(what: str, equal: str | None = None) -> Callable[[Estimates, Verdict], str]:
    """Say what tuning leaves; where the `equal` rates show no effect, there is none to explain."""

    def comment(estimates: Estimates, verdict: Verdict) -> str:
        tuned = estimates.get(what)
        if tuned is None:
            return ""
        start = "With the learning rate tuned for each, the interval"
        if tuned.low <= 0 <= tuned.high:
            same = estimates[equal] if equal else None
            if same is not None and same.low <= 0 <= same.high:
                return f"{start} covers 0, too."
            return f"{start} covers 0: an effect of the learning rate."
        side = "above" if tuned.low > 0 else "below"
        return f"{start} lies {side} 0."

    return comment


def _comment_coupling(estimates: Estimates, verdict: Verdict) -> str:
    """Return what tuning does to C2, and whether the tuned line is an identity."""
    text = _comment_tuned("standard_ema_tuned")(estimates, verdict)
    rates = [estimates.get(name) for name in ("ema_rate", "standard_rate")]
    if None in rates or not np.isclose((1 - 0.9) * rates[0].value, rates[1].value):
        return text
    return (
        f"{text} Tuning chose {rates[0].value:g} for EMA-SGDM and {rates[1].value:g} for "
        "Standard-SGDM, which are one method: the tuned line compares rounding errors."
    )


def _comment_edge(name: str, what: str) -> Callable[[Estimates, Verdict], str]:
    """Say how many best learning rates are the largest of their grid: is it wide enough?"""

    def comment(estimates: Estimates, verdict: Verdict) -> str:
        edge = estimates.get(name)
        if edge is None or not edge.value:
            return ""
        return (
            f"Of the {edge.n} {what} {edge.value:.0f} chose the largest learning rate of the grid, "
            "so that a wider grid might still move them."
        )

    return comment


def _comment_sequence(estimates: Estimates, verdict: Verdict) -> str:
    """Return C3's likely reason: is the coupled family short of step size?"""
    rate = estimates.get("ema_rate")
    if verdict.status is Status.REPRODUCED or rate is None or rate.value <= BASE_RATE:
        return ""
    text = (
        "What we think: at this length of training the coupled family is held back by its step "
        f"size more than by noise. Tuned, EMA-SGDM takes a learning rate of {rate.value:g}, not "
        f"{BASE_RATE:g}."
    )
    plain = estimates.get("rising_falling_plain")
    if plain is not None and (plain.low > 0 or plain.high < 0):
        side = "in the paper's direction" if plain.low > 0 else "against the paper"
        text += f" That isn't all of it: the plain net's interval lies {side}."
    return text


def _comment_worst(estimates: Estimates, verdict: Verdict) -> str:
    """Return whether C4's high-pass is the worst in so many words."""
    below = estimates.get("below_high_pass")
    if below is None:
        return ""
    if not below.value:
        return "No system of the table has a lower mean accuracy."
    verb = "system has" if below.value == 1 else "systems have"
    return f"Still, {below.value:.0f} other {verb} a lower mean accuracy, as the figure shows."


def _comment_rivals(estimates: Estimates, verdict: Verdict) -> str:
    """Return what C5's best was compared with."""
    rivals, high = estimates["rivals"].value, estimates["high_passes"].value
    text = f"The best of {rivals:.0f} other decoupled systems, chosen by validation, is the rival."
    if not high:
        text += " This run has one setting of each sequence and no decoupled high-pass."
    if verdict.status is not Status.REPRODUCED:
        text += " These runs don't tell us why."
    return text


def _comment_three(estimates: Estimates, verdict: Verdict) -> str:
    """Return what C6 could have seen, and its likely reason."""
    fashion = estimates[DATA[0]]
    least = smallest_effect(fashion)
    parts = [_comment_tuned("fsgdm_standard_tuned", DATA[0])(estimates, verdict)]
    if verdict.status is not Status.REPRODUCED:
        seen = "would have been seen" if least < RELEASED_GAIN else "could have been missed"
        parts.append(
            f"A gain like that of the released CIFAR-100 log, {RELEASED_GAIN:.2f} points, {seen} "
            f"on Fashion-MNIST: the smallest effect with 80% power is {least:.2g} points."
        )
    same = estimates.get("same_rate")
    if verdict.status is not Status.REPRODUCED and same is not None:
        start = "With FSGDM's effective learning rate at every step, the rising filter"
        if same.low <= 0 <= same.high:
            parts.append(f"{start} and the fixed one can't be told apart.")
        else:
            side = "ahead of" if same.low > 0 else "behind"
            parts.append(f"{start} is {side} the fixed one; see Beyond the paper.")
    return " ".join(part for part in parts if part)


def _comment_plane(estimates: Estimates, verdict: Verdict) -> str:
    """Return C7's caveat: how much the interval of its correlation can be trusted."""
    return (
        f"The interval of the correlation is a bootstrap over {estimates['map_correlation'].n} "
        "seeds, as the rule has it; with so few it is likely too narrow."
    )


DATA = ("fsgdm_standard_fashion", "fsgdm_standard_mnist", "fsgdm_standard_digits")


def judge_three_sets(estimates: Estimates) -> Verdict:
    """Return C6's verdict: ahead on 2 of 3 data sets and never behind; alone, the general rule."""
    parts = {name: sign(name)(estimates) for name in DATA if name in estimates}
    if len(parts) < len(DATA):
        (fashion, *_) = parts.values()
        return fashion
    kinds = [v.status for v in parts.values()]
    ahead, behind = kinds.count(Status.REPRODUCED), kinds.count(Status.NOT_REPRODUCED)
    if ahead >= 2 and not behind:
        status = Status.REPRODUCED
    elif behind >= 2:
        status = Status.NOT_REPRODUCED
    elif not ahead and not behind:
        status = Status.INCONCLUSIVE
    else:
        status = Status.PARTLY
    sets = "; ".join(
        f"{SETS[name.rsplit('_', 1)[1]]} {verdict.reason}" for name, verdict in parts.items()
    )
    return Verdict(
        status,
        f"ahead on {ahead} of 3 data sets, behind on {behind}: {sets}",
        min(v.margin for v in parts.values()),
    )


def judge_plane(estimates: Estimates) -> Verdict:
    """Return C7's verdict from (a) the stages, (b) the maps' correlation, (c) the rule of thumb."""
    a = exactly("stages", atol=1e-15)(estimates)
    rho, count = estimates["map_correlation"], int(estimates["cells_at_the_thumb"].value)
    b_holds, b_fails, c_holds = rho.low > 0.5, rho.high < 0.5, count >= 4
    a_holds = a.status is Status.REPRODUCED
    if a_holds and b_holds and c_holds:
        status = Status.REPRODUCED
    elif a_holds and (b_holds or c_holds):
        status = Status.PARTLY
    elif b_fails and not c_holds:
        status = Status.NOT_REPRODUCED
    else:
        status = Status.INCONCLUSIVE
    reason = (
        f"(a) stages: {a.reason}; (b) correlation of the maps {rho.text()}, above 0.5 needed; "
        f"(c) {count} of the 6 best cells follow the rule of thumb, 4 needed"
    )
    return Verdict(status, reason, min(abs(rho.low - 0.5), abs(rho.high - 0.5)))


def judge_language(estimates: Estimates) -> Verdict:
    """Return C8's verdict: ahead for both nets; partly for one; behind for one and never ahead."""
    parts = [sign(name)(estimates) for name in ("bits_lstm", "bits_transformer")]
    kinds = [v.status for v in parts]
    ahead, behind = kinds.count(Status.REPRODUCED), kinds.count(Status.NOT_REPRODUCED)
    if ahead == 2:
        status = Status.REPRODUCED
    elif ahead:
        status = Status.PARTLY
    elif behind:
        status = Status.NOT_REPRODUCED
    else:
        status = Status.INCONCLUSIVE
    joined = combine(parts)
    reason = f"LSTM {parts[0].reason}; Transformer {parts[1].reason}"
    return Verdict(status, reason, joined.margin)


FULL_ONLY = "only the full profile runs it"

CLAIMS = [
    Claim(
        id="C1",
        text="A momentum step is a filter with a gain known in closed form; coupled gains never "
        "exceed 1, decoupled ones do on a band of frequencies.",
        paper="|H| = |v| / √(1 − 2u cos ω + u²)",
        where="Section 3, the response of a stage",
        rule=all_of(exactly("gain_error", atol=1e-3), exactly("peak_error", atol=1e-3)),
        fixed="before any run",
    ),
    Claim(
        id="C2",
        text="Decoupled momentum (v = 1) beats coupled momentum (v = 1 − u) at the same learning "
        "rate.",
        paper="ahead on all 7 image pairs; BLEU 28.12 to 4.99 and alike",
        where="Main results",
        rule=sign("standard_ema"),
        fixed="after a pilot",
        unit=POINTS,
        beside=(
            "standard_ema_mnist",
            "standard_ema_digits",
            "standard_ema_tuned",
            "ema_rate",
            "standard_rate",
        ),
        comment=_comment_coupling,
    ),
    Claim(
        id="C3",
        text="In the coupled low-pass family a rising u beats a falling one.",
        paper="best rising 77.12 %, falling as low as 69.69 % (CIFAR-100, ResNet50)",
        where="Study of momentum systems, orthodox",
        rule=sign("rising_falling"),
        fixed="after a pilot",
        unit=POINTS,
        beside=("rising_falling_plain", "ema_rate"),
        comment=_comment_sequence,
    ),
    Claim(
        id="C4",
        text="The coupled high-pass with u = 0.9 is the worst system of all.",
        paper="53.43 % (CIFAR-100, ResNet50)",
        where="Study of momentum systems, orthodox",
        rule=sign("low_high"),
        fixed="after a pilot",
        unit=POINTS,
        beside=("low_high_plain", "below_high_pass"),
        comment=_comment_worst,
    ),
    Claim(
        id="C5",
        text="The low-pass with gain and a rising u is the best of the decoupled systems.",
        paper="80.48 % (CIFAR-100, ResNet50)",
        where="Study of momentum systems, unorthodox",
        rule=sign("rising_gain"),
        fixed="before any run",
        unit=POINTS,
        beside=("rising_gain_plain", "rivals", "high_passes"),
        comment=_comment_rivals,
    ),
    Claim(
        id="C6",
        text="FSGDM beats Standard-SGDM with one setting, c = 0.033 and v = 1, everywhere.",
        paper="81.44 % on CIFAR-100, ResNet50; 76.91 to 76.66 % on ImageNet; ahead on 7 of 7 pairs",
        where="Main results",
        rule=custom((DATA[0],), judge_three_sets, optional=DATA[1:]),
        fixed="after a pilot",
        unit=POINTS,
        effect=RELEASED_GAIN,
        beside=("fsgdm_standard_tuned", "same_rate"),
        comment=_comment_three,
    ),
    Claim(
        id="C7",
        text="The stages don't depend on the length of training, and the best zone of (c, v) is "
        "shared by different tasks.",
        paper="Proposition 1; three heat maps that look alike; 30.992 / v = 1 + 1 / c",
        where="Section 4; Figure 4; released code",
        rule=custom(("stages", "map_correlation", "cells_at_the_thumb"), judge_plane),
        comment=_comment_plane,
        fixed="before any run",
        untested="(a) is exact and shown below; the two maps need the full profile's 5 × 5 grid",
    ),
    Claim(
        id="C8",
        text="FSGDM helps in language, too.",
        paper="BLEU 32.40 to 31.50 (Transformer, IWSLT14)",
        where="Translation results",
        rule=custom(("bits_lstm", "bits_transformer"), judge_language),
        fixed="after a pilot",
        unit="bits per character",
        beside=("edge",),
        comment=_comment_edge("edge", "pairs of net and optimizer"),
        untested=FULL_ONLY,
    ),
    Claim(
        id="C9",
        text="FSGDM helps in reinforcement learning, too, in place of Adam in PPO.",
        paper="ahead on 3 MuJoCo tasks (curves, no numbers)",
        where="Figure 5",
        rule=sign("returns"),
        fixed="before any run",
        unit="return",
        beside=("edge_pendulum",),
        comment=_comment_edge("edge_pendulum", "momentum methods"),
        untested=FULL_ONLY,
    ),
]
