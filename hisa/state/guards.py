"""Guards of sequences: whether a later action still finds what it was planned for.

An action is made where nothing but the earlier ones has changed the screen. Where something else
did, the region around its target must look as it did, and hold the same element (OS-Catalyst,
section 3.2, asks both of recorded pairs of actions; here they are asked before each act).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from PIL import Image

from hisa.actions import Action, Hotkey, KeyDown, MouseDown, Press, points
from hisa.errors import ScreenChanged
from hisa.protocols import GroundedCall, Held, MadeCall
from hisa.screen.geometry import BoundingBox, Point
from hisa.screen.lies_at import element_at
from hisa.screen.observation import Element, Observation
from hisa.screen.roles import PASSWORD
from hisa.state.act_guard import ActGuard, redrawn
from hisa.state.facts import is_complete, smallest_focused
from hisa.state.held_regions import (
    CONTROLS,
    DIALOGS,
    called,
    grown,
    is_same,
    is_usable,
    other_window,
    quoted,
    region,
)
from hisa.state.roi import changed_mask

__all__ = ["SequenceGuard"]

_RING = 6
"""Image pixels around an element within which a change is its own: a ring of focus, a shadow."""
_LARGE = 0.05
"""Share of the screen from which on an element is too large to account for a change inside it."""
_FRAME = 3
"""Screen pixels of a frame that is drawn inside an element's own edge, as a sheet's cell cursor."""
_COVERED = 0.5
"""Share of what is drawn in an element from which on a change covers it."""
_MOVED = 3
"""Screen pixels by which a box may differ and be at the same place."""
_MOVES_FOCUS = frozenset({"tab", "enter", "return", "esc", "escape", "up", "down", "left", "right"})
_Looks = tuple[Observation, Observation, Observation]


class SequenceGuard(ActGuard):
    """Checks the screen before each later action too; see `hisa.tools.base.Guard`."""

    async def reference(self, planned: Observation) -> Observation:
        """Returns a look from before the first action, with elements where they can be had."""
        if self._reader is None or planned.all_elements is not None:
            return planned
        return await self._reader.recent(planned)

    async def allow(
        self, call: GroundedCall, made: Sequence[MadeCall], *, looks: _Looks
    ) -> GroundedCall:
        """The action, with the boxes that must still be as they are now when it is made.

        Raises:
            ScreenChanged: why it must not be made now.
            EnvironmentFailed: the machine does not answer.
        """
        if reason := await self._after(call, made, looks):
            raise ScreenChanged(reason)
        _, reference, now = looks
        boxes = [region(point, reference) for point in _targets(call, made)]
        held = tuple(now.convert_box(box, "screen") for box in boxes if box.width > 0 < box.height)
        return replace(call, held=Held(now, held))

    async def _after(self, call: GroundedCall, made: Sequence[MadeCall], looks: _Looks) -> str:
        """Returns why an action must not be made now; empty where it may."""
        planned, reference, now = looks
        if told := other_window(planned, now):
            return told
        acted = list(_acted_boxes(made, reference))
        left = _unexplained(planned, now, acted)
        if left is None:
            return ""
        targets = _targets(call, made)
        for point in targets:
            if reason := self._differs(point, region(point, reference), left, looks):
                return reason
        if self._reader is None or reference.elements is None:
            return ""
        seen = reference, await self._reader.read()
        moved = any(True for _ in _on_focus(made))
        return _other_elements(targets, call, acted, moved=moved, looks=seen)

    def _differs(self, point: Point, box: BoundingBox, left: Image.Image, looks: _Looks) -> str:
        """Returns how the region around a target differs from the look it was planned on.

        Around a known element up to half may, as where a sheet's cell cursor comes or goes: whether
        the same element lies there is asked afterwards.
        """
        corners = (int(box.left), int(box.top), int(box.right), int(box.bottom))
        if left.crop(corners).getbbox() is None:
            return ""
        planned, reference, now = looks
        reason = self._unlike(point, planned, now, box)
        known = element_at(point, reference)
        if not reason or known is None or self._reader is None:
            return reason
        if known.box.area > _LARGE * reference.screen.width * reference.screen.height:
            return reason
        own = reference.convert_box(grown(known.box, -_FRAME), "image").intersection(box)
        covered = own is not None and own.area and _is_covered(own, planned, now)
        return reason if covered or redrawn(point, known, reference, now) else ""


# ---------------------------------------------------------------- pixels


def _is_covered(box: BoundingBox, planned: Observation, now: Observation) -> bool:
    """Whether most of an image-space box changed."""
    mask = changed_mask(planned, now)
    if mask is None:
        return False
    left, top, right, bottom = (round(side) for side in _sides(box))
    part = mask.crop((left, top, right, bottom))
    return part.histogram()[255] > _COVERED * part.width * part.height


def _unexplained(
    planned: Observation, now: Observation, acted: Iterable[BoundingBox]
) -> Image.Image | None:
    """White where the screen changed outside of what was acted on; None where it did not."""
    mask = changed_mask(planned, now)
    if mask is None:
        return None
    mask = mask.copy()
    for box in acted:
        left, top, right, bottom = (round(side) for side in _sides(box))
        mask.paste(0, (max(0, left), max(0, top), max(0, right), max(0, bottom)))
    return mask if mask.getbbox() else None


def _sides(box: BoundingBox) -> tuple[float, float, float, float]:
    return box.left, box.top, box.right, box.bottom


def _acted_boxes(made: Sequence[MadeCall], reference: Observation) -> Iterator[BoundingBox]:
    """The image-space boxes of what earlier actions were about, and of what lost the focus."""
    screen = reference.screen.width * reference.screen.height
    places = [point for each in made for point in points(each.call.actions)]
    elements = [element_at(point, reference) for point in places]
    for element in (*elements, smallest_focused(reference.elements or ())):
        if element is not None and element.box.area <= _LARGE * screen:
            yield grown(reference.convert_box(element.box, "image"), _RING)


# ---------------------------------------------------------------- elements


def _targets(call: GroundedCall, made: Sequence[MadeCall]) -> tuple[Point, ...]:
    """The image-space points that an action is about.

    Keys go to what was clicked last, as long as no key has moved the focus since.
    """
    if found := tuple(dict.fromkeys(points(call.actions))):
        return found
    newest = next(_on_focus(made), None)
    return (newest,) if isinstance(newest, Point) else ()


def _on_focus(made: Sequence[MadeCall]) -> Iterator[Point | None]:
    """Yields what moved the focus, the newest first: a click's point; None for keys."""
    for each in reversed(made):
        for action in reversed(each.call.actions):
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


def _other_elements(
    targets: Sequence[Point],
    call: GroundedCall,
    acted: Sequence[BoundingBox],
    *,
    moved: bool,
    looks: tuple[Observation, Observation],
) -> str:
    """Returns what speaks against an action by the elements before the first one and now.

    With ``moved`` earlier actions have put the focus somewhere else.
    """
    reference, now = looks
    if not is_complete(now):
        return "the screen changed, and not all elements could be read to check it"
    if told := _appeared(reference, now, acted):
        return told
    for point in targets:
        if told := _other_element(point, reference, now, acted):
            return told
    if points(call.actions) or (moved and not targets):
        return ""
    return _other_focus(targets, reference, now)


def _other_element(
    point: Point, reference: Observation, now: Observation, acted: Sequence[BoundingBox]
) -> str:
    was, there = element_at(point, reference), element_at(point, now)
    if was is None:
        return ""
    x, y = point.rounded()
    if there is None:
        return f"{called(was)} is no longer at ({x}, {y})"
    if not is_same(was, there):
        return f"at ({x}, {y}) there is now {called(there)} in place of {called(was)}"
    if not _at_same_place(was, there):
        return f"{called(was)} at ({x}, {y}) has moved"
    if is_usable(was) and not is_usable(there):
        return f"{called(was)} at ({x}, {y}) is disabled now"
    its_own = any(box.contains(point) for box in acted)
    if not its_own and was.text != there.text and was.role != PASSWORD:
        return f"{called(was)} at ({x}, {y}) now holds {quoted(there.text)}"
    return ""


def _other_focus(targets: Sequence[Point], reference: Observation, now: Observation) -> str:
    """Returns where the focus is, if not where keys are meant to go; empty where not known."""
    focused = smallest_focused(now.elements or ())
    if focused is None:
        return ""
    if targets:
        held = focused.box.contains(now.convert(targets[-1], "screen"))
        return "" if held else f"the focus is on {called(focused)}"
    was = smallest_focused(reference.elements or ())
    if was is None or (is_same(was, focused) and _at_same_place(was, focused)):
        return ""
    return f"the focus is on {called(focused)}, no longer on {called(was)}"


def _appeared(reference: Observation, now: Observation, acted: Sequence[BoundingBox]) -> str:
    """Returns a dialog or a control that was not there before, outside of what was acted on."""
    if not is_complete(reference):
        return ""
    known = {(e.role, e.name, e.label) for e in reference.elements or ()}
    for element in now.elements or ():
        if element.role not in CONTROLS | DIALOGS:
            continue
        if (element.role, element.name, element.label) in known:
            continue
        middle = now.convert_box(element.box, "image").centre
        if element.role in DIALOGS or not any(box.contains(middle) for box in acted):
            return f"{called(element)} came up"
    return ""


def _at_same_place(one: Element, other: Element) -> bool:
    sides = zip(_sides(one.box), _sides(other.box), strict=True)
    return all(abs(a - b) <= _MOVED for a, b in sides)
