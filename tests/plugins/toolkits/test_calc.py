"""The toolkit for spreadsheets on the real LibreOffice, its results read back by other ways."""

from __future__ import annotations

import asyncio
import io
import itertools
import time
from typing import Any

import openpyxl
import pytest
import pytest_asyncio
from openpyxl.worksheet.worksheet import Worksheet

from hisa.errors import InvalidReply
from hisa.machine.patience import patience
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.toolkits import guest_call
from hisa.plugins.toolkits.calc import CALC
from tests.plugins.toolkits.conftest import Start, window
from tests.plugins.toolkits.using import KitCaller

pytestmark = [pytest.mark.desktop, pytest.mark.asyncio(loop_scope="module")]

TABLE = [
    ["Region", "Year", "Sales", "Note"],
    ["North", 2023, 10, "a"],
    ["South", 2023, 20, "b"],
    ["North", 2024, 30, "c"],
    ["South", 2024, 5.5, "d"],
    ["North", 2023, 10, "a"],
]
_numbers = itertools.count(1)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def calc(machine: DesktopEnvironment, start: Start) -> KitCaller:
    """Calc with a workbook of one sheet, made by somebody else."""
    caller = KitCaller(CALC, machine)
    assert "LibreOffice is not running" in await caller.expect_refusal("overview")
    book = openpyxl.Workbook()
    sheet = book.active
    assert isinstance(sheet, Worksheet)
    sheet.title = "Sheet1"
    for row in TABLE:
        sheet.append(row)
    buffer = io.BytesIO()
    book.save(buffer)
    await machine.write_file("/home/user/sales.xlsx", buffer.getvalue())
    await start("soffice --norestore --nologo ~/sales.xlsx", "sales.xlsx")
    return caller


async def fresh(calc: KitCaller) -> str:
    """A sheet of its own with the table; its name."""
    name = f"T{next(_numbers)}"
    await calc("sheet_add", name=name)
    await calc("write", cell=f"{name}.A1", values=TABLE)
    return name


async def read_workbook(
    calc: KitCaller, machine: DesktopEnvironment, *, values: bool = False
) -> Any:
    """The workbook as another library reads it."""
    await calc("export", path="/tmp/copy.xlsx", overwrite=True)
    data = await machine.read_file("/tmp/copy.xlsx")
    return openpyxl.load_workbook(io.BytesIO(data), data_only=values)


def cells(sheet: Any, block: str) -> list[list[Any]]:
    return [[cell.value for cell in row] for row in sheet[block]]


async def lines(calc: KitCaller, block: str, **options: Any) -> list[list[str]]:
    """What `read` shows, without its row numbers."""
    rows = (await calc("read", cells=block, **options)).splitlines()[2:]
    return [line.split("\t")[1:] for line in rows if line[0].isdigit()]


# What is there ------------------------------------------------------------------------------------


async def test_a_workbook_is_described_and_read(calc: KitCaller) -> None:
    output = await calc("overview")
    assert "sales.xlsx (/home/user/sales.xlsx; saved)" in output
    assert "sheet 'Sheet1': A1:D6; shown" in output
    table = await calc("read", cells="Sheet1.A:D")
    assert table.splitlines()[:3] == [
        "Sheet1.A1:D6",
        "\tA\tB\tC\tD",
        "1\tRegion\tYear\tSales\tNote",
    ]
    assert await lines(calc, "Sheet1.A5:C5") == [["South", "2024", "5.5"]]
    assert "Sheet1.C5 5.5" in await calc("find", text="5.5", cells="Sheet1.A1:D9")
    assert "not found" in await calc("find", text="5.50001")


async def test_written_cells_are_interpreted_as_typed(
    calc: KitCaller, machine: DesktopEnvironment
) -> None:
    name = await fresh(calc)
    rows = [["2024-03-01", "'0012", "=C2*2", True, "15%"], [None, "", "=1/0", "x\ty\nz", -1e300]]
    output = await calc.expect_refusal("write", cell=f"{name}.F1", values=rows)
    assert output.startswith(f"written, but {name}.F1:J2: 2024-03-01 | 0012 | 20 | TRUE | 15%")
    assert "1 with an error: H2 #DIV/0!" in output
    sheet = (await read_workbook(calc, machine))[name]
    assert sheet["F1"].is_date
    assert sheet["G1"].value == "0012"
    assert sheet["H1"].value == "=C2*2"
    assert sheet["I2"].value == "x\ty\nz"
    assert (await lines(calc, f"{name}.F1:J2"))[1] == ["", "", "#DIV/0!", "x\\ty\\nz", "-1E+300"]
    assert (await lines(calc, f"{name}.H1:H1", show="formulas")) == [["=C2*2"]]
    assert (await lines(calc, f"{name}.F1:F1", show="values")) == [["45352"]]


async def test_formulas_are_taken_as_calc_and_as_excel_spell_them(
    calc: KitCaller, machine: DesktopEnvironment
) -> None:
    name = await fresh(calc)
    formula = f'=IF(SUM({name}!C2,C3,{{1,2;3,4}})=40,"a,b;c","no")'
    output = await calc("write", cell=f"{name}.F1", values=[[formula, "=MATCH(2,{1;2;3},0)"]])
    assert output == f"{name}.F1:G1: a,b;c | 2"
    assert await calc("formula", cells=f"{name}.F2:F3", formula="=ROUND(C2/3,1)") == (
        f"{name}.F2:F3: 3.3 / 6.7"
    )
    output = await calc.expect_refusal("formula", cells=f"{name}.F2:F3", formula="=NOSUCH(C2,1)")
    assert output == (
        f"written, but {name}.F2:F3: #NAME? / #NAME?; 2 with an error: F2 #NAME?, F3 #NAME?"
    )
    await calc("undo")
    when = 'formula AND($B2=2024,$A2="South")'
    assert ";" in await calc("highlight", cells=f"{name}.A2:D6", when=when, color="red")
    await calc("validate", cells=f"{name}.C2:C6", rule="between 0 and MAX(9,$B$2)")
    sheet = (await read_workbook(calc, machine))[name]
    assert sheet["F1"].value == f'=IF(SUM({name}!C2,C3,{{1,2;3,4}})=40,"a,b;c","no")'
    (rules,) = sheet.conditional_formatting
    assert rules.rules[0].formula == ['AND($B2=2024,$A2="South")']
    (limit,) = sheet.data_validations.dataValidation
    assert limit.formula2 == "MAX(9,$B$2)"


async def test_formulas_fill_and_are_copied(calc: KitCaller) -> None:
    name = await fresh(calc)
    assert await calc("formula", cells=f"{name}.E2:F6", formula="=$C2+1") == (
        f"{name}.E2:F6: 11 | 11 / 21 | 21 / 31 | 31 / 6.5 | 6.5 …"
    )
    assert await lines(calc, f"{name}.F6", show="formulas") == [["=$C6+1"]]
    await calc("write", cell=f"{name}.H1", values=[[3], ["Mon"]])
    await calc("fill", cells=f"{name}.H1:K1", direction="right", series=True)
    assert await lines(calc, f"{name}.H1:K1") == [["3", "4", "5", "6"]]
    await calc("fill", cells=f"{name}.H2:H5")
    assert await lines(calc, f"{name}.H2:H5") == [["Mon"]] * 4
    await calc("copy", cells=f"{name}.E2:E3", to=f"{name}.A20")
    assert await lines(calc, f"{name}.A20", show="formulas") == [["=$C20+1"]]
    await calc("copy", cells=f"{name}.E2:E3", to=f"{name}.B20", values_only=True)
    assert await lines(calc, f"{name}.B20:B21", show="formulas") == [["11"], ["21"]]


async def test_texts_are_replaced_and_cells_cleared(
    calc: KitCaller, machine: DesktopEnvironment
) -> None:
    name = await fresh(calc)
    block = f"{name}.A1:D6"
    output = await calc("replace", text="north", replacement="West", cells=block)
    assert output.startswith("3 cells changed")
    assert (await lines(calc, f"{name}.A2:A3")) == [["West"], ["South"]]
    output = await calc("replace", text="^S.*h$", replacement="E", cells=block, regex=True)
    assert output.startswith("2 cells changed")
    output = await calc("replace", text="es", replacement="x", cells=block, whole_cell=True)
    assert "nothing is replaced" in output
    assert "0 filled cells there now, 6 before" in await calc("clear", cells=f"{name}.D:D")
    await calc("style", cells=f"{name}.A1:C1", bold=True)
    await calc("clear", cells=f"{name}.A1:C1", what="formats")
    assert not (await read_workbook(calc, machine))[name]["A1"].font.b
    assert (await lines(calc, f"{name}.A1:C1")) == [["Region", "Year", "Sales"]]


# Tables -------------------------------------------------------------------------------------------


async def test_tables_are_sorted_filtered_and_made_single(
    calc: KitCaller, machine: DesktopEnvironment
) -> None:
    name = await fresh(calc)
    await calc("sort", cells=f"{name}.A1", by=["Region", "-C"])
    assert [row[2] for row in await lines(calc, f"{name}.A1:D6")] == [
        *("Sales", "30", "10", "10", "20", "5.5")
    ]
    assert "A to D, or a header" in await calc.expect_refusal("sort", cells=f"{name}.A1", by=["Z"])
    output = await calc("filter", cells=f"{name}.A1", where=["Sales > 9", "Region = North"])
    assert output == f"{name}.A1:D6: 3 of 5 rows are shown"
    assert "1 of 5" in await calc("filter", cells=f"{name}.A1", where=["D contains d"])
    assert "2 of 5" in await calc(
        "filter", cells=f"{name}.A1", where=["D = b", "C = 30"], any_of=True
    )
    sheet = (await read_workbook(calc, machine))[name]
    assert sum(sheet.row_dimensions[row].hidden for row in range(1, 7)) == 3
    assert "5 of 5" in await calc("filter", cells=f"{name}.A1", where=[])
    output = await calc("remove_duplicates", cells=f"{name}.A1")
    assert output == f"{name}.A1:D6: 1 duplicate rows removed, 4 left"
    assert "no duplicates" in await calc("remove_duplicates", cells=f"{name}.A1")
    await calc("remove_duplicates", cells=f"{name}.A1", columns=["Region"])
    assert [row[0] for row in await lines(calc, f"{name}.A1:D9")] == ["Region", "North", "South"]


async def test_pivot_tables_are_made(calc: KitCaller) -> None:
    name = await fresh(calc)
    output = await calc(
        "pivot",
        cells=f"{name}.A1",
        rows=["Region"],
        columns=["Year"],
        values={"Sales": "sum"},
        to=f"{name}.G1",
    )
    assert output.startswith(f"pivot table 'Pivot' at {name}.G1:")
    table = await lines(calc, f"{name}.G1:J5")
    assert ["North", "20", "30", "50"] in table
    assert f"sheet '{name}'" in await calc("overview")
    assert "no header" in await calc.expect_refusal(
        "pivot", cells=f"{name}.A1", values={"x": "sum"}
    )
    output = await calc("pivot", cells=f"{name}.A1", rows=["Region"], values={"Sales": "count"})
    assert "Total Result | 5" in output
    await calc("undo", steps=1)


async def test_a_pivot_table_is_laid_out_as_by_calcs_own_dialog(
    calc: KitCaller, machine: DesktopEnvironment
) -> None:
    name = await fresh(calc)
    await calc("clear", cells=f"{name}.A4:D6")
    rows = [["North by the river", 2023, 1, 2], ["South", 2024, 3, 4]]
    heads = ["A region of the country", "Year", "Sales", "Units"]
    await calc("write", cell=f"{name}.A1", values=[heads, *rows])
    output = await calc(
        "pivot",
        cells=f"{name}.A1",
        rows=["A region of the country"],
        columns=["Year"],
        values=["Sales", "Units"],
    )
    own = f"Pivot Table_{name}_1"
    assert f"'{own}'.A1:G6" in output, "on a sheet named as by the dialog"
    table = await lines(calc, f"'{own}'.A1:G3")
    assert table[0][:3] == ["", "Data", "Year"]
    assert table[1][1:5] == ["Sum - Sales", "", "Sum - Units", ""]
    book = await read_workbook(calc, machine)
    assert book.sheetnames.index(own) == book.sheetnames.index(name) + 1, "behind its source"
    assert not book[own].column_dimensions
    await calc("undo", steps=1)


STEPS = """
import sys
sys.path.insert(0, sys.argv[1])
from guest.calc_cells import FUNCTIONS
for number in range(20):
    FUNCTIONS["write"](cell=sys.argv[2], values=[[number]])
"""


async def test_a_refused_call_takes_no_earlier_one_back(
    calc: KitCaller, machine: DesktopEnvironment
) -> None:
    name = await fresh(calc)
    folder = (await machine.execute("ls -d /tmp/.hisa-toolkits/*/")).output.strip()
    result = await machine.execute(["/usr/bin/python3", "-c", STEPS, folder, f"{name}.F1"])
    assert result.exit_code == 0, result
    await calc("chart", cells=f"{name}.A1:C6", name="Kept")
    assert "already" in await calc.expect_refusal("chart", cells=f"{name}.A1:C6", name="Kept")
    assert "charts: Kept" in await calc("overview")


async def test_a_condition_that_cannot_be_calculated_is_refused(
    calc: KitCaller, machine: DesktopEnvironment
) -> None:
    name = await fresh(calc)
    block = f"{name}.C2:C6"
    for rule in ("> NOSUCH(C2,1)", "formula C2>", "= North", "between 1 and C2)", "> ROUND()"):
        for function, condition in (("highlight", {"when": rule}), ("validate", {"rule": rule})):
            reason = await calc.expect_refusal(function, cells=block, **condition)
            assert "is not a formula that can be calculated" in reason
    sheet = (await read_workbook(calc, machine))[name]
    assert not list(sheet.conditional_formatting)
    assert not sheet.data_validations.dataValidation
    assert sheet.dimensions == "A1:D6"
    await calc("highlight", cells=block, when="formula $C2/0>1", color="red")
    await calc("highlight", cells=block, when=f"> MAX({name}!$B$2,{{1,2;3,4}})", color="red")
    await calc("validate", cells=f"{name}.E2:E6", rule="> 2024-01-31", kind="date")
    sheet = (await read_workbook(calc, machine))[name]
    (limit,) = sheet.data_validations.dataValidation
    assert limit.formula1 == "DATE(2024,1,31)"
    rules = {
        rule.formula[0] for formatting in sheet.conditional_formatting for rule in formatting.rules
    }
    assert rules == {"$C2/0>1", f"MAX({name}!$B$2,{{1,2;3,4}})"}
    assert sheet.dimensions == "A1:D6"


async def test_rules_and_charts_are_in_the_file(
    calc: KitCaller, machine: DesktopEnvironment
) -> None:
    name = await fresh(calc)
    await calc("highlight", cells=f"{name}.C2:C6", when="> 15", background="red", bold=True)
    await calc("highlight", cells=f"{name}.C2:C6", when="formula $B2=2024", color="blue")
    await calc("highlight", cells=f"{name}.A2:A6", when='= "North"', color="blue")
    output = await calc("highlight", cells=f"{name}.A2:A6", when="", add=False)
    assert "conditional formats: none" in output
    await calc("validate", cells=f"{name}.D2:D6", choices=["a", 'say "x"'])
    await calc("validate", cells=f"{name}.B2:B6", rule="between 2000 and 2030", kind="whole")
    await calc("validate", cells=f"{name}.A2:A6", source=f"{name}.A2:A3")
    output = await calc(
        "chart",
        cells=f"{name}.A1:A6,{name}.C1:C6",
        kind="line",
        title="Sales",
        x_title="Region",
        y_title="Money",
        name=f"C {name}",
    )
    assert output == (
        f"chart 'C {name}' on '{name}': LineDiagram of A1:A6, C1:C6; "
        "title 'Sales', X axis 'Region', Y axis 'Money', legend"
    )
    other = await fresh(calc)
    output = await calc("chart", cells=f"{other}.B1:C6", labels=False, at=f"{other}.M9")
    assert f"on '{other}': BarDiagram of B1:C6" in output, "by a name that no sheet has"
    taken = await calc.expect_refusal("chart", cells=f"{other}.B1:C6", name=f"C {name}")
    assert "already" in taken, "of another sheet"
    book = await read_workbook(calc, machine)
    assert len(book[other]._charts[-1].series) == 2
    sheet = book[name]
    rules = [rule for formatting in sheet.conditional_formatting for rule in formatting.rules]
    assert sorted(rule.type for rule in rules) == ["cellIs", "expression"]
    validations = {
        str(validation.sqref): validation for validation in sheet.data_validations.dataValidation
    }
    assert {validation.type for validation in validations.values()} == {"list", "whole"}
    assert (validations["B2:B6"].formula1, validations["B2:B6"].formula2) == ("2000", "2030")
    assert "anything may be typed" in await calc("validate", cells=f"{name}.B2:B6")


# Looks and lines ----------------------------------------------------------------------------------


async def test_looks_are_in_the_file(calc: KitCaller, machine: DesktopEnvironment) -> None:
    name = await fresh(calc)
    output = await calc(
        "style",
        cells=f"{name}.A1:D1",
        bold=True,
        italic=True,
        underline=True,
        font="DejaVu Serif",
        size=14,
        color="#c9211e",
        background="yellow",
        horizontal="center",
        wrap=True,
    )
    assert output.startswith(f"{name}.A1:D1: DejaVu Serif 14 pt, bold, italic, underline single")
    await calc("format_numbers", cells=f"{name}.C2:C6", code="#,##0.00")
    await calc("merge", cells=f"{name}.A8:C8")
    await calc("merge", cells=f"{name}.A9:C9")
    assert "not merged" in await calc("merge", cells=f"{name}.A9:C9", on=False)
    await calc("size", lines=f"{name}.B", millimetres=50)
    await calc("size", lines=f"{name}.1:1", millimetres=12)
    assert "hidden" in await calc("visible", lines=f"{name}.D", on=False)
    await calc("visible", lines=f"{name}.3:4", on=False)
    assert "shown" in await calc("visible", lines=f"{name}.3:4", on=True)
    output = await calc("freeze", rows=1, columns=2)
    assert output.startswith(f"{name}: rows from 2 and columns from C on scroll")
    sheet = (await read_workbook(calc, machine))[name]
    font = sheet["B1"].font
    assert (font.b, font.i, font.u, font.name, font.sz) == (
        *(True, True, "single", "DejaVu Serif", 14),
    )
    assert font.color.rgb == "FFC9211E"
    assert sheet["B1"].fill.fgColor.rgb == "FFFFFF00"
    assert (sheet["B1"].alignment.horizontal, sheet["B1"].alignment.wrap_text) == ("center", True)
    assert sheet["C3"].number_format == "#,##0.00"
    assert [str(cell_range) for cell_range in sheet.merged_cells.ranges] == ["A8:C8"]
    assert sheet.column_dimensions["B"].width > 20
    assert sheet.row_dimensions[1].height == pytest.approx(34, abs=1)
    assert sheet.column_dimensions["D"].hidden
    assert sheet.freeze_panes == "C2"
    assert "nothing is frozen" in await calc("freeze")


async def test_lines_and_cells_come_and_go(calc: KitCaller) -> None:
    name = await fresh(calc)
    await calc("insert", before=f"{name}.2", count=2)
    await calc("insert", before=f"{name}.B")
    assert await lines(calc, f"{name}.A4:D4") == [["North", "", "2023", "10"]]
    output = await calc("delete", lines=f"{name}.2:3")
    assert "the used area ends at 6 rows, before at 8" in output
    await calc("delete", lines=f"{name}.B")
    assert await lines(calc, f"{name}.A2:D2") == [["North", "2023", "10", "a"]]


# Sheets, pages, files -----------------------------------------------------------------------------


async def test_sheets_come_move_and_go_whatever_their_names(
    calc: KitCaller, machine: DesktopEnvironment
) -> None:
    odd = "It's v1.2 (a & b)"
    await calc("sheet_add", name="plain", position=1)
    await calc("sheet_rename", sheet="plain", name=odd)
    quoted = "'It''s v1.2 (a & b)'.B2"
    output = await calc("write", cell=quoted, values=[["=Sheet1.C2"]])
    assert output == f"{quoted}: 10"
    assert await calc("read", cells="It's v1.2 (a & b).B2") == f"{quoted}\n\tB\n2\t10"
    assert await calc("read", cells=quoted.replace(".B2", "!B2")) == f"{quoted}\n\tB\n2\t10"
    await calc("sheet_copy", sheet=odd, name="Kopie ü", position=2)
    await calc("sheet_move", sheet="Kopie ü", position=0)
    names = (await read_workbook(calc, machine)).sheetnames
    assert (names[0], names[-1]) == (odd, "Kopie ü")
    output = await calc("sheet_move", sheet="Kopie ü", position=2)
    assert output.startswith(f"sheets: {odd}, Kopie ü, ")
    await calc("sheet_delete", sheet="Kopie ü")
    assert odd not in await calc("sheet_delete", sheet=odd)
    for name in ("a/b", "[x]", "'q", "Sheet1"):
        assert "sheet" in await calc.expect_refusal("sheet_add", name=name)
    assert "there is no sheet 'none'" in await calc.expect_refusal("sheet_delete", sheet="none")


async def test_pages_are_set_up(calc: KitCaller, machine: DesktopEnvironment) -> None:
    name = await fresh(calc)
    output = await calc(
        "page",
        sheet=name,
        landscape=True,
        paper="A4",
        pages_wide=1,
        pages_tall=0,
        area=f"{name}.A1:D5",
    )
    assert output.startswith(f"'{name}': landscape, 297 x 210 mm, fitted to 1 x any, prints A1:D5")
    book = await read_workbook(calc, machine)
    sheet = book[name]
    assert sheet.page_setup.orientation == "landscape"
    assert sheet.page_setup.fitToWidth == 1
    assert "$A$1:$D$5" in sheet.print_area


async def test_unsaved_work_stays_until_save_is_called(
    calc: KitCaller, machine: DesktopEnvironment
) -> None:
    before = await machine.read_file("/home/user/sales.xlsx")
    await calc("write", cell="Sheet1.F1", values=[["unsaved"]])
    assert await machine.read_file("/home/user/sales.xlsx") == before
    assert "with unsaved changes" in await calc("overview")
    await calc("export", path="/tmp/there.ods")
    assert "already exists" in await calc.expect_refusal("save", path="/tmp/there.ods")
    assert await machine.read_file("/home/user/sales.xlsx") == before
    await calc("save", path="~/sales.xlsx")
    data = await machine.read_file("/home/user/sales.xlsx")
    book = openpyxl.load_workbook(io.BytesIO(data))
    assert book["Sheet1"]["F1"].value == "unsaved"
    assert "; saved)" in await calc("overview")


async def test_copies_are_written_in_other_formats(
    calc: KitCaller, machine: DesktopEnvironment
) -> None:
    name = await fresh(calc)
    await calc("format_numbers", cells=f"{name}.C2:C6", code="0.00")
    await calc("export", path="/tmp/table.csv")
    assert (await machine.read_file("/tmp/table.csv")).decode().splitlines()[1:3] == [
        "North,2023,10.00,a",
        "South,2023,20.00,b",
    ]
    await calc("export", path="/tmp/table.pdf")
    assert (await machine.read_file("/tmp/table.pdf")).startswith(b"%PDF")
    assert "already exists" in await calc.expect_refusal("export", path="/tmp/table.pdf")
    assert "expected a name that ends in" in await calc.expect_refusal("export", path="/tmp/x.exe")
    assert "there is no folder" in await calc.expect_refusal("export", path="/nowhere/x.pdf")
    assert "whole path" in await calc.expect_refusal("export", path="x.pdf")
    assert "sales.xlsx" in await calc("overview")


# Undo ---------------------------------------------------------------------------------------------


async def test_call_is_a_single_undo_step(calc: KitCaller) -> None:
    name = await fresh(calc)
    was = await lines(calc, f"{name}.A1:H9")
    steps: list[tuple[str, dict[str, Any]]] = [
        ("write", {"cell": f"{name}.A1", "values": [["x", "y"], ["2024-01-01", "=1+1"]]}),
        ("sort", {"cells": f"{name}.A1:D6", "by": ["C"]}),
        ("remove_duplicates", {"cells": f"{name}.A1:D6"}),
        ("delete", {"lines": f"{name}.2:3"}),
        ("clear", {"cells": f"{name}.A1:C6", "what": "all"}),
    ]
    for function, arguments in steps:
        await calc(function, **arguments)
        assert await lines(calc, f"{name}.A1:H9") != was, function
        assert "taken back" in await calc("undo", steps=1)
        assert await lines(calc, f"{name}.A1:H9") == was, function
    for function, arguments in steps[:2]:
        await calc(function, **arguments)
    assert (await calc("undo", steps=2)).startswith("taken back: Sort, Write cells;")
    assert await lines(calc, f"{name}.A1:H9") == was


async def test_looks_are_taken_back_too(calc: KitCaller, machine: DesktopEnvironment) -> None:
    """LibreOffice lists steps that it then does not take back; so the file is looked at."""
    name = await fresh(calc)
    block = f"{name}.A1:B2"
    for function, arguments in (
        ("style", {"cells": block, "bold": True, "background": "red"}),
        ("format_numbers", {"cells": block, "code": "0.00"}),
        ("merge", {"cells": block}),
        ("validate", {"cells": block, "choices": ["a"]}),
        ("highlight", {"cells": block, "when": "> 1", "background": "red"}),
    ):
        await calc(function, **arguments)
    assert _read_look(await read_workbook(calc, machine), name) == (
        True,
        "FFFF0000",
        "0.00",
        1,
        1,
        1,
    )
    await calc("undo", steps=5)
    assert _read_look(await read_workbook(calc, machine), name) == (
        False,
        "00000000",
        "General",
        0,
        0,
        0,
    )


def _read_look(book: Any, name: str) -> tuple[Any, ...]:
    sheet, cell = book[name], book[name]["A1"]
    return (
        *(cell.font.b, cell.fill.fgColor.rgb, cell.number_format),
        len(sheet.merged_cells.ranges),
        len(sheet.data_validations.dataValidation),
        len(list(sheet.conditional_formatting)),
    )


async def test_a_sheet_that_was_deleted_comes_back(calc: KitCaller) -> None:
    name = await fresh(calc)
    await calc("sheet_delete", sheet=name)
    await calc("undo", steps=1)
    assert await lines(calc, f"{name}.A2:C2") == [["North", "2023", "10"]]


# Hostile input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("A1048577", "is not on the sheet"),
        ("A99999999999999999999", "is not on the sheet"),
        ("no such thing", "names no cells"),
        ("none.A1", "there is no sheet 'none'"),
        ("'; rm -rf ~'.A1", "there is no sheet"),
        ("$(reboot)", "names no cells"),
    ],
)
async def test_an_unknown_place_is_refused_by_name(
    calc: KitCaller, place: str, reason: str
) -> None:
    assert reason in await calc.expect_refusal("read", cells=place)


async def test_very_many_cells_are_read_in_part(calc: KitCaller) -> None:
    name = await fresh(calc)
    await calc("write", cell=f"{name}.A1", values=[[1, 2]])
    await calc("formula", cells=f"{name}.A10:J20009", formula="=ROW()")
    output = await calc("read", cells=f"{name}.A10:J20009")
    assert len(output) < 8000
    assert output.splitlines()[2].startswith("10\t10\t10")
    assert "… not shown: " in output.splitlines()[-1]
    output = await calc.expect_refusal(
        "formula", cells=f"{name}.L1:L3", formula="=SUM(A10:A20009)/0"
    )
    assert "3 with an error" in output
    await calc("undo", steps=1)
    await calc("sheet_delete", sheet=name)


async def test_wrong_input_is_refused_before_anything_is_done(calc: KitCaller) -> None:
    misfits: list[tuple[str, dict[str, Any]]] = [
        ("write", {"cell": "A1", "values": []}),
        ("write", {"cell": "A1", "values": [["x" * 40_000]]}),
        ("fill", {"cells": "A1:A3", "direction": "sideways"}),
        ("undo", {"steps": 0}),
        ("size", {"lines": "A", "millimetres": float("nan")}),
        ("style", {"cells": "A1", "size": 10_000}),
    ]
    for function, arguments in misfits:
        with pytest.raises(InvalidReply):
            await calc(function, **arguments)
    refusals: list[tuple[str, dict[str, Any], str]] = [
        ("write", {"cell": "XFD1048576", "values": [[1, 2]]}, "do not fit"),
        ("style", {"cells": "A1"}, "nothing to set"),
        ("style", {"cells": "A1", "color": "rainbow"}, "is no colour"),
        ("format_numbers", {"cells": "A1", "code": "[[["}, "is no number format"),
        ("highlight", {"cells": "A1", "when": "big"}, "expected '> 5'"),
        ("filter", {"cells": "Sheet1.A1", "where": ["Sales"]}, "expected a condition"),
        ("delete", {"lines": "A1:B2"}, "expected rows"),
        ("sort", {"cells": "Sheet1.A60:B70", "by": ["A"]}, "is empty"),
    ]
    for function, arguments, reason in refusals:
        assert reason in await calc.expect_refusal(function, **arguments), function


# Neighbours that are not as they should be --------------------------------------------------------


async def test_an_open_dialog_is_named_and_nothing_is_changed(
    calc: KitCaller, machine: DesktopEnvironment
) -> None:
    name = await fresh(calc)
    await machine.execute("xdotool key ctrl+1")
    await _focus(machine, "Format Cells")
    assert CALC.needs.in_front(await machine.observe()), "its tools stay offered"
    reason = await calc.expect_refusal("write", cell=f"{name}.A1", values=[["x"]])
    assert reason == "the dialog “Format Cells” is open in LibreOffice; answer or close it first"
    assert await lines(calc, f"{name}.A1") == [["Region"]], "reading works beside it"
    await machine.execute("xdotool key Escape")
    await _focus(machine, "sales.xlsx")
    assert "x" in await calc("write", cell=f"{name}.A1", values=[["x"]])


async def test_a_document_of_another_kind_in_front_is_named(
    calc: KitCaller, machine: DesktopEnvironment, start: Start
) -> None:
    await start("soffice --writer --norestore --nologo", "LibreOffice Writer")
    reason = await calc.expect_refusal("write", cell="A1", values=[["x"]])
    assert "Untitled 1" in reason
    assert "a text document, is in front of LibreOffice; bring “sales.xlsx” to the front" in reason
    await machine.execute("xdotool key ctrl+w")
    await _focus(machine, "sales.xlsx")
    assert "sales.xlsx" in await calc("overview")


async def test_an_office_that_hangs_is_reported(
    calc: KitCaller, machine: DesktopEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, programs = guest_call._programs()
    bridge = programs["office_bridge.py"].replace(b"_SILENT = 20.0", b"_SILENT = 2.0")
    hasty = {**programs, "office_bridge.py": bridge}
    monkeypatch.setattr(guest_call, "_programs", lambda: (f"{folder}-hasty", hasty))
    await machine.execute("pkill -STOP -x soffice.bin")
    try:
        assert "does not answer for 2 s" in await calc.expect_refusal("overview")
    finally:
        await machine.execute("pkill -CONT -x soffice.bin")
    monkeypatch.undo()
    assert "sales.xlsx" in await calc("overview")


async def test_a_machine_without_the_bridge_of_libreoffice_says_so(
    calc: KitCaller, machine: DesktopEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its Python is started without the modules that the system's packages add."""
    await machine.write_file("/tmp/bare", b'#!/bin/sh\nexec /usr/bin/python3 -S "$@"\n')
    await machine.execute("chmod +x /tmp/bare")
    monkeypatch.setattr(guest_call, "PYTHON", "/tmp/bare")
    assert "has no module 'uno'" in await calc.expect_refusal("overview")


async def _focus(machine: DesktopEnvironment, title: str) -> None:
    limit = time.monotonic() + patience(20)
    while not await window(machine, title):
        assert time.monotonic() < limit, f"{title!r} has not come to the front"
        await asyncio.sleep(0.1)


async def test_every_function_was_called(calc: KitCaller) -> None:
    assert calc.names - calc.called == set()
