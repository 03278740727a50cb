"""Guards of sequences: whether a later action still finds what it was planned for.

An action is made where nothing but the earlier ones has changed the screen. Where something else
did, the region around its target must look as it did, and hold the same element (OS-Catalyst,
section 3.2, asks both of recorded pairs of actions; here they are asked before each act).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from PIL import Image

from hisa.actions import Action, Hotkey, KeyDown, MouseDown, Press, points
from hisa.errors import ScreenChanged
from hisa.protocols import GroundedCall, Held, MadeCall
from hisa.screen.geometry import BoundingBox, Point
from hisa.screen.observation import Element, Observation
from hisa.screen.roles import CONTAINERS, FIELDS, LAYOUT, PASSWORD
from hisa.screen.similarity import similarity
from hisa.state.base import ReadsElements
from hisa.state.facts import is_complete, smallest_focused
from hisa.state.roi import changed_mask
from hisa.text.prompt_text import excerpt, field_text

__all__ = ["SequenceGuard"]

_RING = 6
"""Image pixels around an element within which a change is its own: a ring of focus, a shadow."""
_ROOM = 8
"""Image pixels around a target that must look as they did."""
_LEAST, _MOST = (64, 32), (320, 160)
"""Width and height in image pixels of the region that is compared around a target."""
_BARE = (320, 120)
"""The same where no element is known: wide enough for a label beside a field."""
_LARGE = 0.05
"""Share of the screen from which on an element is too large to account for a change inside it."""
_MOVED = 3
"""Screen pixels by which a box may differ and be at the same place."""
_MOVES_FOCUS = frozenset({"tab", "enter", "return", "esc", "escape", "up", "down", "left", "right"})
_CONTROLS = FIELDS | frozenset(
    {"push button", "button", "toggle button", "check box", "radio button", "link", "combo box"}
)
"""Roles of things that are clicked; a new one is a dialog, a message or another page."""
_DIALOGS = frozenset({"alert", "dialog", "file chooser"})

_Looks = tuple[Observation, Observation, Observation]


class SequenceGuard:
    """Checks the screen before each later action; see `hisa.tools.sequence.Guard`.

    Args:
        reader: reads elements; None: the machine cannot tell them.
        similar: structural similarity (SSIM) that the region around a target must keep.
    """

    def __init__(self, reader: ReadsElements | None, *, similar: float = 0.9) -> None:
        self._reader = reader
        self._similar = similar

    async def reference(self, planned: Observation) -> Observation:
        """Returns a look from before the first action, with elements where they can be had."""
        return planned if self._reader is None else await self._reader.recent(planned)

    async def allow(
        self, call: GroundedCall, made: Sequence[MadeCall], *, looks: _Looks
    ) -> GroundedCall:
        """The action, with the boxes that must still be as they are now when it is made.

        Raises:
            ScreenChanged: why it must not be made now.
            EnvironmentFailed: the machine does not answer.
        """
        if not made and self._reader is None:
            return call  # the planner's own look, which is no longer kept
        if made and (told := await self._objection(call, made, looks)):
            raise ScreenChanged(told)
        _, reference, now = looks
        boxes = (_region(point, reference) for point in _targets(call, made))
        return replace(call, held=Held(now, tuple(now.convert_box(b, "screen") for b in boxes)))

    async def _objection(self, call: GroundedCall, made: Sequence[MadeCall], looks: _Looks) -> str:
        """Returns why an action must not be made now; empty where it may."""
        planned, reference, now = looks
        if told := _other_window(planned, now):
            return told
        acted = list(_acted_boxes(made, reference))
        left = _unexplained(planned, now, acted)
        if left is None:
            return ""
        targets = _targets(call, made)
        for point in targets:
            region = _region(point, reference)
            if told := self._unlike(point, region, left, looks):
                return told
        if self._reader is None or reference.elements is None:
            return ""
        seen = reference, await self._reader.read()
        moved = any(True for _ in _on_focus(made))
        return _other_elements(targets, call, acted, moved=moved, looks=seen)

    def _unlike(self, point: Point, region: BoundingBox, left: Image.Image, looks: _Looks) -> str:
        """Returns how the region around a target differs from the look it was planned on."""
        corners = (int(region.left), int(region.top), int(region.right), int(region.bottom))
        if left.crop(corners).getbbox() is None:
            return ""
        planned, _, now = looks
        alike = similarity(planned.screenshot.crop(region), now.screenshot.crop(region))
        if alike >= self._similar:
            return ""
        x, y = point.rounded()
        return f"the screen around ({x}, {y}) is no longer as it was (similarity {alike:.2f})"


# ---------------------------------------------------------------- windows


def _other_window(planned: Observation, now: Observation) -> str:
    """Returns what befell the windows since the plan; empty where nothing did, or not known."""
    if planned.screenshot.size != now.screenshot.size:
        return "the screen has another size"
    if not (planned.windows_known and now.windows_known):
        return ""
    known = {window.id: window for window in planned.windows}
    came = [window for window in now.windows if window.id not in known]
    if came:
        return f"a window came up: {_quoted(came[-1].title)}"
    there = {window.id for window in now.windows}
    if gone := [window for window in planned.windows if window.id not in there]:
        return f"the window {_quoted(gone[-1].title)} is gone"
    before, after = planned.active, now.active
    if before is None or after is None:
        return ""
    if before.id != after.id:
        return f"the window in front is now {_quoted(after.title)}"
    if _letters(before.title) != _letters(after.title):
        return f"the window in front is now called {_quoted(after.title)}"
    return ""


def _letters(title: str) -> str:
    """A title without signs, with which programs mark what is not saved."""
    return re.sub(r"\W", "", title)


def _quoted(text: str) -> str:
    return f"“{field_text(excerpt(text, 60))}”"


# ---------------------------------------------------------------- pixels


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


def _grown(box: BoundingBox, by: float) -> BoundingBox:
    return BoundingBox(box.left - by, box.top - by, box.right + by, box.bottom + by, box.space)


def _acted_boxes(made: Sequence[MadeCall], reference: Observation) -> Iterator[BoundingBox]:
    """The image-space boxes of what earlier actions were about, and of what lost the focus."""
    screen = reference.screen.width * reference.screen.height
    places = [point for each in made for point in points(each.call.actions)]
    elements = [_element_at(point, reference) for point in places]
    for element in (*elements, smallest_focused(reference.elements or ())):
        if element is not None and element.box.area <= _LARGE * screen:
            yield _grown(reference.convert_box(element.box, "image"), _RING)


def _region(point: Point, reference: Observation) -> BoundingBox:
    """The image-space box around a target that must look as it did."""
    element = _element_at(point, reference)
    if element is None:
        wide, high = _BARE
        box = BoundingBox(
            point.x - wide / 2, point.y - high / 2, point.x + wide / 2, point.y + high / 2
        )
    else:
        box = _grown(reference.convert_box(element.box, "image"), _ROOM)
        box = _limited(box, point)
    size = reference.image
    return BoundingBox(
        max(0, int(box.left)),
        max(0, int(box.top)),
        min(size.width, int(box.right) + 1),
        min(size.height, int(box.bottom) + 1),
    )


def _limited(box: BoundingBox, point: Point) -> BoundingBox:
    """The box, not smaller and not larger than is compared around a point."""

    def side(start: float, end: float, middle: float, least: int, most: int) -> tuple[float, float]:
        start, end = min(start, middle - least / 2), max(end, middle + least / 2)
        return max(start, middle - most / 2), min(end, middle + most / 2)

    left, right = side(box.left, box.right, point.x, _LEAST[0], _MOST[0])
    top, bottom = side(box.top, box.bottom, point.y, _LEAST[1], _MOST[1])
    return BoundingBox(left, top, right, bottom)


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
    was, there = _element_at(point, reference), _element_at(point, now)
    if was is None:
        return ""
    x, y = point.rounded()
    if there is None:
        return f"{_called(was)} is no longer at ({x}, {y})"
    if not _same(was, there):
        return f"at ({x}, {y}) there is now {_called(there)} in place of {_called(was)}"
    if not _at_same_place(was, there):
        return f"{_called(was)} at ({x}, {y}) has moved"
    if _usable(was) and not _usable(there):
        return f"{_called(was)} at ({x}, {y}) is disabled now"
    its_own = any(box.contains(point) for box in acted)
    if not its_own and was.text != there.text and was.role != PASSWORD:
        return f"{_called(was)} at ({x}, {y}) now holds {_quoted(there.text)}"
    return ""


def _other_focus(targets: Sequence[Point], reference: Observation, now: Observation) -> str:
    """Returns where the focus is, if not where keys are meant to go; empty where not known."""
    focused = smallest_focused(now.elements or ())
    if focused is None:
        return ""
    if targets:
        held = focused.box.contains(now.convert(targets[-1], "screen"))
        return "" if held else f"the focus is on {_called(focused)}"
    was = smallest_focused(reference.elements or ())
    if was is None or (_same(was, focused) and _at_same_place(was, focused)):
        return ""
    return f"the focus is on {_called(focused)}, no longer on {_called(was)}"


def _appeared(reference: Observation, now: Observation, acted: Sequence[BoundingBox]) -> str:
    """Returns a dialog or a control that was not there before, outside of what was acted on."""
    if not is_complete(reference):
        return ""
    known = {(e.role, e.name, e.label) for e in reference.elements or ()}
    for element in now.elements or ():
        if element.role not in _CONTROLS | _DIALOGS:
            continue
        if (element.role, element.name, element.label) in known:
            continue
        middle = now.convert_box(element.box, "image").centre
        if element.role in _DIALOGS or not any(box.contains(middle) for box in acted):
            return f"{_called(element)} came up"
    return ""


def _element_at(point: Point, look: Observation) -> Element | None:
    """The smallest element at an image-space point that is more than room for others."""
    at = look.convert(point, "screen")
    held = [element for element in look.elements or () if element.box.contains(at)]
    telling = [element for element in held if element.role not in CONTAINERS | LAYOUT]
    return min(telling or held, key=lambda element: element.box.area, default=None)


def _same(one: Element, other: Element) -> bool:
    return (one.role, one.name, one.label) == (other.role, other.name, other.label)


def _at_same_place(one: Element, other: Element) -> bool:
    sides = zip(_sides(one.box), _sides(other.box), strict=True)
    return all(abs(a - b) <= _MOVED for a, b in sides)


def _usable(element: Element) -> bool:
    return not element.states or bool(element.states & {"enabled", "sensitive"})


def _called(element: Element) -> str:
    name = element.name or element.label or element.description
    return f"{field_text(element.role)} {_quoted(name)}" if name else field_text(element.role)
