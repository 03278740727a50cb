"""The page of training curves: several runs over each other, with 95% bands and their phases.

It loads nothing and has no script. Names of folders and tasks are hostile texts, and escaped.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from hisa.errors import UsageError
from hisa.plugins.benchmarks.bench import plots
from hisa.plugins.training import curve_metrics
from hisa.plugins.training.curve_metrics import METRICS_FILE, Metrics, MetricsRow, Point
from hisa.runs.templates import templates
from hisa.text.safe_text import safe_line

__all__ = ["Run", "page", "read_runs"]

_MEASURES = {
    "reward": "Reward", "entropy": "Entropy", "kl": "KL to the reference", "ppo_kl": "PPO-KL",
    "margin": "Average margin", "best_of_n": "Best of N", "turns": "Turns",
    "reply_length": "Reply length", "greedy": "Greedy reward", "truncated": "Truncated",
    "age_mean": "Age, mean", "age_p95": "Age, 95th percentile", "dropped_groups": "Dropped groups",
    "failed_episodes": "Failed episodes", "clipped": "Clipped", "seconds": "Seconds of an update",
}  # fmt: skip
"""Titles of measures; the first eight are those of figure 6."""
_MOST_RUNS, _MOST_TASKS = 6, 60  # as many colours as a bench's page has; chosen by hand
_MOST_POINTS = 200  # of a curve: a phone has about that many pixels across


class Run(NamedTuple):
    """One curve of each chart: one run, or several seeds of it."""

    name: str
    folder: Path
    seeds: list[Metrics]

    def points(self, name: str, task: str = "") -> list[Point]:
        """The curve of a measure, or of one task's, over all seeds."""
        curves = [curve_metrics.curve(seed.rows, name, task=task) for seed in self.seeds]
        return curve_metrics.over_seeds(curves, name)

    def numbers(self) -> dict[str, Any]:
        """Counts of lines, and the last point of each measure."""
        rows = [row for seed in self.seeds for row in seed.rows]
        tasks = curve_metrics.task_shares(rows)
        last = {name: points[-1]._asdict() for name in _MEASURES if (points := self.points(name))}
        return {
            "name": self.name,
            "folder": str(self.folder),
            "seeds": len(self.seeds),
            "updates": max(seed.rows[-1].update for seed in self.seeds),
            "last": last,
            "left_out": sum(seed.left_out for seed in self.seeds),
            "tasks": {t: {k: v.model_dump() for k, v in own.items()} for t, own in tasks.items()},
        }


def read_runs(folders: Sequence[Path]) -> list[Run]:
    """Reads run folders; a folder of run folders is one run of several seeds.

    Raises:
        UsageError: a file is missing or has no row, or there are too many folders.
    """
    if len(folders) > _MOST_RUNS:
        raise UsageError(f"{len(folders)} folders: a page shows at most {_MOST_RUNS}")
    names, runs = [folder.resolve().name for folder in folders], []
    for folder, name in zip(folders, names, strict=True):
        files = [folder / METRICS_FILE, *sorted(folder.glob(f"*/{METRICS_FILE}"))]
        own = files[:1] if files[0].exists() else files[1:]
        try:
            seeds = [curve_metrics.read_metrics(file.parent) for file in own]
        except OSError as error:
            raise UsageError(f"{folder}: {error}") from error
        if not seeds or not all(seed.rows for seed in seeds):
            message = f"{folder}: no row of {METRICS_FILE} in it, nor in all folders in it"
            raise UsageError(message, fix="hisa train grpo -o DIR")
        label = str(folder) if names.count(name) > 1 else name
        runs.append(Run(safe_line(label, 60), folder, seeds))
    return runs


def page(runs: Sequence[Run]) -> str:
    """The page as HTML."""
    rows = [row for run in runs for seed in run.seeds for row in seed.rows]
    tasks, fields = sorted({task for row in rows for task in row.tasks}), MetricsRow.model_fields
    charts = [(_MEASURES[n], fields[n].description, chart(runs, [n])) for n in _MEASURES]
    by_task = [(task, "", chart(runs, ["reward", "greedy"], task)) for task in tasks[:_MOST_TASKS]]
    return (
        templates(Path(__file__).parent)
        .get_template("curves.html.j2")
        .render(
            runs=[run.numbers() for run in runs],
            figure=charts[:8],
            ours=charts[8:],
            by_task=by_task,
            more=len(tasks[_MOST_TASKS:]),
            titles=_MEASURES,
            line=safe_line,
            css=Markup(Path(plots.__file__).with_name("report.css").read_text("utf-8")),
        )
    )


def chart(runs: Sequence[Run], names: Sequence[str], task: str = "") -> dict[str, Any] | None:
    """Lays curves out, a style for each run, the second name dashed; None without points."""
    lines = [
        (style, name != names[0], points[:: -(-len(points) // _MOST_POINTS)])
        for style, run in enumerate(runs)
        for name in names
        if (points := run.points(name, task))
    ]
    if not lines:
        return None
    every = [point for _, _, points in lines for point in points]
    least, most = min(point.value for point in every), max(point.value for point in every)
    # A band of few seeds may be many times as wide as the curve is high: it is cut off there.
    span = most - least or abs(most) or 1.0
    low = max(least - span, min(p.value if p.low is None else p.low for p in every))
    high = min(most + span, max(p.value if p.high is None else p.high for p in every))
    step = plots.ticks(max(high, -low))[1]
    below, above = min(0, math.floor(low / step)), max(1, math.ceil(high / step))
    rows = [(style, r.phase, r.update) for style, run in enumerate(runs) for r in run.seeds[0].rows]
    stretches = itertools.groupby(rows, lambda row: row[:2])
    return {
        "lines": lines,
        "marks": [step * number for number in range(below, above + 1)],
        "phases": [(*key, [update for *_, update in stretch]) for key, stretch in stretches],
        "first": min(update for *_, update in rows),
        "last": max(update for *_, update in rows),
    }
