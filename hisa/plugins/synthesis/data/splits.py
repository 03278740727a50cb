"""Splits of a data set: no template is trained and tested on."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from hisa.errors import UsageError
from hisa.plugins.synthesis.data.samples import Sample
from hisa.runs.manifest import TaskRecord

__all__ = ["assign", "leaks", "refuse_leaks", "template_of"]


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
    are added.
    """
    return [
        sample.model_copy(
            update={"split": "test" if _draw(seed, sample.template) < test else "train"}
        )
        for sample in samples
    ]


def leaks(samples: Sequence[Sample]) -> Iterator[tuple[str, str, frozenset[str]]]:
    """Yield what both splits have: "template" or "step", which, and the samples that have it.

    Two steps are the same by picture, thought and action.
    """
    having: dict[tuple[str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for sample in samples:
        step = "\n".join((sample.image, sample.thought, sample.action))
        for kind, key in (("template", sample.template), ("step", step)):
            having[kind, key][sample.split].add(sample.id)
    for (kind, key), sides in having.items():
        if len(sides) > 1:
            yield kind, key, frozenset().union(*sides.values())


def refuse_leaks(samples: Sequence[Sample], fix: str) -> None:
    """Check that the splits share nothing. Raises: UsageError where they do."""
    for kind, key, ids in leaks(samples):
        raise UsageError(f"splits share the {kind} {key[:200]!r}: {min(ids)}", fix=fix)


def _draw(seed: int, key: str) -> float:
    """A number of 0..1 that hangs on nothing else."""
    return int.from_bytes(hashlib.sha256(f"{seed} {key}".encode()).digest()[:8]) / 2**64
