"""The simulation of test-time scaling: its rates are those it states, and it shows the weakness."""

from __future__ import annotations

from benchmarks.scaling import measure
from benchmarks.scaling_points import World


async def test_eight_samples_and_a_judge_gain_unless_all_make_one_mistake() -> None:
    rows = await measure(World(0.35, two_ways=0, after_failure=0, ends=0), 60, 1)
    assert rows["K=8"].success > rows["K=1"].success + 0.1
    assert rows["K=1"].choices == []
    assert len(rows["K=8"].choices) == 60
    alike = await measure(World(0.35, same=1.0, uneven=True), 60, 1)
    assert alike["K=8"].success < rows["K=8"].success
