"""The same tasks by tools beside the GUI: one call a step, as a planner would choose them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from benchmarks.api_gui.gui_scripts import PIVOT_PIE
from benchmarks.api_gui.player import Move, call, keys

__all__ = ["OWN_BY_API", "SHEETS_BY_API"]

_CALC = "LibreOffice Calc"
_ADD_SHEET = call("calc_sheet_add", _CALC, name="Sheet2")
_SAVE = keys("ctrl", "s")


def _sums(columns: str) -> list[str]:
    return [f"=SUM({column}2:{column}11)" for column in columns]


def _growth(columns: str) -> list[str]:
    """The growth from each column to the next."""
    pairs = pairwise(columns)
    return [f"=({new}12-{old}12)/{old}12" for old, new in pairs]


def _change(column: str, row: int) -> str:
    before = f"$Sheet1.{column}{row}"
    return f"=($Sheet1.{column}{row + 1}-{before})/{before}"


def _counted(field: str, row: int) -> Move:
    """A pivot table that counts the values of a column."""
    return call(
        "calc_pivot",
        _CALC,
        cells="Sheet1.A1:D41",
        rows=[field],
        values={field: "count"},
        to=f"Sheet2.A{row}",
    )


SHEETS_BY_API: Mapping[str, Sequence[Move]] = {
    "0326d92d": (
        call(
            "calc_write",
            _CALC,
            cell="A12",
            values=[["Total", *_sums("BCDEFG")], ["Growth", "", *_growth("BCDEFG")]],
        ),
        call(
            "calc_chart",
            cells="B1:G1,B12:G12",
            kind="bar",
            title="Total",
            labels=False,
            legend=False,
            rows=True,
        ),
        call(
            "calc_chart",
            cells="C1:G1,C13:G13",
            kind="line",
            title="Growth",
            labels=False,
            legend=False,
            rows=True,
            at="I20",
        ),
        _SAVE,
    ),
    "04d9aeaf": (
        _ADD_SHEET,
        call(
            "calc_write",
            cell="Sheet2.A1",
            values=[
                ["Year", "CA changes", "FA changes", "OA changes"],
                *([2013 + row, *(_change(column, row) for column in "BCD")] for row in range(2, 7)),
            ],
        ),
        call("calc_format_numbers", cells="Sheet2.B2:D6", code="0.00%"),
    ),
    "12382c62": (
        _ADD_SHEET,
        call("calc_chart", cells="Sheet1.A1:C11", title="Sales & COGS", at="Sheet2.B2"),
        _SAVE,
    ),
    "30e3e107": (
        _ADD_SHEET,
        call("calc_merge", cells="Sheet2.A1:C1"),
        call("calc_write", cell="Sheet2.A1", values=[["Demographic Profile"]]),
        call("calc_style", cells="Sheet2.A1:C1", bold=True, color="white", background="#0000ff"),
        _counted("Sex", 2),
        _counted("Civil Status", 7),
        _counted("Highest Educational Attainment", 13),
    ),
    "3a7c8185": (
        call("calc_sort", _CALC, cells="A1:F36", by=["A"]),
        call("calc_chart", cells="A1:A36,E1:E36", kind="line"),
    ),
    "42e0a640": (
        _ADD_SHEET,
        call(
            "calc_write",
            cell="Sheet2.A1",
            values=[
                ["Total Revenue", "Total Expenses"],
                ["=SUM($Sheet1.A2:A20)", "=SUM($Sheet1.B2:B20)"],
            ],
        ),
    ),
    "535364ea": (
        _ADD_SHEET,
        call(
            "calc_pivot",
            cells="Sheet1.A1:G30",
            rows=["Product"],
            values={"Revenue ($)": "sum"},
            to="Sheet2.A1",
        ),
        call(
            "calc_pivot",
            cells="Sheet1.A1:G30",
            rows=["Sales Channel"],
            values={"Revenue ($)": "sum"},
            to="Sheet2.D1",
        ),
        _SAVE,
    ),
    "8909d1cb": (
        call("calc_read", _CALC, cells="A1:G30"),
        _ADD_SHEET,
        call(
            "calc_write",
            cell="Sheet2.A1",
            values=[["Date", "Revenue ($)"], ["2020-06-02", 75.62]],
        ),
        _SAVE,
    ),
    "97dd78c1": (
        call("calc_write", _CALC, cell="A12", values=[["Total", *_sums("BCDEFG")]]),
        call(
            "calc_write",
            cell="H1",
            values=[["Total"], *([f"=SUM(B{row}:G{row})"] for row in range(2, 12))],
        ),
        call("calc_style", cells="A10", background="#2a6099"),
        call("calc_style", cells="A4", background="red"),
        _SAVE,
    ),
    "b6e9778c": (
        call(
            "calc_pivot",
            _CALC,
            cells="Sheet1.A1:G2001",
            rows=["Product"],
            values={"Revenue": "sum"},
        ),
        # A chart that follows the pivot table is inserted by the menu alone.
        *PIVOT_PIE,
        _SAVE,
    ),
}
"""By the beginning of the task's name."""

_WRITER = "LibreOffice Writer"
_BROWSER = "Chromium"
OWN_BY_API: Mapping[str, Sequence[Move]] = {
    "letter": (
        call("writer_replace", _WRITER, find="Northwind", replacement="Contoso"),
        call("writer_style", paragraphs="1", name="Heading 1"),
        call("writer_header_footer", which="footer", text="{page}"),
        keys("ctrl", "s"),
    ),
    "price_list": (
        call(
            "writer_table_insert",
            _WRITER,
            values=[["Item", "Price"], ["Tea", "3"], ["Cake", "4"], ["Rice", "2"]],
        ),
        call("writer_page", landscape=True),
        keys("ctrl", "s"),
    ),
    "registration": (
        call(
            "browser_fill",
            _BROWSER,
            fields={
                "First name": "Ada",
                "Last name": "Byron",
                "E-mail": "ada@example.org",
                "Phone": "555 0123",
                "Company": "Analytical Engines",
                "City": "London",
            },
        ),
        call("browser_choose", field="Country", option="Portugal"),
        call("browser_check", field="Vegetarian"),
        call("browser_click", target="Register"),
    ),
    "bookmarks": (
        call("browser_bookmark", _BROWSER),
        call("browser_bookmark", address="http://127.0.0.1:8765/shops/rice"),
        call("browser_bookmark", address="http://127.0.0.1:8765/shops/cake"),
    ),
}
"""Tasks of our own, by the name of their file."""
