"""What came up on a picture: the eyes see no focus, so that anything new may take the keys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hisa.screen.geometry import BoundingBox, Point
from hisa.screen.observation import Observation
from hisa.screen.sight import is_seen
from hisa.state.facts import DIALOGS, letters, name_element
from hisa.state.roi import changed_mask

__all__ = ["find_arrival"]


def find_arrival(
    before: Observation,
    now: Observation,
    acted: Iterable[BoundingBox] = (),
    clicked: Sequence[Point] = (),
) -> str:
    """Returns a message about something new on a changed part of the screen.

    Empty if nothing is, or if the elements were reported. An element is known again by its words:
    its box and its role may be seen otherwise the next time.

    Args:
        before: a look with elements.
        now: a later one of the same screen.
        acted: image-space boxes that change by what was done.
        clicked: points, in image space, of what was clicked: what lies there is no news.
    """
    mask = changed_mask(before, now) if is_seen(before) and is_seen(now) else None
    if mask is None:
        return ""
    mask = mask.copy()
    for box in acted:
        mask.paste(0, _pixels(box))
    known = {letters(e.name or e.text) for e in before.elements or ()}
    for element in now.elements or ():
        words = letters(element.name or element.text)
        new = words not in known if words else element.role in DIALOGS
        place = now.convert_box(element.box, "image")
        new = new and not any(map(place.contains, clicked))
        if new and mask.crop(_pixels(place)).getbbox() is not None:
            return f"{name_element(element)} came up"
    return ""


def _pixels(box: BoundingBox) -> tuple[int, int, int, int]:
    """Returns the sides of a box as Pillow wants them, on the picture."""
    return max(0, int(box.left)), max(0, int(box.top)), int(box.right + 1), int(box.bottom + 1)
