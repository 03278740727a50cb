"""Finds paragraphs by number, and text by its words, in a text document."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from typing import Any

import uno  # type: ignore[import-not-found]

from .office_bridge import Desk, Refused

__all__ = [
    "PARAGRAPH_BREAK",
    "body",
    "elements",
    "enum",
    "excerpt",
    "find_member",
    "find_style",
    "is_table",
    "new_paragraph",
    "note_of",
    "place_of_its_own",
    "places",
    "select_paragraphs",
]

PARAGRAPH_BREAK = 0
_PART = re.compile(r"(\d+)(?:\s*-\s*(\d+))?")
_WAYS = '"3", "2-5", "1,4-6", "last", "all" or "style:Heading 1"'


def body(document: Any) -> list[Any]:
    """Returns the paragraphs of the body text, without those in tables, notes and headers."""
    return [element for element in elements(document) if not is_table(element)]


def elements(document: Any) -> Iterator[Any]:
    """Yields the paragraphs and tables of the body text, in order."""
    walk = document.Text.createEnumeration()
    while walk.hasMoreElements():
        yield walk.nextElement()


def is_table(element: Any) -> bool:
    """Whether an element of the text is a table."""
    return bool(element.supportsService("com.sun.star.text.TextTable"))


def select_paragraphs(desk: Desk, numbers: str) -> list[tuple[int, Any]]:
    """Returns the paragraphs that a text such as "2-5" means, with their numbers.

    Raises:
        Refused: it means no paragraphs.
    """
    every = list(enumerate(body(desk.document), 1))
    selection = numbers.strip()
    if selection == "all":
        return every
    if selection == "last":
        return every[-1:]
    if selection.startswith("style:"):
        name = find_style(desk, "ParagraphStyles", selection[6:])
        matches = [(at, paragraph) for at, paragraph in every if paragraph.ParaStyleName == name]
        if not matches:
            raise Refused(f"no paragraph has the style {selection[6:].strip()!r}")
        return matches
    picked = sorted(_parse_numbers(selection, len(every)))
    return [every[number - 1] for number in picked]


def _parse_numbers(selection: str, count: int) -> set[int]:
    picked: set[int] = set()
    for part in selection.split(","):
        match = _PART.fullmatch(part.strip())
        if match is None:
            raise Refused(f"{selection!r} means no paragraphs; try {_WAYS}")
        first, last = int(match[1]), int(match[2] or match[1])
        if not 1 <= first <= last <= count:
            raise Refused(f"there is no paragraph {part.strip()}; the text has 1 to {count}")
        picked.update(range(first, last + 1))
    return picked


def places(desk: Desk, paragraphs: str, text: str, *, regex: bool = False) -> list[Any]:
    """Returns the ranges that a call is about.

    Args:
        desk: with the document.
        paragraphs: as for `select_paragraphs`; empty: everywhere, tables included.
        text: what to find in them; empty: the whole paragraphs.
        regex: whether the text is a regular expression.

    Raises:
        Refused: nothing fits.
    """
    if not paragraphs and not text:
        raise Refused("name paragraphs or text")
    if not text:
        ranges = [
            _cover_paragraph(paragraph) for _, paragraph in select_paragraphs(desk, paragraphs)
        ]
    else:
        ranges = list(_find_text(desk, text, regex=regex))
        if paragraphs:
            inside = [paragraph for _, paragraph in select_paragraphs(desk, paragraphs)]
            ranges = [
                place for place in ranges if any(_holds(paragraph, place) for paragraph in inside)
            ]
        if not ranges:
            raise Refused(f"{text!r} is not found{' there' if paragraphs else ''}")
    return ranges


def _cover_paragraph(paragraph: Any) -> Any:
    """Returns a cursor over a paragraph, which sets what a person's selection would set."""
    if not paragraph.String:
        return paragraph
    cursor = paragraph.Text.createTextCursorByRange(paragraph.Start)
    cursor.gotoRange(paragraph.End, True)
    return cursor


def _find_text(desk: Desk, text: str, *, regex: bool) -> Iterator[Any]:
    search = desk.document.createSearchDescriptor()
    search.SearchString = text
    search.SearchRegularExpression = regex
    search.SearchCaseSensitive = True
    all_ = desk.document.findAll(search)
    for at in range(all_.Count):
        yield all_.getByIndex(at)


def _holds(paragraph: Any, place: Any) -> bool:
    text = paragraph.Text
    if place.Text != text:
        return False
    after = text.compareRegionStarts(paragraph.Start, place.Start) >= 0
    return bool(after and text.compareRegionStarts(place.End, paragraph.End) >= 0)


def new_paragraph(desk: Desk, before: int) -> Any:
    """Returns a cursor in an empty paragraph; a new one, unless the text ends with an empty one.

    Args:
        desk: with the document.
        before: number of the paragraph that follows it; 0: at the end of the text.

    Raises:
        Refused: there is no such paragraph.
    """
    text = desk.document.Text
    if before:
        ((_, paragraph),) = select_paragraphs(desk, str(before))
        cursor = text.createTextCursorByRange(paragraph.Start)
        text.insertControlCharacter(cursor, PARAGRAPH_BREAK, False)
        cursor.gotoPreviousParagraph(False)
        return cursor
    cursor = text.createTextCursorByRange(text.End)
    if body(desk.document)[-1].String:
        text.insertControlCharacter(cursor, PARAGRAPH_BREAK, False)
    return cursor


def place_of_its_own(desk: Desk, before: int) -> Any:
    """Returns a cursor for a table or the like: before a paragraph, or in an empty last one."""
    if before:
        ((_, paragraph),) = select_paragraphs(desk, str(before))
        return desk.document.Text.createTextCursorByRange(paragraph.Start)
    cursor = new_paragraph(desk, 0)
    cursor.ParaStyleName = "Standard"
    return cursor


def find_style(desk: Desk, family: str, name: str) -> str:
    """Returns the internal name of a style, from that or from the name that menus show.

    Args:
        desk: LibreOffice, with the text document in front.
        family: the kind of style, as "ParagraphStyles".
        name: the internal name or the one that menus show; case does not matter.

    Raises:
        Refused: there is none; the text names the most similar ones.
    """
    styles = desk.document.StyleFamilies.getByName(family)
    key = name.strip().lower()
    shown = {}
    for inner in styles.ElementNames:
        shown[inner.lower()] = inner
    for inner in styles.ElementNames:
        shown.setdefault(styles.getByName(inner).DisplayName.lower(), inner)
    if key in shown:
        return str(shown[key])
    near = difflib.get_close_matches(key, shown, n=8, cutoff=0.4) or sorted(shown)[:12]
    raise Refused(f"there is no style {name!r}; there are {', '.join(near)}")


def find_member(collection: Any, name: str, noun: str) -> Any:
    """Returns an object of a collection by its name or its number from 1.

    Args:
        collection: a UNO collection with names.
        name: a name, or a number from 1.
        noun: what an error calls a member, such as "table".

    Raises:
        Refused: there is none; the text names those that there are.
    """
    names = list(collection.ElementNames)
    if name.isdigit() and 1 <= int(name) <= len(names):
        return collection.getByName(names[int(name) - 1])
    if name not in names:
        raise Refused(f"there is no {noun} {name!r}; there are {', '.join(names) or 'none'}")
    return collection.getByName(name)


def excerpt(text: str, most: int = 60) -> str:
    """Returns the beginning of a text in quotation marks, on one line."""
    line = " ".join(text.split())
    return f"“{line if len(line) <= most else line[: most - 1] + '…'}”"


def note_of(count: int, noun: str) -> str:
    """Returns a number with its noun: "1 place", "2 places"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def enum(kind: str, value: str) -> Any:
    """Returns a value of an enumeration of ``com.sun.star``."""
    return uno.Enum(f"com.sun.star.{kind}", value)
