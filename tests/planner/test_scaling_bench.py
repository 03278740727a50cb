"""The simulation of test-time scaling: its rates are those it states, and it shows the weakness."""

from __future__ import annotations

from benchmarks.scaling import against, measure
from benchmarks.scaling_points import World

PLAIN = World(0.1, two_ways=0, after_failure=0, ends=0)


async def test_few_independent_errors_cost_little_and_lose_nothing() -> None:
    rows = await measure(PLAIN, 60, 1)
    compared = against(rows["frugal"], rows["K=8"])
    assert compared["success_holds"]
    assert compared["tokens_hold"]
    assert rows["K=1"].choices == []
    assert len(rows["K=8"].choices) == 60


async def test_equal_mistakes_agree_and_are_counted() -> None:
    rows = await measure(World(0.35, same=1.0, uneven=True), 60, 1)
    assert rows["frugal"].agreed_wrong > 0
    assert rows["K=8"].agreed_wrong == 0
