"""Text that changed where no element tells what stands there, read off the picture."""

from __future__ import annotations

import asyncio
import difflib
import re
from collections.abc import Callable, Iterable, Iterator

from PIL import Image, ImageDraw, ImageOps

from hisa.plugins.offline.word_list import is_word
from hisa.screen.geometry import BoundingBox, shifted
from hisa.screen.observation import Element, Observation, Screenshot
from hisa.screen.ocr import Line, OcrUnavailable, ReadText, read_text
from hisa.screen.roles import CONTAINERS, LAYOUT
from hisa.state.facts import is_complete
from hisa.state.roi import changed_mask
from hisa.text.prompt_text import excerpt

__all__ = ["picture_text_changes"]

_BARS = frozenset({"menu bar", "page tab list", "scroll bar", "status bar", "tool bar"})
"""Roles whose whole area is not read: icons and borders become letters."""
_DRAWN = frozenset({"canvas", "drawing area", "icon", "image", "animation", "embedded", "video"})
"""Roles whose name does not say what is drawn in them."""
_SURE = 0.6
"""Confidence of a word from which on it is no picture or border read as letters; by hand."""
_LEAST = (16, 8)
"""Width and height in image pixels below which nothing is written."""
_AROUND = (120, 12)
"""Image pixels beside and above a change that are read with it: a word, and room for a line."""
_MOST_LINES = 3
_MOST_PARTS = 4
"""Places that are read at most: each takes a tenth of a second, before and after."""
_CHARS = 60
_WORD = re.compile(r"\w+")


async def picture_text_changes(
    before: Observation, after: Observation, read: ReadText = read_text
) -> tuple[str, ...]:
    """Sentences as those of `hisa.state.changes.describe_changes`, of text without an element.

    Where the elements are not known, the whole change is read. Nothing where it cannot be read.

    Args:
        before: the look before the action.
        after: the look after it.
        read: reads the text on a picture.
    """
    looks, same = (before, after), before.image == after.image
    parts = _parts(looks, mask) if same and (mask := changed_mask(*looks)) else []
    own = frozenset(word for look in looks for word in _own_words(look))
    try:
        old, new = [
            [
                text
                for part in parts
                for line in await asyncio.to_thread(read, _bare(look, part), None)
                if (text := _telling(line, own))
            ]
            for look in looks
        ]
    except OcrUnavailable:
        return ()
    titles = [window.title for window in (*before.windows, *after.windows)]
    come = [text for text in new if not _among(text, (*old, *titles))]
    gone = [text for text in old if not _among(text, (*new, *titles))]
    told = {"New on the screen": come[:_MOST_LINES], "Gone": gone[:_MOST_LINES]}
    return tuple(
        f"{head}: {', '.join(f'picture text “{text}”' for text in texts)}."
        for head, texts in told.items()
        if texts
    )


def _parts(looks: tuple[Observation, Observation], mask: Image.Image) -> list[BoundingBox]:
    """The places to be read, whole, where something changed that no element tells."""
    listed = [box for look in looks for box in _boxes(look, _is_listed)]
    left = _painted(mask.copy(), listed, 0)
    if all(is_complete(look) for look in looks):
        drawn = [box for look in looks for box in (*_boxes(look, _is_drawn), *_bare_windows(look))]
    else:
        first, top, last, bottom = left.getbbox() or (0, 0, 0, 0)
        around = (first - _AROUND[0], top - _AROUND[1], last + _AROUND[0], bottom + _AROUND[1])
        drawn = [BoundingBox(*around)]
    whole = BoundingBox(0, 0, mask.width, mask.height)
    clipped = [part for box in dict.fromkeys(drawn) if (part := box.intersection(whole))]
    return [
        part
        for part in clipped
        if part.width >= _LEAST[0] and part.height >= _LEAST[1]
        if left.crop(_corners(part)).getbbox() is not None
    ][:_MOST_PARTS]


def _corners(box: BoundingBox) -> tuple[int, int, int, int]:
    return int(box.left), int(box.top), int(box.right), int(box.bottom)


def _boxes(look: Observation, wanted: Callable[[Element], bool]) -> list[BoundingBox]:
    """The image-space boxes of some elements."""
    return [look.convert_box(each.box, "image") for each in look.elements or () if wanted(each)]


def _is_listed(element: Element) -> bool:
    """Whether an element tells what stands at its place, or is a bar, which is not read."""
    if element.role in CONTAINERS | LAYOUT | _DRAWN or element.role.startswith("document"):
        return element.role in _BARS
    return bool(element.text or element.name)


def _is_drawn(element: Element) -> bool:
    return element.role in _DRAWN


def _bare_windows(look: Observation) -> Iterator[BoundingBox]:
    """The image-space boxes of windows of which no element tells anything."""
    for window in look.windows:
        titles = (element.window for element in look.elements or () if _is_listed(element))
        if window.box is not None and window.title not in titles:
            yield look.convert_box(window.box, "image")


def _painted(picture: Image.Image, boxes: Iterable[BoundingBox], shade: int) -> Image.Image:
    draw = ImageDraw.Draw(picture)
    for box in boxes:
        draw.rectangle((box.left, box.top, box.right - 1, box.bottom - 1), fill=shade)
    return picture


def _own_words(look: Observation) -> Iterator[str]:
    """The words that the look's elements and windows hold, in lower case."""
    for element in look.elements or ():
        yield from _WORD.findall(f"{element.name} {element.text} {element.label}".casefold())
    for window in look.windows:
        yield from _WORD.findall(window.title.casefold())


def _bare(look: Observation, part: BoundingBox) -> Screenshot:
    """A part of a look, without pointer and elements, and as bright as it can be."""
    picture = look.without_pointer.screenshot
    place = picture.box_on(picture.full, part)
    crop = picture.full.crop(place).pixels.convert("L")
    counts = crop.histogram()
    listed = (picture.box_on(picture.full, box) for box in _boxes(look, _is_listed))
    moved = (shifted(box, -place.left, -place.top) for box in listed)
    crop = _painted(crop, moved, counts.index(max(counts)))
    return Screenshot(ImageOps.autocontrast(crop).convert("RGB"))


def _telling(line: Line, own: frozenset[str]) -> str:
    """The words of a line that are words; empty where there is none."""
    words = [word.text for word in line.words if word.confidence >= _SURE]
    return excerpt(" ".join(word for word in words if is_word(word, own)), _CHARS).replace('"', "'")


def _among(text: str, others: tuple[str, ...]) -> bool:
    return bool(difflib.get_close_matches(text, others, 1, 0.9))
