"""Builds elements from what the models see: controls, the text in them, and their icons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from hisa.grounder.thing import Thing
from hisa.plugins.eyes.detector import Control
from hisa.plugins.eyes.icon_reader import IconName
from hisa.screen.geometry import BoundingBox, Point
from hisa.screen.observation import Element, Observation, Window
from hisa.screen.ocr import Line, Word
from hisa.screen.sight import GUESSED, SEEN

__all__ = ["Sighting", "find_bare_controls", "label_icons", "list_sightings"]

_ROLES = {
    "button": "push button",
    "icon": "push button",
    "field": "entry",
    "radio": "radio button",
    "switch": "toggle switch",
    "tab": "page tab",
}
"""Roles of the detector that the accessibility tree calls otherwise."""
_NAMED_INSIDE = frozenset(
    {"button", "icon", "link", "tab", "menu", "menu item", "list item", "table cell", "heading"}
)
"""Roles whose name is the text inside them."""
_HOLDS_VALUE = frozenset({"field", "combo box"})
"""Roles whose text is their value, and whose name stands beside them."""
_ICONS = frozenset({"button", "icon", "tab", "menu item", "list item", "link"})
"""Roles that may show an icon alone."""
_USABLE = frozenset({"enabled", "sensitive"})
_SHOWING = frozenset({"showing", "visible", SEEN})
_WITHIN = 0.6
"""Least share of a word inside a control that holds it: boxes of both are off by some pixels."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """An element that was seen, in screen space, and the chance that it is there, 0 to 1.

    ``meanings`` are words for its icon, with their chances; its name is one of them if that is
    sure.
    """

    element: Element
    chance: float
    meanings: tuple[tuple[str, float], ...] = ()


def list_sightings(
    observation: Observation,
    controls: Sequence[Control],
    lines: Iterable[Line],
    icons: Mapping[int, Sequence[IconName]],
) -> tuple[Sighting, ...]:
    """Returns what is on a picture, larger elements first.

    Args:
        observation: the look; its full picture is the one that was read.
        controls: detected on that picture.
        lines: read on that picture.
        icons: meanings by the number of the control, the likeliest first.
    """
    held, loose = _assign_words(controls, lines)
    bars = _find_menu_titles(controls)
    sightings = [
        _build_control(
            replace(control, role="menu") if number in bars else control,
            held.get(number, []),
            icons.get(number, ()),
        )
        for number, control in enumerate(controls)
    ]
    sightings += [
        Sighting(Element("static", line.text, line.box, states=_SHOWING | _USABLE), 1.0)
        for line in loose
        if line.text.strip()
    ]
    placed = [replace(s, element=_place(s.element, observation)) for s in sightings]
    return tuple(sorted(placed, key=lambda sighting: -sighting.element.box.area))


def label_icons(things: Sequence[Thing], sightings: Sequence[Sighting]) -> list[Thing]:
    """Returns the things; those that were seen with an icon are labelled by all it may mean.

    Args:
        things: of which some are elements that were seen.
        sightings: of the same look.
    """
    meanings = {(s.element.role, s.element.box): s.meanings for s in sightings}
    labels = [meanings.get((t.element.role, t.element.box), ()) for t in things]
    return [
        replace(thing, labels=(*thing.labels, *added)) if added else thing
        for thing, added in zip(things, labels, strict=True)
    ]


def find_bare_controls(controls: Sequence[Control], lines: Iterable[Line]) -> list[int]:
    """Returns the numbers of the controls that may show an icon, and no text."""
    held, _ = _assign_words(controls, lines)
    return [
        number
        for number, control in enumerate(controls)
        if control.role in _ICONS and not _has_letters(held.get(number, []))
    ]


def _assign_words(
    controls: Sequence[Control], lines: Iterable[Line]
) -> tuple[dict[int, list[Word]], list[Line]]:
    """Returns the words by the number of the smallest control around them, and the other lines."""
    held: dict[int, list[Word]] = {}
    loose: list[Line] = []
    by_size = sorted(
        (control.box.area, number)
        for number, control in enumerate(controls)
        if control.role in _NAMED_INSIDE | _HOLDS_VALUE
    )
    for line in lines:
        rest: list[Word] = []
        for word in line.words:
            around = (n for _, n in by_size if _share(controls[n].box, word.box) >= _WITHIN)
            number = next(around, None)
            if number is None:
                rest.append(word)
            else:
                held.setdefault(number, []).append(word)
        if rest:
            loose.append(Line(tuple(rest)))
    return held, loose


def _find_menu_titles(controls: Sequence[Control]) -> frozenset[int]:
    """Returns the numbers of the menu items that stand side by side, as in a menu bar."""
    items = [n for n, control in enumerate(controls) if control.role == "menu item"]
    return frozenset(
        first
        for first in items
        for second in items
        if first != second and _is_beside(controls[first].box, controls[second].box)
    )


def _is_beside(box: BoundingBox, other: BoundingBox) -> bool:
    """Whether two boxes of one height stand on a line, less than a height apart."""
    shared = min(box.bottom, other.bottom) - max(box.top, other.top)
    gap = max(box.left - other.right, other.left - box.right)
    return shared > 0.8 * max(box.height, other.height) and -2 <= gap <= box.height


def _drop_signs(words: Sequence[Word]) -> list[Word]:
    """Returns the words without signs at their ends, such as the arrow of a drop-down list.

    An arrow may be read as a letter; then it stands further away than a blank is wide.
    """
    rest = list(words)
    for at, beside in ((-1, -2), (0, 1)):
        while len(rest) > 1 and _is_sign(rest[at], rest[beside]):
            rest.pop(at)
    return rest


def _is_sign(word: Word, beside: Word) -> bool:
    if not any(map(str.isalnum, word.text)):
        return True
    gap = max(word.box.left - beside.box.right, beside.box.left - word.box.right)
    return len(word.text) == 1 and gap > beside.box.height


def _build_control(control: Control, words: Sequence[Word], icons: Sequence[IconName]) -> Sighting:
    text = Line(tuple(_drop_signs(words))).text if _has_letters(words) else ""
    name = text if control.role in _NAMED_INSIDE else ""
    description, meanings = "", tuple[tuple[str, float], ...]()
    states = _SHOWING | (control.states - {"disabled"})
    if not name and icons and control.role in _ICONS:
        meanings = tuple((word, i.chance) for i in icons for word in (i.name, *i.synonyms))
        if icons[0].is_sure:
            name, description = icons[0].name, ", ".join(icons[0].synonyms)
            states |= {GUESSED}
    if "disabled" not in control.states:
        states |= _USABLE
    if control.role == "field":
        states |= {"editable"}
    element = Element(
        role=_ROLES.get(control.role, control.role),
        name=name,
        box=control.box,
        text=text if control.role in _HOLDS_VALUE else "",
        states=states,
        description=description,
    )
    return Sighting(element, control.chance, meanings)


def _has_letters(words: Sequence[Word]) -> bool:
    return any(map(str.isalnum, "".join(word.text for word in words)))


def _place(element: Element, observation: Observation) -> Element:
    """Returns an element of the full picture in screen space, with its window."""
    full, screen = observation.screenshot.full.size, observation.screen
    x, y = screen.width / full.width, screen.height / full.height
    box = element.box
    placed = BoundingBox(box.left * x, box.top * y, box.right * x, box.bottom * y, "screen")
    window = _find_window(placed.centre, observation.windows)
    if window is None:
        return replace(element, box=placed)
    return replace(element, box=placed, window=window.title, app=window.app)


def _find_window(point: Point, windows: Sequence[Window]) -> Window | None:
    """Returns the highest window at a point, if the machine reports where its windows are."""
    at = (w for w in reversed(windows) if w.box is not None and w.box.contains(point))
    return next(at, None)


def _share(outer: BoundingBox, inner: BoundingBox) -> float:
    """Returns the share of the inner box inside the outer one, whatever their spaces."""
    across = min(outer.right, inner.right) - max(outer.left, inner.left)
    down = min(outer.bottom, inner.bottom) - max(outer.top, inner.top)
    return max(0.0, across) * max(0.0, down) / max(inner.area, 1.0)
