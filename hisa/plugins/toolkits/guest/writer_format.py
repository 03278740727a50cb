"""Sets how paragraphs, words and styles of a text document look."""

from __future__ import annotations

from typing import Any

from .office_bridge import Desk, changes
from .writer_looks import (
    character,
    paragraph,
    put,
    told_character,
    told_paragraph,
)
from .writer_ranges import chosen, excerpt, note_of, places, style_called

__all__ = ["FUNCTIONS"]

_LISTS = {
    "bullet": "List 1", "number": "Numbering 123", "letter": "Numbering abc",
    "capital": "Numbering ABC", "roman": "Numbering IVX",
}  # fmt: skip


@changes("writer", "Format text")
def format_text(desk: Desk, paragraphs: str, text: str, **given: Any) -> str:
    """Sets the look of characters."""
    found = places(desk, paragraphs, text)
    put(found, character(given))
    first = found[0]
    said = told_character(first.Start if first.String == "" else first)
    return f"{note_of(len(found), 'place')}; {excerpt(first.String)} is now {said}"


@changes("writer", "Format paragraphs")
def format_paragraphs(desk: Desk, paragraphs: str, **given: Any) -> str:
    """Sets alignment, spacing and indents."""
    picked = chosen(desk, paragraphs)
    properties = paragraph(given)
    put([each for _, each in picked], properties)
    number, first = picked[0]
    count = note_of(len(picked), "paragraph")
    return f"{count}; paragraph {number} is now {told_paragraph(first)}"


@changes("writer", "Apply style")
def style(desk: Desk, paragraphs: str, name: str) -> str:
    """Gives paragraphs a style."""
    inner = style_called(desk, "ParagraphStyles", name)
    picked = chosen(desk, paragraphs)
    put([each for _, each in picked], {"ParaStyleName": inner})
    number, first = picked[0]
    count = note_of(len(picked), "paragraph")
    return f"{count}; {number} {excerpt(first.String)} has the style {first.ParaStyleName}"


@changes("writer", "Change style")
def change_style(desk: Desk, name: str, **given: Any) -> str:
    """Changes how a paragraph style looks, and so all that has it."""
    styles = desk.document.StyleFamilies.getByName("ParagraphStyles")
    each = styles.getByName(style_called(desk, "ParagraphStyles", name))
    put([each], character(given) | paragraph(given))
    return f"the style {each.Name} is now {told_character(each)}; {told_paragraph(each)}"


@changes("writer", "Bullets and numbering")
def make_list(desk: Desk, paragraphs: str, kind: str, level: int) -> str:
    """Makes paragraphs a list, or no list."""
    picked = chosen(desk, paragraphs)
    name = "" if kind == "none" else style_called(desk, "NumberingStyles", _LISTS[kind])
    for _, each in picked:
        each.NumberingStyleName = name
        if name:
            each.NumberingLevel = level - 1
    number, first = picked[0]
    count = note_of(len(picked), "paragraph")
    if not name:
        now = first.NumberingStyleName
        return f"{count}; {number} is in {f'the list {now}' if now else 'no list'}"
    last = picked[-1][1]
    labels = f"{first.ListLabelString or '•'} to {last.ListLabelString or '•'}"
    return f"a list of {count}, {labels}, level {first.NumberingLevel + 1}"


FUNCTIONS = {
    "format_text": format_text,
    "format_paragraphs": format_paragraphs, "style": style,
    "change_style": change_style, "make_list": make_list,
}  # fmt: skip
