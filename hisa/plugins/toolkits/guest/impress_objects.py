"""Changes what is on slides: text, shapes, pictures and tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import uno  # type: ignore[import-not-found]

from .impress_places import (
    Unrecorded,
    box_of,
    cursor_over,
    cursors,
    fill,
    find_shape,
    number_of,
    place,
    select_slide,
    select_slides,
    shapes,
    slides,
)
from .office_bridge import Desk, Refused, Unchanged, changes
from .writer_looks import (
    character,
    color,
    describe_character,
    describe_paragraph,
    paragraph,
    put,
    shown_color,
)
from .writer_parts import graphic, size_of
from .writer_ranges import excerpt, note_of

__all__ = ["FUNCTIONS"]

_TABLE = "com.sun.star.drawing.TableShape"


def _insert(slide: Any, shape: Any, box: tuple[float, float, float, float]) -> int:
    """Puts an object on a slide; returns its number there."""
    slide.add(shape)
    place(shape, box)
    return int(slide.Count)


@changes("impress", "Write text")
def write(desk: Desk, slide: str, shape: str, text: str) -> str:
    """Replaces the text of a shape.

    Args:
        desk: LibreOffice, with the presentation in front.
        slide: one slide, as `select_slide` takes it.
        shape: its number, name or kind, as `find_shape` takes it.
        text: the whole new text, one paragraph per line.
    """
    target = find_shape(select_slide(desk, slide), shape)
    if not hasattr(target, "String"):
        raise Refused("that shape holds no text")
    if target.String == text:
        return Unchanged(f"{shape} reads {excerpt(text)} already")
    fill(select_slide(desk, slide), shape, text)
    if target.String != text:
        raise Refused("the text does not read back as it was written")
    return (
        f"{shape} of slide {_find_slide_number(desk, slide)} is now {excerpt(target.String, 200)}"
    )


def _find_slide_number(desk: Desk, slide: str) -> int:
    return number_of(desk, select_slide(desk, slide))


@changes("impress", "Insert text box")
def text_box(
    desk: Desk,
    slide: str,
    text: str,
    *,
    left_cm: float,
    top_cm: float,
    width_cm: float,
    height_cm: float,
    size: float | None,
) -> str:
    """Puts a text box on a slide.

    Args:
        desk: LibreOffice, with the presentation in front.
        slide: one slide, as `select_slide` takes it.
        text: the text, one paragraph per line.
        left_cm: distance from the slide's left edge.
        top_cm: distance from the slide's top edge.
        width_cm: the width, more than 0.
        height_cm: the least height; the box grows with its text.
        size: the font's size in points; None: the default.
    """
    target = select_slide(desk, slide)
    shape = desk.document.createInstance("com.sun.star.drawing.TextShape")
    with Unrecorded(desk):
        number = _insert(target, shape, (left_cm, top_cm, width_cm, height_cm))
        shape.TextAutoGrowHeight = True
        shape.String = text
        if size:
            put(cursors(shape, ""), character({"size": size}))
    position = _find_slide_number(desk, slide)
    return f"shape {number} of slide {position}: {excerpt(shape.String)}, {box_of(shape)}"


@changes("impress", "Format text")
def format_text(desk: Desk, slides_: str, shape: str, text: str, **options: Any) -> str:
    """Sets the look of characters: of a shape, of a text in it, or of all text of slides.

    Args:
        desk: LibreOffice, with the presentation in front.
        slides_: one slide or several, as `select_slides` takes them.
        shape: its number, name or kind, as `find_shape` takes it; empty: all that have text.
        text: every place of this text; empty: all of it.
        options: what `character` takes; None leaves a property as it is.
    """
    ranges = []
    for slide in select_slides(desk, slides_):
        targets = (
            [find_shape(slide, shape)]
            if shape
            else [candidate for candidate in shapes(slide) if _has_text(candidate)]
        )
        for target in targets:
            if text and not shape and text not in target.String:
                continue
            ranges += cursors(target, text)
    if not ranges:
        raise Refused(f"no text{f' {text!r}' if text else ''} on these slides")
    put(ranges, character(options))
    count = note_of(len(ranges), "place")
    return f"{count}; {excerpt(ranges[0].String)} is now {describe_character(ranges[0])}"


def _has_text(shape: Any) -> bool:
    empty = getattr(shape, "IsEmptyPresentationObject", False)
    return bool(not empty and hasattr(shape, "createTextCursor") and shape.String)


@changes("impress", "Format paragraphs")
def format_paragraphs(desk: Desk, slides_: str, shape: str, bullets: str, **options: Any) -> str:
    """Sets alignment, spacing and bullets of the paragraphs of a shape.

    Args:
        desk: LibreOffice, with the presentation in front.
        slides_: one slide or several, as `select_slides` takes them.
        shape: its number, name or kind, as `find_shape` takes it, on each of the slides.
        bullets: one of `_NUMBERING`, or "none"; empty: as they are.
        options: what `paragraph` takes; None leaves a property as it is.
    """
    properties = paragraph(options)
    targets = [find_shape(slide, shape) for slide in select_slides(desk, slides_)]
    ranges = [cursor for target in targets for cursor in cursors(target, "")]
    if properties:
        put(ranges, properties)
    for target in targets if bullets else ():
        _mark_all(target, bullets)
    if not (properties or bullets):
        raise Refused("nothing to set was given")
    marks = f", {bullets}" if bullets else ""
    count = note_of(len(targets), "shape")
    return f"{count}; {excerpt(ranges[0].String)} is now {describe_paragraph(ranges[0])}{marks}"


_NUMBERING = {"bullets": 6, "numbers": 4, "letters": 1}
"""Kinds of numbering: a special character, Arabic numerals, small letters."""


def _mark_all(shape: Any, kind: str) -> None:
    """Marks each paragraph by itself: a level that is set over several reaches only one."""
    walk = shape.createEnumeration()
    while walk.hasMoreElements():
        line = walk.nextElement()
        _set_bullets(line, kind)
        level = -1 if line.NumberingLevel is None else line.NumberingLevel
        if (level < 0) != (kind == "none"):
            raise Refused(f"{excerpt(line.String)} is now at level {level} of a list")


def _set_bullets(cursor: Any, kind: str) -> None:
    if kind == "none":
        cursor.NumberingLevel = -1
        return
    rules = cursor.NumberingRules
    level = list(rules.getByIndex(0))
    properties = {
        "NumberingType": _NUMBERING[kind],
        "LeftMargin": 1000,
        "FirstLineOffset": -800,
        "Suffix": "" if kind == "bullets" else ".",
    }
    if kind == "bullets":
        properties["BulletChar"] = "•"
    for entry in level:
        if entry.Name in properties:
            entry.Value = properties.pop(entry.Name)
    value = uno.Any("[]com.sun.star.beans.PropertyValue", tuple(level))
    uno.invoke(rules, "replaceByIndex", (0, value))
    cursor.NumberingRules = rules
    cursor.NumberingLevel = 0


def _paint(shape: Any, fill: str, line: str) -> None:
    """Sets fill and outline of a shape; "none" removes them."""
    for word, kind, part in ((fill, "FillStyle", "Fill"), (line, "LineStyle", "Line")):
        if word:
            number = color(word)
            style = "NONE" if number == -1 else "SOLID"
            setattr(shape, kind, uno.Enum(f"com.sun.star.drawing.{kind}", style))
            if number != -1:
                setattr(shape, f"{part}Color", number)


def _describe_paint(shape: Any) -> str:
    parts = []
    for kind, part in (("FillStyle", "Fill"), ("LineStyle", "Line")):
        if hasattr(shape, kind):
            style = getattr(shape, kind).value
            shade = shown_color(getattr(shape, f"{part}Color"))
            parts.append(f"{part.lower()} {shade if style == 'SOLID' else style.lower()}")
    return ", ".join(parts)


@changes("impress", "Change shape")
def shape_change(
    desk: Desk,
    slide: str,
    shape: str,
    *,
    left_cm: float | None,
    top_cm: float | None,
    width_cm: float | None,
    height_cm: float | None,
    degrees: float | None,
    fill: str,
    line: str,
) -> str:
    """Moves, resizes, turns or colours a shape.

    Args:
        desk: LibreOffice, with the presentation in front.
        slide: one slide, as `select_slide` takes it.
        shape: its number, name or kind, as `find_shape` takes it.
        left_cm: distance from the slide's left edge; None: as it is.
        top_cm: distance from the slide's top edge; None: as it is.
        width_cm: the new width; None: as it is.
        height_cm: the new height; None: as it is.
        degrees: the angle from upright, clockwise; None: as it is.
        fill: a colour, "none" for no fill, or empty: as it is.
        line: the same for the outline.
    """
    target_slide = select_slide(desk, slide)
    target = find_shape(target_slide, shape)
    with Unrecorded(desk):
        place(target, (left_cm, top_cm, width_cm, height_cm))
        if degrees is not None:
            target.RotateAngle = round(-degrees * 100) % 36000
        _paint(target, fill, line)
    turned = f", turned {(36000 - target.RotateAngle) % 36000 / 100:g} degrees"
    at = next(at for at, candidate in enumerate(shapes(target_slide), 1) if candidate == target)
    return f"shape {at} is now {box_of(target)}{turned}, {_describe_paint(target)}"


@changes("impress", "Delete shape")
def shape_delete(desk: Desk, slide: str, shape: str) -> str:
    """Deletes a shape of a slide.

    Args:
        desk: LibreOffice, with the presentation in front.
        slide: one slide, as `select_slide` takes it.
        shape: its number, name or kind, as `find_shape` takes it.
    """
    target = select_slide(desk, slide)
    target.remove(find_shape(target, shape))
    position = _find_slide_number(desk, slide)
    return f"{shape!r} is gone; slide {position} has {note_of(target.Count, 'shape')}"


@changes("impress", "Insert picture")
def image_insert(
    desk: Desk,
    slide: str,
    path: str,
    *,
    left_cm: float | None,
    top_cm: float | None,
    width_cm: float | None,
    height_cm: float | None,
) -> str:
    """Puts the picture of a file on a slide, by default in its middle.

    Args:
        desk: LibreOffice, with the presentation in front.
        slide: one slide, as `select_slide` takes it.
        path: the picture's file, absolute or from the home folder on.
        left_cm: distance from the slide's left edge; None: centred.
        top_cm: distance from the slide's top edge; None: centred.
        width_cm: its width; None: by the height and the picture's proportions.
        height_cm: its height; None: by the width. Without both it has its own size, at most the
            slide's.
    """
    target, picture = select_slide(desk, slide), graphic(desk, path)
    wide, high = size_of(picture, width_cm, height_cm)
    if not (width_cm or height_cm):
        scale = min(1.0, target.Width / wide, target.Height / high)
        wide, high = round(wide * scale), round(high * scale)
    shape = desk.document.createInstance("com.sun.star.drawing.GraphicObjectShape")
    left = (target.Width - wide) / 2000 if left_cm is None else left_cm
    top = (target.Height - high) / 2000 if top_cm is None else top_cm
    with Unrecorded(desk):
        number = _insert(target, shape, (left, top, wide / 1000, high / 1000))
        shape.Graphic = picture
    return (
        f"shape {number} of slide {_find_slide_number(desk, slide)} is the picture, {box_of(shape)}"
    )


@changes("impress", "Insert table")
def table_insert(
    desk: Desk,
    slide: str,
    values: Sequence[Sequence[str]],
    *,
    left_cm: float,
    top_cm: float,
    width_cm: float,
    height_cm: float,
) -> str:
    """Puts a table on a slide.

    Args:
        desk: LibreOffice, with the presentation in front.
        slide: one slide, as `select_slide` takes it.
        values: rows of texts, at least one; rows may differ in length.
        left_cm: distance from the slide's left edge.
        top_cm: distance from the slide's top edge.
        width_cm: the width of the whole table.
        height_cm: the height of the whole table.
    """
    target = select_slide(desk, slide)
    shape = desk.document.createInstance(_TABLE)
    box = (left_cm, top_cm, width_cm, height_cm)
    with Unrecorded(desk):
        number = _insert(target, shape, box)
        model = shape.Model
        _grow(model.Rows, len(values))
        _grow(model.Columns, max(len(row) for row in values))
        place(shape, box)
        _fill(model, values, 0, 0)
    size = f"{note_of(model.RowCount, 'row')}, {note_of(model.ColumnCount, 'column')}"
    position = _find_slide_number(desk, slide)
    return f"shape {number} of slide {position} is a table: {size}, {box_of(shape)}"


def _grow(lines: Any, count: int) -> None:
    if lines.Count < count:
        lines.insertByIndex(lines.Count, count - lines.Count)


def _fill(model: Any, values: Sequence[Sequence[str]], row: int, column: int) -> int:
    """Writes texts into cells, and returns their number."""
    count = 0
    for down, line in enumerate(values):
        for right, text in enumerate(line):
            cell = model.getCellByPosition(column + right, row + down)
            cell.String = text
            if cell.String != text:
                raise Refused(f"row {row + down + 1} does not read back as it was written")
            count += 1
    return count


@changes("impress", "Write table")
def table_write(
    desk: Desk, slide: str, shape: str, row: int, column: int, values: Sequence[Sequence[str]]
) -> str:
    """Writes texts into a table's cells, starting at one; rows are added as needed.

    Args:
        desk: LibreOffice, with the presentation in front.
        slide: one slide, as `select_slide` takes it.
        shape: the table, as `find_shape` takes it; empty: the first of the slide.
        row: the row of the first cell, from 1.
        column: the column of the first cell, from 1; no columns are added.
        values: rows of texts.
    """
    target = select_slide(desk, slide)
    tables = [candidate for candidate in shapes(target) if candidate.ShapeType == _TABLE]
    table = find_shape(target, shape) if shape else tables[0] if tables else None
    if table is None or table.ShapeType != _TABLE:
        raise Refused(
            f"slide {_find_slide_number(desk, slide)} has no table{f' {shape!r}' if shape else ''}"
        )
    model = table.Model
    widest = max(len(line) for line in values)
    if column + widest - 1 > model.ColumnCount:
        raise Refused(f"the table has {note_of(model.ColumnCount, 'column')}")
    with Unrecorded(desk):
        _grow(model.Rows, row + len(values) - 1)
        count = _fill(model, values, row - 1, column - 1)
    return f"{note_of(count, 'cell')} read back as written; {note_of(model.RowCount, 'row')} now"


@changes("impress", "Find and replace")
def replace(desk: Desk, find: str, replacement: str, match_case: bool) -> str:
    """Replaces text on all slides; the text around it keeps its look.

    Args:
        desk: LibreOffice, with the presentation in front.
        find: the text, at least one character.
        replacement: the new text; "" removes the old one.
        match_case: whether case matters.
    """
    pattern = re.compile(re.escape(find), 0 if match_case else re.IGNORECASE)
    count = 0
    for holder in [
        text_holder for slide in slides(desk) for text_holder in _iterate_holders(shapes(slide))
    ]:
        for match in reversed(list(pattern.finditer(holder.String))):
            cursor_over(holder, match.start(), match.end()).String = replacement
            count += 1
    if not count:
        return Unchanged(f"{find!r} is not found; nothing was changed")
    return f"{note_of(count, 'place')} replaced"


def _iterate_holders(objects: Sequence[Any]) -> Iterator[Any]:
    """Yields what holds text: shapes, those in groups, and the cells of tables."""
    for shape in objects:
        if shape.ShapeType == _TABLE:
            model = shape.Model
            for row in range(model.RowCount):
                for column in range(model.ColumnCount):
                    yield model.getCellByPosition(column, row)
        elif shape.ShapeType == "com.sun.star.drawing.GroupShape":
            yield from _iterate_holders(shapes(shape))
        elif _has_text(shape):
            yield shape


FUNCTIONS = {
    "write": write, "text_box": text_box, "format_text": format_text,
    "format_paragraphs": format_paragraphs,
    "shape_change": shape_change, "shape_delete": shape_delete, "image_insert": image_insert,
    "table_insert": table_insert, "table_write": table_write, "replace": replace,
}  # fmt: skip
