"""How often the wanted thing is among the thirty that a small model is shown.

``python -m benchmarks.short_list [--every N] [--split held] [--apps miniwob chromium]`` takes the
training screens of ``benchmarks/grounding``, or others: each description of a thing there, made a
task, against the list of that task. A thing that no list without limits has (a title bar's button,
a word inside a text) is counted apart: no choice of thirty could show it. Prints one line of JSON.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from hisa.plugins.benchmarks.bench.grounding.open_suite import open_grounding_suite
from hisa.plugins.benchmarks.bench.grounding.targets import Target
from hisa.plugins.small.brief_marks import SHORT_MARKS, BriefMarks
from hisa.protocols import Task
from hisa.screen.observation import Observation

__all__ = ["main", "shares"]

SUITE = Path(__file__).parent / "grounding"
ROOM = 270
"""Tokens that a prompt of 700 leaves to the list of a task in one sentence."""


def is_listed(target: Target, look: Observation, *, most: int, room: int) -> bool:
    """Whether a list of the target's description has an entry whose place lies on it."""
    assert target.region is not None
    listing = BriefMarks(most=most)
    listed, _ = listing.brief(Task("t", f"Click {target.description}."), look, room)
    places = (listing.find(f"element: {n}") for n in range(1, len(listed) + 1))
    spots = (look.convert(place.point, "screen") for place in places if place is not None)
    return any(target.region.holds(spot) for spot in spots)


def shares(every: int = 1, split: str = "train", apps: Sequence[str] = ("",)) -> dict[str, float]:
    """The number of targets, the share that could be listed, and of these the share that was.

    Args:
        every: N, to take each N-th description only.
        split: of the suite.
        apps: how the names of the applications begin.
    """
    looks: dict[str, Observation] = {}
    found: Counter[str] = Counter()
    wanted = [
        target
        for target in open_grounding_suite(SUITE).targets
        if target.screen.split == split
        and target.region is not None
        and target.screen.app.startswith(tuple(apps))
    ]
    for target in wanted[::every]:
        look = looks.setdefault(target.screen.name, target.screen.look())
        found["targets"] += 1
        if is_listed(target, look, most=100_000, room=10_000_000):
            found["could"] += 1
            found["was"] += is_listed(target, look, most=SHORT_MARKS, room=ROOM)
    return {
        "targets": found["targets"],
        "could_be_listed": round(found["could"] / found["targets"], 3),
        "was_listed": round(found["was"] / found["could"], 3),
    }


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="take each N-th description only")
    parser.add_argument("--split", choices=["train", "held"], default="train")
    parser.add_argument("--apps", nargs="+", default=[""], help="how their names begin")
    options = parser.parse_args()
    print(json.dumps(shares(options.every, options.split, options.apps)))


if __name__ == "__main__":
    main()
