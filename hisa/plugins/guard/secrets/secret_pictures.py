"""Fills the parts of a picture that show a secret, so that nothing of them is left.

They are found as elements whose text holds a value, as password fields, as what changed where one
was typed, by reading the picture, and as what looks like a part that was found before.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from PIL import Image, ImageChops, ImageDraw

from hisa.plugins.guard.secrets.secret_reading import read_boxes
from hisa.plugins.guard.secrets.secret_sightings import Sighting
from hisa.screen.geometry import BoundingBox, Size, grown, shifted
from hisa.screen.observation import Element, Observation, Screenshot, UnderPointer
from hisa.screen.ocr import Line, OcrUnavailable, read_text
from hisa.screen.roles import PASSWORD
from hisa.text.redact.named_secrets import Scrubber

__all__ = ["FILL", "PictureMask", "all_focused", "focused"]

FILL = (128, 128, 128)
"""Grey, which no theme takes for text or for its background."""
_SIGHTINGS = 60
"""Parts that are looked for again: some a look, for as long as a person would wait for a field to
come back; each costs about a millisecond."""
_PARAGRAPH = 60.0
"""Pixels of height from which on an element is a page or a document, and not a field: only the
words in it that show a value are filled, where they can be read."""
_BAR, _FRAME = 48.0, 12.0
"""Pixels of a title bar's height and of a frame's width, no less than those of any theme."""
_EDGE = 3
"""Pixels around what changed: a field's frame and the caret's."""

ReadAll = Callable[[Screenshot], tuple[Line, ...]]
"""Reads a picture, words that it guesses included."""


def _read_all(picture: Screenshot) -> tuple[Line, ...]:
    return read_text(picture, least=0.0)


@dataclass(frozen=True)
class _Field:
    """A field that a secret was typed into, as it is found again in later looks."""

    role: str
    name: str
    label: str
    app: str

    @classmethod
    def of(cls, element: Element) -> _Field:
        return cls(element.role, element.name, element.label, element.app)


class PictureMask:
    """Fills what shows a secret; knows where secrets were seen and typed in this run.

    Args:
        scrubber: knows the values.
        read: reads a picture.
        unread: called with why, where a picture cannot be read and is filled as a whole.
    """

    def __init__(
        self,
        scrubber: Scrubber,
        *,
        read: ReadAll = _read_all,
        unread: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._scrubber = scrubber
        self._read = read
        self._unread = unread
        self._fields: set[_Field] = set()
        self._sightings: deque[Sighting] = deque(maxlen=_SIGHTINGS)

    def typed(self, before: Observation, after: Observation) -> None:
        """Take note of what came onto the screen where a secret was typed.

        Args:
            before: a look as it is, with nothing filled.
            after: likewise.
        """
        field = focused(after) or focused(before)
        if field is not None:
            self._fields.add(_Field.of(field))
        shown = after.without_pointer.screenshot.pixels
        changed = _changed(before, after, field)
        if changed is not None:
            self._sightings.append(Sighting.of(shown, changed))

    def masked(self, look: Observation) -> Observation:
        """The look with everything filled that shows a secret; takes about a second.

        ``elements`` are those of the machine, with their values.
        """
        plain = look.without_pointer.screenshot.pixels
        try:
            lines = self._read(Screenshot(plain))
        except OcrUnavailable as error:
            self._unread(f"the picture cannot be searched for secrets, and is not shown: {error}")
            return _filled(look, [_whole(plain)])
        read = read_boxes(lines, self._scrubber.values.values())
        told = [*self._of_elements(look, read), *self._of_titles(look)]
        again = [box for seen in self._sightings for box in seen.again(plain)]
        boxes = [_clipped(box, plain) for box in (*read, *told, *again)]
        for box in (_clipped(box, plain) for box in read):
            if box is not None and not any(seen.covers(box) for seen in self._sightings):
                self._sightings.append(Sighting.of(plain, box))
        return _filled(look, [box for box in boxes if box is not None])

    def _of_elements(self, look: Observation, read: Sequence[BoundingBox]) -> list[BoundingBox]:
        boxes = []
        for element in look.elements or ():
            holds = any(map(self._scrubber.named, (element.name, element.text, element.label)))
            known = element.role == PASSWORD or _Field.of(element) in self._fields
            if not holds and not known:
                continue
            box = look.convert_box(element.box, "image")
            if box.height < _PARAGRAPH or not any(box.contains(each.centre) for each in read):
                boxes.append(box)
        return boxes

    def _of_titles(self, look: Observation) -> Iterator[BoundingBox]:
        """Yields the title bars that show a value: above the window, or its own first rows.

        A bar is small, pale text on a picture of its own, which is often not read.
        """
        for window in look.windows:
            if window.box is None or not self._scrubber.named(window.title):
                continue
            box = look.convert_box(window.box, "image")
            yield BoundingBox(box.left - _FRAME, box.top - _BAR, box.right + _FRAME, box.top + _BAR)


def all_focused(look: Observation) -> list[Element]:
    """The elements of the window in front that say that they have the focus."""
    front = look.active.title if look.active else ""
    return [
        element
        for element in look.elements or ()
        if "focused" in element.states and (not front or element.window == front)
    ]


def focused(look: Observation) -> Element | None:
    """The innermost element of the window in front that takes what is typed."""
    found = all_focused(look)
    fields = [element for element in found if "editable" in element.states] or found
    return min(fields, key=lambda element: element.box.area, default=None)


def _changed(before: Observation, after: Observation, field: Element | None) -> BoundingBox | None:
    """The part that is other than before, as far as it lies in the field or the window in front."""
    old, new = (look.without_pointer.screenshot.pixels for look in (before, after))
    window = after.active.box if after.active else None
    place = field.box if field is not None else window
    within = _whole(new)
    if place is not None:
        within = _clipped(after.convert_box(place, "image"), new) or within
    if old.size != new.size:
        return within
    sides = (int(within.left), int(within.top), int(within.right), int(within.bottom))
    found = ImageChops.difference(old.crop(sides), new.crop(sides)).getbbox()
    if found is None:
        return None
    changed = shifted(BoundingBox(*found), within.left, within.top)
    return _clipped(grown(changed, _EDGE), new)


def _whole(picture: Image.Image) -> BoundingBox:
    return BoundingBox(0, 0, picture.width, picture.height)


def _clipped(box: BoundingBox, picture: Image.Image) -> BoundingBox | None:
    """The whole pixels of a picture that a box touches."""
    outward = BoundingBox(
        float(np.floor(box.left)),
        float(np.floor(box.top)),
        float(np.ceil(box.right)),
        float(np.ceil(box.bottom)),
    )
    inside = outward.intersection(_whole(picture))
    return inside if inside is not None and inside.width >= 1 and inside.height >= 1 else None


def _filled(look: Observation, boxes: Sequence[BoundingBox]) -> Observation:
    """The look with boxes filled, and without the full picture, which was not searched."""
    if not boxes and look.screenshot.full is look.screenshot:
        return look
    picture = look.screenshot.pixels.copy()
    _fill(picture, boxes)
    under = look.under_pointer
    if under is not None:
        part = under.picture.pixels.copy()
        _fill(part, [shifted(box, -under.box.left, -under.box.top) for box in boxes])
        under = UnderPointer(under.box, Screenshot(part))
    return replace(look, screenshot=_screenshot(picture), under_pointer=under)


def _screenshot(picture: Image.Image) -> Screenshot:
    return Screenshot.from_rgb(Size(*picture.size), picture.tobytes())


def _fill(picture: Image.Image, boxes: Iterable[BoundingBox]) -> None:
    pen = ImageDraw.Draw(picture)
    for box in boxes:
        pen.rectangle((box.left, box.top, box.right - 1, box.bottom - 1), fill=FILL)
