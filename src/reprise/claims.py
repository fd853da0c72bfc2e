"""What a paper claims, the rule that decides, and the verdicts of a run."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from reprise.estimate import Estimate
from reprise.rules import (
    Rule,
    Status,
    Verdict,
    all_of,
    at_least,
    bound,
    combine,
    custom,
    equivalence,
    exact,
    sign,
    smallest_effect,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Claim",
    "Judgement",
    "Measure",
    "Paper",
    "Rule",
    "Status",
    "Verdict",
    "all_of",
    "at_least",
    "bound",
    "check",
    "combine",
    "custom",
    "document",
    "equivalence",
    "exact",
    "headline",
    "judge",
    "outcome",
    "sign",
    "smallest_effect",
    "stated",
]

PARTS = (
    "Optimisation and scaling",
    "Causality, inference and matching",
    "Privacy",
    "Efficient models",
    "Language models: evaluation and robustness",
    "Reinforcement learning",
)
Fixed = Literal["before any run", "after a pilot"]


@dataclass(frozen=True)
class Paper:
    """What the book says of a paper: front page, part pages, scorecard, bibliography.

    Attributes
    ----------
    title, authors, venue, year : as published
    arxiv : identifier, such as "2411.19671"
    code : address of the official code; "" where there is none
    part : the part of the book
    idea : the idea in one sentence
    key_figure : name of the chapter's key figure
    """

    title: str
    authors: tuple[str, ...]
    venue: str
    arxiv: str
    code: str
    part: str
    idea: str
    key_figure: str
    year: int = 2025
    url: str = ""

    def __post_init__(self) -> None:
        if self.part not in PARTS:
            raise ValueError(f"`part` must be one of {PARTS}, got {self.part!r}")
        for name in ("title", "authors", "venue", "idea", "key_figure"):
            if not getattr(self, name):
                raise ValueError(f"`{name}` must not be empty")


@dataclass(frozen=True)
class Measure:
    """How an estimate is made from result tables.

    Attributes
    ----------
    experiments : the tables that it reads
    compute : tables by experiment -> the estimate; None where these tables can't give it
    label : what it is, in words
    """

    experiments: tuple[str, ...]
    compute: Callable[[Mapping[str, pd.DataFrame]], Estimate | None]
    label: str


@dataclass(frozen=True)
class Claim:
    """One claim of a paper as data.

    Attributes
    ----------
    id : "C1", "C2", ...
    text : the claim in one plain sentence
    paper : the paper's own figure, as shown
    where : where it stands in the paper
    rule : what decides, of the estimates that it names
    fixed : how blind the rule was when it was fixed
    effect : the paper's effect in the unit of the rule's estimate; None where it isn't known
    unit : that unit
    beside : further estimates that are printed with the verdict
    comment : further words that depend on the estimates and the verdict
    untested : why a run without the needed tables can't tell
    """

    id: str
    text: str
    paper: str
    where: str
    rule: Rule
    fixed: Fixed
    effect: float | None = None
    unit: str = ""
    beside: tuple[str, ...] = ()
    comment: Callable[[Mapping[str, Estimate], Verdict], str] | None = None
    untested: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The estimates that the claim shows: needed, optional, beside."""
        return tuple(dict.fromkeys((*self.rule.needs, *self.rule.optional, *self.beside)))


@dataclass(frozen=True)
class Judgement:
    """A claim as one run judges it."""

    claim: Claim
    verdict: Verdict
    estimates: Mapping[str, Estimate]
    profile: str
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def comment(self) -> str:
        """The claim's own words on this outcome."""
        if self.claim.comment is None or self.verdict.status is Status.NOT_TESTED:
            return ""
        return self.claim.comment(self.estimates, self.verdict)


def check(
    claims: Sequence[Claim], measures: Mapping[str, Measure], experiments: Iterable[str]
) -> None:
    """Raise `ValueError` where claims, measures and experiments don't fit together.

    Twice the same id; a rule or a line beside it that asks for an estimate that no measure makes;
    a measure that reads an experiment that doesn't exist.
    """
    known = set(experiments)
    ids = [claim.id for claim in claims]
    for claim in claims:
        if ids.count(claim.id) > 1:
            raise ValueError(f"claim {claim.id} is there twice")
        for name in claim.names:
            if name not in measures:
                raise ValueError(
                    f"claim {claim.id}: its rule asks for the estimate {name!r}, which no measure "
                    f"makes; there are {sorted(measures)}"
                )
    for name, measure in measures.items():
        if lost := sorted(set(measure.experiments) - known):
            raise ValueError(
                f"measure {name!r} reads the experiment {lost[0]!r}, which doesn't exist; "
                f"there are {sorted(known)}"
            )


def estimates_of(
    names: Iterable[str], measures: Mapping[str, Measure], tables: Mapping[str, pd.DataFrame | None]
) -> dict[str, Estimate]:
    """Return the estimates that the tables at hand can give.

    Raises
    ------
    ValueError
        When a measure fails on a table that is there; names the measure.
    """
    there = {name: table for name, table in tables.items() if table is not None}
    found = {}
    for name in names:
        measure = measures[name]
        if not set(measure.experiments) <= set(there):
            continue
        try:
            estimate = measure.compute({e: there[e] for e in measure.experiments})
        except Exception as error:
            raise ValueError(
                f"measure {name!r} of {', '.join(measure.experiments)}: "
                f"{type(error).__name__}: {error}"
            ) from error
        if estimate is not None:
            found[name] = estimate
    return found


def judge(
    claims: Sequence[Claim],
    measures: Mapping[str, Measure],
    tables: Mapping[str, pd.DataFrame | None],
    *,
    profile: str,
) -> list[Judgement]:
    """Return every claim's verdict from result tables.

    Parameters
    ----------
    tables : experiment -> table, None or left out where there is none
    profile : of the run that made the tables

    Raises
    ------
    ValueError
        When a measure or a rule fails on what is there; names the claim.
    """
    found = []
    for claim in claims:
        try:
            estimates = estimates_of(claim.names, measures, tables)
            verdict = claim.rule(estimates)
        except Exception as error:
            raise ValueError(f"claim {claim.id}: {error}") from error
        if verdict.status is Status.NOT_TESTED:
            missing = [measures[n].label for n in claim.rule.needs if n not in estimates]
            why = claim.untested or f"this run has no {', '.join(missing)}"
            verdict = Verdict(Status.NOT_TESTED, verdict.reason if not missing else why)
        labels = {name: measures[name].label for name in claim.names}
        found.append(Judgement(claim, verdict, estimates, profile, labels))
    return found


def headline(live: Judgement, stored: Judgement | None, *, current: bool) -> Judgement:
    """Return whose verdict leads: the stored full run's when it is current and tells, else quick's.

    Parameters
    ----------
    live : this run's judgement
    stored : that of the stored full run, or None
    current : whether today's code and configs would make the stored tables
    """
    tells = stored is not None and stored.verdict.status is not Status.NOT_TESTED
    return stored if tells and current else live


def document(
    slug: str,
    judgements: Sequence[Judgement],
    *,
    profile: str,
    digests: Mapping[str, str],
    date: str,
) -> dict[str, object]:
    """Return what `claims.json` holds (schemas/claims.schema.json), for readers and programs.

    Parameters
    ----------
    digests : experiment -> result digest of the tables that were judged
    date : UTC, ISO 8601
    """
    return {
        "schema": 1,
        "slug": slug,
        "profile": profile,
        "date": date,
        "digests": dict(sorted(digests.items())),
        "claims": [{**stated(j.claim), **outcome(j)} for j in judgements],
    }


def stated(claim: Claim) -> dict[str, object]:
    """Return what the paper says, as `claims.json` and `verdicts.json` hold it."""
    return {
        "id": claim.id,
        "claim": claim.text,
        "paper": {
            "value": claim.paper,
            "where": claim.where,
            "effect": claim.effect,
            "unit": claim.unit,
        },
        "fixed": claim.fixed,
    }


def outcome(judgement: Judgement) -> dict[str, object]:
    """Return what a run says of a claim, as `claims.json` and `verdicts.json` hold it."""
    return {
        "estimates": {
            name: {"label": judgement.labels.get(name, name), **dataclasses.asdict(estimate)}
            for name, estimate in judgement.estimates.items()
        },
        "smallest_effect": judgement.verdict.smallest_effect,
        "margin": judgement.verdict.margin,
        "verdict": str(judgement.verdict.status),
        "reason": judgement.verdict.reason,
    }
