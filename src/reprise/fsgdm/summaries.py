"""Tables in, means with intervals and sentences out: what the chapter's figures and text say.

Every function returns None for a table that doesn't exist yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from reprise import estimate
from reprise.fsgdm.filters import half_power_frequency

if TYPE_CHECKING:
    from reprise.estimate import Estimate

POINTS = "points"
SETS = {"fashion": "Fashion-MNIST", "mnist": "MNIST", "digits": "digits"}
# White noise has its power spread evenly over [0, pi]: its share above that frequency, per cent.
WHITE = 100 * (1 - half_power_frequency(0.9) / np.pi)
PARTS = ("early", "middle", "late")


# --- frames ------------------------------------------------------------------------------------


def runs(rows: pd.DataFrame | None) -> pd.DataFrame | None:
    """Return one row per run, its last, with `points`: last-epoch test accuracy in per cent."""
    if rows is None:
        return None
    last = rows.dropna(subset=["accuracy"])
    return last.assign(points=100 * last["accuracy"]).reset_index(drop=True)


def means(
    rows: pd.DataFrame | None, by: Sequence[str], column: str = "points"
) -> pd.DataFrame | None:
    """Return mean and 95% t-interval of a column over the rows of each condition.

    Parameters
    ----------
    rows : one row per condition and seed
    by : the columns that make a condition, in order of appearance

    Returns
    -------
    The columns of `by`, and mean, low, high, n. A condition with a single seed has no interval:
    low and high are nan.
    """
    if rows is None:
        return None
    found = []
    for key, group in rows.groupby(list(by), sort=False):
        x = group[column].to_numpy(dtype=float)
        row = dict(zip(by, key, strict=True)) | {"n": len(x)}
        if len(x) > 1:
            e = estimate.mean(x)
            row |= {"mean": e.value, "low": e.low, "high": e.high}
        else:
            row |= {"mean": float(x[0]), "low": np.nan, "high": np.nan}
        found.append(row)
    return pd.DataFrame(found)


def losses(rows: pd.DataFrame | None) -> pd.DataFrame | None:
    """Return the training loss of e2 over steps: problem, optimizer, step, mean, low, high, n."""
    if rows is None:
        return None
    finite = rows[np.isfinite(rows["loss"])]
    return means(finite, ["problem", "optimizer", "step"], "loss")


def study(rows: pd.DataFrame | None) -> pd.DataFrame | None:
    """Return the systems of e3: net, family, sequence, value, mean, low, high, n, chosen.

    `chosen` marks the value of best mean validation accuracy among those of its net, family and
    sequence; of fixed sequences u = 0.9 (C5 alone lets the fixed HPG choose).
    """
    if rows is None:
        return None
    found = means(runs(rows), ["net", "family", "sequence", "value"])
    validation = rows.groupby(["net", "family", "sequence", "value"])["validation"].mean()
    best = validation.groupby(level=[0, 1, 2]).idxmax()
    keys = zip(found["net"], found["family"], found["sequence"], found["value"], strict=True)
    fixed = (found["sequence"] == "fixed") & np.isclose(found["value"], 0.9)
    validated = np.array([key in set(best) for key in keys]) & (found["sequence"] != "fixed")
    return found.assign(chosen=fixed | validated)


def tuned(rows: pd.DataFrame | None) -> pd.DataFrame | None:
    """Return e4: phase, optimizer, lr, mean, low, high, n; per cent.

    Phase "tune" is validation accuracy, "final" test accuracy of fresh seeds.
    """
    if rows is None:
        return None
    points = np.where(rows["phase"] == "tune", rows["validation"], rows["accuracy"])
    frame = rows.assign(points=100 * points).sort_values(["optimizer", "lr"], kind="stable")
    return means(frame, ["phase", "optimizer", "lr"])


def plane(rows: pd.DataFrame | None) -> pd.DataFrame | None:
    """Return e5: problem, c, v, mean, low, high, n, and final_gain = v (1 + 1/c)."""
    if rows is None:
        return None
    found = means(runs(rows), ["problem", "c", "v"])
    return found.assign(final_gain=found["v"] * (1 + 1 / found["c"]))


def final(rows: pd.DataFrame | None) -> pd.DataFrame | None:
    """Return the rows of e6 or e7 that count: those of the final phase."""
    return None if rows is None else rows[rows["phase"] == "final"].reset_index(drop=True)


def control(rows: pd.DataFrame | None) -> pd.DataFrame | None:
    """Return the runs of b1 with `momentum` and `rate`: whose coefficients, whose effective rate.

    "Standard as FSGDM" has the momentum of Standard and the effective learning rate of FSGDM.
    """
    if rows is None:
        return None
    parts = rows["arm"].str.split(" as ")
    return runs(rows.assign(momentum=parts.str[0], rate=parts.str[-1]))


def spectra(rows: pd.DataFrame | None) -> pd.DataFrame | None:
    """Return b2: optimizer, part, frequency, and geometric mean power with its interval.

    The zero frequency is left out: the axis is logarithmic.
    """
    if rows is None:
        return None
    frame = rows[(rows["frequency"] > 0) & (rows["power"] > 0)]
    frame = frame.assign(log=np.log(frame["power"]))
    found = means(frame, ["optimizer", "part", "frequency"], "log")
    return found.assign(**{name: np.exp(found[name]) for name in ("mean", "low", "high")})


# --- sentences, which turn when the numbers turn ----------------------------------------------


def compared(e: Estimate, a: str, b: str, digits: int = 1) -> str:
    """Return who is ahead by how much, or that this can't be told: 'A beats B by 1.2 points'."""
    unit = f" {e.unit}" if e.unit else ""
    if e.low > 0:
        return f"{a} beats {b} by {e.value:.{digits}f}{unit}"
    if e.high < 0:
        return f"{b} beats {a} by {-e.value:.{digits}f}{unit}"
    return f"{a} and {b} cannot be told apart"


def difference(
    rows: pd.DataFrame, by: str, a: str, b: str, column: str = "points", unit: str = POINTS
) -> Estimate | None:
    """Return the paired difference a - b, or None where a side or a second pair is missing."""
    sides = [set(rows.loc[rows[by] == name, "seed"]) for name in (a, b)]
    both = rows[rows["seed"].isin(sides[0] & sides[1])]
    if len(sides[0] & sides[1]) < 2:
        return None
    return estimate.paired(both, column, by, a, b, unit=unit)


def _sentence(parts: Sequence[str]) -> str | None:
    return "; ".join(parts) if parts else None


def gains_title(rows: pd.DataFrame | None) -> str | None:
    """Return how far the measured gains of e1 lie from the formula."""
    if rows is None:
        return None
    error = float((rows["measured"] / rows["gain"] - 1).abs().max())
    if error == 0:
        return "Every measured gain is that of the formula"
    # The next power of ten above the error, in words that a title can carry.
    bound = (
        f"{10.0 ** np.ceil(np.log10(error)):g}"
        if error >= 1e-4
        else (f"10{str(int(np.ceil(np.log10(error)))).translate(_RAISED)}")
    )
    return f"Every measured gain lies within {bound} of the formula"


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def three_title(rows: pd.DataFrame | None, problem: str = "fashion") -> str | None:
    """Return what e2 says of the three optimizers on a problem."""
    if rows is None:
        return None
    own = runs(rows[rows["problem"] == problem])
    pairs = (("Standard", "EMA"), ("FSGDM", "Standard"))
    found = [(difference(own, "optimizer", a, b), a, b) for a, b in pairs]
    text = _sentence([compared(e, a, b) for e, a, b in found if e is not None])
    if text and rows["problem"].nunique() > 1:  # the others are in the figure too
        return f"{SETS[problem]}: {text}"
    return text


def study_title(rows: pd.DataFrame | None) -> str | None:
    """Return which system of e3 has the best mean test accuracy on resnet8."""
    frame = study(rows)
    if frame is None:
        return None
    own = frame[frame["net"] == "resnet8"]
    if own.empty:
        return None
    best = own.loc[own["mean"].idxmax()]
    number = "u" if best["sequence"] == "fixed" else "μ/Σ"
    system = f"{best['family']} {best['sequence']} ({number} = {best['value']:g})"
    return f"Highest on average: {system}, {best['mean']:.1f} %"


def tuned_title(rows: pd.DataFrame | None) -> str | None:
    """Return what e4 says of the optimizers, each at its own best learning rate."""
    if rows is None:
        return None
    own = runs(rows[rows["phase"] == "final"])
    pairs = (("Standard", "EMA"), ("FSGDM", "Standard"))
    found = [(difference(own, "optimizer", a, b), a, b) for a, b in pairs]
    text = _sentence([compared(e, a, b) for e, a, b in found if e is not None])
    return f"Tuned: {text}" if text else None


def plane_title(rows: pd.DataFrame | None) -> str | None:
    """Return where the best cells of e5 lie, as final gains."""
    frame = plane(rows)
    if frame is None:
        return None
    best = frame.loc[frame.groupby("problem", sort=False)["mean"].idxmax(), "final_gain"]
    gains = " and ".join(f"{g:.3g}" for g in best)
    return f"Highest on average at a final gain of {gains} (rule of thumb: 31)"


def language_title(e6: pd.DataFrame | None, e7: pd.DataFrame | None) -> str | None:
    """Return where FSGDM is ahead of Standard-SGDM in e6 and e7."""
    found: list[tuple[str, Estimate | None]] = []
    if e6 is not None:  # fewer bits are better: the sign is turned
        names = {"lstm": "the LSTM", "transformer": "the Transformer"}
        found += [
            (names.get(net, net), difference(own, "optimizer", "Standard", "FSGDM", "bits", "bits"))
            for net, own in final(e6).groupby("net", sort=False)
        ]
    if e7 is not None:
        e = difference(final(e7), "optimizer", "FSGDM", "Standard", "last_return", "of return")
        found.append(("the pendulum", e))
    kinds: dict[str, list[str]] = {"ahead of": [], "behind": [], "not told apart from": []}
    for name, e in found:
        if e is not None:
            side = "ahead of" if e.low > 0 else "behind" if e.high < 0 else "not told apart from"
            kinds[side].append(name)
    parts = [f"{side} Standard on {' and '.join(names)}" for side, names in kinds.items() if names]
    return f"FSGDM is {_sentence(parts)}" if parts else None


def control_sentence(rows: pd.DataFrame | None) -> str:
    """Return what the controls of b1 say: what the filter does, what the step size."""
    if rows is None:
        return "The controls have not been run yet."
    own = runs(rows)
    pairs = (
        ("FSGDM", "Standard", "As they are"),
        ("FSGDM", "Standard as FSGDM", "At FSGDM's effective learning rate (filter alone)"),
        ("FSGDM as Standard", "Standard", "At Standard's effective learning rate (filter alone)"),
        ("Standard as FSGDM", "Standard", "With Standard's filter (step size alone)"),
    )
    found = []
    for a, b, what in pairs:
        e = difference(own, "arm", a, b)
        if e is not None:
            found.append(f"{what}: {a} − {b} = {e.text()}.")
    return "\n".join(f"- {line}" for line in found) or "Two seeds are needed to compare."


def control_title(rows: pd.DataFrame | None) -> str | None:
    """Return whether filter or step size makes a difference in b1."""
    if rows is None:
        return None
    own = runs(rows)
    filters = [
        difference(own, "arm", "FSGDM", "Standard as FSGDM"),
        difference(own, "arm", "FSGDM as Standard", "Standard"),
    ]
    rates = [
        difference(own, "arm", "Standard as FSGDM", "Standard"),
        difference(own, "arm", "FSGDM", "FSGDM as Standard"),
    ]
    if any(e is None for e in (*filters, *rates)):
        return None

    acting = [
        name
        for name, pair in (("the filter", filters), ("the step size", rates))
        if any(e.low > 0 or e.high < 0 for e in pair)
    ]
    if not acting:
        return "Neither filter nor step size makes a clear difference"
    if len(acting) == 2:
        return "Both the filter and the step size make a difference"
    (one,) = acting
    other = "filter" if one == "the step size" else "step size"
    return f"{one.capitalize()} makes a difference, the {other} none that can be told"


def shares(rows: pd.DataFrame | None) -> pd.DataFrame | None:
    """Return the share of power above the half-power frequency of u = 0.9, in per cent, of b2."""
    if rows is None:
        return None
    one = rows.drop_duplicates(["optimizer", "part", "seed"])
    return means(one.assign(share=100 * one["above_half_power"]), ["optimizer", "part"], "share")


def _late_minus_early(rows: pd.DataFrame, optimizer: str) -> Estimate | None:
    one = rows[rows["optimizer"] == optimizer].drop_duplicates(["part", "seed"])
    one = one.assign(share=100 * one["above_half_power"])
    return difference(one, "part", "late", "early", "share")


def spectrum_sentence(rows: pd.DataFrame | None) -> str:
    """Return how much of the gradients' power is fast, and whether that grows (b2)."""
    if rows is None:
        return "The spectra have not been measured yet."
    found = []
    table = shares(rows)
    for optimizer, own in table.groupby("optimizer", sort=False):
        by_part = own.set_index("part")["mean"]
        listed = ", ".join(f"{by_part[p]:.0f} % {p}" for p in PARTS if p in by_part)
        e = _late_minus_early(rows, optimizer)
        tail = ""
        if e is not None:
            what = "grows" if e.low > 0 else "shrinks" if e.high < 0 else "does not clearly change"
            tail = f" It {what} (late − early: {e.text()})."
        found.append(
            f"- {optimizer}-SGDM".replace("FSGDM-SGDM", "FSGDM")
            + f": of the power, the share above the half-power frequency is {listed}.{tail}"
        )
    found.append(f"- White noise, with all frequencies alike, has {WHITE:.1f} % there.")
    return "\n".join(found)


def spectra_title(rows: pd.DataFrame | None) -> str | None:
    """Return how the gradients' share of fast power compares with that of white noise (b2)."""
    table = shares(rows)
    if table is None:
        return None
    low, high = table["mean"].min(), table["mean"].max()
    return (
        f"Above the half-power frequency: {low:.0f} to {high:.0f} % of the gradients' power, "
        f"{WHITE:.1f} % of white noise"
    )


def exact_sentence(e0: pd.DataFrame | None, e1: pd.DataFrame | None) -> str:
    """Return how far measured gains (e1) and stages (e0) are from what the formulas say."""
    found = []
    if e1 is not None:
        error = (e1["measured"] / e1["gain"] - 1).abs().max()
        found.append(f"The largest relative error of {len(e1)} measured gains is {error:.1e}.")
    if e0 is not None:
        lengths = e0["sigma"].nunique()
        found.append(
            f"And Proposition 1: between trainings of {lengths} different lengths the coefficients "
            f"of a stage differ by at most {e0['difference'].max():.1e}."
        )
    return " ".join(found) or "The exact tables have not been made yet."


def rates_sentence(rates: pd.DataFrame) -> str:
    """Return where FSGDM's effective learning rate peaks and how its mean compares.

    Parameters
    ----------
    rates : as `responses.effective_rates`
    """
    wide = rates.pivot(index="progress", columns="system", values="rate")
    peak = wide["FSGDM"].idxmax()
    ahead = wide.index[(wide["FSGDM"] > wide["Standard"]) & (wide.index < 1)]
    crossing = f"overtakes Standard-SGDM after {100 * ahead[0]:.0f} %" if len(ahead) else ""
    means = wide.apply(lambda rate: np.trapezoid(rate, wide.index))
    parts = [
        f"FSGDM's effective learning rate peaks after {100 * peak:.0f} % of training, "
        f"at {wide['FSGDM'].max():.1f} $\\alpha_0$",
        *([crossing] if crossing else []),
    ]
    return (
        f"{' and '.join(parts)}. Averaged over training it is {means['FSGDM']:.2f} $\\alpha_0$, "
        f"that of Standard-SGDM {means['Standard']:.2f} $\\alpha_0$."
    )


def speed(rows: pd.DataFrame | None) -> pd.DataFrame | None:
    """Return b3 by tensors: parameters, our microseconds, and each peer's time over ours."""
    if rows is None:
        return None
    wide = rows.pivot(index=["n_parameters", "tensors"], columns="role", values="microseconds")
    found = pd.DataFrame({"µs a step, ours": wide["ours"].round(0)})
    for peer in wide.columns.drop("ours"):
        found[f"{peer} / ours"] = (wide[peer] / wide["ours"]).round(2)
    return found.reset_index().rename(columns={"n_parameters": "parameters"})


def speed_sentence(rows: pd.DataFrame | None) -> str:
    """Return how the cost of a step grows with the number of parameters, from single tensors."""
    if rows is None:
        return "The steps have not been timed yet."
    own = rows[(rows["role"] == "ours") & rows["tensors"].str.startswith("one tensor")]
    own = own.sort_values("n_parameters").tail(3)
    exponent = np.polyfit(np.log(own["n_parameters"]), np.log(own["microseconds"]), 1)[0]
    return (
        f"Over the three largest single tensors our time grows as the number of parameters to the "
        f"power {exponent:.2f}."
    )


def tuning_sentence(rows: pd.DataFrame | None, what: str) -> str:
    """Return the tuning budget that a table with a tuning phase shows, in words.

    Parameters
    ----------
    rows : the table of e4, e6 or e7
    what : of which, such as "The language models"
    """
    if rows is None:
        return ""
    tune, final = rows[rows["phase"] == "tune"], rows[rows["phase"] == "final"]
    rates = ", ".join(f"{lr:g}" for lr in sorted(tune["lr"].unique()))
    tuned = tune["optimizer"].unique()
    rest = [name for name in final["optimizer"].unique() if name not in set(tuned)]
    n = tune["seed"].nunique()
    text = (
        f"{what}: {', '.join(tuned)} choose from the learning rates {rates} with {n} tuning "
        f"{'seed' if n == 1 else 'seeds'}, then run on {final['seed'].nunique()} seeds."
    )
    for name in rest:
        lr = final.loc[final["optimizer"] == name, "lr"].iloc[0]
        text += f" {name} is not tuned: it runs at its usual {lr:g}, for orientation only."
    return text
