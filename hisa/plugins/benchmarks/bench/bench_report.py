"""The report of a bench: its numbers with confidence intervals, compared with another bench."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from pydantic import BaseModel, Field

from hisa.plugins.benchmarks.bench.attempt_records import Plan
from hisa.plugins.benchmarks.bench.efficiency import (
    HORIZONS,
    actions_a_step,
    multi_action_share,
    partial_success,
    step_time,
    success_within,
    task_time,
)
from hisa.plugins.benchmarks.bench.ledger import SlotState, read_attempts, read_plan
from hisa.plugins.benchmarks.bench.measure import Measure, measure
from hisa.plugins.benchmarks.bench.stats import (
    Estimate,
    Paired,
    compare_pairs,
    length_buckets,
    mean,
    share,
    wilson,
)
from hisa.plugins.benchmarks.bench.summary import summarise
from hisa.runs import wording

__all__ = ["Comparison", "Group", "Report", "Trouble", "build_report"]


class Group(BaseModel):
    """Results taken together; means are per attempt, None if there is nothing to average."""

    name: str
    rated: int
    """Tasks with a score; the rate is over these."""
    scored: int
    rate: float | None
    """Success rate: mean over tasks of the share of attempts that did the whole task."""
    planned: int = 0
    """Slots that were planned."""
    given_up: int = 0
    """Planned slots whose machine or worker broke each time: they are in no rate."""
    low: float
    """Lower end of the rate's 95% interval (Wilson). Tasks are its trials, not attempts: repeats
    of a task are not independent."""
    high: float
    false_success: Estimate = Estimate()
    """Share of the scored attempts that ended with "succeeded" and are not a success."""
    unpriced: int = 0
    """Calls without a known price; if there are any, the dollars are a lower bound."""
    means: dict[str, float | None] = {}
    """Mean dollars, tokens, steps and so on of an attempt, by their names in `Usage`."""
    partial: Estimate = Estimate()
    """Partial success rate: mean over tasks of their attempts' mean partial score."""
    actions: Estimate = Estimate()
    """Actions of a step, over steps that had any."""
    multi_action: Estimate = Estimate()
    """Share of the steps with any action that had more than one."""
    sequences: Counter[str] = Field(default_factory=Counter)
    """Steps with more than one action, by the kinds of their actions, as "click, write"."""
    failures: Counter[str] = Field(default_factory=Counter)
    """Scored attempts without success, by the class of their failure; "" if it has none."""
    step_time: Estimate = Estimate()
    """Seconds until the planner's reply could be used."""
    task_time: Estimate = Estimate()
    """Seconds of an attempt's steps."""
    within: dict[int, Estimate] = {}
    """Success rate within N steps, by N, if some attempt took so many; see `success_within`."""
    repeats: dict[int, Estimate] = {}
    """Success rate of each repeat."""
    spread: float | None = None
    """Sample standard deviation of these rates."""


class Component(BaseModel):
    """Calls, tokens and dollars of one role's model, per attempt."""

    role: str
    calls: float
    tokens: float
    tokens_in: float
    cached_in: float
    tokens_out: float
    usd: float
    unpriced: int


class Comparison(Paired):
    """One variant against another, on the tasks that both have."""

    first: str
    second: str


class LengthBucket(BaseModel):
    """Tasks of about the same length, and each variant's success rate on them."""

    first: int
    last: int
    tasks: int
    rates: dict[str, float | None]


class Curve(BaseModel):
    """A variant over the steps of its attempts; index 0 is step 1."""

    name: str
    baseline: bool = False
    tokens: list[float]
    """Mean tokens of a step, over the attempts that got to it."""
    ended: list[float]
    """Share of attempts that had ended after it."""


class TaskRow(BaseModel):
    """One task: its mean success by variant; None if it was not scored."""

    task: str
    domain: str
    success: dict[str, float | None]
    steps: dict[str, float | None]
    runs: list[str]


class Trouble(BaseModel):
    """A slot without a score, and why; never counted as 0."""

    variant: str
    task: str
    repeat: int
    what: str
    message: str = ""


class Report(BaseModel):
    """The content of ``report.json``."""

    v: int = 1
    made_at: float
    folder: str
    suite: str
    models: dict[str, str] = {}
    environment: str = ""
    baseline: str | None = None
    """Name under which the other bench is in the tables."""
    main: str
    """The variant that domains, components and comparisons are about."""
    variants: list[Group]
    domains: list[Group]
    components: list[Component]
    buckets: list[LengthBucket]
    comparisons: list[Comparison]
    curves: list[Curve]
    tasks: list[TaskRow]
    troubles: list[Trouble]
    independent: bool = False
    """Whether each repeat had its own pattern store."""
    judges: dict[str, int] = {}
    """How many attempts each judge judged: OSWorld's own metrics or ours."""
    problems: dict[str, str]
    sums: dict[str, Any]


class _BenchResults:
    """A bench folder with its results."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.plan: Plan = read_plan(folder)
        slot_states = read_attempts(folder)
        self.slot_states = [slot_states.get(slot) or SlotState(slot) for slot in self.plan.slots]
        domains = {task.id: task.domain for task in self.plan.tasks}
        self.results = [
            measure(folder, slot_state.result, domains.get(slot_state.slot.task, ""))
            for slot_state in self.slot_states
            if slot_state.result is not None
        ]

    def slots(self, variant: str) -> list[SlotState]:
        return [slot_state for slot_state in self.slot_states if slot_state.slot.variant == variant]

    def of(self, variant: str) -> list[Measure]:
        return [result for result in self.results if result.variant == variant and result.usable]

    @property
    def main(self) -> str:
        return next(iter(self.plan.variants))


def build_report(folder: Path, against: Path | None = None) -> Report:
    """Builds the report of a bench, compared with another one if ``against`` is given.

    Raises:
        UsageError: a folder is no bench folder, or the two were counted in different ways.
    """
    bench = _BenchResults(folder)
    other = _BenchResults(against) if against is not None else None
    parts = {name: bench.of(name) for name in bench.plan.variants}
    slots = {name: bench.slots(name) for name in bench.plan.variants}
    label = None
    if other is not None:
        twin = bench.main if bench.main in other.plan.variants else other.main
        label = f"{other.folder.name} ({twin})"
        parts[label], slots[label] = other.of(twin), other.slots(twin)
    main = bench.main
    settings = bench.plan.variants[main]
    return Report(
        made_at=time.time(),
        folder=folder.resolve().name,
        suite=bench.plan.suite,
        models=_models(settings),
        environment=str(settings.get("environment", {}).get("kind", "")),
        baseline=label,
        main=main,
        variants=[group(name, results, slots[name]) for name, results in parts.items()],
        independent=bench.plan.independent,
        domains=_by_domain(parts[main]),
        components=_components(parts[main]),
        buckets=_buckets(parts),
        comparisons=_comparisons(parts, main),
        curves=[
            _curve(name, measures, name == label) for name, measures in parts.items() if measures
        ],
        tasks=_tasks(parts),
        troubles=[trouble for slot_state in bench.slot_states for trouble in _troubles(slot_state)],
        judges=_judges(bench.slot_states),
        problems=bench.plan.problems,
        sums=summarise(bench.slot_states).as_dict(),
    )


def _judges(slot_states: Iterable[SlotState]) -> dict[str, int]:
    finished = [
        slot_state.result.finished for slot_state in slot_states if slot_state.result is not None
    ]
    return dict(
        Counter(
            attempt.judged_by for attempt in finished if attempt is not None and attempt.judged_by
        )
    )


_AVERAGED = (
    "usd", "tokens", "tokens_in", "cached_in", "tokens_out", "images", "steps", "gui", "bash",
    "other", "seconds",
)  # fmt: skip
"""The keys of `Group.means`."""


def group(name: str, results: Sequence[Measure], slots: Sequence[SlotState] = ()) -> Group:
    """Sum results up as one row of the report.

    Args:
        name: the variant or domain that the row is about.
        results: one per attempt that ended.
        slots: the slots that were planned; empty: those given up are not counted.
    """
    by_task = _success(results)
    rate = mean(list(by_task.values()))
    low, high = wilson(sum(by_task.values()), len(by_task))
    scored = [result for result in results if result.scored]
    longest = max((result.steps for result in scored), default=0)
    repeats = _repeats(scored, longest)
    rates = [estimate.value for estimate in repeats.values() if estimate.value is not None]
    claimed_successes = [result for result in scored if result.status == "succeeded"]
    usages = [result.usage for result in results if result.usage is not None]
    return Group(
        name=name,
        rated=len(by_task),
        scored=len(scored),
        rate=rate,
        planned=len(slots),
        given_up=sum(slot_state.given_up for slot_state in slots),
        low=low,
        high=high,
        false_success=share(
            sum(not result.success for result in claimed_successes), len(claimed_successes)
        ),
        unpriced=sum(usage.unpriced for usage in usages),
        partial=partial_success(results),
        actions=actions_a_step(results),
        multi_action=multi_action_share(results),
        sequences=sum((usage.sequences for usage in usages), Counter()),
        failures=Counter(result.failure for result in scored if not result.success),
        step_time=step_time(results),
        task_time=task_time(results),
        within={n: success_within(scored, n) for n in HORIZONS if n <= longest},
        repeats=repeats,
        spread=stdev(rates) if len(rates) > 1 else None,
        means={name: mean([getattr(usage, name) for usage in usages]) for name in _AVERAGED},
    )


def _repeats(scored: Sequence[Measure], longest: int) -> dict[int, Estimate]:
    """Returns the success rate of each repeat."""
    return {
        n: success_within([result for result in scored if result.repeat == n], longest)
        for n in sorted({result.repeat for result in scored})
    }


def _success(results: Iterable[Measure]) -> dict[str, float]:
    """Returns the share of successes by task, over its scored attempts."""
    return _by_task((result.task, result.success) for result in results if result.scored)


def _lengths(results: Iterable[Measure]) -> dict[str, float]:
    """Returns the mean steps by task."""
    return _by_task(
        (result.task, result.usage.steps) for result in results if result.usage is not None
    )


def _by_task(pairs: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Returns the mean value of each task."""
    values: dict[str, list[float]] = defaultdict(list)
    for task, value in pairs:
        values[task].append(value)
    return {task: fmean(task_values) for task, task_values in values.items()}


def _by_domain(results: Sequence[Measure]) -> list[Group]:
    names = sorted({result.domain for result in results})
    return [group(name, [r for r in results if r.domain == name]) for name in names]


def _components(results: Sequence[Measure]) -> list[Component]:
    usages = [result.usage for result in results if result.usage is not None]
    components = []
    for role in ("planner", "grounder", "state", "judge"):
        totals = [usage.roles[role] for usage in usages if role in usage.roles]
        if not totals:
            continue
        means = {
            name: sum(getattr(total, name) for total in totals) / len(usages)
            for name in ("calls", "tokens", "tokens_in", "cached_in", "tokens_out", "usd")
        }
        unpriced = sum(total.unpriced for total in totals)
        components.append(Component(role=role, unpriced=unpriced, **means))
    return components


def _buckets(parts: dict[str, list[Measure]]) -> list[LengthBucket]:
    """Returns buckets by mean length over all variants, so that each row has the same tasks."""
    lengths = _lengths(result for results in parts.values() for result in results)
    rates = {name: _success(results) for name, results in parts.items()}
    return [
        LengthBucket(
            first=bucket.first,
            last=bucket.last,
            tasks=len(bucket.tasks),
            rates={
                name: mean([by_task[task] for task in bucket.tasks if task in by_task])
                for name, by_task in rates.items()
            },
        )
        for bucket in length_buckets(lengths)
    ]


def _comparisons(parts: dict[str, list[Measure]], main: str) -> list[Comparison]:
    base = _success(parts[main])
    tests = {name: compare_pairs(base, _success(results)) for name, results in parts.items()}
    return [
        Comparison(first=main, second=name, **vars(test))
        for name, test in tests.items()
        if name != main and test is not None
    ]


def _curve(name: str, results: Sequence[Measure], baseline: bool) -> Curve:
    runs = [result.usage.tokens_by_step for result in results if result.usage is not None]
    longest = max((len(steps) for steps in runs), default=0)
    tokens, ended = [], []
    for at in range(longest):
        reached = [steps[at] for steps in runs if len(steps) > at]
        tokens.append(sum(reached) / len(reached))
        ended.append(sum(len(steps) <= at + 1 for steps in runs) / len(runs))
    return Curve(name=name, baseline=baseline, tokens=tokens, ended=ended)


def _tasks(parts: dict[str, list[Measure]]) -> list[TaskRow]:
    success = {name: _success(results) for name, results in parts.items()}
    steps = {name: _lengths(results) for name, results in parts.items()}
    by_task: dict[str, list[Measure]] = defaultdict(list)
    for result in chain.from_iterable(parts.values()):
        by_task[result.task].append(result)
    rows = (
        TaskRow(
            task=task,
            domain=results[0].domain,
            success={name: rates.get(task) for name, rates in success.items()},
            steps={name: lengths.get(task) for name, lengths in steps.items()},
            runs=[result.run for result in results],
        )
        for task, results in by_task.items()
    )
    return sorted(rows, key=lambda row: (row.domain, row.task))


def _troubles(slot_state: SlotState) -> list[Trouble]:
    """Returns the reason why a slot has no score, in a list; empty if it has one."""
    result = slot_state.result.finished if slot_state.result else None
    if result is not None and result.score_state == "scored":
        return []
    kind, message = "not run yet", ""
    if result is not None:
        kind = f"{result.status}, {wording.score(result.score_state, None)}"
        failed = result.score_state == "score_failed"
        message = result.score_detail if failed else result.message
    elif slot_state.attempts:
        last, tries = slot_state.attempts[-1], len(slot_state.attempts)
        kind = f"given up after {tries} tries" if slot_state.given_up else "pending again"
        message = last.lost.reason if last.lost else last.finished.message if last.finished else ""
    return [Trouble(**slot_state.slot._asdict(), what=kind, message=message)]


def _models(settings: dict[str, Any]) -> dict[str, str]:
    models = settings.get("models", {})
    return {
        role: model_settings["model"] for role, model_settings in models.items() if model_settings
    }
