"""A pattern was used where a thought cites it, and nowhere else."""

from __future__ import annotations

import pytest

from hisa.patterns.synthesis import find_citations, is_cited
from hisa.protocols import StepSummary


@pytest.mark.parametrize(
    ("thought", "expected"),
    [
        ("As [p1] says.", {"p1"}),
        ("[p1, p3] and [p12]", {"p1", "p3", "p12"}),
        ("p1 without brackets, [x1], [p], [p123]", set()),
    ],
)
def test_citations(thought: str, expected: set[str]) -> None:
    assert find_citations(thought) == expected


def test_a_citation_counts_for_the_pattern_at_its_place() -> None:
    steps = [StepSummary("Next.", ""), StepSummary("As [p2] says.", "")]
    assert [is_cited(number, steps) for number in (1, 2, 3)] == [False, True, False]
