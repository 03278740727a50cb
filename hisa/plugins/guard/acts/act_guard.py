"""Holds every act to the look that it was decided on.

Seconds pass between a look and the act that a model decides on it. The act is done if the windows
and the pixels around its target are as they were, which the machine compares just before it acts.
If they are not, the screen is read again: the act is done if the same thing still lies at its
place or has the focus, and refused if another thing does.
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
from hisa.plugins.guard.acts.seen_arrivals import find_arrival
from hisa.plugins.guard.key_inputs import read_inputs
from hisa.protocols import Environment, GroundedCall, HitTester, ScreenPrecondition
from hisa.screen.geometry import BoundingBox, Point, grow_box, shift_box
from hisa.screen.hit_test import element_at, focused_element, is_part_of
from hisa.screen.observation import Element, Observation
from hisa.screen.roles import FIELDS, LAYOUT
from hisa.screen.similarity import compare_outlines, similarity
from hisa.state.base import ReadsElements
from hisa.state.facts import DIALOGS, is_same, letters, name_element, quote_text
from hisa.state.roi import changed_mask

__all__ = [
    "LARGE",
    "UNDERLINED",
    "ActGuard",
    "corners",
    "describe_redrawing",
    "describe_replacement",
    "find_press_points",
    "in_front",
    "is_in_another_row",
    "new_dialog",
    "own_boxes",
    "row_boxes",
]

_AROUND = 0.5
"""Share of the pixels around a control that may have changed: a clock beside it changes a tenth, an
overlay changes all of them."""
UNDERLINED = 0.5
"""Least similarity of the outlines of an element that is known by its name: links are underlined
under the pointer, tabs change their colour."""
_GLOW = 8
"""Image pixels around the compared box within which the glow of an element ends: chosen by hand."""
_SIMILAR = 0.9
"""Structural similarity (SSIM) that the region around a target must keep if no element is known
(OS-Catalyst, section 3.2)."""
_PRESSED = 1
"""Image pixels by which the label of a button moves when it is pressed or redrawn."""
_LIKE_BEFORE = 0.5
"""Least similarity of the part of a large element around a place."""
LARGE = 0.05
"""Share of the screen above which an element is no control with a label of its own, and too large
to account for a change inside it."""
_IN_A_ROW = 8
"""Most texts of a row by which one of several buttons of the same name is told from the others."""
_TICKING = re.compile(r"[(\[]?\d+[)\]]?|\d{1,2}(:\d{2}){1,2}(\s?[ap]\.?m\.?)?", re.IGNORECASE)
"""A lone count, as of messages, or a time of day; amounts and dates have a sign of their own."""
_KEYS = (Write, Press, Hotkey, KeyDown)


class ActGuard:
    """Checks acts against the looks that they were decided on.

    Args:
        reader: reads elements; None if the machine cannot list them.
    """

    def __init__(self, reader: ReadsElements | None) -> None:
        self._reader = reader

    def hold(self, call: GroundedCall, planned: Observation) -> GroundedCall:
        """Returns the call with the windows and pixels of ``planned`` as its precondition."""
        target_look = call.target_look or planned
        first = presses(call.actions)[0]
        points = find_press_points(first, planned)
        boxes = [target_look.convert_box(region(point, target_look), "screen") for point in points]
        boxes += [box for point in points for box in row_boxes(point, target_look)]
        if not points and any(isinstance(action, _KEYS) for action in first):
            boxes.append(in_front(planned))
        return replace(
            call,
            precondition=ScreenPrecondition(
                planned, tuple(boxes), own=own_boxes(points, target_look)
            ),
        )

    async def hold_by_name(
        self, call: GroundedCall, now: Observation, environment: Environment
    ) -> GroundedCall:
        """Returns the call with the windows alone as its precondition.

        For a target whose pixels change all the time. If the machine can do a hit test, the
        element at the target is asked for once more, just before the act.

        Args:
            call: the call, with the targets it was decided on.
            now: the newest look, on which the targets were found again.
            environment: the machine, asked for what lies at the targets.

        Raises:
            ScreenChanged: something else lies there.
            EnvironmentFailed: the machine does not answer.
        """
        if "lies_at" in environment.capabilities and isinstance(environment, HitTester):
            points = find_press_points(presses(call.actions)[0], now)
            hits = await environment.hit_test([now.convert(p, "screen") for p in points])
            hit_look = replace(now, elements=hits.elements, windows=hits.windows, name=hits.name)
            for point in points:
                was, current = element_at(point, now), element_at(point, hit_look)
                if was is not None and (reason := describe_replacement(point, was, current)):
                    raise ScreenChanged(reason)
            now = hit_look
        return replace(call, precondition=ScreenPrecondition(now, ()))

    async def look_again(
        self, call: GroundedCall, planned: Observation, environment: Environment
    ) -> Observation:
        """Returns a new look on which the call still means what it was decided to do.

        Args:
            call: the call, with the targets it was decided on.
            planned: the look it was decided on.
            environment: the machine; observed if there is no reader of elements.

        Raises:
            ScreenChanged: what lies at its place now, or has the focus.
            EnvironmentFailed: the machine does not answer.
        """
        now = await (self._reader.read() if self._reader else environment.observe())
        if reason := self.find_objection(call, planned, now):
            raise ScreenChanged(reason)
        return now

    def find_objection(self, call: GroundedCall, planned: Observation, now: Observation) -> str:
        """Returns why a call no longer means what it was decided to do; empty if it does.

        Args:
            call: the call, with the targets it was decided on.
            planned: the look it was decided on.
            now: a newer look, of the same screen.
        """
        if reason := other_window(planned, now):
            return reason
        if reason := new_dialog(planned, now):
            return reason
        first = presses(call.actions)[0]
        points = find_press_points(first, planned)
        for point in points:
            if reason := self._check_target(point, call, planned, now):
                return reason
        if points or not any(isinstance(action, _KEYS) for action in first):
            return ""
        return self._check_focus(planned, now)

    def _check_target(
        self, point: Point, call: GroundedCall, planned: Observation, now: Observation
    ) -> str:
        target_look = call.target_look or planned
        was, current = element_at(point, target_look), element_at(point, now)
        if was is None:
            return self._describe_difference(point, target_look, now, region(point, target_look))
        if (reason := describe_replacement(point, was, current)) or current is None:
            return reason
        x, y = point.to_pixels()
        if was.role not in FIELDS and letters(was.text) != letters(current.text):
            return f"{name_element(was)} at ({x}, {y}) now holds {quote_text(current.text)}"
        if target_look is not planned and not _is_known(was, planned):
            return f"{name_element(was)} came up only after this was decided"
        if is_in_another_row(was, target_look, current, now):
            return f"what stands beside {name_element(was)} at ({x}, {y}) is no longer the same"
        base = planned if _was_at(was, point, planned) else target_look
        return describe_redrawing(point, current, base, now)

    def _describe_difference(
        self, point: Point, target_look: Observation, now: Observation, box: BoundingBox
    ) -> str:
        """Returns how the box around a target differs from what it was; empty if it does not."""
        boxes = box, middle(point, target_look)  # a control is a small part of a wide region
        likeness = min(
            similarity(target_look.screenshot.crop(b), now.screenshot.crop(b)) for b in boxes
        )
        if likeness >= _SIMILAR:
            return ""
        x, y = point.to_pixels()
        return f"the screen around ({x}, {y}) is no longer as it was (similarity {likeness:.2f})"

    def _check_focus(self, planned: Observation, now: Observation) -> str:
        """Returns where keys would go now, if not where they were meant to; empty if not known."""
        if planned.all_elements is None or now.all_elements is None:
            if reason := find_arrival(planned, now):
                return reason
            box = planned.convert_box(in_front(planned), "image")
            likeness = similarity(planned.screenshot.crop(box), now.screenshot.crop(box))
            return "" if likeness >= _SIMILAR else "the window in front is no longer as it was"
        was, focused = focused_element(planned), focused_element(now)
        if focused is None:
            return "" if was is None else f"the focus is no longer on {name_element(was)}"
        if was is None or is_same(was, focused):
            return "" if was is not None else f"the focus is on {name_element(focused)} now"
        return f"the focus is on {name_element(focused)}, no longer on {name_element(was)}"


def describe_replacement(point: Point, was: Element, current: Element | None) -> str:
    """Returns what replaced an element at a point; empty if nothing did and it is as usable.

    Args:
        point: the target, in image space.
        was: the element that lay there when the act was decided.
        current: the element that lies there now; None if there is none.
    """
    x, y = point.to_pixels()
    if current is None:
        return f"{name_element(was)} is no longer at ({x}, {y})"
    if not is_same(was, current):
        return f"at ({x}, {y}) there is now {name_element(current)} in place of {name_element(was)}"
    disabled = is_usable(was) and not is_usable(current)
    return f"{name_element(was)} at ({x}, {y}) is disabled now" if disabled else ""


# ---------------------------------------------------------------- what is acted on


def find_press_points(actions: Iterable[Action], observation: Observation) -> Sequence[Point]:
    """Returns the image-space points at which a button goes down or up, each once."""
    at = None if observation.cursor is None else observation.convert(observation.cursor, "image")
    places = (place for place, _ in read_inputs(actions, at=at).clicks)
    return [*dict.fromkeys(p for p in places if p is not None and _is_on(p, observation))]


def corners(box: BoundingBox) -> tuple[int, int, int, int]:
    """Returns the sides of a box as Pillow wants them: left, top, right, bottom."""
    return int(box.left), int(box.top), int(box.right), int(box.bottom)


def _is_on(point: Point, observation: Observation) -> bool:
    """Whether a point is on the picture; the machine refuses acts outside of it."""
    return 0 <= point.x < observation.image.width and 0 <= point.y < observation.image.height


def in_front(observation: Observation) -> BoundingBox:
    """Returns the screen-space box of what gets the keys: the active window, else the screen."""
    screen = BoundingBox(0, 0, observation.screen.width, observation.screen.height, "screen")
    box = observation.active.box if observation.active is not None else None
    return (box.intersection(screen) if box is not None else None) or screen


def _is_known(element: Element, planned: Observation) -> bool:
    """Whether an element was on the look decided on; true also if that look has no elements."""
    known = planned.all_elements
    return known is None or any(is_same(element, other) for other in known)


def _was_at(element: Element, point: Point, observation: Observation) -> bool:
    hit = element_at(point, observation)
    return hit is not None and is_same(hit, element)


# ---------------------------------------------------------------- one of several


def _is_one_of_several(element: Element, observation: Observation) -> bool:
    same = [e for e in observation.elements or () if is_same(e, element)]
    return len(same) > 1 or not (element.name or element.label)


def _list_beside(element: Element, observation: Observation) -> Iterator[Element]:
    """Yields the elements with a text in the row of an element.

    In a tool bar, the value of a field does not name the row of an element without a name that
    only arranges others.
    """
    middle = element.box.centre.y
    bars = (
        e for e in observation.elements or () if e.role == "tool bar" and e.window == element.window
    )
    barred = element.role in LAYOUT and any(bar.box.contains(element.box.centre) for bar in bars)
    for other in observation.elements or ():
        if barred and other.role in FIELDS and not element.name:
            continue
        own = other is element or other.box.contains(element.box.centre)
        if own or not _words(other) or other.window != element.window:
            continue
        if other.box.top <= middle <= other.box.bottom and not element.box.contains(
            other.box.centre
        ):
            yield other


def is_in_another_row(
    was: Element, observation: Observation, current: Element, now: Observation
) -> bool:
    """Whether one of several equal elements now stands beside other texts than before.

    Numbers name a row as words do. A count or a time of day in a row may have changed only if the
    other texts name no other row.

    Args:
        was: the element on ``observation``.
        observation: the look that the act was decided on.
        current: the element that lies in its place on ``now``.
        now: the newest look.
    """
    if not _is_one_of_several(was, observation):
        return False
    before, after = _row(was, observation), _row(current, now)
    lasting = _without_ticking(before)
    rows = [
        _without_ticking(_row(element, observation))
        for element in observation.elements or ()
        if is_same(element, was)
    ]
    named = bool(lasting) and rows.count(lasting) <= 1
    if before != after:
        return not named or lasting != _without_ticking(after)
    texts = (
        e for e in _list_beside(was, observation) if not named or not _TICKING.fullmatch(_words(e))
    )
    return _is_drawn_otherwise(texts, observation, now)


def _is_drawn_otherwise(texts: Iterable[Element], before: Observation, now: Observation) -> bool:
    """Whether a text is drawn otherwise: a page may redraw it before its element says so.

    A text that contains a control is left out: what a field or check box shows is not its name.
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


def _row(element: Element, observation: Observation) -> list[str]:
    return [*dict.fromkeys(_words(other) for other in _list_beside(element, observation))][
        :_IN_A_ROW
    ]


def _words(element: Element) -> str:
    """The text of an element on one line; empty if it has neither letters nor digits."""
    words = " ".join((element.name or element.text).split())
    return words if re.search(r"\w", words) else ""


def _without_ticking(row: Sequence[str]) -> list[str]:
    """The texts of a row without counts and times of day, which change by themselves."""
    return [text for text in row if not _TICKING.fullmatch(text)]


def row_boxes(point: Point, observation: Observation) -> list[BoundingBox]:
    """The screen-space boxes of the texts that tell the element at a point from its equals."""
    element = element_at(point, observation)
    if element is None or not _is_one_of_several(element, observation):
        return []
    return [other.box for other in _list_beside(element, observation) if other.box.area][:_IN_A_ROW]


# ---------------------------------------------------------------- dialogs and pixels


def own_boxes(points: Iterable[Point], observation: Observation) -> tuple[BoundingBox, ...]:
    """The screen-space boxes of elements whose look the pointer may change: at points, under it."""
    most = LARGE * observation.screen.width * observation.screen.height
    places = [*points, *((observation.cursor,) if observation.cursor is not None else ())]
    things = (element_at(place, observation) for place in places)
    return tuple(e.box for e in things if e is not None and 0 < e.box.area <= most)


def new_dialog(planned: Observation, now: Observation) -> str:
    """Returns which dialog of a page came up since the plan; empty if none did, or not known."""
    if planned.all_elements is None:
        return ""
    elements = now.elements or ()
    for number, element in enumerate(elements):
        if element.role not in DIALOGS or _is_known(element, planned):
            continue
        if element.role != "alert" or _has_controls(number, elements):
            return f"{name_element(element)} came up"
    return ""


def _has_controls(number: int, elements: Sequence[Element]) -> bool:
    """Whether a message has anything to press; one without disappears by itself."""
    return any(
        element.role in CONTROLS and is_part_of(inner, number, elements)
        for inner, element in enumerate(elements)
    )


def describe_redrawing(
    point: Point, element: Element, before: Observation, now: Observation
) -> str:
    """Returns how an element or its surroundings are drawn otherwise; empty if they are not.

    Args:
        point: the target, in image space.
        element: the element there, on ``now``.
        before: the look that the act was decided on.
        now: the newest look.
    """
    mask = changed_mask(before, now)
    box = region(point, before)
    if mask is None or (changed := mask.crop(corners(box))).getbbox() is None:
        return ""
    x, y = point.to_pixels()
    own = now.convert_box(element.box, "image").intersection(box)
    if own is None or element.box.area > LARGE * now.screen.width * now.screen.height:
        likeness = similarity(before.screenshot.crop(box), now.screenshot.crop(box))
        other = f"{name_element(element)} around ({x}, {y}) shows another thing"
        return "" if likeness >= _LIKE_BEFORE else other
    changed = changed.copy()
    changed.paste(0, corners(shift_box(own, 0.5 - box.left, 0.5 - box.top)))
    around = box.area - own.area
    lit = element.role in CONTROLS - FIELDS and any(
        lit_boxes([own], before, now, moved=_PRESSED, at=point)
    )
    glows = lit and _ends_near(mask, box)
    if around > 0 and changed.histogram()[255] > _AROUND * around and not glows:
        return f"the screen around {name_element(element)} at ({x}, {y}) is no longer as it was"
    if element.role not in CONTROLS - FIELDS or lit:
        return ""
    drawn = (observation.screenshot.crop(own) for observation in (before, now))
    if element.role == "link" and compare_outlines(*drawn) >= UNDERLINED:
        return ""
    return f"what is drawn on {name_element(element)} is another thing now"


def _ends_near(changed: Image.Image, box: BoundingBox) -> bool:
    """Whether a change ends close to a box, as the glow of a control does; an overlay goes on."""
    within, near = grow_box(box, _GLOW), grow_box(box, 3 * _GLOW)
    part = changed.crop(corners(near))
    left, top = int(within.left - near.left), int(within.top - near.top)
    part.paste(0, (left, top, part.width - left, part.height - top))
    return part.getbbox() is None
