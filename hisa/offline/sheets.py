"""Spreadsheet words: addresses, sheets, filling, colours, each in clicks and keys of Calc."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hisa.offline.records import Click, Drag, GoTo, Instruction, Press, Target

__all__ = [
    "EDIT",
    "cells_of",
    "colour",
    "fill",
    "is_cell",
    "is_input_line",
    "is_new_sheet",
    "is_sheet",
    "new_sheet",
    "read_range",
    "select",
]

EDIT = Press(("f2",))
"""Put the cursor into the input line."""
_ADDRESS = r"\$?[A-Z]{1,3}\$?[1-9][0-9]{0,6}"
_CELL = re.compile(_ADDRESS)
_TO = r"\s*(?::|to|through|until|-|–)\s*"
_RANGE = re.compile(rf"(?:from\s+)?({_ADDRESS}){_TO}({_ADDRESS})", re.I)
_COLUMNS = re.compile(
    r"(?:(?:all|the|whole|entire)\s+)*columns?\s+(?:from\s+)?(?:column\s+)?([A-Z]{1,3})"
    rf"(?:{_TO}(?:column\s+)?([A-Z]{{1,3}}))?",
    re.I,
)
_ROWS = re.compile(
    rf"(?:(?:all|the|whole|entire)\s+)*rows?\s+(?:from\s+)?(\d{{1,7}})(?:{_TO}(\d{{1,7}}))?", re.I
)
_NOUN = re.compile(r"(?:the\s+)?(?:cells?|range|entry|entries)\s+", re.I)
_INPUT_LINE = re.compile(
    r"(?:the\s+)?(?:formula\s+)?(?:input line|formula bar|input bar)(?:\s+(?:on|at|in)\s.*)?", re.I
)
_SHEET = re.compile(r"Sheet ?\d{1,3}", re.I)
_NEW_SHEET = re.compile(
    r"(?:(?:add|append|create|insert)\s+(?:(?:a|the)\s+)?(?:new\s+)?|new\s+)(?:work)?sheet", re.I
)
_MOST_CELLS = 200


def is_cell(text: str) -> bool:
    """Whether the text is a cell's address, such as B2 or $B$2."""
    return _CELL.fullmatch(text) is not None


def is_input_line(text: str) -> bool:
    """Whether a phrase means the line above the sheet in which a cell is edited."""
    return _INPUT_LINE.fullmatch(text.strip()) is not None


def is_sheet(text: str) -> bool:
    """Whether the text is a sheet's usual name, such as Sheet2."""
    return _SHEET.fullmatch(text.strip()) is not None


def is_new_sheet(text: str) -> bool:
    """Whether a name is that of the button that makes a sheet: "Add New Sheet"."""
    return _NEW_SHEET.fullmatch(text.strip()) is not None


def read_range(text: str) -> str | None:
    """Cells as ``A1``, ``A1:B3``, ``A:C`` or ``2:5``; several parts joined by ``~``; else None."""
    text = re.sub(r"\s+again$", "", text.strip(), flags=re.I)
    if lines := _COLUMNS.fullmatch(text) or _ROWS.fullmatch(text):
        return f"{lines[1]}:{lines[2] or lines[1]}".upper()
    bare = _NOUN.sub("", text, count=1)
    parts = [_range(part) for part in re.split(r"\s*(?:,|;|\band\b)\s*", bare)]
    if any(part is None for part in parts):
        return None
    known = "~".join(filter(None, parts))
    written = bare != text or len(parts) > 1 or ":" in known or is_cell(bare)
    return known if written else None


def _range(text: str) -> str | None:
    if found := _RANGE.fullmatch(text):
        return f"{found[1]}:{found[2]}".upper().replace("$", "")
    return text.upper().replace("$", "") if is_cell(text.upper()) else None


def cells_of(text: str) -> Sequence[str]:
    """Every cell of a list or range of cells, row by row; empty for anything else."""
    found: list[str] = []
    for part in (read_range(f"cells {text}") or "").split("~"):
        first, last = _place(part.partition(":")[0]), _place(part.rpartition(":")[2])
        if first is None or last is None:
            return ()
        (left, top), (right, bottom) = first, last
        if (right - left + 1) * (bottom - top + 1) > _MOST_CELLS:
            return ()
        found += [
            f"{_column(x)}{y}" for y in range(top, bottom + 1) for x in range(left, right + 1)
        ]
    return found


def _place(cell: str) -> tuple[int, int] | None:
    """Column and row, from 1; None for what is no cell."""
    if not is_cell(cell):
        return None
    letters = cell.rstrip("0123456789")
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number, int(cell[len(letters) :])


def _column(number: int) -> str:
    letters = ""
    while number:
        number, digit = divmod(number - 1, 26)
        letters = chr(ord("A") + digit) + letters
    return letters


def select(cells: str) -> Sequence[Instruction]:
    """Select cells; the name box takes one range, so that further ones are added by the mouse."""
    first, *others = cells.split("~")
    ends = (part.split(":") for part in others)
    added = (Drag(Target(end[0], "cell"), Target(end[-1], "cell"), "ctrl") for end in ends)
    return (Click(Target(first, "cell")) if is_cell(first) else GoTo(first), *added)


def fill(first: str, last: str) -> Sequence[Instruction]:
    """Fill from one cell to another of its row or column, as dragging its corner does.

    ``last`` may be a column ("G") or a row ("12"). Filling copies: a formula moves with its
    cells, and a number is not counted on. Empty where the two are not in a line.
    """
    start = _place(first.replace("$", ""))
    reached = re.fullmatch(r"([A-Z]{0,3})(\d{0,7})", last.upper().replace("$", ""))
    if start is None or reached is None:
        return ()
    x, y = start
    end = _place(f"{reached[1] or _column(x)}{reached[2] or y}")
    if end is None or (x == end[0]) == (y == end[1]):
        return ()
    way = ("Right" if end[0] > x else "Left") if y == end[1] else "Down" if end[1] > y else "Up"
    corners = sorted([(y, x), (end[1], end[0])])
    area = ":".join(f"{_column(at)}{line}" for line, at in corners)
    return (GoTo(area), *_menu("Sheet", "Fill Cells", f"Fill {way}"))


def new_sheet() -> Sequence[Instruction]:
    """A sheet after the last one, under the name that is proposed."""
    return (*_menu("Sheet", "Insert Sheet at End..."), Press(("enter",)))


def colour(what: str, name: str) -> Sequence[Instruction]:
    """The colour of the selected cells, by its name in the palette of Calc's toolbar."""
    button = "Font Color" if what.lower().startswith(("font", "text")) else "Background Color"
    return (
        Click(Target(button, "arrow of button")),
        Click(Target(name.capitalize(), "list item")),
    )


def _menu(menu: str, *entries: str) -> Sequence[Instruction]:
    return (Click(Target(menu, "menu")), *(Click(Target(entry, "menu item")) for entry in entries))
