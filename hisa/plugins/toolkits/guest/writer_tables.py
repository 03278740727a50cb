"""Reads, inserts and fills tables of a text document."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from .calc_places import letters, number
from .office_bridge import Desk, Refused, changes, looks
from .writer_looks import character, put
from .writer_ranges import find_member, note_of, place_of_its_own
from .writer_text import size_of

__all__ = ["FUNCTIONS"]

_CELL = re.compile(r"([A-Za-z]+)(\d+)")
_MOST = 20_000
"""Cells of a table that is made; LibreOffice needs about 1 ms for each."""


def _table(desk: Desk, name: str) -> Any:
    tables = desk.document.TextTables
    if not tables.ElementNames:
        raise Refused("the document has no table")
    return find_member(tables, name or tables.ElementNames[0], "table")


@changes("writer", "Insert table")
def insert(
    desk: Desk, values: Sequence[Sequence[str]], before: int, name: str, header: bool
) -> str:
    """Inserts a table with texts.

    Args:
        desk: LibreOffice, with the text document in front.
        values: rows of texts, at least one; a shorter row is filled with empty cells.
        before: number of the paragraph that it stands before; 0: at the end.
        name: the table's name; empty: LibreOffice's next free one.
        header: whether the first row is bold, and repeated on each page.
    """
    width = max(len(row) for row in values)
    if width * len(values) > _MOST:
        raise Refused(f"{len(values)} x {width} cells; {_MOST:,} at most")
    table = desk.document.createInstance("com.sun.star.text.TextTable")
    table.initialize(len(values), width)
    cursor = place_of_its_own(desk, before)
    cursor.Text.insertTextContent(cursor, table, False)
    if name:
        table.Name = name
    table.RepeatHeadline = header
    rows = tuple((*row, *[""] * (width - len(row))) for row in values)
    table.DataArray = rows
    if header:
        put([table.getCellRangeByPosition(0, 0, width - 1, 0)], character({"bold": True}))
    return f"table {table.Name} is there: {size_of(table)}, its first row {table.DataArray[0]}"


@looks("writer")
def read(desk: Desk, table: str) -> str:
    """Returns the cells of a table, row by row."""
    target = _table(desk, table)
    lines = [f"table {target.Name}: {size_of(target)}"]
    rows: dict[int, list[str]] = {}
    for name in target.CellNames:
        match = _CELL.match(name)
        text = target.getCellByName(name).String.replace("\n", " / ")
        rows.setdefault(int(match[2]) if match else 0, []).append(f"{name}: {text}")
    return "\n".join([*lines, *(" | ".join(rows[at]) for at in sorted(rows))])


@changes("writer", "Write table")
def write(desk: Desk, table: str, cell: str, values: Sequence[Sequence[str]]) -> str:
    """Writes texts into cells, to the right and down from one cell.

    Args:
        desk: LibreOffice, with the text document in front.
        table: its name or its number from 1; empty: the first.
        cell: the upper left cell, as "B2".
        values: rows of texts; all cells must be there.
    """
    target = _table(desk, table)
    corner = _CELL.fullmatch(cell.strip())
    if corner is None:
        raise Refused(f'{cell!r} is not a cell; expected one such as "B2"')
    column, row = number(corner[1]), int(corner[2])
    names = set(target.CellNames)
    cells = [
        (f"{letters(column + right)}{row + down}", value)
        for down, line in enumerate(values)
        for right, value in enumerate(line)
    ]
    outside = [name for name, _ in cells if name not in names]
    if outside:
        raise Refused(f"table {target.Name} has no cell {outside[0]}: {size_of(target)}")
    for name, value in cells:
        target.getCellByName(name).String = value
    wrong = [name for name, value in cells if target.getCellByName(name).String != value]
    if wrong:
        raise Refused(f"{wrong[0]} does not read back as it was written")
    return f"{note_of(len(cells), 'cell')} of {target.Name} read back as written, from {cell} on"


FUNCTIONS = {
    "table_insert": insert, "table_read": read, "table_write": write,
}  # fmt: skip
