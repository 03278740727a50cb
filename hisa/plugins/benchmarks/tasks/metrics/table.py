"""compare_table: workbooks compared by a list of rules, all of which must hold.

A sheet is named by a number (``0``: the result's first), ``"RI0"`` and ``"RNSheet1"`` (result, by
place and by name), ``"EI0"`` and ``"ENSheet1"`` (expected).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from hisa.plugins.benchmarks.tasks.metric import (
    BadRules,
    Options,
    Score,
    Unreadable,
    expecting,
    metric,
    read_text,
    reading,
    rules_of,
    shown,
)
from hisa.plugins.benchmarks.tasks.metrics import sheet_parts
from hisa.plugins.benchmarks.tasks.metrics.differences import (
    difference,
    grid_difference,
    line_difference,
    unlike,
)
from hisa.plugins.benchmarks.tasks.metrics.value_rules import known_method, matches
from hisa.plugins.benchmarks.tasks.metrics.workbook import Book, rounded
from hisa.text.counts import all_of

__all__ = ["RULES"]

Rule = Mapping[str, Any]
_DIGITS = 4  # chosen by hand


class Books:
    """The workbook that the agent left, and the expected one where there is one."""

    def __init__(self, result: Path, expected: Path | None) -> None:
        self.result = Book(result)
        self.expected = None
        if expected is not None:
            with expecting("expected workbook"):
                self.expected = Book(expected)

    def side(self, reference: object) -> tuple[Book, str, bool]:
        """The workbook and the sheet's name of a reference, and whether it is the result's.

        Raises:
            BadRules: no reference, or one to an expected workbook that there is not.
        """
        text = f"RI{reference}" if isinstance(reference, int) else str(reference)
        if text[:2] not in ("RI", "RN", "EI", "EN"):
            raise BadRules(f"{reference!r} names no sheet; such as 0, 'RNSheet1' and 'EI0' do")
        ours = text[0] == "R"
        book = self.result if ours else self.expected
        if book is None:
            raise BadRules(f"{reference!r}: the task has no expected workbook")
        with reading("result") if ours else expecting("expected workbook"):
            return book, _sheet_name(book, text), ours

    def look(self, reference: object, look: Callable[[Book, str], Any]) -> Any:
        """Returns ``look``'s reading of a sheet; a broken expected workbook is the task's fault."""
        book, name, ours = self.side(reference)
        with reading("result") if ours else expecting("expected workbook"):
            return look(book, name)

    def pair(self, rule: Rule, look: Callable[[Book, str], Any]) -> tuple[Any, Any]:
        """Returns ``look``'s readings of the rule's two sheets."""
        first, second = rules_of(rule, "sheet_idx0", "sheet_idx1")
        return self.look(first, look), self.look(second, look)


def _sheet_name(book: Book, text: str) -> str:
    if text[1] == "N":
        return text[2:]
    try:
        index = int(text[2:])
    except ValueError:
        raise BadRules(f"{text!r} names no sheet: {text[2:]!r} is no number") from None
    return book.names[index] if -len(book.names) <= index < len(book.names) else ""


def _sheet_name_rule(books: Books, rule: Rule) -> str:
    if books.expected is None:
        raise BadRules("sheet_name: the task has no expected workbook")
    return difference(books.result.names, books.expected.names, "sheets")


def _sheet_data(books: Books, rule: Rule) -> str:
    with expecting("precision"):
        digits = int(rule.get("precision", _DIGITS))
    found, wanted = books.pair(rule, lambda book, name: book.rows(name))
    _need(books, rule, found, wanted)
    return grid_difference(rounded(found, digits), rounded(wanted, digits))


def _need(books: Books, rule: Rule, result: Any, expected: Any) -> None:
    """A sheet that the expected workbook lacks is the task's fault, one of the result is not."""
    for value, key in ((result, "sheet_idx0"), (expected, "sheet_idx1")):
        if value is None:
            if not books.side(rule[key])[2]:
                raise BadRules(f"the expected workbook has no sheet {rule[key]!r}")
            raise Unreadable(f"there is no sheet {rule[key]!r}")


def _sheet_print(books: Books, rule: Rule) -> str:
    def lines(book: Book, name: str) -> list[str] | None:
        path = book.path.with_name(f"{book.path.stem}-{name}.csv")
        if not path.is_file():
            return None
        text = read_text(path)
        shown = [line.strip() for line in text.splitlines()]
        while shown and not shown[-1]:
            shown.pop()
        return [line.lower() for line in shown] if rule.get("ignore_case", False) else shown

    found, wanted = books.pair(rule, lines)
    _need(books, rule, found, wanted)
    return line_difference(found, wanted)


def _sheet_fuzzy(books: Books, rule: Rule) -> str:
    from openpyxl.utils import get_column_letter
    from openpyxl.worksheet.cell_range import MultiCellRange

    for part in rules_of(rule, "rules"):
        with expecting("range"):
            ranges = MultiCellRange(" ".join(_listed(rules_of(part, "range"))))
            places = [f"{get_column_letter(c)}{r}" for area in ranges for r, c in area.cells]
        for place in places:
            found, wanted = books.pair(rule, _stored_at(place))
            if not _alike(_cleaned(found, part), _cleaned(wanted, part), part):
                return unlike(place, found, wanted)
    return ""


def _stored_at(place: str) -> Callable[[Book, str], str]:
    return lambda book, name: str(book.stored(name, place))


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else [str(item) for item in value]


def _cleaned(text: str, rule: Rule) -> str:
    for old, new in rule.get("normalization") or []:
        text = text.replace(old, new)
    if "trim_leadings" in rule:
        text = text.lstrip(rule["trim_leadings"])
    if "trim_trailings" in rule:
        text = text.rstrip(rule["trim_trailings"])
    dropped = set(rule.get("ignore_chars") or "")
    text = "".join(letter for letter in text if letter not in dropped)
    return text.lower() if rule.get("ignore_case", False) else text


_ALIKE = ("includes", "included_by", "exact_match", "fuzzy_match")


def _alike(result: str, expected: str, rule: Rule) -> bool:
    match rule.get("type"):
        case "includes":
            return expected in result
        case "included_by":
            return result in expected
        case "exact_match":
            return result == expected
        case "fuzzy_match":
            from rapidfuzz import fuzz

            return bool(fuzz.ratio(result, expected) >= float(rule.get("threshold", 85.0)))
    raise BadRules(f"sheet_fuzzy has no type {rule.get('type')!r}; there are {_ALIKE}")


def _equal(look: Callable[[Any, Rule], Any]) -> Callable[[Books, Rule], str]:
    """A rule that both sheets show the same; one that is not there shows nothing."""

    def compare(books: Books, rule: Rule) -> str:
        def seen(book: Book, name: str) -> Any:
            sheet = book.sheet(name)
            return {} if sheet is None else look(sheet, rule)

        return difference(*books.pair(rule, seen))

    return compare


def _sparkline(books: Books, rule: Rule) -> str:
    return difference(*books.pair(rule, lambda book, name: sheet_parts.sparklines(book.path, name)))


def _styles(sheet: Any, rule: Rule) -> Any:
    if list(sheet.conditional_formatting):
        raise BadRules("style: conditional formatting cannot be evaluated here")
    return sheet_parts.styles(sheet, rule.get("props") or [])


def _freeze(books: Books, rule: Rule) -> str:
    found, wanted = books.pair(rule, lambda book, name: book.sheet(name))
    _need(books, rule, found, wanted)
    return difference(found.freeze_panes, wanted.freeze_panes, "frozen above")


def _one(books: Books, rule: Rule) -> Any:
    sheet = books.look(rules_of(rule, "sheet_idx"), lambda book, name: book.sheet(name))
    if sheet is None:
        raise Unreadable(f"there is no sheet {rule['sheet_idx']!r}")
    return sheet


def _zoom(books: Books, rule: Rule) -> str:
    return _broken("zoom", _one(books, rule).sheet_view.zoomScale or 100.0, rule)


def _broken(place: str, value: Any, rule: Any) -> str:
    """Says what a value is and what its rule asks for; empty where it keeps the rule."""
    if matches(value, rule):
        return ""
    return f"{place}: is {shown(value)}, wanted is {rule['method']} {shown(rule['ref'])}"


def _data_validation(books: Books, rule: Rule) -> str:
    wanted = rules_of(rule, "dv_props")
    held = _one(books, rule).data_validations.dataValidation

    def keeps(validation: Any, rules: Mapping[str, Any]) -> bool:
        return all(matches(getattr(validation, key, None), r) for key, r in rules.items())

    if len(held) < len(wanted):
        return f"{len(held)} validations, wanted are {len(wanted)}: {shown(wanted)}"
    for validation in held:
        if not any(keeps(validation, rules) for rules in wanted):
            names = sorted({name for rules in wanted for name in rules})
            has = {name: getattr(validation, name, None) for name in names}
            return f"{validation.sqref}: is {shown(has)}, wanted is one of {shown(wanted)}"
    return ""


def _check_cell(books: Books, rule: Rule) -> str:
    reference, place, properties = rules_of(rule, "sheet_idx", "coordinate", "props")
    cell = _one(books, rule)[place]

    def held(name: str) -> Any:
        if name == "value":
            return books.look(reference, lambda book, sheet: book.stored(sheet, place))
        return sheet_parts.style(cell, name)

    broken = (_broken(f"{place} {name}", held(name), part) for name, part in properties.items())
    return next(filter(None, broken), "")


RULES: Mapping[str, Callable[[Books, Rule], str]] = {
    "sheet_name": _sheet_name_rule,
    "sheet_data": _sheet_data,
    "sheet_print": _sheet_print,
    "sheet_fuzzy": _sheet_fuzzy,
    "sparkline": _sparkline,
    "chart": _equal(lambda sheet, r: sheet_parts.charts(sheet, r.get("chart_props") or [])),
    "style": _equal(_styles),
    "freeze": _freeze,
    "zoom": _zoom,
    "data_validation": _data_validation,
    "row_props": _equal(lambda s, r: sheet_parts.dimensions(s, "row", r.get("props") or [])),
    "col_props": _equal(lambda s, r: sheet_parts.dimensions(s, "column", r.get("props") or [])),
    "filter": _equal(lambda sheet, r: sheet_parts.filters(sheet)),
    "pivot_table": _equal(lambda s, r: sheet_parts.pivots(s, r.get("pivot_props") or [])),
    "check_cell": _check_cell,
}
"""The rules of compare_table by their type; each says what differs, nothing where it holds."""


def _problems(expected: Mapping[str, Any], options: Options) -> Iterator[str]:
    """Yields each part of a task's rules that is not known here."""
    rules = options.get("rules")
    if not isinstance(rules, list) or not all(isinstance(rule, Mapping) for rule in rules):
        yield "compare_table: options need 'rules', a list of mappings"
        return
    for rule in rules:
        kind = rule.get("type")
        if kind not in RULES:
            yield f"compare_table rule {kind!r}"
        for name in rule.get("props") or [] if kind == "style" else []:
            if name not in sheet_parts.STYLES:
                yield f"compare_table style {name!r}"
        cell = rule.get("props") if kind == "check_cell" else None
        for name, part in cell.items() if isinstance(cell, Mapping) else []:
            if name != "value" and name not in sheet_parts.STYLES:
                yield f"compare_table style {name!r}"
            if not isinstance(part, Mapping) or not known_method(part.get("method")):
                yield f"compare_table check_cell rule {part!r}"


@metric("compare_table", needs=("openpyxl", "lxml", "rapidfuzz"), check=_problems)
def compare_table(result: Any, expected: Any, options: Options) -> Score:
    """Every rule holds for the workbook; the first that does not is the reason."""
    path = result[0] if isinstance(result, list) else result
    wanted = expected[0] if isinstance(expected, list) and expected else expected
    if path is None:
        raise Unreadable("no workbook")
    with reading("result"):
        books = Books(path, wanted)
        assert books.result.names
    for number, rule in enumerate(rules_of(options, "rules"), 1):
        kind = rules_of(rule, "type")
        if kind not in RULES:
            raise BadRules(f"compare_table has no rule {kind!r}; there are {sorted(RULES)}")
        with reading("result"):
            if why := RULES[kind](books, rule):
                return 0.0, f"rule {number} ({kind}) does not hold: {why}"
    return 1.0, all_of(len(options["rules"]), "rule", "holds", "hold")
