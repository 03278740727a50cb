"""How diverse a set is (OS-Genesis, 5.1)."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from hisa.plugins.synthesis.data.samples import Sample, by_run
from hisa.protocols import Embedder

__all__ = ["diversity", "mean_distance"]

_EMBEDDED = 5_000  # texts, the first ones: some 100 s on one processor


def diversity(samples: Sequence[Sample], embedder: Embedder) -> dict[str, int | float | None]:
    """Measure a set: its size, lengths and mean distances.

    Instructions count once each; low-level instructions, 5.1's actions, as often as they come.
    """
    instructions = list(dict.fromkeys(sample.instruction for sample in samples))
    runs = by_run(samples)
    return {
        "tasks": len(instructions),
        "runs": len(runs),
        "steps": len(samples),
        "instruction_distance": mean_distance(instructions, embedder),
        "action_distance": mean_distance([sample.thought for sample in samples], embedder),
        "words_per_instruction": fmean(len(text.split()) for text in instructions),
        "steps_per_task": len(samples) / len(runs),
    }


def mean_distance(texts: Sequence[str], embedder: Embedder) -> float | None:
    """The mean cosine distance of all pairs of texts, 0..2; None where there is no pair.

    The sum over pairs is had from the sum of the unit vectors: |sum v|^2 = n + 2 sum v_i v_j.
    """
    import numpy as np

    texts = texts[:_EMBEDDED]
    if (count := len(texts)) < 2:
        return None
    distinct = list(dict.fromkeys(texts))
    vectors = dict(zip(distinct, embedder.embed(distinct), strict=True))
    total = np.array([vectors[text] for text in texts], np.float64).sum(axis=0)
    return 1.0 - (float(total @ total) - count) / (count * (count - 1))
