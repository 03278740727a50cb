"""The simulation of test-time scaling: its rates are those it states, and it shows the weakness."""

from __future__ import annotations

import random
import statistics

import pytest

from benchmarks.scaling import against, measure
from benchmarks.scaling_points import World, point_of, sample

PLAIN = World(0.1, two_ways=0, after_failure=0, ends=0)


@pytest.mark.parametrize("uneven", [False, True])
def test_samples_are_wrong_as_often_as_is_said(uneven: bool) -> None:
    world = World(0.2, uneven=uneven)
    dice = random.Random(7)
    points = [point_of(world, number, 1) for number in range(2000)]
    right = [sample(world, each, dice) in sum(each.right, ()) for each in points]
    assert statistics.fmean(right) == pytest.approx(0.8, abs=0.03)


async def test_few_independent_errors_cost_little_and_lose_nothing() -> None:
    rows = await measure(PLAIN, 60, 1)
    compared = against(rows["frugal"], rows["K=8"])
    assert compared["success_holds"]
    assert compared["tokens_hold"]
    assert rows["K=1"].sampling.decisions == 0
    assert rows["K=8"].sampling.decisions == 60


async def test_equal_mistakes_agree_and_are_counted() -> None:
    rows = await measure(World(0.35, same=1.0, uneven=True), 60, 1)
    assert rows["frugal"].agreed_wrong > 0
    assert rows["K=8"].agreed_wrong == 0
