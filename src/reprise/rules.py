"""Rules that turn estimates into verdicts, written before the result is seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from reprise.estimate import Estimate

POWER = 0.8


class Status(StrEnum):
    """What a run says of a claim."""

    REPRODUCED = "reproduced"
    PARTLY = "partly"
    INCONCLUSIVE = "inconclusive"
    NOT_REPRODUCED = "not reproduced"
    NOT_TESTED = "not tested"


@dataclass(frozen=True)
class Verdict:
    """A status with its reason.

    Attributes
    ----------
    status : what the rule says
    reason : one sentence, numbers included
    margin : how far the deciding end of the interval lies from the threshold; None where there is
        no such distance
    smallest_effect : the smallest effect that this run would have seen with 80% power, for a sign;
        the distance to the bound, for a bound; the half-width, for an equivalence; else None
    sees : which of these it is, in words
    """

    status: Status
    reason: str
    margin: float | None = None
    smallest_effect: float | None = None
    sees: str = "smallest effect seen"


Estimates = Mapping[str, Estimate]


@dataclass(frozen=True)
class Rule:
    """A pure function of named estimates: call it with them to get a `Verdict`.

    Attributes
    ----------
    needs : estimates without which the claim is not tested
    judge : the function
    optional : further estimates that it takes when they are there
    """

    needs: tuple[str, ...]
    judge: Callable[[Estimates], Verdict]
    optional: tuple[str, ...] = ()

    def __call__(self, estimates: Estimates) -> Verdict:
        missing = [name for name in self.needs if name not in estimates]
        if missing:
            return Verdict(Status.NOT_TESTED, f"needs {', '.join(missing)}, which this run lacks")
        return self.judge(estimates)


@lru_cache(maxsize=256)
def _power_factor(df: float, level: float) -> float:
    """Return the effect in standard errors that a t-interval shows with 80% power."""
    from scipy import optimize, stats

    critical = float(stats.t.ppf(0.5 + level / 2, df))

    def shortfall(shift: float) -> float:
        return float(stats.nct.sf(critical, df, shift)) - POWER

    return float(optimize.brentq(shortfall, 0.0, critical * 2 + 30))


def smallest_effect(estimate: Estimate) -> float | None:
    """Return the effect that a t-interval as wide as this one shows with 80% power.

    From the noncentral t distribution; None without standard error or degrees of freedom.
    """
    if estimate.exact or estimate.se is None or estimate.df is None:
        return None
    return _power_factor(float(estimate.df), float(estimate.level)) * estimate.se


def sign(name: str, direction: int = 1, *, nothing: float | None = None) -> Rule:
    """Reproduced when the interval lies on one side of 0, not reproduced when on the other.

    Parameters
    ----------
    name : the estimate
    direction : +1 when the paper says positive, -1 when negative
    nothing : an interval inside plus and minus this is 'not reproduced' too: no effect
    """
    if direction not in (1, -1):
        raise ValueError(f"`direction` must be 1 or -1, got {direction}")
    if nothing is not None and not nothing > 0:
        raise ValueError(f"`nothing` must be positive, got {nothing}")

    def judge(estimates: Estimates) -> Verdict:
        e = estimates[name]
        low, high = sorted((direction * e.low, direction * e.high))
        side = "above" if direction == 1 else "below"
        other = "below" if direction == 1 else "above"
        margin = min(abs(low), abs(high))
        if low > 0:
            status, why = Status.REPRODUCED, f"the interval lies {side} 0"
        elif high < 0:
            status, why = Status.NOT_REPRODUCED, f"the interval lies {other} 0"
        elif nothing is not None and max(-low, high) < nothing:
            status = Status.NOT_REPRODUCED
            why = f"the interval lies within {nothing:g} of 0: no effect worth the name"
            margin = min(margin, nothing - max(-low, high))
        else:
            status, why = Status.INCONCLUSIVE, "the interval covers 0"
            if nothing is not None:
                margin = min(margin, max(-low, high) - nothing)
        return Verdict(status, f"{e.text()}: {why}", margin, smallest_effect(e))

    return Rule((name,), judge)


def bound(name: str, *, above: float | None = None, below: float | None = None) -> Rule:
    """Reproduced when the whole interval lies beyond a bound, not when it lies before it."""
    if (above is None) == (below is None):
        raise ValueError(f"`above` or `below` must be given, one of them, got {above}, {below}")
    limit = above if above is not None else below
    direction = 1 if above is not None else -1

    def judge(estimates: Estimates) -> Verdict:
        e = estimates[name]
        low, high = sorted((direction * (e.low - limit), direction * (e.high - limit)))
        word, other = ("above", "below") if direction == 1 else ("below", "above")
        if low > 0:
            status, why = Status.REPRODUCED, f"wholly {word} {limit:g}"
        elif high < 0:
            status, why = Status.NOT_REPRODUCED, f"wholly {other} {limit:g}"
        else:
            status, why = Status.INCONCLUSIVE, f"the interval covers {limit:g}"
        margin = min(abs(low), abs(high))
        sees = "distance to the bound"
        return Verdict(status, f"{e.text()}: {why}", margin, abs(e.value - limit), sees)

    return Rule((name,), judge)


def equivalence(name: str, margin: float) -> Rule:
    """Reproduced when the interval lies within plus and minus `margin`, not when outside."""
    if not margin > 0:
        raise ValueError(f"`margin` must be positive, got {margin}")

    def judge(estimates: Estimates) -> Verdict:
        e = estimates[name]
        if -margin < e.low and e.high < margin:
            status, why = Status.REPRODUCED, f"the interval lies within {margin:g} of 0"
            distance = min(margin - e.high, e.low + margin)
        elif e.low > margin or e.high < -margin:
            status, why = Status.NOT_REPRODUCED, f"the interval lies further than {margin:g} from 0"
            distance = min(abs(e.low - margin), abs(e.high + margin))
        else:
            status, why = Status.INCONCLUSIVE, f"the interval crosses {margin:g} from 0"
            inside = max(e.high - margin, -margin - e.low)
            distance = min(inside, margin - e.low, margin + e.high)
        sees = f"with a margin of {margin:g}, half-width of the interval"
        return Verdict(status, f"{e.text()}: {why}", distance, (e.high - e.low) / 2, sees)

    return Rule((name,), judge)


def exact(name: str, *, target: float = 0.0, atol: float = 0.0) -> Rule:
    """Reproduced when a number without an interval lies within `atol` of a target."""
    if not atol >= 0:
        raise ValueError(f"`atol` must not be negative, got {atol}")

    def judge(estimates: Estimates) -> Verdict:
        e = estimates[name]
        off = abs(e.value - target)
        status = Status.REPRODUCED if off <= atol else Status.NOT_REPRODUCED
        goal = f"within {atol:g} of {target:g}" if target else f"at most {atol:g}"
        what = name.replace("_", " ")
        return Verdict(status, f"{what} {e.value:.2g}, to be {goal}", abs(atol - off), None)

    return Rule((name,), judge)


def combine(verdicts: list[Verdict]) -> Verdict:
    """Return the verdict of a claim whose parts must all hold."""
    kinds = [v.status for v in verdicts]
    if Status.NOT_TESTED in kinds:
        status = Status.NOT_TESTED
    elif all(k is Status.REPRODUCED for k in kinds):
        status = Status.REPRODUCED
    elif Status.REPRODUCED in kinds or Status.PARTLY in kinds:
        status = Status.PARTLY
    elif Status.NOT_REPRODUCED in kinds:
        status = Status.NOT_REPRODUCED
    else:
        status = Status.INCONCLUSIVE
    margins = [v.margin for v in verdicts if v.margin is not None]
    reason = "; ".join(v.reason for v in verdicts)
    return Verdict(status, reason, min(margins, default=None), None)


def _names(rules: tuple[Rule, ...], field: str) -> tuple[str, ...]:
    if not rules:
        raise ValueError("`rules` must hold at least one rule, got none")
    return tuple(dict.fromkeys(name for rule in rules for name in getattr(rule, field)))


def all_of(*rules: Rule) -> Rule:
    """Reproduced when all parts are, partly when some are, else not (or inconclusive)."""

    def judge(estimates: Estimates) -> Verdict:
        return combine([rule(estimates) for rule in rules])

    return Rule(_names(rules, "needs"), judge, _names(rules, "optional"))


def at_least(k: int, *rules: Rule) -> Rule:
    """Reproduced when at least k parts are; partly when some; not when none can be.

    With m parts and k below m/2, chance alone would too often give k of them. The hardest null has
    k - 1 parts that truly hold, so that any one of the other m - k + 1 is enough: each part is then
    judged at level 1 - 0.1 / (m - k + 1), and the whole stays within 5% (Bonferroni).
    """
    m = len(rules)
    if not 1 <= k <= m:
        raise ValueError(f"`k` must lie in 1..{m}, the number of rules, got {k}")
    used = {*_names(rules, "needs"), *_names(rules, "optional")}

    def judge(estimates: Estimates) -> Verdict:
        if k < m / 2:
            level = 1 - 0.1 / (m - k + 1)
            estimates = {name: e.at(level) for name, e in estimates.items() if name in used}
        verdicts = [rule(estimates) for rule in rules]
        kinds = [v.status for v in verdicts]
        held = kinds.count(Status.REPRODUCED)
        failed = kinds.count(Status.NOT_REPRODUCED)
        if held >= k:
            status = Status.REPRODUCED
        elif held:
            status = Status.PARTLY
        elif failed > m - k:
            status = Status.NOT_REPRODUCED
        else:
            status = Status.INCONCLUSIVE
        margins = [v.margin for v in verdicts if v.margin is not None]
        reason = f"{held} of {m} hold, {k} needed: " + "; ".join(v.reason for v in verdicts)
        return Verdict(status, reason, min(margins, default=None), None)

    return Rule(_names(rules, "needs"), judge, _names(rules, "optional"))


def custom(
    needs: tuple[str, ...],
    judge: Callable[[Estimates], Verdict],
    *,
    optional: tuple[str, ...] = (),
) -> Rule:
    """Return a rule from a named function of the paper's `claims.py`."""
    return Rule(tuple(needs), judge, tuple(optional))
