"""Metrics of a training run, one row an update, and curves of them with 95% intervals.

The first eight measures are those of ComputerRL's figure 6 (appendix E), which names them without
defining them; the definitions here are ours. A measure that was not taken is None, never 0.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from hisa.plugins.benchmarks.bench.stats import (
    Estimate,
    Paired,
    mean,
    paired,
    quantile,
    rate_over_tasks,
    ratio_over_tasks,
    t95,
    wilson,
)
from hisa.plugins.training.episodes import Episode, Sample

__all__ = [
    "METRICS_FILE", "Metrics", "MetricsRow", "PairedDifference", "Point", "TaskMetrics",
    "curve", "episode_metrics", "over_seeds", "paired_difference", "read_metrics", "reply_length",
]  # fmt: skip

METRICS_FILE = "metrics.jsonl"
_MOST_BYTES = 256 << 20
"""Of a file of metrics; a row has about 1 KB, so this is a quarter of a million updates."""
_SHARES = frozenset(("reward", "greedy", "best_of_n", "truncated", "clipped"))
"""Measures that lie between 0 and 1."""
_WINDOW = 5
"""Neighbouring updates for an interval where a row has none: the fewest with a usable t (2.8)."""

Phase = Literal["sft", "grpo", "pulse"]
Share = float | None


class TaskMetrics(BaseModel):
    """One task's part of an update."""

    reward: Share = None
    """Share of this task's sampled episodes that were solved."""
    n: int = 0
    """Sampled episodes that `reward` is over."""
    greedy: Share = None
    """Share solved of this task's greedy episodes on evaluation seeds; null between evaluations."""
    greedy_n: int = 0
    """Greedy episodes that `greedy` is over."""


class MetricsRow(BaseModel):
    """One update of a run: a line of ``metrics.jsonl``.

    Written with ``model_dump_json()``, which writes a number that is not finite as null.
    """

    model_config = ConfigDict(use_attribute_docstrings=True, extra="ignore")

    format: Literal[1] = 1
    """Of this row; rows of other formats are counted and left out."""
    update: int = Field(ge=0)
    """Number of the update, from 1, counted on through all phases of a run and over resumptions."""
    phase: Phase = "grpo"
    """What the update was: cloning, GRPO, or the supervised phase of Entropulse."""
    version: int = 0
    """Of the policy after the update."""
    episodes: int = 0
    """Sampled episodes that came in, failed ones left out."""
    steps: int = 0
    """Their steps."""
    seconds: float = 0.0
    """Wall time of the update with its rollouts; evaluations are left out."""
    reward: Share = None
    """Share of sampled episodes that were solved, as a mean over groups. Partial credit is 0."""
    entropy: float | None = None
    """Entropy of the policy over all actions a look allows, in nats at temperature 1, when it
    acted; a mean over steps."""
    kl: float | None = None
    """Low-variance estimate (k3) of the divergence from the reference, in nats; a mean over
    steps."""
    ppo_kl: float | None = None
    """Log-probability before the update less that during it, in nats; a mean over steps. It may
    be negative."""
    margin: float | None = None
    """Best reward of a group less the group's mean reward; a mean over groups. 0: no group has
    anything to learn from."""
    best_of_n: Share = None
    """Share of groups of which at least one member was solved."""
    turns: float | None = None
    """Steps of an episode; a mean over episodes."""
    reply_length: float | None = None
    """Length of a reply, a mean over steps: tokens of a language model; of a pointer policy the
    choices made (end 1, click 2, type 3)."""
    greedy: Share = None
    """Share solved of greedy episodes on evaluation seeds, over all tasks; null between
    evaluations."""
    greedy_n: int = 0
    """Greedy episodes that `greedy` is over."""
    truncated: Share = None
    """Share of sampled episodes that the limit of steps ended, as a mean over groups."""
    age_mean: float | None = None
    """Updates made between an episode's first action and the update that used it; a mean over
    episodes."""
    age_p95: float | None = None
    """95th percentile of that age over episodes."""
    groups: int = 0
    """Groups with at least one episode that did not fail."""
    dropped_groups: int = 0
    """Groups without spread of rewards: they give no gradient."""
    failed_episodes: int = 0
    """Episodes whose machine failed: no samples, in no mean."""
    clipped: Share = None
    """Share of steps whose ratio the clip held."""
    loss: float | None = None
    """The loss minimised; its unit depends on the phase."""
    tasks: dict[str, TaskMetrics] = {}
    """By name of the task."""
    intervals: dict[str, tuple[float, float]] = {}
    """By name of a measure its 95% interval over this update's groups: Wilson's of shares,
    Student's of the rest (a ratio of means over groups)."""

    @field_validator("*", mode="before")
    @classmethod
    def _finite(cls, value: Any) -> Any:
        return None if isinstance(value, float) and not math.isfinite(value) else value


def reply_length(sample: Sample) -> int:
    """Returns the choices of an act: its kind, its element, its word."""
    return {"done": 1, "click": 2, "type": 3}[sample.act.kind]


def episode_metrics(episodes: Iterable[Episode], *, version: int) -> dict[str, Any]:
    """Returns the fields of `MetricsRow` that episodes alone tell, with their intervals.

    Episodes of one group, or of one task and seed where they have no group, are taken as one
    independent trial. A failed episode is counted, and is in nothing else.

    Args:
        episodes: all that came in for one update.
        version: the trainer's when the update starts.
    """
    groups: dict[tuple[str, str], list[Episode]] = defaultdict(list)
    tasks: dict[str, list[bool]] = defaultdict(list)
    failed = 0
    for episode in episodes:
        if not episode.is_sample:
            failed += 1
            continue
        draw = episode.draw
        groups[draw.task, draw.group or str(draw.seed)].append(episode)
        tasks[draw.task].append(episode.solved)
    kept = [episode for group in groups.values() for episode in group]
    ages = [float(version - episode.version) for episode in kept if episode.samples]

    def share(value: Callable[[Episode], bool]) -> Estimate:
        return rate_over_tasks([sum(map(value, group)) / len(group) for group in groups.values()])

    def per_step(value: Callable[[Sample], float]) -> Estimate:
        found = [[value(s) for e in group for s in e.samples] for group in groups.values()]
        return ratio_over_tasks([(math.fsum(values), len(values)) for values in found])

    best = [float(any(e.solved for e in group)) for group in groups.values()]
    room = [top - sum(e.solved for e in g) / len(g) for top, g in zip(best, groups.values())]
    estimates = {
        "reward": share(lambda episode: episode.solved),
        "truncated": share(lambda episode: episode.truncated),
        "best_of_n": rate_over_tasks(best),
        "margin": ratio_over_tasks([(gap, 1) for gap in room]),
        "entropy": per_step(lambda sample: sample.entropy),
        "reply_length": per_step(reply_length),
        "turns": ratio_over_tasks(
            [(sum(len(e.samples) for e in group), len(group)) for group in groups.values()]
        ),
    }
    return {
        **{name: estimate.value for name, estimate in estimates.items()},
        "intervals": {
            name: (estimate.low, estimate.high)
            for name, estimate in estimates.items()
            if estimate.low is not None and estimate.high is not None
        },
        "episodes": len(kept),
        "steps": sum(len(episode.samples) for episode in kept),
        "groups": len(groups),
        "failed_episodes": failed,
        "age_mean": mean(ages),
        "age_p95": quantile(ages, 0.95),
        "tasks": {
            name: TaskMetrics(reward=mean([float(won) for won in solved]), n=len(solved))
            for name, solved in sorted(tasks.items())
        },
    }  # fmt: skip


class Metrics(NamedTuple):
    """Rows of one run by update, and the lines that are none.

    ``broken`` lines are no row (the last may be half written), ``unknown`` are of another format;
    ``replaced`` rows are of updates that a resumed run made again: the later row counts.
    """

    rows: list[MetricsRow]
    broken: int = 0
    unknown: int = 0
    replaced: int = 0


def read_metrics(folder: Path) -> Metrics:
    """Reads ``metrics.jsonl`` of a run's folder, as far as it is there.

    Raises:
        OSError: there is none, or it cannot be read.
    """
    rows: dict[int, MetricsRow] = {}
    broken = unknown = replaced = 0
    with (folder / METRICS_FILE).open("rb") as file:
        lines = file.read(_MOST_BYTES).split(b"\n")
    for line in filter(bytes.strip, lines):
        try:
            row = MetricsRow.model_validate_json(line)
        except ValidationError as error:
            other = any(reason["loc"] == ("format",) for reason in error.errors())
            unknown, broken = unknown + other, broken + (not other)
            continue
        replaced += row.update in rows
        rows[row.update] = row
    return Metrics([rows[update] for update in sorted(rows)], broken, unknown, replaced)


class Point(NamedTuple):
    """A measure at one update, with its 95% interval where there is one."""

    update: int
    value: float
    low: float | None = None
    high: float | None = None


def curve(rows: Sequence[MetricsRow], name: str, *, task: str = "") -> list[Point]:
    """Returns one run's curve of a measure, with a point for each row that has it.

    The interval is, in this order: Wilson's over episodes for greedy shares and shares of one task;
    the row's own over its groups; else Student's over the five updates about it in its phase,
    which counts the trend among them as noise, and so is rather too wide.

    Args:
        rows: by update.
        name: a field of `MetricsRow`, or of `TaskMetrics` with a task.
        task: the task whose share it is; empty: the run's.
    """
    parts = [row.tasks.get(task, TaskMetrics()) if task else row for row in rows]
    measured = [
        (row, part, float(value))
        for row, part in zip(rows, parts, strict=True)
        if (value := getattr(part, name)) is not None
    ]
    points = []
    for at, (row, part, value) in enumerate(measured):
        low, high = None, None
        trials = getattr(part, "greedy_n" if name == "greedy" else "n", 0)
        if trials:
            low, high = wilson(min(1.0, max(0.0, value)) * trials, trials)
        elif not task and name in row.intervals:
            low, high = row.intervals[name]
        elif not task and name != "greedy":
            near = measured[max(0, at - _WINDOW // 2) : at + _WINDOW // 2 + 1]
            low, high = _student([v for r, _, v in near if r.phase == row.phase], value)
        points.append(_point(name, row.update, value, low, high))
    return points


def over_seeds(curves: Sequence[Sequence[Point]], name: str) -> list[Point]:
    """Returns the mean of several seeds' curves, at the updates that all of them have.

    The interval is Student's over seeds; a single curve stays as it is.

    Args:
        curves: of the same measure, one a seed.
        name: of the measure.
    """
    if len(curves) == 1:
        return list(curves[0])
    by_update: dict[int, list[float]] = defaultdict(list)
    for points in curves:
        for point in points:
            by_update[point.update].append(point.value)
    return [
        _point(name, update, centre, *_student(values, centre))
        for update, values in sorted(by_update.items())
        if len(values) == len(curves)
        for centre in [math.fsum(values) / len(values)]
    ]


def _student(values: Sequence[float], centre: float) -> tuple[float | None, float | None]:
    """Student's 95% half-width of the values, laid about ``centre``; none of fewer than two."""
    n = len(values)
    if n < 2:
        return None, None
    middle = math.fsum(values) / n
    variance = math.fsum((value - middle) ** 2 for value in values) / (n - 1)
    half = t95(n - 1) * math.sqrt(variance / n)
    return centre - half, centre + half


def _point(
    name: str, update: int, value: float, low: float | None, high: float | None
) -> Point:  # fmt: skip
    if low is not None and high is not None and name in _SHARES:
        low, high = max(0.0, low), min(1.0, high)
    return Point(update, value, low, high)


class PairedDifference(NamedTuple):
    """Two checkpoints on the same instances: ``low`` to ``high`` is a 95% interval of the mean
    difference, over pairs; ``test`` has wins, losses and the sign test's p."""

    low: float
    high: float
    test: Paired

    @property
    def difference(self) -> float:
        """Mean of the first less the second."""
        return self.test.difference


def paired_difference(
    first: Mapping[tuple[str, int], float],
    second: Mapping[tuple[str, int], float],
    *,
    resamples: int = 4000,
) -> PairedDifference | None:
    """Compare two checkpoints instance by instance; None where no instance was given to both.

    The interval is a percentile bootstrap with a fixed seed: pairs are drawn with replacement
    within each task, since tasks are fixed beforehand and only instances are drawn. Where several
    draws were made of an instance, give their mean.

    Args:
        first: score in 0..1 by task and seed.
        second: the same of what it is compared with.
        resamples: of the bootstrap; with 4,000 its ends move by under half a point.
    """
    import numpy as np

    names = {key: f"{key[0]} {key[1]}" for key in first.keys() & second.keys()}
    test = paired(
        {name: first[key] for key, name in names.items()},
        {name: second[key] for key, name in names.items()},
    )
    if test is None:
        return None
    gaps: dict[str, list[float]] = defaultdict(list)
    for key in sorted(names):
        gaps[key[0]].append(first[key] - second[key])
    dice, totals = np.random.default_rng(0), np.zeros(resamples)
    for values in gaps.values():
        drawn = dice.integers(len(values), size=(resamples, len(values)))
        totals += np.asarray(values)[drawn].sum(axis=1)
    low, high = np.quantile(totals / len(names), (0.025, 0.975))
    return PairedDifference(float(low), float(high), test)
