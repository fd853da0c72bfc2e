"""The verdicts of a chapter as its page shows them: live and stored, side by side."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from reprise.claims import Claim, Judgement, Status, headline, outcome, stated

MARKS = {
    Status.REPRODUCED: "●",
    Status.PARTLY: "◐",
    Status.INCONCLUSIVE: "○",
    Status.NOT_REPRODUCED: "✕",
    Status.NOT_TESTED: "–",
}


def badge(status: Status) -> str:
    """Return a verdict as HTML: a shape and a word, coloured where there is a stylesheet."""
    name = status.replace(" ", "-")
    mark = f'<span aria-hidden="true">{MARKS[status]}</span>'
    return f'<span class="reprise-verdict reprise-{name}">{mark} {status}</span>'


@dataclass(frozen=True)
class Line:
    """One claim with what the live run and the stored full run say of it."""

    slug: str
    live: Judgement
    stored: Judgement | None = None
    current: bool = True  # today's code and configs would make the stored tables
    live_leads: bool = False  # the live run has changed parameters: it is what one wants to see

    @property
    def claim(self) -> Claim:
        """The claim."""
        return self.live.claim

    @property
    def head(self) -> Judgement:
        """Whose verdict leads."""
        return headline(self.live, self.stored, current=self.current and not self.live_leads)

    @property
    def runs(self) -> list[tuple[str, Judgement]]:
        """The runs that are shown, (label, judgement), the leading one first."""
        found = [(self.live.profile, self.live)]
        if self.stored is not None and self.live.profile != "full":
            label = "full" if self.current else "full, by an earlier version of the code"
            found.append((label, self.stored))
            if self.head is self.stored:
                found.reverse()
        return found

    def _repr_markdown_(self) -> str:
        return section(self)


@dataclass(frozen=True)
class Verdicts:
    """All claims of a chapter; shows itself as the table at a glance."""

    slug: str
    lines: Sequence[Line]
    full_pending: bool = field(default=False)  # no stored full run has been made yet

    def __getitem__(self, claim_id: str) -> Line:
        for line in self.lines:
            if line.claim.id == claim_id:
                return line
        raise KeyError(f"no claim {claim_id!r}; there are {[x.claim.id for x in self.lines]}")

    def counts(self) -> dict[Status, int]:
        """Return how many headline verdicts there are of each kind."""
        heads = [line.head.verdict.status for line in self.lines]
        return {status: heads.count(status) for status in Status if status in heads}

    @property
    def bar(self) -> Bar:
        """The verdicts counted, in one line."""
        return Bar(self)

    def _repr_html_(self) -> str:
        return table(self)

    def __repr__(self) -> str:
        return text(self)


def number(x: float | None) -> str:
    return "n/a" if x is None else f"{x:.2g}"


def _measured(judgement: Judgement) -> str:
    """Return the estimates that decide, in few words."""
    if judgement.verdict.status is Status.NOT_TESTED:
        return ""
    names = [*judgement.claim.rule.needs, *judgement.claim.rule.optional]
    shown = [
        f"{html.escape(judgement.labels.get(n, n))}: {judgement.estimates[n].text()}"
        for n in names
        if n in judgement.estimates
    ]
    return "<br>".join(shown)


def _power(judgement: Judgement) -> str:
    """Return what effect the run would have seen, beside the paper's where it states one."""
    verdict, claim = judgement.verdict, judgement.claim
    if verdict.status is Status.NOT_TESTED or verdict.smallest_effect is None:
        return ""
    unit = f" {html.escape(claim.unit)}" if claim.unit else ""
    paper = "" if claim.effect is None else f"; the paper's {number(claim.effect)}"
    return f"{verdict.sees} {number(verdict.smallest_effect)}{unit}{paper}"


def table(verdicts: Verdicts) -> str:
    """Return the table "the paper says / we measured / verdict" as HTML that scrolls by itself."""
    rows = []
    for line in verdicts.lines:
        claim = line.claim
        cells = []
        for label, judgement in line.runs:
            if judgement.verdict.status is Status.NOT_TESTED:
                what = f"<em>not tested</em>: {html.escape(judgement.verdict.reason)}"
            else:
                what = _measured(judgement)
                if power := _power(judgement):
                    what += f'<br><span class="reprise-small">{power}</span>'
            cells.append(f'<p><span class="reprise-run">{label}</span> {what}</p>')
        also = "".join(
            f'<span class="reprise-small">{label}: {judgement.verdict.status}</span>'
            for label, judgement in line.runs[1:]
        )
        anchor = f"{verdicts.slug}-{claim.id}".lower().replace("_", "-")  # as Sphinx writes ids
        link = f'<a href="#{anchor}">{claim.id}</a>'
        rows.append(
            f'<tr><th scope="row">{link} {html.escape(claim.text)}<br>'
            f'<span class="reprise-small">rule fixed {claim.fixed}</span></th>'
            f'<td data-label="The paper says">{html.escape(claim.paper)}<br>'
            f'<span class="reprise-small">{html.escape(claim.where)}</span></td>'
            f'<td data-label="We measured">{"".join(cells)}</td>'
            f'<td data-label="Verdict">{badge(line.head.verdict.status)}{also}</td></tr>'
        )
    pending = ""
    if verdicts.full_pending:
        pending = '<p class="reprise-small">No full run is stored yet: the verdicts are quick.</p>'
    heads = ("Claim", "The paper says", "We measured", "Verdict")
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    return (
        '<div class="reprise-claims" tabindex="0" role="region" aria-label="Claims and verdicts">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>{pending}</div>"
    )


@dataclass(frozen=True)
class Bar:
    """How many claims got which verdict, in one line."""

    verdicts: Verdicts

    def _repr_html_(self) -> str:
        counts = self.verdicts.counts()
        shown = " ".join(
            badge(status).replace("</span> ", f"</span> {count} ", 1)
            for status, count in counts.items()
        )
        total = len(self.verdicts.lines)
        return f'<p class="reprise-bar"><a href="#at-a-glance">Of {total} claims</a>: {shown}</p>'

    def __repr__(self) -> str:
        return ", ".join(f"{count} {status}" for status, count in self.verdicts.counts().items())


def text(verdicts: Verdicts) -> str:
    """Return the verdicts for a terminal, a line per claim and run."""
    lines = []
    for line in verdicts.lines:
        for label, judgement in line.runs:
            verdict = judgement.verdict
            lines.append(f"{line.claim.id} {label:6} {verdict.status:15} {verdict.reason}")
    return "\n".join(lines)


OPENINGS = {
    Status.REPRODUCED: "The claim holds here",
    Status.PARTLY: "Part of the claim holds here",
    Status.INCONCLUSIVE: "This run cannot tell",
    Status.NOT_REPRODUCED: "The claim does not hold here",
    Status.NOT_TESTED: "Not tested",
}


def sentence(judgement: Judgement) -> str:
    """Return the outcome in words; it turns when the verdict turns."""
    verdict = judgement.verdict
    parts = [f"{OPENINGS[verdict.status]}. {verdict.reason[:1].upper()}{verdict.reason[1:]}."]
    for name in judgement.claim.beside:
        estimate = judgement.estimates.get(name)
        if estimate is not None and not estimate.exact:
            parts.append(f"{judgement.labels.get(name, name)}: {estimate.text()}.")
    if judgement.comment:
        parts.append(judgement.comment)
    return " ".join(parts)


def section(line: Line) -> str:
    """Return a claim and its verdicts as Markdown: each run's badge, numbers, smallest effect."""
    claim = line.claim
    found = [f"*{claim.text}* The paper: {claim.paper} ({claim.where})."]
    for label, judgement in line.runs:
        power = _power(judgement)
        tail = f" ({power})" if power else ""
        found.append(f"{badge(judgement.verdict.status)} **{label}**: {sentence(judgement)}{tail}")
    return "\n\n".join(found)


def lines(
    slug: str,
    live: Sequence[Judgement],
    stored: Mapping[str, Judgement] | None = None,
    current: Mapping[str, bool] | None = None,
    *,
    live_leads: bool = False,
) -> list[Line]:
    """Join the live judgements with the stored ones by claim."""
    stored, current = stored or {}, current or {}
    return [
        Line(slug, j, stored.get(j.claim.id), current.get(j.claim.id, True), live_leads)
        for j in live
    ]


def document(verdicts: Verdicts, profile: str, date: str) -> dict[str, object]:
    """Return what `verdicts.json` holds: each claim as its page shows it, the leading run first.

    Parameters
    ----------
    profile : of the run whose page it is
    date : UTC, ISO 8601
    """
    return {
        "schema": 1,
        "slug": verdicts.slug,
        "profile": profile,
        "date": date,
        "claims": [
            {
                **stated(line.claim),
                "runs": [
                    {
                        "profile": judgement.profile,
                        "current": judgement is line.live or line.current,
                        "decides": [*judgement.claim.rule.needs, *judgement.claim.rule.optional],
                        "sees": judgement.verdict.sees,
                        **outcome(judgement),
                    }
                    for _, judgement in line.runs
                ],
            }
            for line in verdicts.lines
        ],
    }
