"""Every rule of compare_table, on workbooks made here, whole and damaged."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from hisa.plugins.benchmarks.tasks.metrics.table import RULES
from openpyxl.chart import BarChart, LineChart, Reference
from openpyxl.formatting.rule import CellIsRule
from openpyxl.styles import Font, PatternFill
from openpyxl.worksheet.datavalidation import DataValidation

from hisa.plugins.benchmarks.tasks.metrics import METRICS, BadRules, Unreadable

Change = Callable[[Any], object]
GOLD = sorted((Path(__file__).parents[3] / "data" / "spider2v").rglob("*gt1.xlsx"))


def book(*changes: Change) -> Any:
    """A sheet "Data" of two columns; each change is given it."""
    made = openpyxl.Workbook()
    sheet: Any = made.active
    sheet.title = "Data"
    for row in (("Name", "Value"), ("a", 1), ("b", 2.5), ("c", None)):
        sheet.append(row)
    for change in changes:
        change(sheet)
    return made


def cell(place: str, value: Any) -> Change:
    return lambda sheet: sheet.__setitem__(place, value)


def look(place: str, **style: Any) -> Change:
    def change(sheet: Any) -> None:
        for name, value in style.items():
            setattr(sheet[place], name, value)

    return change


def column(name: str, **properties: Any) -> Change:
    def change(sheet: Any) -> None:
        for key, value in properties.items():
            setattr(sheet.column_dimensions[name], key, value)

    return change


def row(number: int, **properties: Any) -> Change:
    def change(sheet: Any) -> None:
        for key, value in properties.items():
            setattr(sheet.row_dimensions[number], key, value)

    return change


def chart(kind: type = BarChart, title: str = "T", last: int = 3, **more: Any) -> Change:
    def change(sheet: Any) -> None:
        made = kind()
        made.add_data(Reference(sheet, min_col=2, min_row=1, max_row=last), titles_from_data=True)
        made.set_categories(Reference(sheet, min_col=1, min_row=2, max_row=last))
        made.title = title
        for name, value in more.items():
            setattr(made, name, value)
        sheet.add_chart(made, "D2")

    return change


def validation(kind: str = "list", formula: str = '"x,y"') -> Change:
    def change(sheet: Any) -> None:
        made = DataValidation(type=kind, formula1=formula)
        made.add("C1:C9")
        sheet.add_data_validation(made)

    return change


def filtered(reference: str, *values: str) -> Change:
    def change(sheet: Any) -> None:
        sheet.auto_filter.ref = reference
        if values:
            sheet.auto_filter.add_filter_column(0, list(values))

    return change


def sheet_named(name: str) -> Change:
    return lambda sheet: sheet.parent.create_sheet(name)


def put(attribute: str, value: Any) -> Change:
    return lambda sheet: setattr(sheet, attribute, value)


def zoomed(value: int) -> Change:
    return lambda sheet: setattr(sheet.sheet_view, "zoomScale", value)


BOTH = {"sheet_idx0": 0, "sheet_idx1": "EI0"}
VALUES = {"type": "sheet_data", **BOTH}
CHART = {"type": "chart", **BOTH}
STYLE = {"type": "style", **BOTH}
RED = PatternFill("solid", fgColor="FFFF0000")
FUZZY = {"type": "sheet_fuzzy", **BOTH}


def fuzzy(**rule: Any) -> dict[str, Any]:
    return {**FUZZY, "rules": [{"range": ["A2"], "type": "exact_match", **rule}]}


def checked(name: str, method: str, reference: Any, place: str = "A1") -> dict[str, Any]:
    props = {name: {"method": method, "ref": reference}}
    return {"type": "check_cell", "sheet_idx": "RNData", "coordinate": place, "props": props}


def validated(**rules: Any) -> dict[str, Any]:
    props = [{name: {"method": "eq", "ref": value} for name, value in rules.items()}]
    return {"type": "data_validation", "sheet_idx": 0, "dv_props": props}


def zoom(method: str, reference: Any) -> dict[str, Any]:
    return {"type": "zoom", "sheet_idx": "RI0", "method": method, "ref": reference}


Case = tuple[Any, Any, Mapping[str, Any], float]
CASES: list[Case] = [
    (book(), book(), VALUES, 1),
    (book(cell("B2", 2)), book(), VALUES, 0),
    (book(cell("B3", 2.50001)), book(), VALUES, 1),
    (book(cell("B3", 2.6)), book(), VALUES, 0),
    (book(cell("B3", 2.4)), book(), {**VALUES, "precision": 0}, 1),
    (book(cell("B3", "2.5")), book(), VALUES, 1),
    (book(cell("B3", "2,5")), book(), VALUES, 0),
    (book(cell("B2", True)), book(), VALUES, 1),
    (book(cell("B2", True), cell("B3", True)), book(), VALUES, 0),
    (book(cell("B4", "n/a")), book(), VALUES, 1),
    (book(cell("B5", "n/a")), book(), VALUES, 0),
    (book(cell("B1", "n/a")), book(cell("B1", "nan")), VALUES, 0),
    (book(cell("C9", "")), book(), VALUES, 1),
    (book(cell("C1", "more")), book(), VALUES, 0),
    (book(cell("B2", datetime(2024, 1, 2))), book(cell("B2", datetime(2024, 1, 2))), VALUES, 1),
    (book(cell("B2", datetime(2024, 1, 3))), book(cell("B2", datetime(2024, 1, 2))), VALUES, 0),
    (book(), book(), {**VALUES, "sheet_idx0": "RNData", "sheet_idx1": "ENData"}, 1),
    (book(), book(), {**VALUES, "sheet_idx0": "RNOther"}, 0),
    (book(), book(), {**VALUES, "sheet_idx0": 3}, 0),
    (book(sheet_named("S")), book(sheet_named("S")), {"type": "sheet_name"}, 1),
    (book(), book(sheet_named("S")), {"type": "sheet_name"}, 0),
    (book(chart()), book(chart()), CHART, 1),
    (book(), book(chart()), CHART, 0),
    (book(chart(last=2)), book(chart()), CHART, 0),
    (book(chart(LineChart)), book(chart()), CHART, 1),
    (book(chart(LineChart)), book(chart()), {**CHART, "chart_props": ["type"]}, 0),
    (book(chart(title="U")), book(chart()), {**CHART, "chart_props": ["title", "type"]}, 0),
    (book(chart(legend=None)), book(chart()), {**CHART, "chart_props": ["legend"]}, 0),
    (book(chart(type="bar")), book(chart()), {**CHART, "chart_props": ["direction"]}, 0),
    (book(chart(), chart(last=2)), book(chart()), CHART, 0),
    (book(look("A1", font=Font(bold=True))), book(look("A1", font=Font(bold=True))),
     {**STYLE, "props": ["font_bold", "bgcolor", "merge"]}, 1),
    (book(), book(look("A1", font=Font(bold=True))), {**STYLE, "props": ["font_bold"]}, 0),
    (book(), book(look("A1", font=Font(bold=True))), {**STYLE, "props": ["font_italic"]}, 1),
    (book(look("A2", fill=RED)), book(), {**STYLE, "props": ["bgcolor"]}, 0),
    (book(look("B2", number_format="0%")), book(), {**STYLE, "props": ["number_format"]}, 0),
    (book(lambda sheet: sheet.merge_cells("A1:B1")), book(), {**STYLE, "props": ["merge"]}, 0),
    (book(put("freeze_panes", "B2")), book(put("freeze_panes", "B2")),
     {"type": "freeze", **BOTH}, 1),
    (book(), book(put("freeze_panes", "B2")), {"type": "freeze", **BOTH}, 0),
    (book(zoomed(200)), book(), zoom("eq", 200), 1),
    (book(zoomed(200)), book(), zoom("range.te", [200, 300]), 0),
    (book(), book(), zoom("range.ee", [100, 300]), 1),
    (book(validation()), book(), validated(type="list"), 1),
    (book(validation("whole", "1")), book(), validated(type="list"), 0),
    (book(), book(), validated(type="list"), 0),
    (book(row(2, hidden=True)), book(row(2, hidden=True)),
     {"type": "row_props", **BOTH, "props": ["hidden"]}, 1),
    (book(), book(row(2, hidden=True)), {"type": "row_props", **BOTH, "props": ["hidden"]}, 0),
    (book(column("B", width=30)), book(column("B", width=30)),
     {"type": "col_props", **BOTH, "props": ["width"]}, 1),
    (book(column("B", width=20)), book(column("B", width=30)),
     {"type": "col_props", **BOTH, "props": ["width"]}, 0),
    (book(filtered("A1:B4", "a")), book(filtered("A1:B4", "a")), {"type": "filter", **BOTH}, 1),
    (book(filtered("A1:B4", "b")), book(filtered("A1:B4", "a")), {"type": "filter", **BOTH}, 0),
    (book(), book(filtered("A1:B4")), {"type": "filter", **BOTH}, 0),
    (book(), book(), checked("value", "eq", "Name"), 1),
    (book(), book(), checked("value", "eq", 2.5, "B3"), 1),
    (book(), book(), checked("value", "approx:0.1", 2.55, "B3"), 1),
    (book(), book(), checked("value", "approx:0.1", 9, "A1"), 0),
    (book(), book(), checked("value", "re.I", "^NAME$"), 1),
    (book(), book(), checked("value", "str_set_eq", ["x"], "A1"), 0),
    (book(look("A1", fill=RED)), book(), checked("bgcolor", "eq", "FFFF0000"), 1),
    (book(), book(), checked("bgcolor", "eq", "FFFF0000"), 0),
    (book(look("A1", font=Font(color="FF00FF00", underline="single", size=20))), book(),
     checked("font_color", "eq", "FF00FF00"), 1),
    (book(look("A1", font=Font(size=20))), book(), checked("font_size", "ge", 20), 1),
    (book(look("A1", font=Font(underline="single"))), book(),
     checked("font_underline", "eq", "single"), 1),
    (book(look("A1", hyperlink="https://a.org")), book(),
     checked("hyperlink", "eq", "https://a.org"), 1),
    (book(cell("A2", "12 Main Rd")), book(cell("A2", "12 Main Road")),
     fuzzy(normalization=[["Rd", "Road"]]), 1),
    (book(cell("A2", "12 Main Rd")), book(cell("A2", "12 Main Road")), fuzzy(), 0),
    (book(cell("A2", " (A)-b ")), book(cell("A2", "ab")),
     fuzzy(ignore_case=True, ignore_chars="()-", trim_leadings=" ", trim_trailings=" "), 1),
    (book(cell("A2", "abc")), book(cell("A2", "b")), fuzzy(type="includes"), 1),
    (book(cell("A2", "b")), book(cell("A2", "abc")), fuzzy(type="includes"), 0),
    (book(cell("A2", "b")), book(cell("A2", "abc")), fuzzy(type="included_by"), 1),
    (book(cell("A2", "abcd")), book(cell("A2", "abce")),
     fuzzy(type="fuzzy_match", threshold=75), 1),
    (book(cell("A2", "abcd")), book(cell("A2", "abce")), fuzzy(type="fuzzy_match"), 0),
]  # fmt: skip


def run(folder: Path, result: Any, expected: Any, *rules: Any) -> tuple[float, str]:
    metric = METRICS.get("compare_table")
    assert metric is not None
    paths: list[Path | None] = []
    for name, value in (("result.xlsx", result), ("expected.xlsx", expected)):
        path = folder / name
        if isinstance(value, bytes):
            path.write_bytes(value)
        elif value is not None:
            value.save(path)
        paths.append(None if value is None else path)
    try:
        return metric.run(paths[0], paths[1], {"rules": list(rules)})
    except Unreadable as error:
        return 0.0, str(error)


@pytest.mark.parametrize(
    ("result", "expected", "rule", "wanted"),
    CASES,
    ids=[f"{n}-{case[2]['type']}" for n, case in enumerate(CASES)],
)
def test_rules(tmp_path: Path, result: Any, expected: Any, rule: Any, wanted: float) -> None:
    score, why = run(tmp_path, result, expected, rule)
    assert score == wanted, why


def pivot(keep: str) -> bytes:
    return next(path for path in GOLD if keep in path.name).read_bytes()


def test_pivot_tables(tmp_path: Path) -> None:
    both = {"sheet_idx0": "RNSheet2", "sheet_idx1": "ENSheet2"}
    names = ["col_fields", "filter", "row_fields", "data_fields"]
    rule = {"type": "pivot_table", **both, "pivot_props": names}
    summer, profile = pivot("SummerSales"), pivot("DemographicProfile")
    assert run(tmp_path, summer, summer, rule)[0] == 1.0
    assert run(tmp_path, profile, summer, rule)[0] == 0.0
    assert run(tmp_path, book(), summer, rule)[0] == 0.0
    other = openpyxl.load_workbook(GOLD[[p.name for p in GOLD].index("5_SummerSales_gt1.xlsx")])
    other["Sheet2"]._pivots[0].dataFields[0].subtotal = "count"
    assert run(tmp_path, other, summer, rule)[0] == 0.0


def test_printed_values(tmp_path: Path) -> None:
    rule = {"type": "sheet_print", **BOTH}
    assert run(tmp_path, book(), book(), rule)[0] == 0.0
    (tmp_path / "result-Data.csv").write_text("A,1 \n\n\n")
    with pytest.raises(BadRules, match="no sheet"):
        run(tmp_path, book(), book(), rule)
    (tmp_path / "expected-Data.csv").write_text("a,1")
    assert run(tmp_path, book(), book(), rule)[0] == 0.0
    assert run(tmp_path, book(), book(), {**rule, "ignore_case": True})[0] == 1.0


def sparkline(reference: str) -> bytes:
    """The smallest workbook that has a sparkline in its XML."""
    import io
    import zipfile

    made = io.BytesIO()
    book().save(made)
    target = io.BytesIO()
    at = "http://schemas.microsoft.com/office"
    names = f'xmlns:x14="{at}/spreadsheetml/2009/9/main" xmlns:xm="{at}/excel/2006/main"'
    line = f"<x14:sparkline><xm:f>{reference}</xm:f><xm:sqref>F3</xm:sqref></x14:sparkline>"
    extra = f'<extLst {names}><ext uri="x">{line}</ext></extLst></worksheet>'.encode()
    with zipfile.ZipFile(made) as source, zipfile.ZipFile(target, "w") as copy:
        for name in source.namelist():
            data = source.read(name)
            if name == "xl/worksheets/sheet1.xml":
                data = data.replace(b"</worksheet>", extra)
            copy.writestr(name, data)
    return target.getvalue()


def test_sparklines(tmp_path: Path) -> None:
    rule = {"type": "sparkline", **BOTH}
    assert run(tmp_path, sparkline("Data!A1:B1"), sparkline("Data!A1:B1"), rule)[0] == 1.0
    assert run(tmp_path, sparkline("Data!A1:B1"), sparkline("Data!A2:B2"), rule)[0] == 0.0
    assert run(tmp_path, book(), sparkline("Data!A2:B2"), rule)[0] == 0.0


def test_every_rule_has_a_test() -> None:
    apart = {"pivot_table", "sheet_print", "sparkline"}
    for wanted in (0, 1):
        assert {case[2]["type"] for case in CASES if case[3] == wanted} | apart == set(RULES)


def test_all_rules_must_hold_and_the_first_that_does_not_is_named(tmp_path: Path) -> None:
    rules = VALUES, {**CHART, "chart_props": ["title"]}
    assert run(tmp_path, book(chart()), book(chart()), *rules)[0] == 1.0
    score, why = run(tmp_path, book(chart(title="U")), book(chart()), *rules)
    assert score == 0.0
    assert why.startswith("rule 2 (chart) does not hold: 'Data'!$B$2:$B$3,")
    assert why.endswith("title: is 'U', not 'T'")


VALIDATION = {"type": {"method": "eq", "ref": "list"}}


@pytest.mark.parametrize(
    ("left", "rule", "said"),
    [
        (book(cell("B3", 3)), VALUES, "B3: is 3.0, not 2.5"),
        (book(cell("C1", "more")), VALUES, "C1: is 'more', not nothing; 4 rows and 3 columns, not"),
        (book(cell("A4", None)), VALUES, "A4: is nothing, not 'c'"),
        (book(lambda sheet: setattr(sheet, "title", "D")), {"type": "sheet_name"}, "is ['D'], not"),
        (
            book(cell("B2", 9)),
            {
                "type": "check_cell",
                "sheet_idx": 0,
                "coordinate": "B2",
                "props": {"value": {"method": "eq", "ref": 1}},
            },
            "B2 value: is 9.0, wanted is eq 1",
        ),
        (
            book(cell("A2", "z")),
            {"type": "sheet_fuzzy", **BOTH, "rules": [{"range": "A1:A3", "type": "exact_match"}]},
            "A2: is 'z', not 'a'",
        ),
        (
            book(look("A2", font=Font(b=True))),
            {"type": "style", **BOTH, "props": ["font_bold"]},
            "A2: is [True], not",
        ),
        (book(), {"type": "zoom", "sheet_idx": 0, "method": "gt", "ref": 120}, "is 100.0, wanted"),
        (
            book(),
            {"type": "data_validation", "sheet_idx": 0, "dv_props": [VALIDATION]},
            "0 validations, wanted are 1",
        ),
        (
            book(validation("whole", "1")),
            {"type": "data_validation", "sheet_idx": 0, "dv_props": [VALIDATION]},
            "is {'type': 'whole'}, wanted is one of",
        ),
    ],
)
def test_a_score_of_0_names_the_place_what_is_there_and_what_should_be(
    tmp_path: Path, left: Any, rule: Mapping[str, Any], said: str
) -> None:
    score, why = run(tmp_path, left, book(), rule)
    assert (score, why.startswith(f"rule 1 ({rule['type']}) does not hold: ")) == (0.0, True), why
    assert said in why


@pytest.mark.parametrize(
    ("expected", "rule", "said"),
    [
        (book(), {"type": "colour"}, "no rule 'colour'"),
        (book(), {}, "lack"),
        (book(), {"type": "sheet_data", "sheet_idx0": 0}, "sheet_idx1"),
        (book(), {**VALUES, "sheet_idx1": "Data"}, "names no sheet"),
        (book(), {**VALUES, "sheet_idx1": "ENOther"}, "expected workbook has no sheet"),
        (None, VALUES, "no expected workbook"),
        (None, {"type": "sheet_name"}, "no expected workbook"),
        (b"no workbook", VALUES, "own file"),
        (book(), {**STYLE, "props": ["weight"]}, "unknown style"),
        (book(), checked("value", "near", 1), "unknown method"),
        (book(), fuzzy(type="near"), "no type 'near'"),
        (book(), fuzzy(range="A0:?"), "range"),
    ],
)
def test_a_rule_without_meaning_is_the_tasks_fault(
    tmp_path: Path, expected: Any, rule: Any, said: str
) -> None:
    with pytest.raises(BadRules, match=said):
        run(tmp_path, book(), expected, rule)


def test_conditional_formatting_is_not_scored(tmp_path: Path) -> None:
    def coloured(sheet: Any) -> None:
        rule = CellIsRule(operator="greaterThan", formula=["1"], fill=RED)
        sheet.conditional_formatting.add("B2:B4", rule)

    with pytest.raises(BadRules, match="conditional formatting"):
        run(tmp_path, book(), book(coloured), {**STYLE, "props": ["bgcolor"]})


def test_a_cell_far_away_costs_no_memory(tmp_path: Path) -> None:
    far = book(cell("XFD1048576", "x"))
    assert "cells" in run(tmp_path, far, book(), VALUES)[1]
    assert run(tmp_path, far, book(), {**STYLE, "props": ["font_bold"]})[0] == 0.0


@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_workbook_is_a_wrong_result_and_no_crash(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    whole = GOLD[seed % len(GOLD)].read_bytes()
    damaged = bytearray(whole[: chance.randrange(len(whole))] if seed % 4 == 0 else whole)
    for _ in range(chance.randrange(1, 30)):
        damaged[chance.randrange(len(damaged))] = chance.randrange(256)
    rules = VALUES, CHART, {**STYLE, "props": ["font_bold"]}, {"type": "pivot_table", **BOTH}
    score, why = run(tmp_path, bytes(damaged), whole, *rules)
    assert 0.0 <= score <= 1.0
    assert why
