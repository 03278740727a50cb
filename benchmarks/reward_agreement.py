"""Grades of trajectories against executed scores, other judges, and marks by hand.

    hisa data collect --from benches/miniwob -o DIR; hisa data collect -o DIR --judge NAME --limit 5
    python -m benchmarks.reward_agreement DIR --draw 20 --seed 1 > hand.json
    python -m benchmarks.reward_agreement DIR --hand hand.json

With --draw it prints so many trajectories as a judge sees them, without scores and grades, as JSON
with an empty "mark" each: fill in 1 to 5 by `prompts/trajectory_reward.md`, before the second
command. That prints, for each judge and for the marks: Spearman's rank correlation with the score
over the runs that have both, a 95% interval by bootstrap over runs, and the table of grades.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import StatisticsError, correlation

from pydantic import BaseModel, Field, TypeAdapter

from hisa.plugins.synthesis.data.trajectories import CollectedRun, Trajectory, read_trajectories
from hisa.plugins.synthesis.data.trajectory_rewards import Grade, looks, step_lines
from hisa.plugins.synthesis.exploration import read_records

__all__ = ["agreement", "draw_trajectories", "spearman"]

_RESAMPLES = 2_000


class _Marked(BaseModel):
    run: str
    mark: int | None = Field(None, ge=1, le=5)


def _ranks(values: Sequence[float]) -> list[float]:
    """Ranks from 1; equal values share the mean of theirs."""
    places: dict[float, list[int]] = {}
    for place, value in enumerate(sorted(values), 1):
        places.setdefault(value, []).append(place)
    return [sum(places[value]) / len(places[value]) for value in values]


def spearman(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Spearman's rank correlation; None where one side has no two values."""
    try:
        return correlation(_ranks([first for first, _ in pairs]), _ranks([two for _, two in pairs]))
    except StatisticsError:
        return None


def agreement(pairs: Sequence[tuple[float, float]], seed: int = 0) -> tuple[float | None, str]:
    """Spearman's correlation, and its 95% bootstrap interval over pairs in words."""
    random_pairs = random.Random(seed)
    draws = (spearman(random_pairs.choices(pairs, k=len(pairs))) for _ in range(_RESAMPLES))
    values = sorted(value for value in draws if value is not None)
    if not values:
        return spearman(pairs), "no interval"
    low, high = (values[int(share * (len(values) - 1))] for share in (0.025, 0.975))
    undefined = _RESAMPLES - len(values)
    words = f"[{low:+.2f}, {high:+.2f}]" + f", {undefined} resamples without one" * bool(undefined)
    return spearman(pairs), words


def draw_trajectories(
    trajectories: Sequence[Trajectory], count: int, seed: int
) -> list[dict[str, object]]:
    """So many trajectories as a judge sees them, in random order; nothing of their scores."""
    chosen = random.Random(seed).sample(list(trajectories), min(count, len(trajectories)))
    return [
        {
            "run": trajectory.id,
            "instruction": trajectory.instruction,
            "steps": step_lines(trajectory),
            "pictures": [str(look.image) for look in looks(trajectory)[-3:]],
            "mark": None,
        }
        for trajectory in chosen
    ]


def _tables(marks: Mapping[str, int], scores: Mapping[str, float], title: str) -> Iterator[str]:
    """The agreement of marks with scores, and their table, in lines."""
    pairs = [(mark, scores[run]) for run, mark in marks.items() if run in scores]
    if not pairs:
        return
    rho, interval = agreement(pairs)
    value = "undefined" if rho is None else f"{rho:+.2f}"
    yield f"{title}: Spearman {value} {interval}, {len(pairs)} runs"
    columns = sorted({score for _, score in pairs})
    columns = columns if len(columns) <= 6 else [0.0, 0.5, 1.0]
    counts = Counter((mark, min(columns, key=lambda c: abs(c - score))) for mark, score in pairs)
    yield "  grade  " + "".join(f"{column:>8g}" for column in columns)
    for mark in range(5, 0, -1):
        yield f"  {mark:5}  " + "".join(f"{counts[mark, column]:>8}" for column in columns)


def main() -> None:
    """Print drawn trajectories, or agreements."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--draw", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--hand", type=Path)
    options = parser.parse_args()
    runs = read_records(options.folder / "runs.jsonl", CollectedRun)
    trajectories, _ = read_trajectories([Path(run.folder) for run in runs])
    if options.draw:
        json.dump(draw_trajectories(trajectories, options.draw, options.seed), sys.stdout, indent=1)
        return
    scores = {
        trajectory.id: trajectory.score
        for trajectory in trajectories
        if trajectory.score is not None
    }
    judges: dict[str, dict[str, int]] = {}
    for grade in read_records(options.folder / "grades.jsonl", Grade):
        judges.setdefault(grade.judge, {})[grade.run] = grade.reward
    if options.hand:
        marked = TypeAdapter(list[_Marked]).validate_json(options.hand.read_bytes())
        judges["by hand"] = {row.run: row.mark for row in marked if row.mark is not None}
    print(f"{len(trajectories)} runs, {len(scores)} with a score")
    for name, marks in judges.items():
        print("\n".join(_tables(marks, scores, f"{name} against the score")))
    names = list(judges)
    for at, name in enumerate(names):
        for other in names[at + 1 :]:
            print("\n".join(_tables(judges[name], judges[other], f"{name} against {other}")))


if __name__ == "__main__":
    main()
