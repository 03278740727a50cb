"""Holds an act to its look where the machine itself cannot: by a picture taken right before it.

What comes between that picture and the act is not seen; `benchmarks.held_acts` measures how long
that is.
"""

from __future__ import annotations

from PIL import ImageChops

from hisa.errors import ScreenChanged
from hisa.protocols import Held
from hisa.screen.caret import CARET_HEIGHT, CARET_WIDTH
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Observation

__all__ = ["require_unchanged"]


def require_unchanged(held: Held, now: Observation) -> None:
    """Compare windows and held boxes with a look of now.

    Raises:
        ScreenChanged: they are not as they were.
    """
    look = held.look
    if look.screenshot.size != now.screenshot.size:
        raise ScreenChanged("the screen has another size")
    known = look.windows_known and now.windows_known
    if known and {(w.id, w.active) for w in look.windows} != {
        (w.id, w.active) for w in now.windows
    }:
        raise ScreenChanged("another window came, went or is in front")
    for box in held.boxes:
        if _differ(look, now, box):
            left, top, right, bottom = (
                round(s) for s in (box.left, box.top, box.right, box.bottom)
            )
            raise ScreenChanged(
                f"the screen changed between ({left}, {top}) and ({right}, {bottom})"
            )


def _differ(look: Observation, now: Observation, box: BoundingBox) -> bool:
    """Whether a part of the screen shows another thing, more than a caret that blinks."""
    before, after = (each.screenshot.crop(each.convert_box(box, "image")) for each in (look, now))
    found = ImageChops.difference(before.pixels, after.pixels).getbbox()
    if found is None:
        return False
    width, height = found[2] - found[0], found[3] - found[1]
    return width > CARET_WIDTH or height > CARET_HEIGHT[1]
