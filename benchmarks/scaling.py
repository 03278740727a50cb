"""Test-time scaling in simulation: what eight samples and a judge gain over one reply.

    python -m benchmarks.scaling [-n N] [--seed S] [--json]

Real: the scaled planner, the judge's prompt and its reading, and the ledger. Simulated, at stated
rates: what a planner's samples and a judge answer at each decision point. It says how both
compare where the rates are so; it says nothing of how often real models err, nor whether a judge
of theirs is that good.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.machine import machine
from benchmarks.scaling_points import Judging, World, point_of
from hisa.config import PlannerSettings
from hisa.events import Chosen, Event
from hisa.models.profiles import Profile
from hisa.models.role_model import CallContext, RoleModel
from hisa.planner.judging import Judge
from hisa.planner.planner import GlobalPlanner
from hisa.planner.scaling import ScaledPlanner
from hisa.plugins.benchmarks.bench.stats import wilson
from hisa.protocols import Planner
from hisa.runs.manifest import Totals
from hisa.testing.scripted import FunctionModel
from hisa.tools.base import Tool
from hisa.tools.builtin import bash_execution, gui_action, infeasible, termination, wait
from hisa.tools.registry import ToolRegistry

K = 8
WAYS = ("K=1", "K=8")
ERRORS = (0.1, 0.2, 0.35)
WORLDS: dict[str, Callable[[float], World]] = {
    "errors alone: one right way, no step that failed before, no end of a run": lambda e: World(
        e, two_ways=0, after_failure=0, ends=0
    ),
    "as assumed": World,
    "nine in ten of a point's mistakes are one and the same": lambda e: World(e, same=0.9),
    "that, and most errors in a quarter of the points": lambda e: World(e, same=0.9, uneven=True),
    "that, and a judge that is right in 97% and sees that none is good in 90%": lambda e: World(
        e, same=0.9, uneven=True, right=0.97, none=0.9
    ),
}
ASSUMED = """\
  20% of the points have two right ways, equally likely; at one in twelve the task is done;
  half as many points as there are errors come after a step that was seen to fail;
  half of a point's mistakes are one and the same, the others of five further kinds;
  a judge picks a right candidate in 90% where one is listed, says "none" in 3%; where none is
  right it says so in 70%; 2% of its answers are no judgement; the length of its list and what is
  longest on it change nothing of that.
  A planner asked once errs as often as a sample. Grounding costs nothing here."""


@dataclass(frozen=True)
class Outcome:
    """One decision."""

    right: bool
    tokens: int
    choice: Chosen | None

    @property
    def agreed(self) -> bool:
        """Whether the replies agreed, so that no judge saw them."""
        return self.choice is not None and self.choice.by == "agreement"


@dataclass(frozen=True)
class Row:
    """One way at one error rate."""

    way: str
    outcomes: Sequence[Outcome]

    @property
    def choices(self) -> list[Chosen]:
        """The decisions for which several replies were sampled."""
        return [each.choice for each in self.outcomes if each.choice]

    @property
    def success(self) -> float:
        """Share of right decisions."""
        return statistics.fmean(each.right for each in self.outcomes)

    @property
    def tokens(self) -> float:
        """Tokens in and out a decision."""
        return statistics.fmean(each.tokens for each in self.outcomes)

    @property
    def agreed_wrong(self) -> float:
        """Decisions that ended early on a common mistake."""
        return statistics.fmean(each.agreed and not each.right for each in self.outcomes)


async def decide(world: World, way: str, number: int, seed: int) -> Outcome:
    """One decision; the samples of a point are the same for every way, as far as it takes them."""
    point = point_of(world, number, seed)
    scripted = Judging(world, point, f"{seed} {number}")
    events: list[Event] = []
    asked = FunctionModel(scripted.answer)
    model = RoleModel(asked, CallContext(events.append), profile=Profile(name="m"))
    tools = (gui_action, bash_execution, wait, termination, infeasible)
    registry = ToolRegistry([Tool(tool) for tool in tools])
    inner = GlobalPlanner(model, registry, emit=events.append)
    planner: Planner = inner
    if way == "K=8":
        judge = Judge(model, emit=events.append)
        settings = PlannerSettings(samples=K)
        planner = ScaledPlanner(inner, judge, emit=events.append, settings=settings)
    call = await planner.plan(point.task, point.look, point.view)
    spent = Totals()
    for event in events:
        spent.add(event, event.at)
    choice = next((event for event in events if isinstance(event, Chosen)), None)
    return Outcome(point.is_right(call), spent.tokens, choice)


async def measure(world: World, count: int, seed: int) -> dict[str, Row]:
    """Every way on the same points."""
    rows = {}
    for way in WAYS:
        rows[way] = Row(way, [await decide(world, way, n, seed) for n in range(count)])
    return rows


def numbers(row: Row) -> dict[str, float]:
    """A way's own numbers."""
    agreed = sum(each.agreed for each in row.outcomes) / max(1, len(row.choices))
    return {
        "success": row.success,
        "tokens": row.tokens,
        "agreed": agreed,
        "agreed_wrong": row.agreed_wrong,
    }


def told_row(row: Row) -> str:
    """A line of the table."""
    low, high = wilson(sum(each.right for each in row.outcomes), len(row.outcomes))
    own = numbers(row)
    return (
        f"  {row.way:<9} {row.success:6.1%} ({low:5.1%} to {high:5.1%}) {row.tokens:8,.0f} "
        f"{own['agreed']:7.1%} {row.agreed_wrong:7.1%}"
    )


HEAD = (
    "  way       success (95%)             tokens  agreed  agreed\n"
    "                                  a decision          & wrong"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("-n", type=int, default=400, help="decision points a table (400)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not options.json:
        print(f"test-time scaling, {options.n} decision points a table ({machine()})")
        print(f"assumed, unless a table says otherwise:\n{ASSUMED}")
    found: list[dict[str, Any]] = []
    for title, world_of in WORLDS.items():
        for error in ERRORS:
            rows = asyncio.run(measure(world_of(error), options.n, options.seed))
            found.append({"world": title, "error": error, "ways": [*map(numbers, rows.values())]})
            if options.json:
                continue
            print(f"\n{error:.0%} of samples wrong; {title}\n{HEAD}")
            for row in rows.values():
                print(told_row(row))
    if options.json:
        print(json.dumps(found))


if __name__ == "__main__":
    main()
