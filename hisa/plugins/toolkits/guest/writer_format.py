"""Sets how paragraphs, words and styles of a text document look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import uno  # type: ignore[import-not-found]

from .office_bridge import Desk, Refused, changes
from .writer_looks import (
    character,
    hundredths,
    paragraph,
    put,
    told_character,
    told_paragraph,
)
from .writer_ranges import chosen, enum, excerpt, note_of, places, style_called

__all__ = ["FUNCTIONS"]

_LISTS = {
    "bullet": "List 1", "number": "Numbering 123", "letter": "Numbering abc",
    "capital": "Numbering ABC", "roman": "Numbering IVX",
}  # fmt: skip


@changes("writer", "Format text")
def format_text(
    desk: Desk, paragraphs: str, text: str, occurrence: int, style: str, **given: Any
) -> str:
    """Sets the look of characters."""
    found = places(desk, paragraphs, text, occurrence=occurrence)
    properties = character(given)
    if style:
        properties = {"CharStyleName": style_called(desk, "CharacterStyles", style), **properties}
    put(found, properties)
    first = found[0]
    said = told_character(first.Start if first.String == "" else first)
    named = f", character style {first.CharStyleName}" if style else ""
    return f"{note_of(len(found), 'place')}; {excerpt(first.String)} is now {said}{named}"


@changes("writer", "Format paragraphs")
def format_paragraphs(desk: Desk, paragraphs: str, **given: Any) -> str:
    """Sets alignment, spacing and indents."""
    picked = chosen(desk, paragraphs)
    properties = paragraph(given)
    put([each for _, each in picked], properties)
    number, first = picked[0]
    before = ", page break before it" if first.BreakType.value == "PAGE_BEFORE" else ""
    count = note_of(len(picked), "paragraph")
    return f"{count}; paragraph {number} is now {told_paragraph(first)}{before}"


@changes("writer", "Apply style")
def style(desk: Desk, paragraphs: str, name: str) -> str:
    """Gives paragraphs a style."""
    inner = style_called(desk, "ParagraphStyles", name)
    picked = chosen(desk, paragraphs)
    put([each for _, each in picked], {"ParaStyleName": inner})
    number, first = picked[0]
    count = note_of(len(picked), "paragraph")
    return f"{count}; {number} {excerpt(first.String)} has the style {first.ParaStyleName}"


_FAMILIES = {
    "paragraph": "ParagraphStyles",
    "character": "CharacterStyles",
    "page": "PageStyles",
    "list": "NumberingStyles",
}


@changes("writer", "Change style")
def change_style(
    desk: Desk, name: str, family: str, parent: str, create: bool, **given: Any
) -> str:
    """Changes how a style looks, and so all that has it; or makes a new one."""
    collection = desk.document.StyleFamilies.getByName(_FAMILIES[family])
    if create:
        if collection.hasByName(name):
            raise Refused(f"there is a style {name!r} already")
        kind = "ParagraphStyle" if family == "paragraph" else "CharacterStyle"
        each = desk.document.createInstance(f"com.sun.star.style.{kind}")
    else:
        each = collection.getByName(style_called(desk, _FAMILIES[family], name))
    if parent:
        each.ParentStyle = style_called(desk, _FAMILIES[family], parent)
    if create:  # complete but for its look: LibreOffice 7.4 may crash if the parent comes later
        collection.insertByName(name, each)
    properties = character(given)
    if family == "paragraph":
        properties |= paragraph(given)
    if properties or not (parent or create):
        put([each], properties)
    look = told_character(each)
    more = f"; {told_paragraph(each)}" if family == "paragraph" else ""
    based = f", based on {each.ParentStyle}" if each.ParentStyle else ""
    return f"the {family} style {each.Name}{based} is now {look}{more}"


@changes("writer", "Bullets and numbering")
def make_list(desk: Desk, paragraphs: str, kind: str, level: int, restart: bool) -> str:
    """Makes paragraphs a list, or no list."""
    picked = chosen(desk, paragraphs)
    name = "" if kind == "none" else style_called(desk, "NumberingStyles", _LISTS[kind])
    for at, (_, each) in enumerate(picked):
        each.NumberingStyleName = name
        if name:
            each.NumberingLevel = level - 1
            if restart and at == 0:
                each.ParaIsNumberingRestart = True
    number, first = picked[0]
    count = note_of(len(picked), "paragraph")
    if not name:
        now = first.NumberingStyleName
        return f"{count}; {number} is in {f'the list {now}' if now else 'no list'}"
    last = picked[-1][1]
    labels = f"{first.ListLabelString or '•'} to {last.ListLabelString or '•'}"
    return f"a list of {count}, {labels}, level {first.NumberingLevel + 1}"


@changes("writer", "Tab stops")
def tab_stops(desk: Desk, paragraphs: str, stops: Sequence[Mapping[str, Any]]) -> str:
    """Sets the tab stops of paragraphs."""
    picked = chosen(desk, paragraphs)
    made = []
    for stop in sorted(stops, key=lambda stop: stop["position_cm"]):
        one = uno.createUnoStruct("com.sun.star.style.TabStop")
        one.Position = hundredths(stop["position_cm"])
        one.Alignment = enum("style.TabAlign", stop["align"].upper())
        one.FillChar = stop["fill"]
        made.append(one)
    for _, each in picked:
        value = uno.Any("[]com.sun.star.style.TabStop", tuple(made))
        uno.invoke(each, "setPropertyValue", ("ParaTabStops", value))
    now = [
        f"{stop.Position / 1000:g} cm {stop.Alignment.value.lower()}"
        for stop in picked[0][1].ParaTabStops
        if stop.Alignment.value != "DEFAULT"
    ]
    return f"{note_of(len(picked), 'paragraph')}; tab stops: {', '.join(now) or 'none'}"


FUNCTIONS = {
    "format_text": format_text,
    "format_paragraphs": format_paragraphs, "style": style,
    "change_style": change_style, "make_list": make_list, "tab_stops": tab_stops,
}  # fmt: skip
