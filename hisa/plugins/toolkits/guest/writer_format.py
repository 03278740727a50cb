"""Sets how paragraphs, words and styles of a text document look."""

from __future__ import annotations

from typing import Any

from .office_bridge import Desk, changes
from .writer_looks import (
    character,
    describe_character,
    describe_paragraph,
    paragraph,
    put,
)
from .writer_ranges import excerpt, find_style, note_of, places, select_paragraphs

__all__ = ["FUNCTIONS"]

_LISTS = {
    "bullet": "List 1", "number": "Numbering 123", "letter": "Numbering abc",
    "capital": "Numbering ABC", "roman": "Numbering IVX",
}  # fmt: skip


@changes("writer", "Format text")
def format_text(desk: Desk, paragraphs: str, text: str, **options: Any) -> str:
    """Sets the look of characters.

    Args:
        desk: LibreOffice, with the text document in front.
        paragraphs: which ones, as `places` takes them; empty: everywhere.
        text: what to find in them; empty: the whole paragraphs.
        options: what `character` takes; None leaves a property as it is.
    """
    ranges = places(desk, paragraphs, text)
    put(ranges, character(options))
    first = ranges[0]
    look = describe_character(first.Start if first.String == "" else first)
    return f"{note_of(len(ranges), 'place')}; {excerpt(first.String)} is now {look}"


@changes("writer", "Format paragraphs")
def format_paragraphs(desk: Desk, paragraphs: str, **options: Any) -> str:
    """Sets alignment, spacing and indents."""
    picked = select_paragraphs(desk, paragraphs)
    properties = paragraph(options)
    put([element for _, element in picked], properties)
    number, first = picked[0]
    count = note_of(len(picked), "paragraph")
    return f"{count}; paragraph {number} is now {describe_paragraph(first)}"


@changes("writer", "Apply style")
def style(desk: Desk, paragraphs: str, name: str) -> str:
    """Gives paragraphs a style.

    Args:
        desk: LibreOffice, with the text document in front.
        paragraphs: as `select_paragraphs` takes them.
        name: a paragraph style, as `find_style` takes it.
    """
    inner = find_style(desk, "ParagraphStyles", name)
    picked = select_paragraphs(desk, paragraphs)
    put([element for _, element in picked], {"ParaStyleName": inner})
    number, first = picked[0]
    count = note_of(len(picked), "paragraph")
    return f"{count}; {number} {excerpt(first.String)} has the style {first.ParaStyleName}"


@changes("writer", "Change style")
def change_style(desk: Desk, name: str, **options: Any) -> str:
    """Changes how a paragraph style looks, and so all text that has it."""
    styles = desk.document.StyleFamilies.getByName("ParagraphStyles")
    target_style = styles.getByName(find_style(desk, "ParagraphStyles", name))
    put([target_style], character(options) | paragraph(options))
    look = f"{describe_character(target_style)}; {describe_paragraph(target_style)}"
    return f"the style {target_style.Name} is now {look}"


@changes("writer", "Bullets and numbering")
def make_list(desk: Desk, paragraphs: str, kind: str, level: int) -> str:
    """Makes paragraphs a list, or no list.

    Args:
        desk: LibreOffice, with the text document in front.
        paragraphs: as `select_paragraphs` takes them.
        kind: the kind of list, one of `_LISTS`; or "none".
        level: the list level, from 1, the outermost.
    """
    picked = select_paragraphs(desk, paragraphs)
    name = "" if kind == "none" else find_style(desk, "NumberingStyles", _LISTS[kind])
    for _, element in picked:
        element.NumberingStyleName = name
        if name:
            element.NumberingLevel = level - 1
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
