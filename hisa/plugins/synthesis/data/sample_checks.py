"""Checks that find bad samples: moved boxes, swapped pictures, wrong thoughts, shuffled steps.

Each says which sample disagrees with itself, its neighbours or its picture. With a reader of text,
pictures are compared with the names that should be drawn on them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from hisa.actions import Write
from hisa.plugins.synthesis.data.samples import Sample, SampledElement, Sides
from hisa.plugins.synthesis.data.secret_scan import secret_field
from hisa.screen.geometry import BoundingBox
from hisa.text.redact import Redactor
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

    Args:
        samples: of a set.
        read: a reader of its pictures; None: boxes and pictures are checked by records alone.
    """
    redactor = Redactor()
    last: dict[str, Sample] = {}
    for sample in samples:
        if name := secret_field(sample, redactor):
            yield Problem(sample.id, "secret", f"in its {name}")
        lines = _words(read(sample.image)) if read else ()
        yield from (Problem(sample.id, "box", detail) for detail in _boxes(sample, lines))
        if lines and (detail := _picture(sample, lines)):
            yield Problem(sample.id, "picture", detail)
        if detail := _thought(sample):
            yield Problem(sample.id, "thought", detail)
        before = last.get(sample.provenance.run)
        last[sample.provenance.run] = sample
        if before is not None:
            yield from _chain(before, sample)


def _chain(before: Sample, sample: Sample) -> Iterator[Problem]:
    """Numbers rise, and a step begins with the look that the one before it ended with."""
    if sample.step <= before.last or sample.last < sample.step or before.ends:
        yield Problem(sample.id, "order", "its number does not come after the step before")
    elif sample.step == before.last + 1 and before.after and sample.image != before.after:
        yield Problem(sample.id, "order", "it begins with another look than the last one ended")


def _boxes(sample: Sample, lines: Sequence[_Line]) -> Iterator[str]:
    by_name: dict[tuple[str, str], list[SampledElement]] = {}
    for listed in sample.elements:
        by_name.setdefault((listed.role, listed.name), []).append(listed)
    if len(sample.points) != len(sample.targets) or any(
        abs(x - target.point[0]) > 1 or abs(y - target.point[1]) > 1
        for (x, y), target in zip(sample.points, sample.targets, strict=True)
    ):
        yield "its points are not those of its action"
        return
    for target in sample.targets:
        if (element := target.element) is None:
            continue
        if not sample.lies(element.box):
            yield "a target's box does not lie on the picture"
        elif not element.holds(target.point):
            yield "a target's box does not hold its point"
        elif (element.name or element.text) and not any(
            _overlap(element.box, other.box) > 0.9
            for other in by_name.get((element.role, element.name), ())
        ):
            yield "a target's box is not that of the element of its name"
        elif _elsewhere(element, sample, lines):
            yield "the name of a target is drawn elsewhere"


class _Line(NamedTuple):
    words: frozenset[str]
    box: BoundingBox


def _words(lines: Iterable[tuple[str, Sides]]) -> list[_Line]:
    """Split lines into words of three letters and more; lines without any are left out."""
    split = ((_letters(text), BoundingBox(*box)) for text, box in lines)
    return [_Line(words, box) for words, box in split if words]


def _letters(text: str) -> frozenset[str]:
    return frozenset(word for word in re.findall(r"\w+", text.casefold()) if len(word) >= 3)


def _read_at(name: frozenset[str], box: Sides, lines: Sequence[_Line]) -> float:
    """The share of a name's words that were read inside a box."""
    part = BoundingBox(*box)
    inside: set[str] = set()
    for line in lines:
        if line.box.intersection(part):
            inside |= line.words
    return len(name & inside) / len(name)


def _elsewhere(element: SampledElement, sample: Sample, lines: Sequence[_Line]) -> bool:
    """Whether a name that ought to stand in a box was read outside it, and nothing of it inside."""
    name = _letters(element.name)
    if element.role not in _DRAWN or not name or _read_at(name, element.box, lines):
        return False
    if element.box[2] - element.box[0] < _LETTER * len(element.name):
        return False
    drawn = _read_at(name, (0, 0, *sample.size), lines) == 1
    others = (e.name for e in sample.elements if e.name != element.name)
    return drawn and not any(name <= _letters(other) for other in others)


def _picture(sample: Sample, lines: Sequence[_Line]) -> str:
    """Whether what was read is what the elements say, and names were read where they stand."""
    read = frozenset().union(*(line.words for line in lines))
    known = frozenset().union(*(_letters(f"{e.name} {e.text}") for e in sample.elements))
    drawn = {(_letters(e.name), e.box) for e in sample.elements if e.role in _DRAWN}
    shares = [_read_at(name, box, lines) for name, box in drawn if name and sample.lies(box)]
    if not shares or len(read) < _FEWEST:
        return ""
    if len(read & known) / len(read) < _KNOWN and sum(shares) / len(shares) < _KNOWN:
        return f"{len(read & known)} of {len(read)} words on the picture are an element's"
    return ""


def _overlap(box: Sides, other: Sides) -> float:
    first, second = BoundingBox(*box), BoundingBox(*other)
    common = first.intersection(second)
    shared = common.area if common else 0.0
    return shared / max(first.area + second.area - shared, 1e-9)


def _thought(sample: Sample) -> str:
    """Whether the thought names another element than the act hits, or text that is not there."""
    thought = _both(sample.thought)
    hit = [target.element for target in sample.targets if target.element]
    names = [text for e in hit for text in (e.name, e.text[:200])]
    others = [target.description for target in sample.targets]
    others += [action.text for action in sample.actions if isinstance(action, Write)]
    if not sample.targets or not thought:
        return ""
    for quoted in quotes(sample.thought):
        everything = [sample.instruction, *names, *others, sample.action, sample.window]
        everything += [f"{e.name} {e.text}" for e in sample.elements]
        if not any(quoted.casefold() in text.casefold() for text in everything):
            return "it quotes what is neither on the screen nor asked for"
    words = frozenset().union(*map(_telling, names), _both(" ".join(others)) - _GENERIC)
    own = thought & words
    if words and not own:
        return "it names nothing of what the act hits"
    best = max((_named(e, thought, sample) for e in sample.elements), default=0)
    if best > len(own):
        return "it names another element than the act hits"
    return ""


def _telling(text: str) -> frozenset[str]:
    """The words of a name without those that many names have, where it has others."""
    return (_both(text) - _GENERIC) or _both(text)


def _both(text: str) -> frozenset[str]:
    """The words of a text as they are, and as `tokens` has them."""
    return tokens(text) | frozenset(re.findall(r"\w+", text.casefold()))


def _named(element: SampledElement, thought: frozenset[str], sample: Sample) -> int:
    """Words of an element's name that a thought has, all of them; 0 for one that the act hits."""
    if element.role in _TEXTUAL or any(element.holds(t.point) for t in sample.targets):
        return 0
    name = tokens(element.name)
    return len(name) if name and name <= thought and not name <= _GENERIC else 0
