"""The page of training curves: several runs over each other, with 95% bands and their phases.

It loads nothing and has no script. Names of folders and tasks are hostile texts, and escaped.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from hisa.plugins.benchmarks.bench import plots
from hisa.plugins.training.curves import MEASURES, MetricsRow, Run
from hisa.runs.templates import templates
from hisa.text.safe_text import safe_line

__all__ = ["page"]

_MOST_TASKS = 60  # chosen by hand
_MOST_POINTS = 200  # of a curve: a phone has about that many pixels across


def page(runs: Sequence[Run]) -> str:
    """Returns the page as HTML."""
    rows = [row for run in runs for seed in run.seeds for row in seed.rows]
    tasks, fields = sorted({task for row in rows for task in row.tasks}), MetricsRow.model_fields
    charts = [(MEASURES[n], fields[n].description, chart(runs, [n])) for n in MEASURES]
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
            titles=MEASURES,
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
