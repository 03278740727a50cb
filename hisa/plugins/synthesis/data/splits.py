"""Splits of samples: no template, and no step, is trained and tested on."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from hisa.plugins.synthesis.data.samples import Sample
from hisa.runs.manifest import TaskRecord

__all__ = ["assign", "template_of"]


def template_of(task: TaskRecord) -> str:
    """The template of a run's task.

    A page that draws its content (MiniWoB++, WorkArena) is one template whatever its seed; other
    tasks are one that differ by quoted values and numbers alone.
    """
    pages = (step.get("parameters") for step in task.setup)
    for page in pages:
        if isinstance(page, dict) and isinstance(page.get("task"), str):
            return f"page/{page['task']}"
    masked = re.sub(r"\"[^\"]*\"|“[^”]*”|(?<!\w)'[^']*'(?!\w)|\S*\d\S*", "#", task.instruction)
    return re.sub("#[# ]*", "# ", " ".join(masked.split())).casefold().strip()


def assign(samples: Sequence[Sample], test: float, seed: int) -> list[Sample]:
    """Split samples; ``test`` is the share of the templates that is tested on.

    A template goes by a hash of its name and the seed, so that it stays on its side while others
    are added. Steps that are trained on (the same picture, thought and action) are not tested.
    """
    split = [
        sample.model_copy(
            update={"split": "test" if _draw(seed, sample.template) < test else "train"}
        )
        for sample in samples
    ]
    trained = {_step(sample) for sample in split if sample.split == "train"}
    return [one for one in split if one.split == "train" or _step(one) not in trained]


def _step(sample: Sample) -> tuple[str, str, str]:
    return sample.image, sample.thought, sample.action


def _draw(seed: int, key: str) -> float:
    """A number of 0..1 that hangs on nothing else."""
    return int.from_bytes(hashlib.sha256(f"{seed} {key}".encode()).digest()[:8]) / 2**64
