"""Lessons of applications: which of them a task recalls, and which of them should be.

    python -m benchmarks.lesson_recall                 both halves, before and after
    python -m benchmarks.lesson_recall --choose        thresholds that the tune half would choose

Every application of ``retrieval/lessons.yaml`` has a store of its lessons, and each of its tasks
recalls by `hisa.patterns.retrieval` as a run does. A pair is a task and a lesson of its
application. "Before": lessons of applications without a threshold, nearest or not. Intervals are
Wilson's, 95%. BGE-M3 is not run here: its thresholds are the published ones.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import yaml

from benchmarks.machine import machine
from hisa.config import PatternSettings
from hisa.patterns.embedders import thresholds_of
from hisa.patterns.embedders.minilm import MiniLM
from hisa.patterns.retrieval import retrieve, search
from hisa.patterns.stores.edge import EdgeStore
from hisa.patterns.vectors import cosine
from hisa.plugins.benchmarks.bench.stats import wilson
from hisa.protocols import Embedder, Pattern, Task

DATA = Path(__file__).parent / "retrieval" / "lessons.yaml"
Split = Literal["tune", "report"]
Application = Mapping[str, Any]
Pairs = list[tuple[float, bool]]
"""Score of a pair that was recalled (else -1), and whether it should be."""


def applications(split: Split) -> dict[str, Application]:
    """Every second application, in the order of the alphabet."""
    every = yaml.safe_load(DATA.read_text("utf-8"))
    names = sorted(every)[0 if split == "tune" else 1 :: 2]
    return {name: every[name] for name in names}


def recall_pairs(
    domain: str, application: Application, embedder: Embedder, *, threshold: float | None
) -> Pairs:
    """Pairs of one application, as a run recalls them; -1: everything, nearest or not."""
    pairs: Pairs = []
    with tempfile.TemporaryDirectory() as folder:
        store = EdgeStore(Path(folder), embedder)
        for name, (lesson, condition, _) in application["lessons"].items():
            pattern = Pattern(
                name,
                domain,
                "success",
                lesson,
                condition=condition,
                scope="application",
                embedder=embedder.name,
            )
            store.put(pattern, *embedder.embed([condition]))
        for instruction, *bearing in application["tasks"]:
            if threshold == -1.0:
                hits = search(store, embedder, instruction, domain=domain, limit=5, threshold=-1.0)
            else:
                task = Task("", instruction, domain=domain)
                settings = PatternSettings(threshold=threshold)
                hits = retrieve(store, embedder, task, settings=settings)
            scores = {hit.pattern.id: hit.score for hit in hits}
            pairs += [(scores.get(name, -1.0), name in bearing) for name in application["lessons"]]
        store.close()
    return pairs


def compare_reworded(application: Application, embedder: Embedder) -> Pairs:
    """Cosines of each lesson in other words with every lesson, and whether it is the same one."""
    rows = [*application["lessons"].values()]
    lessons = embedder.embed([row[0] for row in rows])
    again = embedder.embed([row[2] for row in rows])
    return [
        (cosine(lesson, other), first == second)
        for first, lesson in enumerate(lessons)
        for second, other in enumerate(again)
    ]


def counts(pairs: Iterable[tuple[float, bool]], threshold: float) -> tuple[int, int, int]:
    """Right ones among those from the threshold on, all of these, and all right ones."""
    rows = [*pairs]
    taken = [right for score, right in rows if score >= threshold]
    return sum(taken), len(taken), sum(right for _, right in rows)


def best(pairs: Sequence[tuple[float, bool]]) -> float:
    """The threshold of the best F1, of equals the highest."""

    def f1(threshold: float) -> float:
        right, taken, relevant = counts(pairs, threshold)
        return 2 * right / (taken + relevant)

    return max(sorted({score for score, _ in pairs if score > 0}, reverse=True), key=f1)


def format_row(name: str, pairs: Pairs, threshold: float) -> str:
    right, taken, relevant = counts(pairs, threshold)
    words = []
    for label, of in (("precision", taken), ("recall", relevant)):
        low, high = wilson(right, of)
        words.append(f"{label} {right}/{of} = {right / of:.2f} ({low:.2f} to {high:.2f})")
    return f"{name:<28}{', '.join(words)}, {len(pairs)} pairs"


def _all(split: Split, embedder: Embedder, threshold: float | None) -> Pairs:
    every = applications(split).items()
    return [
        pair
        for name, own in every
        for pair in recall_pairs(name, own, embedder, threshold=threshold)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Lessons of applications that tasks recall.")
    parser.add_argument("--choose", action="store_true", help="thresholds by the tune half")
    options = parser.parse_args()
    embedder = MiniLM()
    print(f"{embedder.name}; {machine()}")
    if options.choose:
        pairs = [
            p for own in applications("tune").values() for p in compare_reworded(own, embedder)
        ]
        wrong = max(score for score, same in pairs if not same)
        print(f"recalled, by the best F1: {best(_all('tune', embedder, -1.0)):.3f}")
        print(f"application, by the best F1: {best(_all('tune', embedder, 0.0)):.3f}")
        print(f"same, above every pair of different lessons: {wrong:.3f}")
        return
    for split in ("tune", "report"):
        same = thresholds_of(embedder.name, PatternSettings()).same
        pairs = [p for own in applications(split).values() for p in compare_reworded(own, embedder)]
        print(format_row(f"{split}: recalled, before", _all(split, embedder, -1.0), -0.99))
        print(format_row(f"{split}: recalled, now", _all(split, embedder, None), -0.99))
        print(format_row(f"{split}: same at 0.7, before", pairs, 0.7))
        print(format_row(f"{split}: same at {same}, now", pairs, same))


if __name__ == "__main__":
    main()
