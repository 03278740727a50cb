"""Reads and changes the words of a text document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .office_bridge import Desk, Refused, Unchanged, changes, looks
from .writer_ranges import (
    PARAGRAPH_BREAK,
    body,
    elements,
    excerpt,
    find_style,
    is_table,
    new_paragraph,
    note_of,
    places,
    select_paragraphs,
)

__all__ = ["FUNCTIONS", "size_of"]

_LISTED = 60
"""Headings, pictures and the like that an overview lists."""


@looks("writer")
def overview(desk: Desk) -> str:
    """Lists what the document consists of."""
    document = desk.document
    pages = desk.controller.PageCount
    words = document.WordCount
    where = document.URL or "not saved yet"
    state = "has unsaved changes" if document.isModified() else "has no unsaved changes"
    lines = [
        f"“{document.Title}”: {note_of(pages, 'page')}, {note_of(words, 'word')}, "
        f"{note_of(len(body(document)), 'paragraph')}; {where}; {state}",
        f"the cursor is on page {desk.controller.ViewCursor.Page}, page style "
        f"{desk.controller.ViewCursor.PageStyleName}",
    ]
    lines += [
        f"heading, level {level}, paragraph {at}: {text}"
        for at, level, text in _list_headings(document)
    ]
    lines += [f"table {name}: {size_of(table)}" for name, table in _list_named(document.TextTables)]
    lines += [
        f"picture {name}: {picture.Width / 1000:.2f} x {picture.Height / 1000:.2f} cm"
        for name, picture in _list_named(document.GraphicObjects)
    ]
    lines += [
        f"comment, {field.Author}: {excerpt(field.Content)}"
        for field in _iterate_members(document.TextFields)
        if field.supportsService("com.sun.star.text.textfield.Annotation")
    ]
    notes = document.Footnotes.Count, document.Endnotes.Count
    lines += [f"{note_of(notes[0], 'footnote')}, {note_of(notes[1], 'endnote')}"] * any(notes)
    changed = len(list(_iterate_members(document.Redlines)))
    recording = "changes are being tracked" if document.RecordChanges else ""
    lines += [f"{note_of(changed, 'tracked change')}; {recording}"] * bool(changed or recording)
    return "\n".join(lines)


def size_of(table: Any) -> str:
    """Returns the rows and columns of a table in words."""
    return f"{note_of(table.Rows.Count, 'row')}, {note_of(table.Columns.Count, 'column')}"


def _list_named(collection: Any) -> Iterator[tuple[str, Any]]:
    for name in collection.ElementNames[:_LISTED]:
        yield name, collection.getByName(name)


def _list_headings(document: Any) -> list[tuple[int, int, str]]:
    headings = [
        (at, paragraph.OutlineLevel, excerpt(paragraph.String))
        for at, paragraph in enumerate(body(document), 1)
        if paragraph.OutlineLevel
    ]
    return headings[:_LISTED]


def _iterate_members(collection: Any) -> Iterator[Any]:
    walk = collection.createEnumeration()
    while walk.hasMoreElements():
        yield walk.nextElement()


@looks("writer")
def read(desk: Desk, paragraphs: str) -> str:
    """Returns paragraphs with their numbers, styles and texts, and the tables between them."""
    numbers = {number for number, _ in select_paragraphs(desk, paragraphs)}
    lines, number = [], 0
    for element in elements(desk.document):
        if is_table(element):
            if number in numbers or number + 1 in numbers:
                lines.append(f"[table {element.Name}: {size_of(element)}]")
            continue
        number += 1
        if number in numbers:
            lines.append(f"{number} [{_marks(element)}] {element.String}")
    return "\n".join(lines)


def _marks(paragraph: Any) -> str:
    listed = paragraph.ListLabelString if paragraph.NumberingIsNumber else ""
    mark = f"; list {listed or '•'}" if paragraph.NumberingStyleName else ""
    return f"{paragraph.ParaStyleName}{mark}"


@changes("writer", "Insert text")
def insert(desk: Desk, text: str, before: int, style: str) -> str:
    """Inserts paragraphs before another, or at the end.

    Args:
        desk: LibreOffice, with the text document in front.
        text: the text, one paragraph per line.
        before: number of the paragraph that they stand before; 0: at the end.
        style: the new paragraphs' style; empty: that of their neighbour, unless it is a heading.
    """
    name = find_style(desk, "ParagraphStyles", style) if style else ""
    lines = text.split("\n")
    cursor = new_paragraph(desk, before)
    if not name and cursor.OutlineLevel:
        name = "Standard"  # text beside a heading is seldom a heading
    first = before or len(body(desk.document))
    for at, line in enumerate(lines):
        if at:
            cursor.Text.insertControlCharacter(cursor, PARAGRAPH_BREAK, False)
        cursor.Text.insertString(cursor, line, False)
        if name:
            cursor.ParaStyleName = name
    now = body(desk.document)[first - 1 : first - 1 + len(lines)]
    if [paragraph.String for paragraph in now] != lines:
        raise Refused("the text does not read back as it was written")
    span = f"s {first} to {first + len(lines) - 1}" if len(lines) > 1 else f" {first}"
    return f"paragraph{span}: {excerpt(now[0].String)}, style {now[0].ParaStyleName}"


@changes("writer", "Write text")
def write(desk: Desk, paragraphs: str, text: str) -> str:
    """Replaces the text of one paragraph; its style and look stay.

    Args:
        desk: LibreOffice, with the text document in front.
        paragraphs: one paragraph, as `select_paragraphs` takes it.
        text: the whole new text, on one line.
    """
    picked = select_paragraphs(desk, paragraphs)
    if len(picked) != 1:
        raise Refused(f"{paragraphs!r} means {len(picked)} paragraphs; give one")
    number, paragraph = picked[0]
    if "\n" in text:
        raise Refused("the text has several lines; insert makes several paragraphs")
    if paragraph.String == text:
        return Unchanged(f"paragraph {number} has that text already")
    paragraph.String = text
    return f"paragraph {number} is now {excerpt(body(desk.document)[number - 1].String)}"


@changes("writer", "Delete text")
def delete(desk: Desk, paragraphs: str) -> str:
    """Deletes paragraphs."""
    picked = select_paragraphs(desk, paragraphs)
    before = len(body(desk.document))
    for _, paragraph in reversed(picked):
        if len(body(desk.document)) == 1:
            paragraph.String = ""
        else:
            paragraph.dispose()
    after = len(body(desk.document))
    return f"{note_of(len(picked), 'paragraph')} deleted; {after} of {before} are left"


@changes("writer", "Find and replace")
def replace(desk: Desk, find: str, replacement: str, regex: bool, match_case: bool) -> str:
    """Replaces text everywhere: in tables, notes, headers and footers too.

    Args:
        desk: LibreOffice, with the text document in front.
        find: the text, or a regular expression of LibreOffice's.
        replacement: the new text; of a regular expression, with $1 for a group.
        regex: whether `find` is a regular expression.
        match_case: whether case matters.
    """
    search = desk.document.createReplaceDescriptor()
    search.SearchString, search.ReplaceString = find, replacement
    search.SearchRegularExpression = regex
    search.SearchCaseSensitive = match_case
    if not desk.document.findFirst(search):
        return Unchanged(f"{find!r} is not found; nothing was changed")
    count = desk.document.replaceAll(search)
    left = desk.document.findAll(search).Count
    rest = f"; {note_of(left, 'place')} still match, since the replacement does" if left else ""
    return f"{note_of(count, 'place')} replaced{rest}"


@looks("writer")
def find(desk: Desk, text: str, regex: bool) -> str:
    """Lists the places of a text.

    Args:
        desk: LibreOffice, with the text document in front.
        text: what to search for; case matters.
        regex: whether the text is a regular expression of LibreOffice's.
    """
    ranges = places(desk, "", text, regex=regex)
    every = list(enumerate(body(desk.document), 1))
    lines = [f"{note_of(len(ranges), 'place')}"]
    for place in ranges[:_LISTED]:
        around = excerpt(_around(place), 100)
        lines.append(f"{_number(desk, every, place)}: {around}")
    return "\n".join(lines)


def _around(place: Any) -> str:
    cursor = place.Text.createTextCursorByRange(place)
    cursor.gotoStartOfParagraph(False)
    cursor.gotoEndOfParagraph(True)
    return str(cursor.String)


def _number(desk: Desk, every: list[tuple[int, Any]], place: Any) -> str:
    text = desk.document.Text
    if place.Text != text:
        cell = getattr(place, "Cell", None)
        return f"table cell {cell.CellName}" if cell is not None else "not in the text itself"
    for number, paragraph in every:
        if text.compareRegionStarts(place.Start, paragraph.End) >= 0:
            return f"paragraph {number}"
    return "in the text"


_CASES = {
    "upper": ".uno:ChangeCaseToUpper",
    "lower": ".uno:ChangeCaseToLower",
    "title": ".uno:ChangeCaseToTitleCase",
    "sentence": ".uno:ChangeCaseToSentenceCase",
}


@changes("writer", "Change case")
def change_case(desk: Desk, to: str, paragraphs: str, text: str) -> str:
    """Writes text in capital or small letters, by the menu's command: each part keeps its look.

    Args:
        desk: LibreOffice, with the text document in front.
        to: the case to write it in, one of `_CASES`.
        paragraphs: which ones, as `places` takes them; empty: everywhere.
        text: what to find in them; empty: the whole paragraphs.
    """
    ranges = places(desk, paragraphs, text)
    before = [place.String for place in ranges]
    for place in ranges:
        desk.controller.select(place)
        desk.dispatch(_CASES[to])
    cursor = desk.controller.ViewCursor
    now = cursor.String
    cursor.collapseToEnd()
    if now == before[-1]:
        return Unchanged(f"{excerpt(now)} is already in that case")
    return f"{note_of(len(ranges), 'place')} in {to} case; the last is now {excerpt(now)}"


FUNCTIONS = {
    "overview": overview, "read": read, "insert": insert, "write": write, "delete": delete,
    "replace": replace, "find": find, "change_case": change_case,
}  # fmt: skip
