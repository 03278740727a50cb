"""A suite's answers by the columns of its published tables (GTA1, tables 1 to 3)."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel

from hisa.plugins.benchmarks.bench.grounding.runner import Answer
from hisa.plugins.benchmarks.bench.stats import wilson
from hisa.plugins.benchmarks.bench.tables import Table, percent

__all__ = ["Column", "columns_of", "columns_table"]

_ORDER = (
    "Development", "Creative", "CAD", "Scientific", "Office", "OS",
    "Mobile", "Desktop", "Web",
    "Text Matching", "Element Recognition", "Layout Understanding", "Fine-grained Manipulation",
    "Refusal",
)  # fmt: skip
_TYPES = ("text", "icon")


class Column(BaseModel):
    """One cell of a published table, with Wilson's 95% interval."""

    domain: str
    """Empty: all of the suite."""
    type: str
    """"text" or "icon"; empty: both, or a suite that is not split so."""
    count: int
    """Points on the thing, and refusals of what is not there; every other refusal is a miss."""
    of: int
    low: float
    high: float


def columns_of(answers: Sequence[Answer]) -> list[Column]:
    """The cells that have answers, domain by domain; none for a suite without domains."""
    domains = {domain for answer in answers for domain in answer.domains}
    if not domains:
        return []
    types = _TYPES if all(answer.kind in _TYPES for answer in answers) else ()
    ordered = sorted(domains, key=lambda name: (_place(name), name))
    cells = [_column(domain, kind, answers) for domain in (*ordered, "") for kind in (*types, "")]
    return [cell for cell in cells if cell.of]


def _place(domain: str) -> int:
    return _ORDER.index(domain) if domain in _ORDER else len(_ORDER)


def _column(domain: str, kind: str, answers: Sequence[Answer]) -> Column:
    counted = [
        answer.outcome == ("right" if answer.present else "refused")
        for answer in answers
        if (not domain or domain in answer.domains) and (not kind or kind == answer.kind)
    ]
    low, high = wilson(sum(counted), len(counted))
    return Column(domain=domain, type=kind, count=sum(counted), of=len(counted), low=low, high=high)


def columns_table(part: str, columns: Sequence[Column]) -> Table:
    """The cells as a table with a row a domain.

    Args:
        part: the split's name.
        columns: its cells.
    """
    cells = {(column.domain, column.type): column for column in columns}
    types = [kind for kind in (*_TYPES, "") if any(column.type == kind for column in columns)]
    domains = list(dict.fromkeys(column.domain for column in columns))
    return Table(
        f"{part}: as published",
        "Percent right of how many, with 95% intervals, as GTA1's tables 1 to 3 count: a refusal "
        "of an absent thing is right, any other is a miss. Avg is over things, each counted once.",
        ("Domain", *(kind.capitalize() or "Avg" for kind in types)),
        tuple(
            (domain or "Avg", *(_cell(cells.get((domain, kind))) for kind in types))
            for domain in domains
        ),
    )


def _cell(column: Column | None) -> str:
    if column is None:
        return "–"
    low, high = percent(column.low), percent(column.high)
    return f"{percent(column.count / column.of)} of {column.of} [{low}, {high}]"
