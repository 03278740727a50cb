"""Checks, on a picture taken just before an action, that the screen is unchanged.

For machines that cannot compare themselves, and for controls that are only highlighted under the
pointer. A change between that picture and the action is missed; `benchmarks.act_delay` measures
this gap.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product

from PIL import Image, ImageChops

from hisa.actions.action_records import Action, Click, Drag, MouseDown, Move, Sleep
from hisa.actions.calls import ScreenPrecondition
from hisa.errors import ScreenChanged
from hisa.screen.caret import CARET_HEIGHT, CARET_WIDTH
from hisa.screen.geometry import BoundingBox, Point, grow_box, shift_box
from hisa.screen.observation import Observation, Screenshot
from hisa.screen.similarity import is_same_drawing

__all__ = ["REACTION_SECONDS", "arrival", "lit_boxes", "require_unchanged"]

REACTION_SECONDS = 0.04
"""Seconds for a window to react to the arriving pointer; the same as in HiSA's own guest."""
_RING = 6
"""Image pixels around an element that may be highlighted with it: a focus ring, a shadow."""
_BORDER = 3
"""Image pixels at an element's edge that are not part of its label: a border that is drawn wider
has longer outlines than the words."""
_POINTER = (16, 28)
"""Image pixels before and after the hot spot within which a pointer is drawn; usual pointers are
24 to 32 wide, with the hot spot in a corner or the middle."""


def arrival(actions: Sequence[Action]) -> tuple[list[Action], list[Action]]:
    """Returns the actions that bring the pointer to the first press, and the rest from it on."""
    count = next((n for n, a in enumerate(actions) if not isinstance(a, Move | Sleep)), 0)
    arriving, rest = list(actions[:count]), list(actions[count:])
    match rest:
        case [Click(at=Point() as at) | MouseDown(at=Point() as at), *_] | [
            Drag(start=Point() as at),
            *_,
        ]:  # an element that appears under a resting pointer reacts only after a move
            arriving += [Move(replace(at, x=abs(at.x - 1))), Move(at)]
    return arriving, rest


def require_unchanged(held: ScreenPrecondition, now: Observation) -> None:
    """Compare the windows and boxes of a precondition with the current look.

    Raises:
        ScreenChanged: a window or a box has changed; names it.
    """
    observation = held.look
    if observation.screenshot.size != now.screenshot.size:
        raise ScreenChanged("the screen has another size")
    known = observation.windows_known and now.windows_known
    if known and {(w.id, w.active) for w in observation.windows} != {
        (w.id, w.active) for w in now.windows
    }:
        raise ScreenChanged("another window came, went or is in front")
    for box in held.boxes:
        if _differs(held, now, box):
            left, top, right, bottom = (
                round(s) for s in (box.left, box.top, box.right, box.bottom)
            )
            raise ScreenChanged(
                f"the screen changed between ({left}, {top}) and ({right}, {bottom})"
            )


def lit_boxes(
    boxes: Iterable[BoundingBox],
    before: Observation,
    now: Observation,
    *,
    moved: int = 0,
    at: Point | None = None,
) -> Iterator[BoundingBox]:
    """Yields the boxes in which the same drawing is still shown, grown by a ring, in image space.

    Colour and border may differ, because a control lights up under the pointer.

    Args:
        boxes: boxes of the controls.
        before: the look on which the action was decided.
        now: the look just before the action.
        moved: most pixels by which a drawing may have moved, as on a pressed button.
        at: where the control is pressed, in image space, if known: something that covers a blank
            margin elsewhere, such as a tool tip, is ignored.
    """
    by = sorted(range(-moved, moved + 1), key=abs)
    for box in (now.convert_box(source_box, "image") for source_box in boxes):
        inner = grow_box(box, -_BORDER) if min(box.width, box.height) > 6 * _BORDER else box
        was = _crop_drawing(inner, before, (before, now))
        places = (shift_box(inner, across, down) for across, down in product(by, by))
        inside = None if at is None else (at.x - inner.left, at.y - inner.top)
        if any(is_same_drawing(was, _crop_drawing(p, now, (before, now)), inside) for p in places):
            yield grow_box(box, _RING)


def _crop_drawing(
    box: BoundingBox, observation: Observation, observations: Sequence[Observation]
) -> Screenshot:
    """Returns the part of a look in a box, with the pointers of some looks blackened."""
    picture = observation.without_pointer.screenshot.pixels.crop(_corners(box))
    for pointer in _pointers(*observations):
        _blacken(picture, pointer, box)
    return Screenshot(picture)


def _differs(held: ScreenPrecondition, now: Observation, box: BoundingBox) -> bool:
    """Whether a part of the screen has changed by more than a caret or a highlight."""
    part = now.convert_box(box, "image")
    before, after = (e.without_pointer.screenshot.crop(part) for e in (held.look, now))
    changed = _white(ImageChops.difference(before.pixels, after.pixels))
    for pointer in _pointers(held.look, now):
        _blacken(changed, pointer, part)
    if not _is_small(changed):
        for lit in lit_boxes(held.own, held.look, now):  # a row may have its name around it
            _blacken(changed, lit if part.contains(lit.centre) else grow_box(lit, -_RING), part)
    return not _is_small(changed)


def _white(difference: Image.Image) -> Image.Image:
    """Returns a mask that is white where any of the three colours differs."""
    red, green, blue = difference.split()
    most = ImageChops.lighter(ImageChops.lighter(red, green), blue)
    return most.point([0] + [255] * 255)


def _is_small(changed: Image.Image) -> bool:
    bounds = changed.getbbox()
    if bounds is None:
        return True
    width, height = bounds[2] - bounds[0], bounds[3] - bounds[1]
    return width <= CARET_WIDTH and height <= CARET_HEIGHT[1]


def _blacken(picture: Image.Image, box: BoundingBox, part: BoundingBox) -> None:
    """Blacken a box in the picture of a part of the screen."""
    left, top = max(0, round(box.left - part.left)), max(0, round(box.top - part.top))
    right, bottom = round(box.right - part.left), round(box.bottom - part.top)
    if right > left and bottom > top:
        picture.paste(0, (left, top, right, bottom))


def _corners(box: BoundingBox) -> tuple[int, int, int, int]:
    return int(box.left), int(box.top), int(box.right), int(box.bottom)


def _pointers(*observations: Observation) -> Iterator[BoundingBox]:
    """Yields the image-space boxes of pointers whose exact covered part is not known."""
    for observation in observations:
        if observation.under_pointer is None and observation.cursor is not None:
            at, (before, after) = observation.convert(observation.cursor, "image"), _POINTER
            yield BoundingBox(at.x - before, at.y - before, at.x + after, at.y + after)
