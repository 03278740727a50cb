"""Metrics of a training run, one row an update, and curves of them with 95% intervals.

ComputerRL's figure 6 (appendix E) names eight measures without defining them; the definitions here
are ours. A measure that was not taken is None, never 0.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hisa.plugins.benchmarks.bench import stats
from hisa.plugins.training.episodes import Episode

__all__ = [
    "METRICS_FILE",
    "Metrics",
    "MetricsRow",
    "PairedDifference",
    "Point",
    "TaskMetrics",
    "curve",
    "episode_metrics",
    "over_seeds",
    "paired_difference",
    "read_metrics",
    "task_shares",
]

METRICS_FILE = "metrics.jsonl"
_MOST_BYTES = 256 << 20  # of a file of metrics: a quarter of a million rows of 1 KB
_TRIALS = {"reward": "groups", "best_of_n": "groups", "truncated": "groups", "greedy": "greedy_n"}
"""What the shares are of."""
_NEAR = 2  # updates on each side make the interval of what is no share; t of five is 2.8
_SIGNED = frozenset(("ppo_kl", "loss"))
_SHARES = frozenset((*_TRIALS, "margin", "clipped"))
"""What is 0 to 1; of the last two the trials are not yes or no."""
_Count = Annotated[int, Field(ge=0, le=10**9)]
_CHOICES = {"done": 1, "click": 2, "type": 3}


class TaskMetrics(BaseModel):
    """One task's part of an update."""

    reward: float | None = None  # share of its sampled episodes that were solved
    n: _Count = 0  # sampled episodes
    greedy: float | None = None  # share solved on held-out seeds; null between evaluations
    greedy_n: _Count = 0  # greedy episodes
    groups: _Count = 0  # played, those left out whose machines all failed
    spread_groups: _Count = 0  # of these, groups with spread of rewards: they give a gradient


class MetricsRow(BaseModel):
    """One update of a run: a line of ``metrics.jsonl``.

    Written by ``model_dump_json()``, which writes a number that is not finite as null.
    """

    model_config = ConfigDict(use_attribute_docstrings=True, extra="ignore")

    format: Literal[1] = 1
    """Of this row; rows of other formats are counted and left out."""
    update: _Count
    """Number of the update, counted on through all phases of a run and over resumptions."""
    phase: Literal["sft", "grpo", "pulse"] = "grpo"
    """Kind of update: cloning, GRPO, or the supervised phase of Entropulse."""
    version: _Count = 0
    """Of the policy after the update."""
    episodes: _Count = 0
    """Sampled episodes that came in, failed ones left out."""
    steps: _Count = 0
    """Steps of these episodes."""
    seconds: float | None = None
    """Wall time of the update with its rollouts, without evaluations."""
    reward: float | None = None
    """Share of sampled episodes that were solved; a mean over groups. Partial credit is 0."""
    entropy: float | None = None
    """Entropy, when it acted, over all actions a look allows, in nats; a mean over steps."""
    kl: float | None = None
    """Low-variance estimate (k3) of the divergence from the reference, in nats; over steps."""
    ppo_kl: float | None = None
    """Log-probability before the update less that during it, in nats; a mean over steps."""
    margin: float | None = None
    """Best reward of a group less its mean reward; over groups. 0: no group teaches anything."""
    best_of_n: float | None = None
    """Share of groups of which at least one member was solved."""
    turns: float | None = None
    """Steps of an episode; a mean over episodes."""
    reply_length: float | None = None
    """Tokens of a reply, or the choices of a pointer's (end 1, click 2, type 3); over steps."""
    greedy: float | None = None
    """Share solved of greedy episodes on held-out seeds; over tasks; null between evaluations."""
    greedy_n: _Count = 0
    """Greedy episodes that `greedy` is over."""
    truncated: float | None = None
    """Share of sampled episodes that the limit of steps ended; a mean over groups."""
    age_mean: float | None = None
    """Updates between an episode's first action and its use; a mean over episodes."""
    age_p95: float | None = None
    """95th percentile of that age over episodes."""
    groups: _Count = 0
    """Groups with at least one episode that did not fail."""
    dropped_groups: _Count | None = None
    """Groups without spread of rewards: they give no gradient."""
    failed_episodes: _Count | None = None
    """Episodes whose machine failed: no samples, in no mean."""
    clipped: float | None = None
    """Share of steps whose ratio the clip held."""
    loss: float | None = None
    """The loss that was minimised; phases have losses of their own kind."""
    tasks: dict[str, TaskMetrics] = {}
    """By name of the task."""


def episode_metrics(episodes: Iterable[Episode], *, version: int) -> dict[str, Any]:
    """Returns the fields of `MetricsRow` that episodes alone tell.

    A group is a task and its group's name, or its seed where it has none. A failed episode is
    counted, and is in nothing else. ``version`` is the trainer's when the update starts.
    """
    every = list(episodes)
    kept = [episode for episode in every if episode.is_sample]
    steps = [sample for episode in kept for sample in episode.samples]
    groups, tasks = defaultdict[Any, list[Episode]](list), defaultdict[str, list[float]](list)
    for episode in kept:
        groups[episode.draw.task, episode.draw.group or episode.draw.seed].append(episode)
        tasks[episode.draw.task].append(episode.solved)
    shares = [sum(episode.solved for episode in group) / len(group) for group in groups.values()]
    ages = [float(version - episode.version) for episode in kept if episode.samples]
    return {
        "reward": stats.mean(shares),
        "best_of_n": stats.mean([float(share > 0) for share in shares]),
        "margin": stats.mean([(share > 0) - share for share in shares]),
        "truncated": stats.mean(
            [sum(episode.truncated for episode in group) / len(group) for group in groups.values()]
        ),
        "entropy": stats.mean([sample.entropy for sample in steps]),
        "reply_length": stats.mean([_CHOICES[sample.act.kind] for sample in steps]),
        "turns": stats.mean([len(episode.samples) for episode in kept]),
        "episodes": len(kept),
        "steps": len(steps),
        "groups": len(groups),
        "failed_episodes": len(every) - len(kept),
        "age_mean": stats.mean(ages),
        "age_p95": stats.quantile(ages, 0.95),
        "tasks": {k: TaskMetrics(reward=stats.mean(v), n=len(v)) for k, v in tasks.items()},
    }


class Metrics(NamedTuple):
    """Rows of one run by update, and the number of lines that are none, or of another format."""

    rows: list[MetricsRow]
    left_out: int


def read_metrics(folder: Path) -> Metrics:
    """Reads ``metrics.jsonl`` of a run's folder, as far as it is written; raises OSError."""
    rows, left_out = dict[int, MetricsRow](), 0
    with (folder / METRICS_FILE).open("rb") as file:
        text = file.read(_MOST_BYTES)
    for line in filter(bytes.strip, text.split(b"\n")):
        try:
            row = MetricsRow.model_validate_json(line)
            rows[row.update] = row
        except ValidationError:
            left_out += 1
    return Metrics([rows[update] for update in sorted(rows)], left_out)


class Point(NamedTuple):
    """A measure at one update, with its 95% interval where there is one."""

    update: int
    value: float
    low: float | None = None
    high: float | None = None


def curve(rows: Sequence[MetricsRow], name: str, *, task: str = "") -> list[Point]:
    """Returns one run's curve of a field of `MetricsRow`, or of one task's `TaskMetrics`.

    Intervals of shares are Wilson's, over the update's groups, or over episodes where they are
    greedy or of one task; of all else Student's of the mean of the five updates about it in its
    phase, which takes their trend for noise. Rows without the measure have no point.
    """
    measured, stretch = [], 0
    for before, row in zip([*rows[:1], *rows], rows, strict=False):
        stretch += before.phase != row.phase
        part = row.tasks.get(task, TaskMetrics()) if task else row
        if (value := getattr(part, name)) is not None and math.isfinite(value):
            measured.append((part, Point(row.update, float(value)), stretch))
    points = []
    for place, (part, point, here) in enumerate(measured):
        low, high = None, None
        if name not in _TRIALS:
            near = measured[max(0, place - _NEAR) : place + _NEAR + 1]
            low, high = _student([other.value for _, other, there in near if there == here])
        elif trials := getattr(part, "n" if task and name == "reward" else _TRIALS[name]):
            low, high = stats.wilson(min(1.0, max(0.0, point.value)) * trials, trials)
        points.append(_point(name, point.update, point.value, low, high))
    return points


def over_seeds(curves: Sequence[Sequence[Point]], name: str) -> list[Point]:
    """Returns the mean of several seeds' curves, with Student's interval over seeds.

    Only updates that all of them have are in it; a single curve stays as it is.
    """
    if len(curves) == 1:
        return list(curves[0])
    by_update = defaultdict[int, list[float]](list)
    for point in itertools.chain.from_iterable(curves):
        by_update[point.update].append(point.value)
    shared = [(at, v) for at, v in sorted(by_update.items()) if len(v) == len(curves)]
    return [_point(name, at, math.fsum(v) / len(v), *_student(v)) for at, v in shared]


def _student(values: Sequence[float]) -> tuple[float | None, float | None]:
    estimate = stats.ratio_over_tasks([(value, 1) for value in values], least=-math.inf)
    return estimate.low, estimate.high


def _point(name: str, update: int, value: float, low: float | None, high: float | None) -> Point:
    if low is None or high is None or not math.isfinite(high - low) or low == high:
        return Point(update, value)
    least, most = -math.inf if name in _SIGNED else 0.0, 1.0 if name in _SHARES else math.inf
    return Point(update, value, max(least, low), min(most, high))


def task_shares(rows: Iterable[MetricsRow]) -> dict[str, dict[str, stats.Estimate]]:
    """Returns of each task over all updates the share of episodes solved and of groups with spread.

    Their keys are "solved" and "spread"; intervals are Wilson's, over episodes and over groups.
    """
    counts = defaultdict[str, list[float]](lambda: [0.0] * 4)
    for row in rows:
        for task, p in row.tasks.items():
            own = ((p.reward or 0) * p.n, p.n, p.spread_groups, p.groups)
            counts[task] = [*map(sum, zip(counts[task], own, strict=True))]
    return {
        task: {"solved": stats.share(*own[:2]), "spread": stats.share(*own[2:])}
        for task, own in sorted(counts.items())
    }


class PairedDifference(stats.Paired):
    """Two checkpoints on the same instances; the interval is of ``difference``."""

    low: float
    high: float


def paired_difference(
    first: Mapping[tuple[str, int], float], second: Mapping[tuple[str, int], float]
) -> PairedDifference | None:
    """Compare scores in 0..1 by task and seed; None where no instance is in both.

    The 95% interval is Student's over pairs, -1 to 1 for a single one. Of several draws of an
    instance, give the mean.
    """
    keys = sorted(first.keys() & second.keys())
    test = stats.paired(*({f"{key}": side[key] for key in keys} for side in (first, second)))
    low, high = _student([first[key] - second[key] for key in keys])
    ends = {
        "low": -1.0 if low is None else max(-1.0, low),
        "high": 1.0 if high is None else min(1.0, high),
    }
    return PairedDifference(**dict(test), **ends) if test else None
