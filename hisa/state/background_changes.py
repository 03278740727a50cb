"""Changes that a screen makes by itself, such as a clock or prices: they are no step's effect."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from PIL import Image

from hisa.actions import points
from hisa.protocols import GroundedCall
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Element, Observation, Screenshot
from hisa.state.changes import compare_elements
from hisa.state.facts import is_complete
from hisa.state.roi import changed_mask, full_pair

__all__ = ["BackgroundChanges", "LookAgain"]

LookAgain = Callable[[], Awaitable[Observation]]
"""Looks at the screen once more, with its elements."""

_AGAIN = 1.15
"""Seconds after a step's look within which a clock surely shows another second."""
_PLACES = 8
"""Most elements that change in place if a step may have done nothing; more are another page."""


@dataclass
class _Place:
    """A place that changed while nothing was done: how often, and the letters that stayed.

    ``letters`` is None once letters changed too.
    """

    box: BoundingBox
    letters: str | None
    times: int = 0


class BackgroundChanges:
    """Separates the effect of a step from what the screen changes by itself.

    What changed twice while nothing was done changes by itself; so does what changed with a step
    and once more after it. If only figures change by themselves, new words at the same place are
    an effect.

    Args:
        again: takes one more look if all that a step changed may change by itself; None: no look
            is taken.
    """

    def __init__(self, again: LookAgain | None = None) -> None:
        self._again = again
        self._places: list[_Place] = []
        self._still = 0.0

    def watch(self, earlier: Observation | None, later: Observation | None) -> None:
        """Note what differs between two looks when nothing was done between them."""
        if earlier is None or later is None or earlier is later:
            return
        self._still = max(self._still, later.at - earlier.at)
        for was, now in _find_changes_in_place(earlier, later):
            place = self._place(now.box) or _Place(now.box, _letters(now))
            place.letters = place.letters if place.letters == _letters(was) else None
            place.times += 1
            if place.times == 1:
                self._places.append(place)

    def without(self, earlier: Observation | None, later: Observation) -> Observation | None:
        """Returns the first look, with what changes by itself already as on the second look."""
        if earlier is None or earlier is later or not self._places:
            return earlier
        pairs = _find_changes_in_place(earlier, later)
        goes_on = [(was, now) for was, now in pairs if self._goes_on(was, now)]
        if not goes_on:
            return earlier
        newer = {id(was): replace(now, parent=was.parent) for was, now in goes_on}
        others = [now.box for was, now in pairs if id(was) not in newer]
        pixels = earlier.screenshot.pixels.copy()
        for was, now in goes_on:
            for box in (was.box, now.box):
                if not any(box.intersection(other_box) for other_box in others):
                    _paste(later.screenshot, pixels, earlier.convert_box(box, "image"))
        elements = tuple(newer.get(id(element), element) for element in earlier.elements or ())
        return replace(earlier, screenshot=Screenshot(pixels), elements=elements)

    async def look_before(
        self, call: GroundedCall, before: Observation, after: Observation
    ) -> Observation:
        """Returns the look before a step, with what changes by itself as on the look after it.

        What still differs from ``after`` is then an effect of the step.

        Args:
            call: what was done.
            before: the look before it.
            after: the look after it.
        """
        before = _without_hover(self.without(before, after) or before, after)
        pairs, self._still = self._find_undecided(call, before, after), 0.0
        if self._again is None or not pairs:
            return before
        await asyncio.sleep(max(0.0, after.at + _AGAIN - time.time()))
        later = await self._again()
        moved = [now.box for _, now in _find_changes_in_place(after, later)]
        for _, now in pairs:
            if any(_is_same_place(now.box, box) for box in moved):
                place = self._place(now.box) or _Place(now.box, _letters(now))
                self._places = [*(p for p in self._places if p is not place), place]
                place.times += 1
        self.watch(after, later)
        return self.without(before, after) or before

    def _find_undecided(
        self, call: GroundedCall, before: Observation, after: Observation
    ) -> list[tuple[Element, Element]]:
        """Returns a step's changes if each may be a change by itself and none is known to be."""
        pair = full_pair(before, after)
        pairs = _find_changes_in_place(before, after)
        if not (call.actions and pair and 0 < len(pairs) <= _PLACES):
            return []
        if self._still >= _AGAIN and not any(self._place(now.box) for _, now in pairs):
            return []  # it was still for longer than that before the step
        known = {id(element) for both in pairs for element in both}
        changed, come, gone = compare_elements(
            list(before.elements or ()), list(after.elements or ())
        )
        rest = [*come, *gone, *(element for both in changed for element in both)]
        at = [after.convert(point, "screen") for point in points(call.actions)]
        own = any(
            now.box.contains(point) or "editable" in now.states for point in at for _, now in pairs
        )
        return [] if own or any(id(element) not in known for element in rest) else pairs

    def _place(self, box: BoundingBox) -> _Place | None:
        return next((place for place in self._places if _is_same_place(place.box, box)), None)

    def _goes_on(self, was: Element, now: Element) -> bool:
        place = self._place(now.box)
        if place is None or place.times < 2:
            return False
        return place.letters is None or _letters(was) == _letters(now) == place.letters


def _without_hover(before: Observation, after: Observation) -> Observation:
    """Returns the first look without the hover highlight of an element that the pointer left."""
    if before.cursor is None or after.cursor is None or before.image != after.image:
        return before
    old, new = (
        observation.convert(observation.cursor, "screen")
        for observation in (before, after)
        if observation.cursor
    )
    at = [e for e in before.elements or () if e.box.contains(old) and not e.box.contains(new)]
    left = min(at, key=lambda element: element.box.area, default=None)
    if left is None or left not in (after.elements or ()):
        return before
    pixels = before.without_pointer.screenshot.pixels.copy()
    _paste(after.without_pointer.screenshot, pixels, before.convert_box(left.box, "image"))
    return replace(before.without_pointer, screenshot=Screenshot(pixels))


def _paste(picture: Screenshot, pixels: Image.Image, box: BoundingBox) -> None:
    """Copy a part of one picture over another."""
    left, top, right, bottom = map(round, (box.left, box.top, box.right, box.bottom))
    pixels.paste(picture.pixels.crop((left, top, right, bottom)), (left, top))


def _find_changes_in_place(
    earlier: Observation, later: Observation
) -> list[tuple[Element, Element]]:
    """Returns the elements, before and after, whose words differ at the same place."""
    if not (is_complete(earlier) and is_complete(later)) or changed_mask(earlier, later) is None:
        return []
    pairs, come, gone = compare_elements(list(earlier.elements or ()), list(later.elements or ()))
    pairs = [(was, now) for was, now in pairs if _is_same_place(was.box, now.box)]
    for was in gone:
        now = next((e for e in come if e.role == was.role and _is_same_place(e.box, was.box)), None)
        if now is not None:
            pairs.append((was, now))
            come.remove(now)
    return [(was, now) for was, now in pairs if _words(was) != _words(now)]


def _is_same_place(first: BoundingBox, second: BoundingBox) -> bool:
    """Whether two boxes are one place: a text may be longer than the one before it."""
    common = first.intersection(second)
    return (
        common is not None
        and common.area >= 0.6 * min(first.area, second.area)
        and (abs(first.height - second.height) <= 4)
    )


def _words(element: Element) -> str:
    return element.text or element.name


def _letters(element: Element) -> str:
    return "".join(char for char in _words(element) if not char.isdigit())
