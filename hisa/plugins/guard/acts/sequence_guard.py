"""Checks in a sequence whether a later action still finds what it was planned for.

An action is done if only the earlier actions have changed the screen. If something else did, the
region around its target must look as it did and hold the same element. (OS-Catalyst, section 3.2,
asks both of recorded pairs of actions; here they are asked before each act.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from operator import attrgetter

from PIL import Image

from hisa.actions import Action, Hotkey, KeyDown, MouseDown, Press, Write, points
from hisa.actions.unchanged_look import lit_boxes
from hisa.errors import ScreenChanged
from hisa.plugins.guard.acts.act_guard import (
    LARGE,
    UNDERLINED,
    ActGuard,
    corners,
    describe_redrawing,
    describe_replacement,
    find_press_points,
    in_front,
    is_in_another_row,
    new_dialog,
    own_boxes,
    row_boxes,
)
from hisa.plugins.guard.acts.held_regions import CONTROLS, other_window, region
from hisa.plugins.guard.acts.seen_arrivals import find_arrival
from hisa.protocols import Environment, ExecutedCall, GroundedCall, ScreenPrecondition
from hisa.screen.geometry import BoundingBox, Point, grow_box, shift_box
from hisa.screen.hit_test import element_at, is_part_of
from hisa.screen.observation import Element, Observation
from hisa.screen.roles import FIELDS, PASSWORD
from hisa.screen.sight import is_seen, knows_places
from hisa.screen.similarity import compare_outlines
from hisa.state.facts import is_complete, is_same, name_element, quote_text, smallest_focused
from hisa.state.roi import changed_mask

__all__ = ["SequenceGuard"]

_RING = 6
"""Image pixels around an element within which a change is its own: a focus ring, a shadow."""
_FRAME = 3
"""Screen pixels of a frame drawn inside the edge of an element, as the cell cursor of a sheet."""
_COVERED = 0.5
"""Share of the pixels of an element above which a change covers it."""
_MOVED = 3
"""Screen pixels by which the side of a box may differ if it is at the same place."""
_SIDES = attrgetter("left", "top", "right", "bottom")
_TICKED = frozenset({"check box", "radio button", "toggle button", "switch"})
"""Roles of elements that a click switches; it brings up nothing."""
_OPENING = frozenset({"menu", "menu item", "combo box", "popup menu"})
_ENTRIES = frozenset({"menu", "menu item", "check menu item", "radio menu item", "list item"})
"""Roles of the entries of a menu or list; some of them open another one."""
_PRESSED = CONTROLS - FIELDS
"""Roles of elements that Enter or Space presses."""
_MOVES_FOCUS = frozenset({"tab", "enter", "return", "esc", "escape", "up", "down", "left", "right"})
_Looks = tuple[Observation, Observation, Observation]


class SequenceGuard(ActGuard):
    """Checks the screen also before each later action of a sequence."""

    async def reference(self, planned: Observation, environment: Environment) -> Observation:
        """Returns a look from just before the first act, with elements if they can be read.

        Raises:
            EnvironmentFailed: the machine does not answer.
        """
        if self._reader is None:
            return planned
        if not knows_places(planned):
            return await self._reader.recent(planned)
        same = changed_mask(planned, await environment.observe()) is None
        return planned if same else await self._reader.read()

    async def allow(
        self, call: GroundedCall, past_calls: Sequence[ExecutedCall], *, observations: _Looks
    ) -> GroundedCall:
        """Returns the call with the boxes that must be as they are now when it is executed.

        Args:
            call: the next call.
            past_calls: the calls of the step that were executed, in order.
            observations: the look of the plan, its `reference`, and the look of now.

        Raises:
            ScreenChanged: the call must not be executed now; the message says why.
            EnvironmentFailed: the machine does not answer.
        """
        target_look = await self._find_target_look(call, past_calls, observations)
        return self._hold_to(
            call, _targets(call, past_calls, observations[2]), target_look, observations
        )

    async def next_press(
        self, press: GroundedCall, past_calls: Sequence[ExecutedCall], *, observations: _Looks
    ) -> GroundedCall:
        """Does as `allow` for a later press of one call, whose earlier part ends ``past_calls``.

        Keys are meant for what keys and clicks of the same call bring up, but clicks on fields and
        check boxes, and typed text, bring up nothing. A click after one that opened a menu is meant
        for an entry of that menu.

        Args:
            press: the call, with the actions of this press alone.
            past_calls: the calls that were executed; the last is the part of this call that was.
            observations: the look of the plan, its `reference`, and the look of now.

        Raises:
            ScreenChanged: the press must not be executed now; the message says why.
            EnvironmentFailed: the machine does not answer.
        """
        planned, reference, now = observations
        points = tuple(find_press_points(press.actions, now))
        if not points:
            if not _may_bring_dialog(past_calls, reference):
                now = await self._require_focus(past_calls, observations)
            boxes = (in_front(now),) if is_seen(now) else ()
            return replace(press, precondition=ScreenPrecondition(now, boxes), target_look=now)
        if not press.places and _opens_menu(past_calls, reference) and self._reader is not None:
            read = await self._reader.read()
            elements = [element_at(point, read) for point in points]
            if all(element is not None and element.role in _ENTRIES for element in elements):
                return self._hold_to(press, points, read, (planned, read, now))
        press = await self.allow(press, past_calls, observations=observations)
        return replace(
            press, precondition=press.precondition and replace(press.precondition, follows=True)
        )

    def _hold_to(
        self,
        call: GroundedCall,
        points: Iterable[Point],
        target_look: Observation,
        observations: _Looks,
    ) -> GroundedCall:
        """The call held to the look of now, with its targets' elements from ``target_look``."""
        _, reference, now = observations
        points = tuple(points)
        boxes = [region(point, reference) for point in points]
        held = [now.convert_box(box, "screen") for box in boxes if box.width > 0 < box.height]
        held += [box for point in points for box in row_boxes(point, target_look)]
        own = own_boxes(points, replace(target_look, cursor=now.cursor))
        return replace(
            call, precondition=ScreenPrecondition(now, tuple(held), own), target_look=target_look
        )

    async def _require_focus(
        self, past_calls: Sequence[ExecutedCall], observations: _Looks
    ) -> Observation:
        """Returns the look of now; if elements can only be seen, with those that were checked.

        Raises:
            ScreenChanged: something came up since the first act and takes the keys.
        """
        _, reference, now = observations
        reason, acted = other_window(reference, now), [*_acted_boxes(past_calls, reference)]
        if not reason and self._reader and changed_mask(reference, now) is not None:
            read = await self._reader.read()
            now = read if is_seen(read) else now
            clicked = [point for point in _list_focus_moves(past_calls) if point is not None]
            reason = new_dialog(reference, read)
            reason = reason or find_arrival(reference, read, acted, clicked)
            if not reason and reference.elements is not None:
                reason = _check_new_focus(past_calls, acted, reference, read)
        if reason:
            raise ScreenChanged(reason)
        return now

    async def _find_target_look(
        self, call: GroundedCall, past_calls: Sequence[ExecutedCall], observations: _Looks
    ) -> Observation:
        """Returns the look of now with the elements of a call's targets, as far as they are known.

        Raises:
            ScreenChanged: the call must not be executed now; the message says why.
        """
        planned, reference, now = observations
        if window_reason := other_window(planned, now):
            raise ScreenChanged(window_reason)
        known = replace(now, elements=reference.elements, complete=reference.complete)
        acted = list(_acted_boxes(past_calls, reference))
        by_elements = self._reader is not None and reference.elements is not None
        keys = by_elements and not _aim_points(call, now)
        targets = () if keys else _targets(call, past_calls, now)
        things = (element_at(point, reference) for point in targets)
        own = [e.box for e in things if e is not None and e.role in CONTROLS - FIELDS]
        left = _find_unexplained(planned, now, [*acted, *lit_boxes(own, planned, now)])
        for point in targets:
            if left and (
                reason := self._check_region(point, region(point, reference), left, observations)
            ):
                raise ScreenChanged(reason)
        again = [point for point in targets if any(box.contains(point) for box in acted)]
        relabelled = any(_is_relabelled(point, reference, planned, now) for point in again)
        if (left is None and not relabelled) or self._reader is None or not by_elements:
            return known
        read = await self._reader.read()
        intended = planned if knows_places(planned) else reference
        reason = _check_elements(targets, acted, observations=(intended, reference, read))
        reason = reason or (_check_new_focus(past_calls, acted, reference, read) if keys else "")
        if reason:
            raise ScreenChanged(reason)
        return read

    def _check_region(
        self, point: Point, box: BoundingBox, left: Image.Image, observations: _Looks
    ) -> str:
        """Returns how the region around a target differs from the look it was planned on.

        Up to half of the pixels around a known element may differ, as when the cell cursor of a
        sheet comes or goes. Whether the same element lies there is checked afterwards.
        """
        if left.crop(corners(box)).getbbox() is None:
            return ""
        planned, reference, now = observations
        reason = self._describe_difference(point, planned, now, box)
        known = element_at(point, reference)
        if not reason or known is None or self._reader is None:
            return reason
        if known.box.area > LARGE * reference.screen.width * reference.screen.height:
            return reason
        own = reference.convert_box(grow_box(known.box, -_FRAME), "image").intersection(box)
        covered = own is not None and own.area > 0 and _is_covered(own, planned, now)
        return reason if covered or describe_redrawing(point, known, reference, now) else ""


# ---------------------------------------------------------------- pixels


def _is_covered(box: BoundingBox, planned: Observation, now: Observation) -> bool:
    """Whether most of an image-space box changed, and not only its colour, as that of a tab."""
    mask = changed_mask(planned, now)
    if mask is None:
        return False
    part = mask.crop(corners(shift_box(box, 0.5, 0.5)))
    if part.histogram()[255] <= _COVERED * part.width * part.height:
        return False
    return compare_outlines(planned.screenshot.crop(box), now.screenshot.crop(box)) < UNDERLINED


def _find_unexplained(
    planned: Observation, now: Observation, acted: Iterable[BoundingBox]
) -> Image.Image | None:
    """A mask, white where the screen changed outside of ``acted``; None if it did not."""
    mask = changed_mask(planned, now)
    if mask is None:
        return None
    mask = mask.copy()
    for box in acted:
        left, top, right, bottom = (max(0, side) for side in corners(shift_box(box, 0.5, 0.5)))
        mask.paste(0, (left, top, right, bottom))
    return mask if mask.getbbox() else None


def _acted_boxes(
    past_calls: Sequence[ExecutedCall], reference: Observation
) -> Iterator[BoundingBox]:
    """The image-space boxes of the targets of earlier actions, and of what had the focus."""
    screen = reference.screen.width * reference.screen.height
    places = [point for past_call in past_calls for point in points(past_call.call.actions)]
    elements = [element_at(point, reference) for point in places]
    for element in (*elements, smallest_focused(reference.elements or ())):
        if element is not None and element.box.area <= LARGE * screen:
            yield grow_box(reference.convert_box(element.box, "image"), _RING)


# ---------------------------------------------------------------- elements


def _targets(
    call: GroundedCall, past_calls: Sequence[ExecutedCall], now: Observation
) -> tuple[Point, ...]:
    """The image-space points of a call's targets.

    The target of keys is the last click, unless a key has moved the focus since.
    """
    if aims := _aim_points(call, now):
        return aims
    newest = next(_list_focus_moves(past_calls), None)
    return (newest,) if isinstance(newest, Point) else ()


def _aim_points(call: GroundedCall, now: Observation) -> tuple[Point, ...]:
    return tuple(find_press_points(call.actions, now)) or tuple(dict.fromkeys(points(call.actions)))


def _list_focus_moves(past_calls: Sequence[ExecutedCall]) -> Iterator[Point | None]:
    """Yields what moved the focus, the newest first: the point of a click; None for keys."""
    for past_call in reversed(past_calls):
        for action in reversed(past_call.call.actions):
            if at := points([action]):
                yield at[-1]
            elif _moves_focus(action):
                yield None


def _moves_focus(action: Action) -> bool:
    match action:
        case Press():
            return action.key in _MOVES_FOCUS
        case Hotkey() | KeyDown() | MouseDown():
            return True
        case _:
            return False


def _check_elements(
    targets: Sequence[Point], acted: Sequence[BoundingBox], *, observations: _Looks
) -> str:
    """Returns why the elements speak against an action; empty if they do not.

    Args:
        targets: its points, in image space.
        acted: the image-space boxes that earlier actions account for.
        observations: the look with its targets, the look to find new dialogs by, and that of now.
    """
    intended, reference, now = observations
    if not (is_complete(now) or (targets and knows_places(now))):
        return "the screen changed, and not all elements could be read to check it"
    if reason := new_dialog(reference, now):
        return reason
    reasons = (_check_element(point, intended, now, acted) for point in targets)
    return next((reason for reason in reasons if reason), "")


def _check_element(
    point: Point, reference: Observation, now: Observation, acted: Sequence[BoundingBox]
) -> str:
    was, current = element_at(point, reference), element_at(point, now)
    if was is None:
        return ""
    if (reason := describe_replacement(point, was, current)) or current is None:
        return reason
    x, y = point.to_pixels()
    if not _at_same_place(was, current):
        return f"{name_element(was)} at ({x}, {y}) has moved"
    if is_in_another_row(was, reference, current, now):
        return f"what stands beside {name_element(was)} at ({x}, {y}) is no longer the same"
    its_own = any(box.contains(point) for box in acted)
    if not its_own and was.text != current.text and was.role != PASSWORD:
        return f"{name_element(was)} at ({x}, {y}) now holds {quote_text(current.text)}"
    return ""


def _check_new_focus(
    past_calls: Sequence[ExecutedCall],
    acted: Sequence[BoundingBox],
    reference: Observation,
    now: Observation,
) -> str:
    """Returns where the focus is, if keys are not meant to go there; empty if not known.

    The focus may be where it was before, where something was clicked, or where the application put
    it after a click on what holds no text itself: a button, a tab, a menu. In the last case it must
    not be on an element that a key would press, nor on a password field.
    """
    before, focused = _innermost_focused(reference), _innermost_focused(now)
    if not focused:
        return _find_new_control(now.elements or (), reference, now, acted)
    moves = list(_list_focus_moves(past_calls))
    if moves and moves[0] is None:  # a key moved it to what was there, or to what takes text
        return _find_new_control((e for e in focused if e.role in _PRESSED), reference, now, acted)
    if not moves:
        moved = [e for e in focused if not _is_written_in(e, before, past_calls)]
        if not (before and moved):
            return ""
        return f"the focus is on {name_element(moved[-1])}, no longer on {name_element(before[-1])}"
    clicked = [point for point in moves if point is not None]
    target = element_at(clicked[0], reference)
    if target is not None and _holds_text(target):
        held = any(_is_at(element, clicked[0], target, now) for element in focused)
        return "" if held else f"the focus is on {name_element(focused[-1])}"
    answer = _focused_by_answer(past_calls, reference)
    for element in focused:
        if _is_among(element, before) or _is_where_acted(element, clicked, acted, now):
            continue
        opened = element.role not in CONTROLS and not _is_among(element, reference.elements or ())
        stays = not answer or opened or any(_is_part(element, other) for other in answer)
        if not stays or element.role in _PRESSED or element.role == PASSWORD:
            return f"the focus is on {name_element(element)}"
    return ""


def _focused_by_answer(past_calls: Sequence[ExecutedCall], reference: Observation) -> list[Element]:
    """Returns what had the focus when keys were last allowed after a click; empty if not known."""
    for past_call in reversed(past_calls):
        observation = past_call.call.target_look
        if points(past_call.call.actions):
            break
        if (
            observation is not None
            and observation.elements
            and observation.elements is not reference.elements
        ):
            return _innermost_focused(observation)
    return []


def _is_written_in(
    element: Element, before: Sequence[Element], past_calls: Sequence[ExecutedCall]
) -> bool:
    """Whether keys go where they went before: to the same element, or to the text it opened.

    The cell of a sheet opens such a text. It lies over the cell, or holds what was typed, because
    LibreOffice gives a wrong place for numbers. A field must do both: a new one may take the keys.
    """
    if _is_among(element, before) or not _holds_text(element):
        return _is_among(element, before)
    actions = (action for step in past_calls for action in step.call.actions)
    typed = [action.text.strip() for action in actions if isinstance(action, Write)]
    overlaps = any(element.box.intersection(other.box) for other in before)
    holds = bool(typed and typed[-1]) and element.text.strip().endswith(typed[-1])
    return (overlaps and holds) if element.role in FIELDS else (overlaps or holds)


def _is_part(element: Element, other: Element) -> bool:
    """Whether an element is another one, or drawn in it, as the text of a cell is."""
    return is_same(element, other) or other.box.contains(element.box.centre)


def _innermost_focused(observation: Observation) -> list[Element]:
    """The elements of the active window with the focus that contain no other with it.

    More than one is possible: a program may leave the mark on a button that was clicked, while its
    document gets the keys.
    """
    elements = observation.elements or ()
    front = (observation.active.title, "") if observation.active is not None else None
    marked = [
        number
        for number, element in enumerate(elements)
        if "focused" in element.states and (front is None or element.window in front)
    ]
    holding = {
        outer for outer in marked for n in marked if n != outer and is_part_of(n, outer, elements)
    }
    return [elements[number] for number in marked if number not in holding]


def _is_among(element: Element, others: Iterable[Element]) -> bool:
    return any(is_same(other, element) and _at_same_place(other, element) for other in others)


def _holds_text(element: Element) -> bool:
    return "editable" in element.states or element.role in FIELDS


def _is_at(element: Element, point: Point, target: Element, now: Observation) -> bool:
    """Whether an element lies where something was clicked."""
    place = now.convert(point, "screen")
    return element.box.contains(place) or target.box.contains(element.box.centre)


def _is_where_acted(
    element: Element, clicked: Iterable[Point], acted: Iterable[BoundingBox], now: Observation
) -> bool:
    """Whether an element lies where an earlier act was made."""
    middle = now.convert_box(element.box, "image").centre
    at = any(element.box.contains(now.convert(point, "screen")) for point in clicked)
    return at or any(box.contains(middle) for box in acted)


def _find_new_control(
    elements: Iterable[Element],
    reference: Observation,
    now: Observation,
    acted: Sequence[BoundingBox],
) -> str:
    """Returns which element is a control that came up outside of ``acted``; empty if none is."""
    if not is_complete(reference):
        return ""
    known = {(e.role, e.name, e.label) for e in reference.elements or ()}
    for element in elements:
        new = (element.role, element.name, element.label) not in known
        middle = now.convert_box(element.box, "image").centre
        if new and element.role in CONTROLS and not any(box.contains(middle) for box in acted):
            return f"{name_element(element)} came up"
    return ""


# ---------------------------------------------------------------- effects of the acts of one call


def _list_clicked(
    past_calls: Sequence[ExecutedCall], reference: Observation
) -> Iterator[Element | None]:
    """Yields what the pointer pressed in the call that is being executed; None if not known."""
    for point in find_press_points(past_calls[-1].call.actions, reference):
        yield element_at(point, reference)


def _may_bring_dialog(past_calls: Sequence[ExecutedCall], reference: Observation) -> bool:
    """Whether the executed part of a call may be meant to bring up a window or a dialog."""
    keyed = any(isinstance(a, Press | Hotkey | KeyDown) for a in past_calls[-1].call.actions)
    quiet = FIELDS | _TICKED
    return keyed or any(
        e is None or e.role not in quiet for e in _list_clicked(past_calls, reference)
    )


def _opens_menu(past_calls: Sequence[ExecutedCall], reference: Observation) -> bool:
    """Whether the last click of a call was on an element that opens a menu or a list."""
    clicked = [*_list_clicked(past_calls, reference)]
    last = clicked[-1] if clicked else None
    return last is not None and (last.role in _OPENING or "has-popup" in last.states)


def _is_relabelled(
    point: Point, reference: Observation, planned: Observation, now: Observation
) -> bool:
    """Whether another label is drawn on a button that is to be pressed again."""
    known = element_at(point, reference)
    if known is None or known.role not in CONTROLS - FIELDS:
        return False
    return bool(describe_redrawing(point, known, planned, now))


def _at_same_place(first: Element, second: Element) -> bool:
    pairs = zip(_SIDES(first.box), _SIDES(second.box), strict=True)
    return all(abs(a - b) <= _MOVED for a, b in pairs)
