"""Checks that find bad samples: moved boxes, swapped pictures, wrong thoughts, secrets.

Each says which sample disagrees with itself, its neighbours or its picture. With a reader of text,
pictures are compared with the names that should be drawn on them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

from hisa.actions import Write
from hisa.plugins.synthesis.data.samples import Sample, SampledElement, Sides
from hisa.screen.geometry import BoundingBox
from hisa.text.redact import Redactor, holds_redacted
from hisa.text.words import quotes, tokens

__all__ = ["Kind", "Problem", "ReadLines", "check"]

Kind = Literal["box", "picture", "thought", "order", "secret"]
ReadLines = Callable[[str], Sequence[tuple[str, Sides]]]
"""Reads a picture of the set by name: its lines of text, each with its box."""
_DRAWN = frozenset(
    ("push button", "toggle button", "button", "link", "menu", "menu item", "page tab", "static",
     "label", "heading", "list item", "table cell", "check menu item", "radio menu item")
)  # fmt: skip
"""Roles whose name stands inside their box; a field's or a check box's stands beside it."""
_FEWEST, _KNOWN = 3, 0.55
"""Words that must be read for a picture to be judged, and the share of them that must be an
element's. It was 0.71 and more on 57 looks at pages of MiniWoB++ and 0.59 and more on 30 at five
applications; with another picture of the same application it was less than 0.55 for 13 of 30."""
_LETTER = 5
"""Pixels of width of a letter: a box that is narrower than its name is an icon's."""
_COMMON = (
    "the a an of to in on at for with and or it its this that is i will press click select choose"
    " open type button icon link field box tab item menu instruction try look element"
)
_GENERIC = frozenset(_COMMON.split())
_TEXTUAL = frozenset(
    ("static", "section", "paragraph", "frame", "document web", "label", "heading", "panel")
)
"""Roles that are seldom what an act is for, and often repeat the instruction."""


class Problem(NamedTuple):
    """A sample that something is wrong with; ``detail`` has no text of it."""

    sample: str
    kind: Kind
    detail: str


def check(samples: Sequence[Sample], read: ReadLines | None = None) -> Iterator[Problem]:
    """Yield the problems of samples, which are as they lie in a set: runs whole, in order.

    Secrets are known as in the logs of runs (`hisa.text.redact`), and places where one was taken
    out; an element is read with its name, as "Password: x".

    Args:
        samples: of a set.
        read: a reader of its pictures; None: boxes and pictures are checked by records alone.
    """
    redactor = Redactor()
    last: dict[str, Sample] = {}
    for sample in samples:
        words = [_Words(_letters(text), box) for text, box in (read(sample.image) if read else ())]
        drawn = [line for line in words if line.words]
        if any(holds_redacted(text) or redactor.text(text) != text for text in _texts(sample)):
            yield Problem(sample.id, "secret", "in a text of it")
        details: dict[Kind, str] = {
            "box": _box(sample, drawn),
            "picture": _picture(sample, drawn),
            "thought": _thought(sample),
            "order": _order(last.get(sample.provenance.run), sample),
        }
        yield from (Problem(sample.id, kind, detail) for kind, detail in details.items() if detail)
        last[sample.provenance.run] = sample


def _texts(sample: Sample) -> Iterator[str]:
    yield from (sample.instruction, sample.thought, sample.action, sample.window)
    yield from (target.description for target in sample.targets)
    yield sample.provenance.model_dump_json()
    for element in (*sample.elements, *_hit(sample)):
        again = element.text in ("", element.name)
        yield element.name if again else f"{element.name}: {element.text}"


def _hit(sample: Sample) -> list[SampledElement]:
    return [target.element for target in sample.targets if target.element]


def _order(before: Sample | None, sample: Sample) -> str:
    """Numbers rise, and a step begins with the look that the one before it ended with."""
    if before is None:
        return ""
    if sample.step <= before.last or sample.last < sample.step or before.ends:
        return "its number does not come after the step before"
    follows = sample.step == before.last + 1 and before.after
    if follows and sample.image != before.after:
        return "it begins with another look than the last one ended"
    return ""


def _box(sample: Sample, drawn: Sequence[_Words]) -> str:
    points, targets = sample.points, sample.targets
    if len(points) != len(targets) or any(
        math.dist(point, target.point) > 1.5 for point, target in zip(points, targets, strict=True)
    ):
        return "its points are not those of its action"
    for target in sample.targets:
        if (element := target.element) is None:
            continue
        if not element.lies_on(sample.size):
            return "a target's box does not lie on the picture"
        if not element.holds(target.point):
            return "a target's box does not hold its point"
        if (element.name or element.text) and element not in sample.elements:
            return "a target's box is not that of the element of its name"
        if _elsewhere(element, sample, drawn):
            return "the name of a target is drawn elsewhere"
    return ""


class _Words(NamedTuple):
    """The words of three letters and more of a line that was read."""

    words: frozenset[str]
    box: Sides


def _letters(text: str) -> frozenset[str]:
    return frozenset(word for word in re.findall(r"\w+", text.casefold()) if len(word) >= 3)


def _read_at(name: frozenset[str], box: Sides, drawn: Sequence[_Words]) -> float:
    """The share of a name's words that were read inside a box."""
    part = BoundingBox(*box)
    inside = (line.words for line in drawn if BoundingBox(*line.box).intersection(part))
    return len(name & frozenset().union(*inside)) / len(name)


def _elsewhere(element: SampledElement, sample: Sample, drawn: Sequence[_Words]) -> bool:
    """Whether a name that ought to stand in a box was read outside it, and nothing of it inside."""
    name = _letters(element.name)
    if element.role not in _DRAWN or not name or _read_at(name, element.box, drawn):
        return False
    if element.box[2] - element.box[0] < _LETTER * len(element.name):
        return False
    others = (e.name for e in sample.elements if e.name != element.name)
    alone = not any(name <= _letters(other) for other in others)
    return alone and _read_at(name, (0, 0, *sample.size), drawn) == 1


def _picture(sample: Sample, drawn: Sequence[_Words]) -> str:
    """Whether what was read is what the elements say, and names were read where they stand."""
    read = frozenset().union(*(line.words for line in drawn))
    known = frozenset().union(*(_letters(f"{e.name} {e.text}") for e in sample.elements))
    named = {(_letters(e.name), e.box) for e in sample.elements if e.role in _DRAWN}
    shares = [_read_at(name, box, drawn) for name, box in named if name]
    if not shares or len(read) < _FEWEST:
        return ""
    if len(read & known) / len(read) < _KNOWN and sum(shares) / len(shares) < _KNOWN:
        return f"{len(read & known)} of {len(read)} words on the picture are an element's"
    return ""


def _thought(sample: Sample) -> str:
    """Whether the thought names another element than the act hits, or text that is not there."""
    thought = _both(sample.thought)
    if not sample.targets or not thought:
        return ""
    names = [text for e in _hit(sample) for text in (e.name, e.text[:200])]
    others = [target.description for target in sample.targets]
    others += [action.text for action in sample.actions if isinstance(action, Write)]
    shown = [f"{e.name} {e.text}" for e in sample.elements]
    everything = (sample.instruction, *names, *others, sample.action, sample.window, *shown)
    for quoted in quotes(sample.thought):
        if not any(quoted.casefold() in text.casefold() for text in everything):
            return "it quotes what is neither on the screen nor asked for"
    telling = ((_both(name) - _GENERIC) or _both(name) for name in names)
    words = frozenset().union(*telling, _both(" ".join(others)) - _GENERIC)
    own = thought & words
    if words and not own:
        return "it names nothing of what the act hits"
    if any(len(name) > len(own) for name in _others_named(sample, thought)):
        return "it names another element than the act hits"
    return ""


def _both(text: str) -> frozenset[str]:
    """The words of a text as they are, and as `tokens` has them."""
    return tokens(text) | frozenset(re.findall(r"\w+", text.casefold()))


def _others_named(sample: Sample, thought: frozenset[str]) -> Iterator[frozenset[str]]:
    """The names, whole in a thought, of elements that the act does not hit."""
    for element in sample.elements:
        name = tokens(element.name)
        hit = any(element.holds(target.point) for target in sample.targets)
        if element.role not in _TEXTUAL and not hit and name <= thought and not name <= _GENERIC:
            yield name
