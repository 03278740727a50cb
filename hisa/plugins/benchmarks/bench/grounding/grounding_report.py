"""The sums of a grounder's answers, with 95% intervals, and their tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydantic import BaseModel

from hisa.plugins.benchmarks.bench.grounding.runner import Answer
from hisa.plugins.benchmarks.bench.grounding.targets import KINDS
from hisa.plugins.benchmarks.bench.stats import quantile, wilson
from hisa.plugins.benchmarks.bench.tables import Table, percent, table_of

__all__ = ["GroundingReport", "Part", "Share", "build_grounding_report", "grounding_tables"]

_TYPES = ("text", "icon")


class Share(BaseModel):
    """A part of a total, with Wilson's 95% interval; ``rate`` is None if the total is 0."""

    count: int
    of: int
    rate: float | None
    low: float
    high: float


class Score(BaseModel):
    """Answers of one kind, or of all."""

    name: str
    right: Share
    """Of the things that are there."""
    wrong: Share
    """Of the things that are there: a point outside the right box."""
    refused: Share
    """Of the things that are there."""
    absent_refused: Share
    """Of the things that are not there; the others got a point."""


class Column(BaseModel):
    """A cell of the suite's published table (GTA1, tables 1 to 3); empty: all domains or types."""

    domain: str
    type: str
    right: Share
    """A refusal of what is absent is right; any other refusal is a miss."""


class Part(BaseModel):
    """One split of a suite."""

    name: str
    total: Score
    columns: list[Column] = []
    kinds: list[Score]
    ms_median: float | None
    """Milliseconds per description."""
    ms_p95: float | None
    calls: int
    tokens_in: int
    tokens_out: int


class GroundingReport(BaseModel):
    """A measurement, split by split: train and held are separate."""

    suite: str
    grounder: str
    parts: list[Part]


def build_grounding_report(suite: str, grounder: str, answers: Sequence[Answer]) -> GroundingReport:
    """Sum answers up, by split.

    Args:
        suite: the suite's name.
        grounder: the name of the grounding method.
        answers: one per target that was asked for.
    """
    splits = sorted({answer.split for answer in answers}, key=_train_first)
    parts = [
        _part(split or "all", [answer for answer in answers if answer.split == split])
        for split in splits
    ]
    return GroundingReport(suite=suite, grounder=grounder, parts=parts)


def _train_first(split: str) -> tuple[bool, str]:
    return split != "train", split


def _part(name: str, answers: list[Answer]) -> Part:
    times = [answer.seconds for answer in answers]
    return Part(
        name=name,
        total=_score(name, answers),
        columns=_columns(answers),
        kinds=_by_kind(answers),
        ms_median=_ms(quantile(times, 0.5)),
        ms_p95=_ms(quantile(times, 0.95)),
        calls=sum(answer.calls for answer in answers),
        tokens_in=sum(answer.tokens_in for answer in answers),
        tokens_out=sum(answer.tokens_out for answer in answers),
    )


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(1000 * seconds, 2)


def _by_kind(answers: Iterable[Answer]) -> list[Score]:
    """Returns one score per kind, in the order of `KINDS`, then others by name."""
    groups: dict[str, list[Answer]] = {kind: [] for kind in KINDS}
    for answer in sorted(answers, key=lambda answer: answer.kind):
        groups.setdefault(answer.kind, []).append(answer)
    return [_score(kind, answers) for kind, answers in groups.items() if answers]


def _columns(answers: Sequence[Answer]) -> list[Column]:
    domains = sorted({domain for answer in answers for domain in answer.domains})
    types = _TYPES if {answer.kind for answer in answers} <= {*_TYPES} else ()
    return [
        Column(
            domain=domain,
            type=kind,
            right=_share(
                answer.outcome == ("right" if answer.present else "refused")
                for answer in answers
                if domain in (*answer.domains, "") and kind in (answer.kind, "")
            ),
        )
        for domain in (*domains, "")
        for kind in (*types, "")
        if domains
    ]


def _score(name: str, answers: Iterable[Answer]) -> Score:
    every = list(answers)
    present = [answer.outcome for answer in every if answer.present]
    absent = [answer.outcome for answer in every if not answer.present]
    return Score(
        name=name,
        right=_share(outcome == "right" for outcome in present),
        wrong=_share(outcome == "wrong" for outcome in present),
        refused=_share(outcome == "refused" for outcome in present),
        absent_refused=_share(outcome == "refused" for outcome in absent),
    )


def _share(hits: Iterable[bool]) -> Share:
    every = list(hits)
    count, of = sum(every), len(every)
    low, high = wilson(count, of)
    return Share(count=count, of=of, rate=count / of if of else None, low=low, high=high)


def grounding_tables(report: GroundingReport) -> list[Table]:
    """Returns all tables that have rows."""
    totals = [part.total for part in report.parts]
    tables = [_breakdown("Places", "Split", totals), _costs(report)]
    for part in report.parts:
        tables += [
            _as_published(part),
            _breakdown(f"{part.name}: by kind of description", "Kind", part.kinds),
        ]
    return [table for table in tables if table.rows]


def _as_published(part: Part) -> Table:
    cells = {(column.domain, column.type): column.right for column in part.columns}
    types = list(dict.fromkeys(kind for _, kind in cells))
    return Table(
        f"{part.name}: as published",
        "Percent right, counted as in GTA1's tables 1 to 3: a refusal of an absent thing is right, "
        "any other refusal is a miss. Avg is over things, each counted once.",
        ("Domain", *(kind.capitalize() or "Avg" for kind in types)),
        tuple(
            (
                name or "Avg",
                *(f"{_interval(cells[name, kind])} of {cells[name, kind].of}" for kind in types),
            )
            for name in dict.fromkeys(domain for domain, _ in cells)
        ),
    )


def _breakdown(title: str, first: str, scores: Sequence[Score]) -> Table:
    return table_of(
        title,
        "Percent of the things that are on the screen, with 95% intervals: right is a point on the "
        "thing, wrong a point anywhere else. An absent thing is right if it is refused.",
        scores,
        {
            first: lambda row: row.name,
            "Things": lambda row: str(row.right.of),
            "Right %": lambda row: _interval(row.right),
            "Wrong %": lambda row: _interval(row.wrong),
            "Refused %": lambda row: percent(row.refused.rate),
            "Absent": lambda row: str(row.absent_refused.of),
            "Absent refused %": lambda row: _interval(row.absent_refused),
        },
    )


def _costs(report: GroundingReport) -> Table:
    return table_of(
        "Time and tokens",
        "Milliseconds per description; the text of a picture is read once.",
        report.parts,
        {
            "Split": lambda part: part.name,
            "Median ms": lambda part: _number(part.ms_median),
            "95% ms": lambda part: _number(part.ms_p95),
            "Calls": lambda part: str(part.calls),
            "Tokens in": lambda part: str(part.tokens_in),
            "Tokens out": lambda part: str(part.tokens_out),
        },
    )


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _interval(share: Share) -> str:
    if share.rate is None:
        return "–"
    return f"{percent(share.rate)} [{percent(share.low)}, {percent(share.high)}]"
