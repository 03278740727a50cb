"""Checks that find bad samples: secrets, moved boxes, steps out of order."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from hisa.plugins.synthesis.data.samples import Sample
from hisa.text.redact import Redactor, holds_redacted

__all__ = ["Problem", "check"]


class Problem(NamedTuple):
    """A sample that something is wrong with; ``detail`` has no text of it."""

    sample: str
    kind: Literal["secret", "box", "order"]
    detail: str


def check(samples: Sequence[Sample]) -> Iterator[Problem]:
    """Yield the problems of samples, which are as they lie in a set: runs whole, in order."""
    redactor = Redactor()
    last: dict[str, Sample] = {}
    for sample in samples:
        before = last.get(sample.provenance.run)
        last[sample.provenance.run] = sample
        problems = (
            Problem(sample.id, "secret", _secret(sample, redactor)),
            Problem(sample.id, "box", _box(sample)),
            Problem(sample.id, "order", _order(before, sample) if before else ""),
        )
        yield from (problem for problem in problems if problem.detail)


def _secret(sample: Sample, redactor: Redactor) -> str:
    """Keys and passwords as the logs of runs know them, and places where one was taken out."""
    texts = [sample.instruction, sample.thought, sample.action, sample.window]
    texts += [sample.provenance.model_dump_json(), *(t.description for t in sample.targets)]
    for element in (*sample.elements, *(t.element for t in sample.targets if t.element)):
        again = element.text in ("", element.name)
        texts.append(element.name if again else f"{element.name}: {element.text}")
    secret = any(holds_redacted(text) or redactor.text(text) != text for text in texts)
    return "in a text of it" if secret else ""


def _order(before: Sample, sample: Sample) -> str:
    """Numbers rise, and a step begins with the look that the one before it ended with."""
    if sample.step <= before.last or sample.last < sample.step or before.ends:
        return "its number does not come after the step before"
    follows = sample.step == before.last + 1 and before.after not in ("", sample.image)
    return "it begins with another look than the last one ended" if follows else ""


def _box(sample: Sample) -> str:
    points, targets = sample.points, sample.targets
    if len(points) != len(targets) or any(
        math.dist(point, target.point) > 1.5 for point, target in zip(points, targets, strict=True)
    ):
        return "its points are not those of its action"
    for target in targets:
        if target.element and not target.element.lies_on(sample.size):
            return "a target's box does not lie on the picture"
        if target.element and not target.element.holds(target.point):
            return "a target's box does not hold its point"
    return ""
