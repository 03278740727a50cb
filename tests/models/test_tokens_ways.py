"""The benchmark that lays the ways of pointing side by side does one task in each of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.tokens_ways import WAYS, run
from hisa.models.tokens import estimate_tokens


@pytest.mark.parametrize("way", WAYS)
async def test_each_way_does_the_task_and_pays_for_what_it_is_shown(
    tmp_path: Path, way: str
) -> None:
    row = await run(way, estimate_tokens, tmp_path, form=True)
    assert (row["steps"], row["calls"]) == (3, 3)
    parts = row["parts"]
    assert ("list" in {k for k, v in parts.items() if v}) is ("marks" in way)
    assert bool(parts.get("picture")) is ("instead" not in way)
    assert bool(parts.get("tools")) is ("computer" in way)
    assert sum(parts.values()) == pytest.approx(row["per_step"])


@pytest.mark.desktop
@pytest.mark.parametrize("way", [way for way in WAYS if "points" in way or "and the" in way])
async def test_a_way_does_the_task_in_a_real_editor(tmp_path: Path, way: str) -> None:
    row = await run(way, estimate_tokens, tmp_path, form=False)  # ends the process without score 1
    assert row["steps"] == 7
