"""Checks that find bad samples: moved boxes, swapped pictures, wrong thoughts, secrets.

Each says which sample disagrees with itself, its neighbours or its picture. With a reader of text,
pictures are compared with the names that should be drawn on them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Literal, NamedTuple

from hisa.actions import Write
from hisa.errors import UsageError
from hisa.plugins.synthesis.data.samples import Sample, SampledElement, Sides
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Screenshot
from hisa.screen.ocr import Line, available, read_text
from hisa.text.redact import Redactor, holds_redacted
from hisa.text.words import tokens

__all__ = ["Problem", "ReadLines", "check", "picture_reader"]

ReadLines = Callable[[str], Sequence[Line]]  # reads a picture of the set by name
Words = Sequence[tuple[frozenset[str], BoundingBox]]
"""Of each line that was read its words of three letters and more, and its box."""
_DRAWN = frozenset(
    ("push button", "toggle button", "button", "link", "menu", "menu item", "page tab", "static",
     "label", "heading", "list item", "table cell", "check menu item", "radio menu item")
)  # fmt: skip
"""Roles whose name stands inside their box; a field's or a check box's stands beside it."""
_FEWEST, _KNOWN = 3, 0.55
"""Words that must be read for a picture to be judged, and the share of them that must be an
element's: 0.59 and more on 87 looks at pages and applications; with another picture of the same
application it was less than 0.55 for 13 of 30."""
_LETTER = 5  # pixels of width: a box that is narrower than its name is an icon's
_COMMON = (
    "the a an of to in on at for with and or it its this that is i will press click select choose"
    " open type button icon link field box tab item menu instruction try look element"
)
_GENERIC = frozenset(_COMMON.split())  # words that tell no element from another


class Problem(NamedTuple):
    """A sample that something is wrong with; ``detail`` has no text of it."""

    sample: str
    kind: Literal["secret", "box", "picture", "thought", "order"]
    detail: str


def check(samples: Sequence[Sample], read: ReadLines | None = None) -> Iterator[Problem]:
    """Yield the problems of samples, which are as they lie in a set: runs whole, in order.

    Without a reader of its pictures, boxes and pictures are checked by records alone.
    """
    redactor = Redactor()
    last: dict[str, Sample] = {}
    for sample in samples:
        lines = read(sample.image) if read else ()
        words = [(_letters(line.text), line.box) for line in lines]
        before = last.get(sample.provenance.run)
        last[sample.provenance.run] = sample
        problems = (
            Problem(sample.id, "secret", _secret(sample, redactor)),
            Problem(sample.id, "box", _box(sample, words)),
            Problem(sample.id, "picture", _picture(sample, words)),
            Problem(sample.id, "thought", _thought(sample)),
            Problem(sample.id, "order", _order(before, sample) if before else ""),
        )
        yield from (problem for problem in problems if problem.detail)


def picture_reader(
    images: Mapping[str, Path], wanted: bool, say: Callable[[str], object]
) -> ReadLines | None:
    """A reader of pictures by name, each read once; None where none is wanted.

    Raises: UsageError where Tesseract is not installed.
    """
    if not wanted:
        return None
    if not available():
        raise UsageError("--ocr: Tesseract is not installed", fix="hisa doctor")

    @cache
    def read(name: str) -> Sequence[Line]:
        if (number := read.cache_info().misses) % 20 == 0:
            say(f"{number} pictures read, of up to {len(images)}")
        return read_text(Screenshot.from_png(images[name].read_bytes()))

    return read


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


def _box(sample: Sample, words: Words) -> str:
    points, targets = sample.points, sample.targets
    if len(points) != len(targets) or any(
        math.dist(point, target.point) > 1.5 for point, target in zip(points, targets, strict=True)
    ):
        return "its points are not those of its action"
    hit = ((target.element, target.point) for target in sample.targets if target.element)
    for element, point in hit:
        if not element.lies_on(sample.size):
            return "a target's box does not lie on the picture"
        if not element.holds(point):
            return "a target's box does not hold its point"
        if (element.name or element.text) and element not in sample.elements:
            return "a target's box is not that of the element of its name"
        if _elsewhere(element, sample, words):
            return "the name of a target is drawn elsewhere"
    return ""


def _letters(text: str) -> frozenset[str]:
    return frozenset(word for word in re.findall(r"\w+", text.casefold()) if len(word) >= 3)


def _read_at(name: frozenset[str], box: Sides, words: Words) -> float:
    """The share of a name's words that stand inside a box."""
    inside = (line for line, place in words if place.intersection(BoundingBox(*box)))
    return len(name & frozenset().union(*inside)) / len(name)


def _elsewhere(element: SampledElement, sample: Sample, words: Words) -> bool:
    """Whether a name that ought to stand in a box was read outside it, and nothing of it inside."""
    name, width = _letters(element.name), element.box[2] - element.box[0]
    if element.role not in _DRAWN or not name or width < _LETTER * len(element.name):
        return False
    others = (e.name for e in sample.elements if e.name != element.name)
    if _read_at(name, element.box, words) or any(name <= _letters(other) for other in others):
        return False
    return _read_at(name, (0, 0, *sample.size), words) == 1


def _picture(sample: Sample, words: Words) -> str:
    """Whether what was read is what the elements say, and names were read where they stand."""
    read = frozenset().union(*(line for line, _ in words))
    known = frozenset().union(*(_letters(f"{e.name} {e.text}") for e in sample.elements))
    named = {(_letters(e.name), e.box) for e in sample.elements if e.role in _DRAWN}
    shares = [_read_at(name, box, words) for name, box in named if name]
    if not shares or len(read) < _FEWEST or len(read & known) / len(read) >= _KNOWN:
        return ""
    return "its words are no element's" if fmean(shares) < _KNOWN else ""


def _thought(sample: Sample) -> str:
    """Whether the thought shares no word with what the act hits and types."""
    thought = _both(sample.thought)
    hit = [target.element for target in sample.targets if target.element]
    names = [_both(text) for element in hit for text in (element.name, element.text[:200])]
    others = [target.description for target in sample.targets]
    others += [action.text for action in sample.actions if isinstance(action, Write)]
    telling = (name - _GENERIC or name for name in names)
    words = frozenset().union(*telling, _both(" ".join(others)) - _GENERIC)
    wrong = sample.targets and thought and words and not thought & words
    return "it names nothing of what the act hits" if wrong else ""


def _both(text: str) -> frozenset[str]:
    """The words of a text as they are, and as `tokens` has them."""
    return tokens(text) | frozenset(re.findall(r"\w+", text.casefold()))
