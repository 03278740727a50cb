"""Sorts, filters and checks tables, and makes pivot tables of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import uno  # type: ignore[import-not-found]

from .calc_formulas import spell_formula
from .calc_places import (
    Area,
    area,
    cell_address,
    constant,
    find_used_area,
    letters,
    number,
    of_address,
    require_filled_area,
    reveal,
    style_for,
)
from .office_bridge import Desk, Refused, Unchanged, changes, setting

__all__ = ["FUNCTIONS", "column_of"]


def column_of(block: Area, name: str, header: bool) -> int:
    """Returns the index, within a block, of a column by its letters or its header.

    Args:
        block: the table.
        name: letters of the sheet's column, as "C", or the text of a header.
        header: whether the first row of the block is its header.

    Raises:
        Refused: the name is neither.
    """
    heads = [str(value) for value in block.part(0, 1).range.DataArray[0]] if header else []
    if name in heads:
        return heads.index(name)
    if re.fullmatch(r"\$?[A-Za-z]{1,3}", name):
        index = number(name.lstrip("$")) - block.left
        if 0 <= index < block.columns:
            return index
    span = f"{letters(block.left)} to {letters(block.right)}"
    hint = f", or a header: {', '.join(map(repr, heads))}" if header else ""
    raise Refused(f"{name!r} is no column of {block.label}; expected one of {span}{hint}")


def _table(desk: Desk, cells: str) -> Area:
    """Returns the filled part of a block; for one cell, the table around it."""
    block = area(desk, cells)
    if block.count > 1:
        return require_filled_area(block)
    cursor = block.sheet.createCursorByRange(block.range)
    cursor.collapseToCurrentRegion()
    return require_filled_area(of_address(desk, cursor.RangeAddress))


def _show_head(block: Area, rows: int = 4) -> str:
    data = block.part(0, min(rows, block.rows)).range.DataArray
    text = " / ".join(" | ".join(_shorten_value(value) for value in row[:6]) for row in data)
    return f"{text} …" if block.rows > rows or block.columns > 6 else text


def _shorten_value(value: Any) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 24 else text[:23] + "…"


@changes("calc", "Sort")
def sort(desk: Desk, cells: str, by: list[str], header: bool) -> str:
    """Sort the rows of a table by columns; a minus in front of one reverses its order.

    Args:
        desk: LibreOffice, with the spreadsheet in front.
        cells: the table, or one cell of it.
        by: columns by letters or header, the most important first; "-C": from the largest down.
        header: whether the first row stays where it is.
    """
    block = _table(desk, cells)
    fields = []
    for column in by:
        field = uno.createUnoStruct("com.sun.star.table.TableSortField")
        field.Field = column_of(block, column.removeprefix("-"), header)
        field.IsAscending = not column.startswith("-")
        fields.append(field)
    if not 1 <= len(fields) <= 64:
        raise Refused("by names no column; expected a list like ['B', '-C']")
    sort_fields = uno.Any("[]com.sun.star.table.TableSortField", tuple(fields))
    block.range.sort((setting("SortFields", sort_fields), setting("ContainsHeader", header)))
    reveal(desk, block)
    return f"{block.label} sorted by {', '.join(by)}: {_show_head(block)}"


_CONDITION = re.compile(
    r"(?P<column>.+?)\s*(?P<sign><=|>=|<>|!=|=|<|>|\bcontains\b|\bbegins\b|\bends\b)\s*(?P<value>.*)",
    re.IGNORECASE | re.DOTALL,
)
_SIGNS = {
    "=": "EQUAL", "<>": "NOT_EQUAL", "!=": "NOT_EQUAL", "<": "LESS", ">": "GREATER",
    "<=": "LESS_EQUAL", ">=": "GREATER_EQUAL", "contains": "CONTAINS", "begins": "BEGINS_WITH",
    "ends": "ENDS_WITH",
}  # fmt: skip


def _build_field(block: Area, condition: str, any_of: bool) -> Any:
    match = _CONDITION.fullmatch(condition.strip())
    if match is None:
        raise Refused(f"{condition!r}: expected a condition like 'B > 5' or 'Name contains x'")
    operator = f"com.sun.star.sheet.FilterOperator2.{_SIGNS[match['sign'].lower()]}"
    value = match["value"].strip().strip("\"'")
    field = uno.createUnoStruct("com.sun.star.sheet.TableFilterField2")
    field.Connection = constant(f"sheet.FilterConnection.{'OR' if any_of else 'AND'}")
    field.Field = column_of(block, match["column"].strip(), header=True)
    field.Operator = uno.getConstantByName(operator)
    try:
        field.NumericValue, field.IsNumeric = float(value), True
    except ValueError:
        field.StringValue, field.IsNumeric = value, False
    if value == "":
        empty = "EMPTY" if match["sign"] == "=" else "NOT_EMPTY"
        field.Operator = uno.getConstantByName(f"com.sun.star.sheet.FilterOperator2.{empty}")
    return field


def _filter(block: Area, fields: Sequence[Any]) -> None:
    descriptor = block.range.createFilterDescriptor(True)
    descriptor.ContainsHeader = True
    descriptor.setFilterFields2(tuple(fields))
    block.range.filter(descriptor)


@changes("calc", "Filter")
def filter_rows(desk: Desk, cells: str, where: list[str], any_of: bool) -> str:
    """Show only the rows of a table that meet the conditions; none: show all.

    Args:
        desk: LibreOffice, with the spreadsheet in front.
        cells: the table with its header, or one cell of it.
        where: conditions, such as "Price > 5" or "Name contains pear".
        any_of: whether one condition is enough for a row to be shown.
    """
    block = _table(desk, cells)
    _filter(block, [_build_field(block, condition, any_of) for condition in where])
    reveal(desk, block)
    rows = block.part(1, block.rows - 1) if block.rows > 1 else block
    ranges = rows.range.queryVisibleCells().RangeAddresses
    shown = sum(
        part.EndRow - part.StartRow + 1 for part in ranges if part.StartColumn == block.left
    )
    return f"{block.label}: {shown} of {block.rows - 1} rows are shown"


@changes("calc", "Remove duplicates")
def remove_duplicates(desk: Desk, cells: str, columns: list[str], header: bool) -> str:
    """Remove the rows of a table that equal an earlier one in those columns.

    Args:
        desk: LibreOffice, with the spreadsheet in front.
        cells: the table, or one cell of it.
        columns: by letters or header; empty: all.
        header: whether the first row is a header, which stays.
    """
    block = _table(desk, cells)
    chosen = [column_of(block, name, header) for name in columns] or list(range(block.columns))
    data = block.range.DataArray
    known_rows: set[tuple[Any, ...]] = set()
    gone = []
    for index, row in enumerate(data[header:], start=int(header)):
        key = tuple(row[column] for column in chosen)
        if key in known_rows:
            gone.append(index)
        known_rows.add(key)
    up = constant("sheet.CellDeleteMode.UP")
    for top, rows in reversed(list(_runs(gone))):
        block.sheet.removeRange(block.part(top, rows).range.RangeAddress, up)
    reveal(desk, block)
    left = block.rows - len(gone) - header
    if not gone:
        return Unchanged(f"{block.label} has no duplicates; its {left} rows stay")
    return f"{block.label}: {len(gone)} duplicate rows removed, {left} left"


def _runs(numbers: Iterable[int]) -> Iterable[tuple[int, int]]:
    """Yields start and length of each run of consecutive numbers."""
    start = length = 0
    for value in numbers:
        if length and value == start + length:
            length += 1
            continue
        if length:
            yield start, length
        start, length = value, 1
    if length:
        yield start, length


_OPERATORS = {
    "=": "EQUAL", "<>": "NOT_EQUAL", "!=": "NOT_EQUAL", "<": "LESS", ">": "GREATER",
    "<=": "LESS_EQUAL", ">=": "GREATER_EQUAL",
}  # fmt: skip
_RULE = re.compile(
    r"(?P<sign><=|>=|<>|!=|=|<|>)\s*(?P<one>.+)|between\s+(?P<low>.+?)\s+and\s+(?P<high>.+)"
    r"|formula\s+=?(?P<formula>.+)",
    re.IGNORECASE | re.DOTALL,
)


_DATE = re.compile(r"(\d{4})-(\d\d?)-(\d\d?)")
_NAME_ERROR = 525
_MISSPELT = frozenset({501, 504, *range(507, 514), 516, 520, _NAME_ERROR})
"""Errors of the formula itself, whatever its cells hold: signs, brackets, arguments, names."""


def _parse_rule(block: Area, text: str) -> tuple[Any, str, str]:
    """Returns operator and formulas of "> 5", "between 1 and 9" or "formula $B2>3".

    Raises:
        Refused: it is not a condition, or has a formula that Calc cannot calculate.
    """
    match = _RULE.fullmatch(spell_formula(text.strip()))
    if match is None:
        raise Refused(f"{text!r}: expected '> 5', '= \"x\"', 'between 1 and 9' or 'formula $B2>3'")
    first = _check_operand(block, match["formula"] or match["low"] or match["one"])
    second = _check_operand(block, match["high"]) if match["high"] else ""
    sign = _OPERATORS[match["sign"]] if match["sign"] else "BETWEEN" if second else "FORMULA"
    return constant(f"sheet.ConditionOperator.{sign}"), first, second


def _check_operand(block: Area, formula: str) -> str:
    """Returns a formula of a condition, with a date as Calc's DATE, after trying it in a free cell.

    Calc takes any text as the formula of a condition; a wrong one then never holds.
    """
    formula = _DATE.sub(r"DATE(\1;\2;\3)", formula) if _DATE.fullmatch(formula) else formula
    on_sheet = find_used_area(block.sheet)
    below = on_sheet.top + on_sheet.rows if on_sheet else 0
    if below >= block.sheet.Rows.Count:
        return formula
    trial = block.sheet.getCellByPosition(block.left, below)
    trial.Formula = f"={formula}"
    error, shown = trial.getError(), trial.String
    trial.Formula = ""
    trial.setPropertyToDefault("NumberFormat")  # a date gave it one
    if error in _MISSPELT:
        hint = '; a text stands in quotes, as "x"' if error == _NAME_ERROR else ""
        raise Refused(f"{formula!r} is not a formula that can be calculated: {shown}{hint}")
    return formula


@changes("calc", "Conditional format")
def highlight(
    desk: Desk,
    cells: str,
    when: str,
    color: str,
    background: str,
    bold: bool,
    add: bool,
) -> str:
    """Give cells a look while a condition holds.

    Args:
        desk: LibreOffice, with the spreadsheet in front.
        cells: a block as `area` takes it.
        when: a condition as `_parse_rule` takes it; empty: adds none.
        color: colour of the text; empty: as it is.
        background: colour of the cells; empty: as it is.
        bold: whether the text is bold.
        add: whether the conditional formats that are there stay.
    """
    block = area(desk, cells)
    formats = block.range.ConditionalFormat
    if not add:
        formats.clear()
    if when:
        operator, first, second = _parse_rule(block, when)
        style = style_for(desk, color=color, background=background, bold=bold)
        entry = {"Operator": operator, "Formula1": first, "Formula2": second}
        entry |= {"SourcePosition": cell_address(block), "StyleName": style}
        formats.addNew(tuple(setting(name, value) for name, value in entry.items()))
    block.range.ConditionalFormat = formats
    reveal(desk, block)
    now = block.range.ConditionalFormat
    entries = [now.getByIndex(index) for index in range(now.Count)]
    rules = "; ".join(_describe_format(format_entry) for format_entry in entries) or "none"
    return f"{block.label}: conditional formats: {rules}"


def _describe_format(entry: Any) -> str:
    operator, first, second = entry.getOperator().value, entry.Formula1, entry.Formula2
    condition = f"{operator} {first}" + (
        f" and {second}" if second and operator == "BETWEEN" else ""
    )
    return f"{condition} → {entry.StyleName}"


_RULED = {"whole": "WHOLE", "decimal": "DECIMAL", "date": "DATE", "length": "TEXT_LEN"}


@changes("calc", "Validity")
def validate(
    desk: Desk, cells: str, choices: list[str], source: str, rule: str, kind: str, message: str
) -> str:
    """Limit what may be typed into cells; without choices, source and rule there is no limit.

    Args:
        desk: LibreOffice, with the spreadsheet in front.
        cells: a block as `area` takes it.
        choices: the values that may be chosen.
        source: cells that hold these values; goes before `choices`.
        rule: a condition as `_parse_rule` takes it; used if there are no choices.
        kind: what the rule is about, one of `_RULED`.
        message: what a person is told who types something else.
    """
    block = area(desk, cells)
    validation = block.range.Validation
    validation.Type = constant("sheet.ValidationType.ANY")
    if choices or source:
        validation.Type = constant("sheet.ValidationType.LIST")
        listed = ";".join('"' + choice.replace('"', '""') + '"' for choice in choices)
        validation.setFormula1(area(desk, source).absolute if source else listed)
        validation.ShowList = 1
    elif rule:
        operator, first, second = _parse_rule(block, rule)
        validation.Type = constant(f"sheet.ValidationType.{_RULED[kind]}")
        validation.setOperator(operator)
        validation.setFormula1(first)
        validation.setFormula2(second)
    validation.ShowErrorMessage = bool(choices or source or rule)
    validation.ErrorAlertStyle = constant("sheet.ValidationAlertStyle.STOP")
    validation.ErrorMessage = message
    block.range.Validation = validation
    reveal(desk, block)
    now = block.range.Validation
    kind = now.Type.value
    if kind == "ANY":
        return f"{block.label}: anything may be typed now"
    second = f" and {now.Formula2}" if now.getOperator().value == "BETWEEN" else ""
    sign = "" if kind == "LIST" else f" {now.getOperator().value}"
    return f"{block.label}: validity {kind}{sign} {now.Formula1}{second}"


_FUNCTIONS = ("SUM", "COUNT", "AVERAGE", "MAX", "MIN", "PRODUCT", "COUNTNUMS", "STDEV", "VAR")


@changes("calc", "Pivot table")
def pivot(
    desk: Desk,
    cells: str,
    to: str,
    rows: list[str],
    columns: list[str],
    values: Mapping[str, str] | list[str],
) -> str:
    """Make a pivot table of a table with a header, as Calc's own dialog does.

    Args:
        desk: LibreOffice, with the spreadsheet in front.
        cells: the table with its header, or one cell of it.
        to: the upper left cell; empty: on a new sheet.
        rows: headers whose values become rows.
        columns: headers whose values become columns.
        values: headers, each with one of `_FUNCTIONS`; of a list, the sums.
    """
    block = _table(desk, cells)
    target = area(desk, to) if to else _new_sheet(desk, block.sheet)
    if block.meets(target):
        raise Refused(f"{target.label} is inside {block.label}; choose another place")
    tables = target.sheet.DataPilotTables
    descriptor = tables.createDataPilotDescriptor()
    descriptor.setSourceRange(block.range.RangeAddress)
    descriptor.ShowFilterButton = descriptor.DrillDownOnDoubleClick = False
    functions = values if isinstance(values, Mapping) else dict.fromkeys(values, "sum")
    layout = (("COLUMN", columns), ("ROW", rows), ("DATA", functions))
    as_table = uno.createUnoStruct("com.sun.star.sheet.DataPilotFieldLayoutInfo")
    # The last field tells the data fields apart; it has no header.
    descriptor.DataPilotFields.getByIndex(
        descriptor.DataPilotFields.Count - 1
    ).Orientation = _orientation("COLUMN")
    for place, heads in layout:
        for head in heads:
            field = _pivot_field(descriptor, head)
            field.Orientation = _orientation(place)
            field.LayoutInfo = as_table
            if place == "DATA":
                field.Function = _function(functions[head])
    sheets = map(desk.document.Sheets.getByName, desk.document.Sheets.ElementNames)
    taken = [name for sheet in sheets for name in sheet.DataPilotTables.ElementNames]
    name = _free_name("Pivot", taken)
    tables.insertNewByName(name, cell_address(target), descriptor)
    reveal(desk, target)
    out = of_address(desk, tables.getByName(name).OutputRange)
    return f"pivot table {name!r} at {out.label}: {_show_head(out, 6)}"


def _new_sheet(desk: Desk, source: Any) -> Area:
    """Inserts a sheet after the table's own, named as Calc's dialog names it."""
    sheets = desk.document.Sheets
    name = _free_name(f"Pivot Table_{source.Name}_", sheets.ElementNames, 1)
    sheets.insertNewByName(name, source.RangeAddress.Sheet + 1)
    return Area(sheets.getByName(name), 0, 0, 0, 0)


def _free_name(name: str, taken: Iterable[str], first: int = 0) -> str:
    names = {taken_name.lower() for taken_name in taken}
    tries = (f"{name}{number or ''}" for number in range(first, len(names) + 2))
    return next(candidate for candidate in tries if candidate.lower() not in names)


def _pivot_field(descriptor: Any, head: str) -> Any:
    fields = descriptor.DataPilotFields
    if not fields.hasByName(head):
        known = [name for name in fields.ElementNames if name not in ("", "Data")]
        raise Refused(f"{head!r} is no header of the table; headers: {', '.join(known) or 'none'}")
    return fields.getByName(head)


def _orientation(place: str) -> Any:
    return constant(f"sheet.DataPilotFieldOrientation.{place}")


def _function(name: str) -> Any:
    if name.upper() not in _FUNCTIONS:
        raise Refused(f"{name!r} is no function; expected one of {', '.join(_FUNCTIONS).lower()}")
    return constant(f"sheet.GeneralFunction.{name.upper()}")


FUNCTIONS = {
    "sort": sort, "filter": filter_rows,
    "remove_duplicates": remove_duplicates, "highlight": highlight, "validate": validate,
    "pivot": pivot,
}  # fmt: skip
