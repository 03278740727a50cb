"""Fills the parts of a picture that show a secret.

Five things find them: elements whose text has a value, password fields, what changed while a secret
was typed, reading the picture, and likeness to a part that was found before.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from PIL import Image, ImageChops, ImageDraw

from hisa.plugins.guard.secrets.secret_reading import read_boxes
from hisa.plugins.guard.secrets.secret_sightings import Sighting
from hisa.screen.geometry import BoundingBox, Size, grow_box, shift_box
from hisa.screen.observation import Element, Observation, Screenshot, UnderPointer
from hisa.screen.ocr import Line, OcrUnavailable, read_text
from hisa.screen.roles import PASSWORD
from hisa.text.redact.named_secrets import Scrubber

__all__ = ["FILL", "PictureMask", "find_focused_field", "list_focused"]

FILL = (128, 128, 128)
"""Grey, which no theme takes for text or for its background."""
_SIGHTINGS = 60
"""Parts that are looked for again: the newest, enough for a field that comes back after several
looks; each costs about a millisecond."""
_PARAGRAPH = 60.0
"""Pixels of height above which an element is a page or a document, not a field: if the words in it
that show a value can be read, only these are filled."""
_BAR, _FRAME = 48.0, 12.0
"""Pixels of a title bar's height and of a frame's width, no less than those of any theme."""
_EDGE = 3
"""Pixels around what changed, for the frame of a field and the caret."""

ReadAll = Callable[[Screenshot], tuple[Line, ...]]
"""Reads a picture, including words that it only guesses."""


def _read_all(picture: Screenshot) -> tuple[Line, ...]:
    return read_text(picture, least=0.0)


@dataclass(frozen=True)
class _Field:
    """A field that a secret was typed into, by what identifies it in later looks."""

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
        unread: called with the reason if a picture cannot be read and is filled as a whole.
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

    def note_typed(self, before: Observation, after: Observation) -> None:
        """Remember what appeared on the screen while a secret was typed.

        Args:
            before: a look before that, with nothing filled.
            after: a look after that, with nothing filled.
        """
        field = find_focused_field(after) or find_focused_field(before)
        if field is not None:
            self._fields.add(_Field.of(field))
        shown = after.without_pointer.screenshot.pixels
        changed = _find_change(before, after, field)
        if changed is not None:
            self._sightings.append(Sighting.of(shown, changed))

    def mask_look(self, observation: Observation) -> Observation:
        """Returns the look with everything filled that shows a secret; takes about a second.

        Its elements must be those of the machine, with their values.
        """
        plain = observation.without_pointer.screenshot.pixels
        try:
            lines = self._read(Screenshot(plain))
        except OcrUnavailable as error:
            self._unread(f"the picture cannot be searched for secrets, and is not shown: {error}")
            return _fill_look(observation, [_picture_box(plain)])
        read = read_boxes(lines, self._scrubber.values.values())
        known_boxes = [*self._of_elements(observation, read), *self._of_titles(observation)]
        again = [box for sighting in self._sightings for box in sighting.find_again(plain)]
        boxes = [_clip_box(box, plain) for box in (*read, *known_boxes, *again)]
        for box in (_clip_box(box, plain) for box in read):
            if box is not None and not any(sighting.covers(box) for sighting in self._sightings):
                self._sightings.append(Sighting.of(plain, box))
        return _fill_look(observation, [box for box in boxes if box is not None])

    def _of_elements(
        self, observation: Observation, read: Sequence[BoundingBox]
    ) -> list[BoundingBox]:
        boxes = []
        for element in observation.elements or ():
            holds = any(map(self._scrubber.find_names, (element.name, element.text, element.label)))
            known = element.role == PASSWORD or _Field.of(element) in self._fields
            if not holds and not known:
                continue
            box = observation.convert_box(element.box, "image")
            if box.height < _PARAGRAPH or not any(
                box.contains(word_box.centre) for word_box in read
            ):
                boxes.append(box)
        return boxes

    def _of_titles(self, observation: Observation) -> Iterator[BoundingBox]:
        """Yields the boxes of title bars that show a value: above the window, or its first rows.

        The text of a bar is small and pale on a background of its own, and often cannot be read.
        """
        for window in observation.windows:
            if window.box is None or not self._scrubber.find_names(window.title):
                continue
            box = observation.convert_box(window.box, "image")
            yield BoundingBox(box.left - _FRAME, box.top - _BAR, box.right + _FRAME, box.top + _BAR)


def list_focused(observation: Observation) -> list[Element]:
    """Returns the elements of the window in front that are marked as having the focus."""
    front = observation.active.title if observation.active else ""
    return [
        element
        for element in observation.elements or ()
        if "focused" in element.states and (not front or element.window == front)
    ]


def find_focused_field(observation: Observation) -> Element | None:
    """Returns the innermost element of the window in front that receives typed text."""
    elements = list_focused(observation)
    fields = [element for element in elements if "editable" in element.states] or elements
    return min(fields, key=lambda element: element.box.area, default=None)


def _find_change(
    before: Observation, after: Observation, field: Element | None
) -> BoundingBox | None:
    """The box of what changed in the field, else in the window in front; None if nothing did."""
    old, new = (observation.without_pointer.screenshot.pixels for observation in (before, after))
    window = after.active.box if after.active else None
    place = field.box if field is not None else window
    within = _picture_box(new)
    if place is not None:
        within = _clip_box(after.convert_box(place, "image"), new) or within
    if old.size != new.size:
        return within
    sides = (int(within.left), int(within.top), int(within.right), int(within.bottom))
    difference = ImageChops.difference(old.crop(sides), new.crop(sides)).getbbox()
    if difference is None:
        return None
    changed = shift_box(BoundingBox(*difference), within.left, within.top)
    return _clip_box(grow_box(changed, _EDGE), new)


def _picture_box(picture: Image.Image) -> BoundingBox:
    return BoundingBox(0, 0, picture.width, picture.height)


def _clip_box(box: BoundingBox, picture: Image.Image) -> BoundingBox | None:
    """The box of the whole pixels of a picture that a box touches; None if it touches none."""
    outward = BoundingBox(
        float(np.floor(box.left)),
        float(np.floor(box.top)),
        float(np.ceil(box.right)),
        float(np.ceil(box.bottom)),
    )
    inside = outward.intersection(_picture_box(picture))
    return inside if inside is not None and inside.width >= 1 and inside.height >= 1 else None


def _fill_look(observation: Observation, boxes: Sequence[BoundingBox]) -> Observation:
    """The look with boxes filled, and without its full-size picture, which was not searched."""
    if not boxes and observation.screenshot.full is observation.screenshot:
        return observation
    picture = observation.screenshot.pixels.copy()
    _fill(picture, boxes)
    under = observation.under_pointer
    if under is not None:
        part = under.picture.pixels.copy()
        _fill(part, [shift_box(box, -under.box.left, -under.box.top) for box in boxes])
        under = UnderPointer(under.box, Screenshot(part))
    return replace(observation, screenshot=_screenshot(picture), under_pointer=under)


def _screenshot(picture: Image.Image) -> Screenshot:
    return Screenshot.from_rgb(Size(*picture.size), picture.tobytes())


def _fill(picture: Image.Image, boxes: Iterable[BoundingBox]) -> None:
    pen = ImageDraw.Draw(picture)
    for box in boxes:
        pen.rectangle((box.left, box.top, box.right - 1, box.bottom - 1), fill=FILL)
