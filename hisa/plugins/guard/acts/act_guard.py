"""Holds every act to the look that it was decided on.

Between a look and the act that a model decided on it lie seconds. An act is made where the windows
and the pixels around its target are as they were, which the machine compares at the very moment.
Where they are not, the screen is read again: the act is made where the same thing still lies at
its place, or has the focus, and nothing is done where another does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from PIL import Image

from hisa.actions import Action, Hotkey, KeyDown, Press, Write, presses
from hisa.actions.unchanged_look import lit_boxes
from hisa.errors import ScreenChanged
from hisa.plugins.guard.acts.held_regions import CONTROLS, is_usable, middle, other_window, region
from hisa.plugins.guard.keyed import keyed
from hisa.protocols import Environment, GroundedCall, Held, TellsWhatLies
from hisa.screen.geometry import BoundingBox, Point, grown, shifted
from hisa.screen.lies_at import element_at, focused_element, lies_in
from hisa.screen.observation import Element, Observation
from hisa.screen.roles import FIELDS, LAYOUT
from hisa.screen.similarity import outlines_alike, similarity
from hisa.state.base import ReadsElements
from hisa.state.facts import DIALOGS, called, is_same, letters, quoted
from hisa.state.roi import changed_mask

__all__ = [
    "LARGE",
    "UNDERLINED",
    "ActGuard",
    "corners",
    "in_another_row",
    "instead",
    "new_dialog",
    "own_boxes",
    "pressed",
    "redrawn",
    "row_boxes",
]

_AROUND = 0.5
"""Share of the pixels around a control that may have changed: a clock beside it changes a tenth, a
veil or a cover all of them."""
UNDERLINED = 0.5
"""How alike the outlines of what is known by its name must stay: links are underlined as the
pointer comes, tabs change their colour."""
_GLOW = 8
"""Image pixels around what is compared within which the glow of a thing ends: chosen by hand."""
_SIMILAR = 0.9
"""Structural similarity (SSIM) that the region around a target must keep where no element is known
(OS-Catalyst, section 3.2)."""
_PRESSED = 1
"""Image pixels by which the label of a button moves that is pressed, or drawn anew."""
_LIKE_BEFORE = 0.5
"""How alike the part of a large element around a place must stay."""
LARGE = 0.05
"""Share of the screen from which on an element is no control with a label of its own, and too large
to account for a change inside it."""
_IN_A_ROW = 8
"""Texts of a row by which one of several buttons of the same name is told from the others."""
_TICKING = re.compile(r"[(\[]?\d+[)\]]?|\d{1,2}(:\d{2}){1,2}(\s?[ap]\.?m\.?)?", re.IGNORECASE)
"""A lone count, as of messages, or a time of day; amounts and dates have a sign of their own."""
_KEYS = (Write, Press, Hotkey, KeyDown)


class ActGuard:
    """Checks acts against the looks that they were decided on.

    Args:
        reader: reads elements; None: the machine cannot tell them.
    """

    def __init__(self, reader: ReadsElements | None) -> None:
        self._reader = reader

    def hold(self, call: GroundedCall, planned: Observation) -> GroundedCall:
        """The call, held to windows and pixels of a look on which it means what was decided."""
        found = call.found or planned
        first = presses(call.actions)[0]
        points = pressed(first, planned)
        boxes = [found.convert_box(region(point, found), "screen") for point in points]
        boxes += [box for point in points for box in row_boxes(point, found)]
        if not points and any(isinstance(action, _KEYS) for action in first):
            boxes.append(_in_front(planned))
        return replace(call, held=Held(planned, tuple(boxes), own=own_boxes(points, found)))

    async def by_name(
        self, call: GroundedCall, now: Observation, environment: Environment
    ) -> GroundedCall:
        """The call, held to windows alone, for a target whose pixels change all the time.

        What lies there is asked for once more, right before the act, where the machine tells.

        Raises:
            ScreenChanged: something else lies there.
            EnvironmentFailed: the machine does not answer.
        """
        if "lies_at" in environment.capabilities and isinstance(environment, TellsWhatLies):
            points = pressed(presses(call.actions)[0], now)
            lying = await environment.lies_at([now.convert(p, "screen") for p in points])
            told = replace(now, elements=lying.elements, windows=lying.windows, name=lying.name)
            for point in points:
                was, there = element_at(point, now), element_at(point, told)
                if was is not None and (reason := instead(point, was, there)):
                    raise ScreenChanged(reason)
            now = told
        return replace(call, held=Held(now, ()))

    async def again(
        self, call: GroundedCall, planned: Observation, environment: Environment
    ) -> Observation:
        """Returns a look on which the call means what it meant on that which it was decided on.

        Raises:
            ScreenChanged: what lies at its place now, or has the focus.
            EnvironmentFailed: the machine does not answer.
        """
        now = await (self._reader.read() if self._reader else environment.observe())
        if reason := self.objection(call, planned, now):
            raise ScreenChanged(reason)
        return now

    def objection(self, call: GroundedCall, planned: Observation, now: Observation) -> str:
        """Returns why a call no longer means what it was decided to do; empty where it does."""
        if reason := other_window(planned, now):
            return reason
        if reason := new_dialog(planned, now):
            return reason
        first = presses(call.actions)[0]
        points = pressed(first, planned)
        for point in points:
            if reason := self._target(point, call, planned, now):
                return reason
        if points or not any(isinstance(action, _KEYS) for action in first):
            return ""
        return self._focus(planned, now)

    def _target(
        self, point: Point, call: GroundedCall, planned: Observation, now: Observation
    ) -> str:
        found = call.found or planned
        was, there = element_at(point, found), element_at(point, now)
        if was is None:
            return self._unlike(point, found, now, region(point, found))
        if (reason := instead(point, was, there)) or there is None:
            return reason
        x, y = point.rounded()
        if was.role not in FIELDS and letters(was.text) != letters(there.text):
            return f"{called(was)} at ({x}, {y}) now holds {quoted(there.text)}"
        if found is not planned and not _is_known(was, planned):
            return f"{called(was)} came up only after this was decided"
        if in_another_row(was, found, there, now):
            return f"what stands beside {called(was)} at ({x}, {y}) is no longer the same"
        base = planned if _lay_at(was, point, planned) else found
        return redrawn(point, there, base, now)

    def _unlike(self, point: Point, found: Observation, now: Observation, box: BoundingBox) -> str:
        """Returns how the box around a target differs from what it was; empty where it does not."""
        boxes = box, middle(point, found)  # a control is a small part of a wide region
        alike = min(similarity(found.screenshot.crop(b), now.screenshot.crop(b)) for b in boxes)
        if alike >= _SIMILAR:
            return ""
        x, y = point.rounded()
        return f"the screen around ({x}, {y}) is no longer as it was (similarity {alike:.2f})"

    def _focus(self, planned: Observation, now: Observation) -> str:
        """Returns where keys would go now, if not where they were meant to; empty: not known."""
        if planned.all_elements is None or now.all_elements is None:
            box = planned.convert_box(_in_front(planned), "image")
            alike = similarity(planned.screenshot.crop(box), now.screenshot.crop(box))
            return "" if alike >= _SIMILAR else "the window in front is no longer as it was"
        was, focused = focused_element(planned), focused_element(now)
        if focused is None:
            return "" if was is None else f"the focus is no longer on {called(was)}"
        if was is None or is_same(was, focused):
            return "" if was is not None else f"the focus is on {called(focused)} now"
        return f"the focus is on {called(focused)}, no longer on {called(was)}"


def instead(point: Point, was: Element, there: Element | None) -> str:
    """Returns what lies at a point in place of what lay there; empty: the same, as usable."""
    x, y = point.rounded()
    if there is None:
        return f"{called(was)} is no longer at ({x}, {y})"
    if not is_same(was, there):
        return f"at ({x}, {y}) there is now {called(there)} in place of {called(was)}"
    disabled = is_usable(was) and not is_usable(there)
    return f"{called(was)} at ({x}, {y}) is disabled now" if disabled else ""


# ---------------------------------------------------------------- what is acted on


def pressed(actions: Iterable[Action], look: Observation) -> Sequence[Point]:
    """Returns the image-space points at which a button goes down or up, each once."""
    at = None if look.cursor is None else look.convert(look.cursor, "image")
    places = (place for place, _ in keyed(actions, at=at).clicks)
    return [*dict.fromkeys(p for p in places if p is not None and _is_on(p, look))]


def corners(box: BoundingBox) -> tuple[int, int, int, int]:
    """Returns the sides of a box as Pillow wants them: left, top, right, bottom."""
    return int(box.left), int(box.top), int(box.right), int(box.bottom)


def _is_on(point: Point, look: Observation) -> bool:
    """Whether it is on the picture; an act beside it is refused by the machine."""
    return 0 <= point.x < look.image.width and 0 <= point.y < look.image.height


def _in_front(look: Observation) -> BoundingBox:
    """The screen-space box that keys are about: the active window's, else the whole screen's."""
    screen = BoundingBox(0, 0, look.screen.width, look.screen.height, "screen")
    box = look.active.box if look.active is not None else None
    return (box.intersection(screen) if box is not None else None) or screen


def _is_known(element: Element, planned: Observation) -> bool:
    """Whether it was on the look that was decided on; so where that look does not tell."""
    known = planned.all_elements
    return known is None or any(is_same(element, other) for other in known)


def _lay_at(element: Element, point: Point, look: Observation) -> bool:
    there = element_at(point, look)
    return there is not None and is_same(there, element)


# ---------------------------------------------------------------- one of several


def _is_one_of_several(element: Element, look: Observation) -> bool:
    alike = [e for e in look.elements or () if is_same(e, element)]
    return len(alike) > 1 or not (element.name or element.label)


def _beside(element: Element, look: Observation) -> Iterator[Element]:
    """Yields the elements with a text in the row of another.

    In a bar, beside a part that only arranges others, what a field holds names no row.
    """
    middle = element.box.centre.y
    bars = (e for e in look.elements or () if e.role == "tool bar" and e.window == element.window)
    barred = element.role in LAYOUT and any(bar.box.contains(element.box.centre) for bar in bars)
    for other in look.elements or ():
        if barred and other.role in FIELDS and not element.name:
            continue
        own = other is element or other.box.contains(element.box.centre)
        if own or not _words(other) or other.window != element.window:
            continue
        if other.box.top <= middle <= other.box.bottom and not element.box.contains(
            other.box.centre
        ):
            yield other


def in_another_row(was: Element, look: Observation, there: Element, now: Observation) -> bool:
    """Whether one of several equal things stands beside other texts than it did.

    Figures name a row as letters do. Only where the rest names one row alone, a count or a time of
    day in it may be another one now.
    """
    if not _is_one_of_several(was, look):
        return False
    before, after = _row(was, look), _row(there, now)
    lasting = _lasting(before)
    rows = [_lasting(_row(each, look)) for each in look.elements or () if is_same(each, was)]
    named = bool(lasting) and rows.count(lasting) <= 1
    if before != after:
        return not named or lasting != _lasting(after)
    texts = (e for e in _beside(was, look) if not named or not _TICKING.fullmatch(_words(e)))
    return _is_drawn_otherwise(texts, look, now)


def _is_drawn_otherwise(texts: Iterable[Element], before: Observation, now: Observation) -> bool:
    """Whether a text is drawn that its element does not tell yet: pages tell late of what changed.

    What a field or a box that is ticked shows is not its name, nor what a part shows that has them.
    """
    if (mask := changed_mask(before, now)) is None:
        return False
    controls = [e.box.centre for e in before.elements or () if e.role in CONTROLS]
    for text in texts:
        box = now.convert_box(text.box, "image")
        plain = not any(map(text.box.contains, controls))
        changed = plain and mask.crop(corners(box)).getbbox() is not None
        if changed and not any(lit_boxes([box], before, now, moved=_PRESSED)):
            return True
    return False


def _row(element: Element, look: Observation) -> list[str]:
    return [*dict.fromkeys(_words(other) for other in _beside(element, look))][:_IN_A_ROW]


def _words(element: Element) -> str:
    """The text of an element on one line; empty where it is signs alone."""
    words = " ".join((element.name or element.text).split())
    return words if re.search(r"\w", words) else ""


def _lasting(row: Sequence[str]) -> list[str]:
    """The texts of a row without those that count or tell the time by themselves."""
    return [text for text in row if not _TICKING.fullmatch(text)]


def row_boxes(point: Point, look: Observation) -> list[BoundingBox]:
    """The screen-space boxes of the texts beside what lies at a point, where they tell it apart."""
    element = element_at(point, look)
    if element is None or not _is_one_of_several(element, look):
        return []
    return [other.box for other in _beside(element, look) if other.box.area][:_IN_A_ROW]


# ---------------------------------------------------------------- dialogs and pixels


def own_boxes(points: Iterable[Point], look: Observation) -> tuple[BoundingBox, ...]:
    """The screen-space boxes of what lights up with a pointer at some points, or no longer does."""
    most = LARGE * look.screen.width * look.screen.height
    places = [*points, *((look.cursor,) if look.cursor is not None else ())]
    things = (element_at(place, look) for place in places)
    return tuple(e.box for e in things if e is not None and 0 < e.box.area <= most)


def new_dialog(planned: Observation, now: Observation) -> str:
    """Returns a dialog of a page that was not there when this was decided; empty: none, unknown."""
    if planned.all_elements is None:
        return ""
    elements = now.elements or ()
    for number, element in enumerate(elements):
        if element.role not in DIALOGS or _is_known(element, planned):
            continue
        if element.role != "alert" or _asks(number, elements):
            return f"{called(element)} came up"
    return ""


def _asks(number: int, elements: Sequence[Element]) -> bool:
    """Whether a message has anything to press: else it goes by itself."""
    return any(
        element.role in CONTROLS and lies_in(inner, number, elements)
        for inner, element in enumerate(elements)
    )


def redrawn(point: Point, element: Element, before: Observation, now: Observation) -> str:
    """Returns how a thing or what is around it is drawn otherwise; empty where it is not."""
    mask = changed_mask(before, now)
    box = region(point, before)
    if mask is None or (changed := mask.crop(corners(box))).getbbox() is None:
        return ""
    x, y = point.rounded()
    own = now.convert_box(element.box, "image").intersection(box)
    if own is None or element.box.area > LARGE * now.screen.width * now.screen.height:
        alike = similarity(before.screenshot.crop(box), now.screenshot.crop(box))
        other = f"{called(element)} around ({x}, {y}) shows another thing"
        return "" if alike >= _LIKE_BEFORE else other
    changed = changed.copy()
    changed.paste(0, corners(shifted(own, 0.5 - box.left, 0.5 - box.top)))
    around = box.area - own.area
    lit = element.role in CONTROLS - FIELDS and any(
        lit_boxes([own], before, now, moved=_PRESSED, at=point)
    )
    glows = lit and _ends_near(mask, box)
    if around > 0 and changed.histogram()[255] > _AROUND * around and not glows:
        return f"the screen around {called(element)} at ({x}, {y}) is no longer as it was"
    if element.role not in CONTROLS - FIELDS or lit:
        return ""
    drawn = (look.screenshot.crop(own) for look in (before, now))
    if element.role == "link" and outlines_alike(*drawn) >= UNDERLINED:
        return ""
    return f"what is drawn on {called(element)} is another thing now"


def _ends_near(changed: Image.Image, box: BoundingBox) -> bool:
    """Whether a change ends close to a box, as the glow of what is in it; a veil goes on."""
    within, near = grown(box, _GLOW), grown(box, 3 * _GLOW)
    part = changed.crop(corners(near))
    left, top = int(within.left - near.left), int(within.top - near.top)
    part.paste(0, (left, top, part.width - left, part.height - top))
    return part.getbbox() is None
