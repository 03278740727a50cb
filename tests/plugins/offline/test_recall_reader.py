"""Recall measured by a reader of the prompt alone, over runs that the offline model summarizes."""

from __future__ import annotations

import pytest

from benchmarks.recall_reader import measured


@pytest.mark.parametrize(("notes", "least"), [(True, 0.95), (False, 0.9)])
async def test_a_reader_finds_what_a_thought_told_25_steps_before(
    notes: bool, least: float
) -> None:
    rows = (await measured("report", 2, [5], notes=notes))[5]
    assert len(rows) == 24
    lost = [(row["asked"], row["value"]) for row in rows if not row["right"]]
    assert len(lost) <= (1 - least) * len(rows), lost
