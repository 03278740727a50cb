"""Finds slides and their shapes in a presentation, and describes them."""

from __future__ import annotations

import re
from typing import Any

import uno  # type: ignore[import-not-found]

from .office_bridge import Desk, Refused
from .writer_ranges import excerpt, note_of

__all__ = [
    "KINDS",
    "Unrecorded",
    "box_of",
    "cursor_over",
    "cursors",
    "describe_shape",
    "fill",
    "find_shape",
    "number_of",
    "place",
    "select_slide",
    "select_slides",
    "shapes",
    "slides",
]

_NO_NUMBERING = 5
"""com.sun.star.style.NumberingType: neither a bullet nor a number."""
_PART = re.compile(r"(\d+)(?:\s*-\s*(\d+))?")
KINDS = {
    "title": ("TitleTextShape",),
    "subtitle": ("SubtitleShape",),
    "content": ("OutlinerShape", "SubtitleShape"),
    "notes": ("NotesShape",),
}
"""Words for the placeholders of a layout, and the types of shape in them."""


class Unrecorded:
    """Keeps changes out of the undo list that LibreOffice would record only in part.

    A shape that is put on a slide is not a step of the list, but its text and its rows are: undo
    would leave it there, emptied. The answer then says that undo does not take the change back.
    """

    def __init__(self, desk: Desk) -> None:
        self._manager = desk.document.UndoManager

    def __enter__(self) -> None:
        self._manager.lock()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._manager.unlock()


def slides(desk: Desk) -> list[Any]:
    """Returns the slides in order."""
    pages = desk.document.DrawPages
    return [pages.getByIndex(at) for at in range(pages.Count)]


def number_of(desk: Desk, slide: Any) -> int:
    """Returns the number of a slide, from 1."""
    return next(at for at, other in enumerate(slides(desk), 1) if other == slide)


def select_slides(desk: Desk, numbers: str) -> list[Any]:
    """Returns the slides that a text such as "2-4" means.

    Raises:
        Refused: it means no slides.
    """
    every, selection = slides(desk), numbers.strip()
    if selection in ("", "current"):
        return [every[number_of(desk, desk.controller.CurrentPage) - 1]]
    if selection == "all":
        return every
    if selection == "last":
        return every[-1:]
    picked: set[int] = set()
    for part in selection.split(","):
        match = _PART.fullmatch(part.strip())
        if match is None:
            ways = '"3", "2-4", "1,3", "last", "all" or "current"'
            raise Refused(f"{numbers!r} means no slides; expected one of {ways}")
        first, last = int(match[1]), int(match[2] or match[1])
        if not 1 <= first <= last <= len(every):
            raise Refused(f"there is no slide {part.strip()}; there are 1 to {len(every)}")
        picked.update(range(first, last + 1))
    return [every[at - 1] for at in sorted(picked)]


def select_slide(desk: Desk, number: str) -> Any:
    """Returns the one slide that a text means; the one in front if the text is empty."""
    matches = select_slides(desk, number)
    if len(matches) != 1:
        raise Refused(f"{number!r} means {len(matches)} slides; give one")
    return matches[0]


def shapes(slide: Any) -> list[Any]:
    """Returns the shapes of a slide, the lowest first."""
    return [slide.getByIndex(at) for at in range(slide.Count)]


def find_shape(slide: Any, name: str) -> Any:
    """Returns a shape of a slide: by number, by name, or as "title", "subtitle" or "content".

    Raises:
        Refused: there is none; the text names the shapes that there are.
    """
    every, key = shapes(slide), name.strip()
    if key.isdigit() and 1 <= int(key) <= len(every):
        return every[int(key) - 1]
    for shape in every:
        if shape.Name == key and key:
            return shape
    for kind in KINDS.get(key.lower(), ()):
        for shape in every:
            if shape.ShapeType == f"com.sun.star.presentation.{kind}":
                return shape
    labels = (
        "; ".join(f"{at}: {_label_shape(shape)}" for at, shape in enumerate(every, 1)) or "nothing"
    )
    raise Refused(f"there is no shape {name!r} on that slide; it has {labels}")


def _label_shape(shape: Any) -> str:
    kind = str(shape.ShapeType).rsplit(".", 1)[-1]
    word = next((word for word, names in KINDS.items() if kind in names), kind)
    return f"{word}{f' {shape.Name!r}' if shape.Name else ''}"


def box_of(shape: Any) -> str:
    """Returns place and size of a shape in words."""
    at, size = shape.Position, shape.Size
    place_ = f"{at.X / 1000:.2f}, {at.Y / 1000:.2f}"
    return f"at {place_} cm, {size.Width / 1000:.2f} x {size.Height / 1000:.2f} cm"


def describe_shape(number: int, shape: Any) -> str:
    """Returns one line about a shape."""
    text = (
        getattr(shape, "String", "") if not getattr(shape, "IsEmptyPresentationObject", 0) else ""
    )
    if shape.ShapeType == "com.sun.star.drawing.TableShape":
        model = shape.Model
        size = f"{note_of(model.RowCount, 'row')}, {note_of(model.ColumnCount, 'column')}"
        return f"{number} {_label_shape(shape)}: {size}, {box_of(shape)}"
    summary = excerpt(text, 200) if text else "empty"
    return f"{number} {_label_shape(shape)}: {summary}, {box_of(shape)}"


def place(shape: Any, box: tuple[float | None, float | None, float | None, float | None]) -> None:
    """Moves and resizes a shape: left, top, width, height in centimetres; None leaves one."""
    left, top, width, height = (None if value is None else round(value * 1000) for value in box)
    if width is not None or height is not None:
        size = uno.createUnoStruct("com.sun.star.awt.Size")
        size.Width = shape.Size.Width if width is None else width
        size.Height = shape.Size.Height if height is None else height
        shape.Size = size
    if left is not None or top is not None:
        at = uno.createUnoStruct("com.sun.star.awt.Point")
        at.X = shape.Position.X if left is None else left
        at.Y = shape.Position.Y if top is None else top
        shape.Position = at


def fill(slide: Any, name: str, text: str) -> None:
    """Writes the text of a shape; an empty outline becomes the list that its placeholder shows.

    Args:
        slide: the slide, as UNO gives it.
        name: the shape, as `find_shape` takes it.
        text: the whole new text, one paragraph per line.
    """
    shape = find_shape(slide, name)
    empty = getattr(shape, "IsEmptyPresentationObject", False)
    shape.String = text
    if not empty or shape.ShapeType != "com.sun.star.presentation.OutlinerShape":
        return
    walk = shape.createEnumeration()
    while walk.hasMoreElements():
        line = walk.nextElement()
        level = {entry.Name: entry.Value for entry in line.NumberingRules.getByIndex(0)}
        if level["NumberingType"] != _NO_NUMBERING:
            line.NumberingLevel = 0


def cursors(shape: Any, text: str) -> list[Any]:
    """Returns a cursor over each place of a text in a shape; over all of it if the text is empty.

    Raises:
        Refused: the shape has no such text.
    """
    if not hasattr(shape, "createTextCursor"):
        raise Refused("that shape holds no text")
    full_text = shape.String
    if not text:
        cursor = shape.createTextCursor()
        cursor.gotoStart(False)
        cursor.gotoEnd(True)
        return [cursor]
    matches = re.finditer(re.escape(text), full_text)
    ranges = [cursor_over(shape, match.start(), match.end()) for match in matches]
    if not ranges:
        raise Refused(f"{text!r} is not in {excerpt(full_text)}")
    return ranges


def cursor_over(holder: Any, start: int, end: int) -> Any:
    """Returns a cursor over some characters of a shape or a cell.

    Args:
        holder: a shape or a cell of a table, as UNO gives it.
        start: the first character, from 0.
        end: the character after the last one.
    """
    full_text = holder.String
    cursor = holder.createTextCursor()
    cursor.gotoStart(False)
    cursor.goRight(_count_units(full_text[:start]), False)
    cursor.goRight(_count_units(full_text[start:end]), True)
    return cursor


def _count_units(text: str) -> int:
    """Returns the length of a text as LibreOffice counts: in units of UTF-16."""
    return len(text.encode("utf-16-le")) // 2
