"""Test-time scaling in simulation: what frugal sampling gains and loses against K = 1 and K = 8.

    python -m benchmarks.scaling [-n N] [--seed S] [--json]

Real: the scaled planner, the judge's prompt and its reading, and the ledger. Simulated, at stated
rates: what a planner's samples and a judge answer at each decision point. It says how the ways
compare where the rates are so; it says nothing of how often real models err, nor whether a judge
of theirs is that good.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
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
from hisa.planner.scaling import ScaledPlanner, Scaling
from hisa.plugins.benchmarks.bench.stats import Z95, wilson
from hisa.protocols import Planner
from hisa.runs.manifest import Totals
from hisa.testing.scripted import FunctionModel
from hisa.tools.base import Tool
from hisa.tools.builtin import bash_execution, gui_action, infeasible, termination, wait
from hisa.tools.registry import ToolRegistry

K = 8
WAYS: dict[str, Scaling | None] = {
    "K=1": None,
    "K=8": "constant",
    "frugal": "frugal",
}
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
POINTS_LOST, TOKENS_SHARE = 2.0, 0.4
"""The goal: so many points of success at most, for so much of the tokens."""


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
        return [outcome.choice for outcome in self.outcomes if outcome.choice]

    @property
    def success(self) -> float:
        """Share of right decisions."""
        return statistics.fmean(outcome.right for outcome in self.outcomes)

    @property
    def tokens(self) -> float:
        """Tokens in and out a decision."""
        return statistics.fmean(outcome.tokens for outcome in self.outcomes)

    @property
    def agreed_wrong(self) -> float:
        """Decisions that ended early on a common mistake."""
        return statistics.fmean(outcome.agreed and not outcome.right for outcome in self.outcomes)


async def decide(world: World, way: str, number: int, seed: int) -> Outcome:
    """One decision; the samples of a point are the same for every way, as far as it takes them."""
    point = point_of(world, number, seed)
    scripted = Judging(world, point, f"{seed} {number}")
    events: list[Event] = []
    scripted_model = FunctionModel(scripted.answer)
    model = RoleModel(scripted_model, CallContext(events.append), profile=Profile(name="m"))
    tools = (gui_action, bash_execution, wait, termination, infeasible)
    registry = ToolRegistry([Tool(tool) for tool in tools])
    inner = GlobalPlanner(model, registry, emit=events.append)
    planner: Planner = inner
    if (scaling := WAYS[way]) is not None:
        judge = Judge(model, emit=events.append)
        settings = PlannerSettings(samples=K, scaling=scaling)
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


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The mean's 95% interval."""
    half = Z95 * statistics.stdev(values) / math.sqrt(len(values))
    middle = statistics.fmean(values)
    return middle - half, middle + half


def against(row: Row, base: Row) -> dict[str, Any]:
    """A way against K=8 on the same points: points of success, share of tokens, 95% intervals."""
    pairs = list(zip(row.outcomes, base.outcomes, strict=True))
    points = [100.0 * (outcome.right - other.right) for outcome, other in pairs]
    share = row.tokens / base.tokens
    rest = [(outcome.tokens - share * other.tokens) / base.tokens for outcome, other in pairs]
    low, high = interval(rest)
    gained = statistics.fmean(points)
    return {
        "points": gained,
        "points_interval": interval(points),
        "share": share,
        "share_interval": (share + low, share + high),
        "success_holds": gained >= -POINTS_LOST,
        "tokens_hold": share <= TOKENS_SHARE,
    }


def numbers(row: Row) -> dict[str, float]:
    """A way's own numbers."""
    decisions = max(1, len(row.choices))
    return {
        "success": row.success,
        "tokens": row.tokens,
        "agreed": sum(outcome.agreed for outcome in row.outcomes) / decisions,
        "widened": sum(bool(choice.widened) for choice in row.choices) / decisions,
        "agreed_wrong": row.agreed_wrong,
    }


def format_row(row: Row, compared: dict[str, Any]) -> str:
    """A line of the table."""
    low, high = wilson(sum(outcome.right for outcome in row.outcomes), len(row.outcomes))
    own, choices = numbers(row), row.choices
    rates = f"{own['agreed']:7.1%} {own['widened']:8.1%} {row.agreed_wrong:7.1%}"
    samples = statistics.fmean(choice.samples for choice in choices) if choices else 1
    from_, to = compared["points_interval"]
    less, more = compared["share_interval"]
    differs = f"{compared['points']:+5.1f} ({from_:+5.1f} to {to:+5.1f})"
    shares = f"{compared['share']:4.0%} ({less:.0%} to {more:.0%})"
    return (
        f"  {row.way:<9} {row.success:6.1%} ({low:5.1%} to {high:5.1%}) {row.tokens:8,.0f} "
        f"{samples:5.1f} "
        f"{rates if choices else '      –        –       –'}  {differs}  {shares}"
    )


HEAD = (
    "  way       success (95%)             tokens  samples  agreed  widened  agreed  against K=8: "
    "points (95%)   tokens (95%)\n"
    "                                  a decision   asked                   & wrong"
)


def verdicts(way: str, compared: dict[str, Any]) -> str:
    """Says whether a way keeps the goal."""
    success = "holds" if compared["success_holds"] else "DOES NOT HOLD"
    tokens = "holds" if compared["tokens_hold"] else "DOES NOT HOLD"
    return (
        f"  goal, {way}: success at most {POINTS_LOST:g} points below K=8 {success}; "
        f"tokens at most {TOKENS_SHARE:.0%} of K=8's {tokens}"
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
    results: list[dict[str, Any]] = []
    for title, world_of in WORLDS.items():
        for error in ERRORS:
            rows = asyncio.run(measure(world_of(error), options.n, options.seed))
            compared = {way: against(row, rows["K=8"]) for way, row in rows.items()}
            ways = {way: {**numbers(row), **compared[way]} for way, row in rows.items()}
            results.append({"world": title, "error": error, "ways": ways})
            if options.json:
                continue
            print(f"\n{error:.0%} of samples wrong; {title}\n{HEAD}")
            for way, row in rows.items():
                print(format_row(row, compared[way]))
            print(verdicts("frugal", compared["frugal"]))
    if options.json:
        print(json.dumps(results))


if __name__ == "__main__":
    main()
