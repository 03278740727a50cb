"""Metrics of a training run, one row per update, and their curves.

ComputerRL's figure 6 (appendix E) names eight measures without defining them; the definitions here
are HiSA's. A measure that was not taken is None, never 0.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from markupsafe import escape
from pydantic import BaseModel, Field, ValidationError

from hisa.errors import UsageError
from hisa.plugins.benchmarks.bench import stats
from hisa.plugins.training.base import Episode
from hisa.text.safe_text import safe_line

__all__ = [
    "MEASURES",
    "METRICS_FILE",
    "Metrics",
    "MetricsRow",
    "Point",
    "Run",
    "TaskMetrics",
    "episode_metrics",
    "figure",
    "read_metrics",
    "read_runs",
]

METRICS_FILE = "metrics.jsonl"
MEASURES = (
    "reward",
    "entropy",
    "kl",
    "ppo_kl",
    "margin",
    "best_of_n",
    "turns",
    "reply_length",
    "greedy",
    "truncated",
    "age_mean",
    "age_p95",
    "dropped_groups",
    "failed_episodes",
    "clipped",
    "loss",
    "held_loss",
    "seconds",
)
"""The measures that are drawn; the first eight are those of figure 6."""
_MOST_BYTES = 256 << 20  # of a file of metrics: a quarter of a million rows of 1 KB
_MOST_RUNS = 6
_COLOURS = ("#2563eb", "#d97706", "#059669", "#dc2626", "#7c3aed", "#0891b2")
_WIDTH, _HEIGHT, _COLUMNS = 240, 150, 4  # of a panel, and panels side by side
_Count = Annotated[int, Field(ge=0, le=10**9)]


class TaskMetrics(BaseModel):
    """One task's part of an update."""

    reward: float | None = None  # share of its sampled episodes that were solved
    n: _Count = 0  # sampled episodes
    greedy: float | None = None  # share solved on held-out seeds; null between evaluations
    greedy_n: _Count = 0  # greedy episodes
    groups: _Count = 0  # groups played, without those whose machines all failed
    spread_groups: _Count = 0  # of these, groups with spread of rewards: they give a gradient


class MetricsRow(BaseModel):
    """One update of a run: a line of ``metrics.jsonl``.

    Written by ``model_dump_json()``, which writes a number that is not finite as null.
    """

    format: Literal[1] = 1  # of this row; rows of other formats are counted and left out
    # Number of the update, counted through all phases and resumptions of a run.
    update: _Count
    # Kind of update: cloning, GRPO, or the supervised phase of Entropulse.
    phase: Literal["sft", "grpo", "pulse"] = "grpo"
    version: _Count = 0  # of the policy after the update
    episodes: _Count = 0  # sampled episodes, without failed ones
    steps: _Count = 0  # steps of these episodes
    seconds: float | None = None  # wall time of the update with its rollouts, without evaluations
    # Share of sampled episodes that were solved; a mean over groups. Partial credit counts as 0.
    reward: float | None = None
    # Entropy, when it acted, over all actions a look allows, in nats; a mean over steps.
    entropy: float | None = None
    # Low-variance estimate (k3) of the divergence from the reference, in nats; over steps.
    kl: float | None = None
    # Log-probability before the update minus that during it, in nats; a mean over steps.
    ppo_kl: float | None = None
    # Best reward of a group minus its mean reward; over groups. 0: no group has a spread.
    margin: float | None = None
    best_of_n: float | None = None  # share of groups with at least one solved member
    turns: float | None = None  # steps of an episode; a mean over episodes
    # Tokens of a reply, or the number of a pointer's choices (end 1, click 2, type 3); over steps.
    reply_length: float | None = None
    # Share solved of greedy episodes on held-out seeds; over tasks; null between evaluations.
    greedy: float | None = None
    greedy_n: _Count = 0  # greedy episodes that `greedy` is over
    # Share of sampled episodes that the limit of steps ended; a mean over groups.
    truncated: float | None = None
    # Updates between an episode's first action and its use; a mean over episodes.
    age_mean: float | None = None
    age_p95: float | None = None  # 95th percentile of that age over episodes
    groups: _Count = 0  # groups with at least one episode that did not fail
    dropped_groups: _Count | None = None  # groups without spread of rewards: they give no gradient
    failed_episodes: _Count | None = None  # episodes whose machine failed; they are in no mean
    clipped: float | None = None  # share of steps whose ratio was clipped
    loss: float | None = None  # the loss that was minimised; its definition depends on the phase
    # Loss of cloning on the turns of held-out runs, in nats per token; null between evaluations.
    held_loss: float | None = None
    tasks: dict[str, TaskMetrics] = {}  # by name of the task


def episode_metrics(episodes: Iterable[Episode], *, version: int) -> dict[str, Any]:
    """Returns the fields of `MetricsRow` that follow from episodes alone.

    A group is identified by its task and name, or by its seed if it has no name. A failed episode
    is only counted. ``version`` is the policy's when the update starts.
    """
    every = list(episodes)
    usable = [episode for episode in every if episode.is_sample]
    steps = [sample for episode in usable for sample in episode.samples]
    groups, tasks = defaultdict[Any, list[Episode]](list), dict[str, TaskMetrics]()
    for episode in usable:
        groups[episode.draw.task, episode.draw.group or episode.draw.seed].append(episode)
        tasks.setdefault(episode.draw.task, TaskMetrics()).n += 1
    for (name, _), group in groups.items():
        rewards, task = {r for member in group for r in member.rewards}, tasks[name]
        task.reward = (task.reward or 0.0) + sum(member.solved for member in group) / task.n
        task.groups += bool(rewards)
        task.spread_groups += len(rewards) > 1
    shares = [sum(episode.solved for episode in group) / len(group) for group in groups.values()]
    ages = [float(version - episode.version) for episode in usable if episode.samples]
    return {
        "reward": stats.mean(shares),
        "best_of_n": stats.mean([float(share > 0) for share in shares]),
        "margin": stats.mean([(share > 0) - share for share in shares]),
        "truncated": stats.mean(
            [sum(episode.truncated for episode in group) / len(group) for group in groups.values()]
        ),
        "entropy": stats.mean([s.entropy for s in steps if s.entropy is not None]),
        "reply_length": stats.mean([sample.length for sample in steps]),
        "turns": stats.mean([len(episode.samples) for episode in usable]),
        "episodes": len(usable),
        "steps": len(steps),
        "groups": len(groups),
        "failed_episodes": len(every) - len(usable),
        "age_mean": stats.mean(ages),
        "age_p95": stats.quantile(ages, 0.95),
        "tasks": tasks,
    }


class Metrics(NamedTuple):
    """Rows of one run by update, and the number of lines that are invalid or of another format."""

    rows: list[MetricsRow]
    left_out: int


def read_metrics(folder: Path) -> Metrics:
    """Reads ``metrics.jsonl`` of a run's folder, which may still grow; raises OSError."""
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
    """A measure at one update, with its 95% interval if there are several seeds."""

    update: int
    value: float
    low: float | None = None
    high: float | None = None


class Run(NamedTuple):
    """One curve of each chart: one run, or several seeds of it."""

    name: str
    seeds: list[Metrics]

    def points(self, name: str, task: str = "") -> list[Point]:
        """Returns the mean of a measure, or of one task's, with Student's interval over seeds.

        It has only updates that all seeds have; with one seed there is no interval.
        """
        values = defaultdict[int, list[float]](list)
        for row in (row for seed in self.seeds for row in seed.rows):
            part = row.tasks.get(task, TaskMetrics()) if task else row
            if (value := getattr(part, name)) is not None and math.isfinite(value):
                values[row.update].append(float(value))
        shared = [(at, own) for at, own in sorted(values.items()) if len(own) == len(self.seeds)]
        return [Point(at, math.fsum(own) / len(own), *_interval(own)) for at, own in shared]

    def tasks(self) -> dict[str, dict[str, stats.Estimate]]:
        """Returns two shares for each task, over all updates, with Wilson's intervals.

        "solved" is the share of episodes solved, "spread" that of groups with a spread of rewards.
        """
        counts = defaultdict[str, list[float]](lambda: [0.0] * 4)
        for name, task in (
            t for seed in self.seeds for row in seed.rows for t in row.tasks.items()
        ):
            own = ((task.reward or 0) * task.n, task.n, task.spread_groups, task.groups)
            counts[name] = [*map(sum, zip(counts[name], own, strict=True))]
        return {
            name: {"solved": stats.share(*own[:2]), "spread": stats.share(*own[2:])}
            for name, own in sorted(counts.items())
        }

    def lines(self) -> Iterator[str]:
        """Yields lines to print: counts, the last point of each measure, and each task's shares."""
        tasks, left_out = self.tasks(), sum(seed.left_out for seed in self.seeds)
        last = max(seed.rows[-1].update for seed in self.seeds)
        counts = f"seeds {len(self.seeds)}, last update {last}, lines left out {left_out}"
        yield f"{self.name}: {counts}"
        for name in MEASURES:
            for at in self.points(name)[-1:]:
                between = "" if at.low is None else f" ({at.low:.3g} to {at.high:.3g})"
                yield f"  {name:16} {at.value:.3g}{between}, update {at.update}"
        for task, shares in tasks.items():
            solved, spread = shares["solved"], shares["spread"]
            line = f"  {safe_line(task, 60)}: solved {solved} of {solved.n} episodes"
            yield f"{line}; groups with a spread {spread} of {spread.n}"
        if tasks and all(shares["spread"].value == 0 for shares in tasks.values()):
            yield "  No group of any update had a spread: no gradient, so nothing was learned."


def read_runs(folders: Sequence[Path]) -> list[Run]:
    """Reads run folders; a folder of run folders is one run of several seeds.

    Raises:
        UsageError: a file is missing or has no row, or there are too many folders.
    """
    if len(folders) > _MOST_RUNS:
        raise UsageError(f"{len(folders)} folders: a figure shows at most {_MOST_RUNS}")
    names, runs = [folder.resolve().name for folder in folders], []
    for folder, name in zip(folders, names, strict=True):
        files = [folder / METRICS_FILE, *sorted(folder.glob(f"*/{METRICS_FILE}"))]
        own = files[:1] if files[0].exists() else files[1:]
        try:
            seeds = [read_metrics(file.parent) for file in own]
        except OSError as error:
            raise UsageError(f"{folder}: {error}") from error
        if not seeds or not all(seed.rows for seed in seeds):
            message = f"{folder}: no {METRICS_FILE} with rows, neither in it nor in every subfolder"
            raise UsageError(message, fix="hisa train grpo -o DIR")
        label = str(folder) if names.count(name) > 1 else name
        runs.append(Run(safe_line(label, 60), seeds))
    return runs


def _interval(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Returns Student's interval of the mean; None twice without a spread."""
    estimate = stats.ratio_over_tasks([(value, 1) for value in values], least=-math.inf)
    known = estimate.low is not None and estimate.high is not None and estimate.low < estimate.high
    return (estimate.low, estimate.high) if known else (None, None)


def figure(runs: Sequence[Run]) -> str:
    """Returns one SVG with a panel for each measure that was taken and a colour for each run.

    It loads nothing and has no script; names of folders are not trusted, so they are escaped.
    """
    taken = [name for name in MEASURES if any(run.points(name) for run in runs)]
    parts = [
        f'<text x="{10 + at * 150}" y="18" fill="{_COLOURS[at]}">{escape(run.name[:20])}</text>'
        for at, run in enumerate(runs)
    ]
    for number, name in enumerate(taken):
        x, y = number % _COLUMNS * _WIDTH, 30 + number // _COLUMNS * _HEIGHT
        parts.append(f'<g transform="translate({x} {y})">{_panel(name, runs)}</g>')
    width, height = _COLUMNS * _WIDTH, 30 + -(-len(taken) // _COLUMNS) * _HEIGHT
    style = (
        "<style>text { font: 10px sans-serif } polyline { fill: none; stroke-width: 1.5 }</style>"
    )
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{style}{"".join(parts)}</svg>\n'


def _panel(name: str, runs: Sequence[Run]) -> str:
    """Returns the panel of one measure, scaled from its least to its greatest value."""
    curves = [run.points(name) for run in runs]
    every = [point for points in curves for point in points]
    low, high = min(point.value for point in every), max(point.value for point in every)
    last, left, top, wide, tall = max(p.update for p in every), 44, 22, 180, 96
    parts = [
        f'<text x="{left}" y="14">{name}, to update {last}</text>',
        f'<text x="0" y="{top + 8}">{high:.3g}</text><text x="0" y="{top + tall}">{low:.3g}</text>',
        f'<path d="M{left} {top}v{tall}h{wide}" fill="none" stroke="#999"/>',
    ]
    for colour, points in zip(_COLOURS, curves, strict=False):
        at = " ".join(
            f"{left + wide * p.update / (last or 1):.1f},"
            f"{top + tall * (1 - (p.value - low) / (high - low or 1)):.1f}"
            for p in points
        )
        parts.append(f'<polyline points="{at}" stroke="{colour}"/>')
    return "".join(parts)
