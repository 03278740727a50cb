"""The screens of LibreOffice."""

from __future__ import annotations

import io
from collections.abc import Callable

import docx
import openpyxl
import pptx
from openpyxl.styles import Font, PatternFill
from pptx.util import Cm

from benchmarks.grounding.drive import AWAY, act_and_settle, await_click, open_program, until
from benchmarks.grounding.recipe import HD, LARGE, UHD, screen
from hisa.actions import Hotkey, Move, Press, Write
from hisa.plugins.desktop.private_desktop import DesktopEnvironment

HOME = "/home/user"
STOCK = (
    ("Article", "Group", "Stock", "Price", "Supplier", "Reordered"),
    ("Oak chair", "Chairs", 14, 129.0, "Holzwerk", "yes"),
    ("Beech stool", "Stools", 3, 49.5, "Holzwerk", "yes"),
    ("Dining table", "Tables", 6, 540.0, "Nordic Wood", "no"),
    ("Folding chair", "Chairs", 41, 24.9, "Sedia SpA", "no"),
    ("Bench, 1.8 m", "Benches", 2, 310.0, "Nordic Wood", "yes"),
    ("Bar stool", "Stools", 17, 89.0, "Sedia SpA", "no"),
    ("Side table", "Tables", 9, 115.0, "Holzwerk", "no"),
    ("Desk lamp", "Lamps", 25, 39.9, "Lumen", "no"),
    ("Floor lamp", "Lamps", 1, 149.0, "Lumen", "yes"),
    ("Rocking chair", "Chairs", 4, 265.0, "Nordic Wood", "no"),
)


def _workbook(*, filtered: bool = False) -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Stock"
    for row in STOCK:
        sheet.append(row)
    for cell in sheet[1]:
        cell.font, cell.fill = Font(bold=True), PatternFill("solid", fgColor="FFD9E2F3")
    for letter, width in zip("ABCDEF", (18, 12, 9, 10, 16, 12), strict=True):
        sheet.column_dimensions[letter].width = width
    if filtered:
        sheet.auto_filter.ref = "A1:F11"
    book.create_sheet("Suppliers").append(("Supplier", "Town"))
    book.create_sheet("2023")
    return _save_bytes(book.save)


def _save_bytes(save: Callable[[io.BytesIO], object]) -> bytes:
    buffer = io.BytesIO()
    save(buffer)
    return buffer.getvalue()


async def _calc(
    desktop: DesktopEnvironment, *, filtered: bool = False, dark: bool = False, at: str = ""
) -> None:
    """Open the stock list in Calc, fill the screen, and wait until its cells are there."""
    await desktop.write_file(f"{HOME}/stock.xlsx", _workbook(filtered=filtered))
    await _office(desktop, "--calc", "stock.xlsx", dark=dark, at=at)
    await until(
        desktop, lambda observation: any(e.role == "table cell" for e in observation.elements or ())
    )


async def _office(
    desktop: DesktopEnvironment, kind: str, name: str, *, dark: bool = False, at: str = ""
) -> None:
    """Open a document; its window fills the screen, or is put at X,Y,WIDTH,HEIGHT."""
    theme = "GTK_THEME=Adwaita:dark " if dark else ""
    await open_program(desktop, f"{theme}soffice {kind} --norestore --nologo {HOME}/{name}", name)
    both = "maximized_vert,maximized_horz"
    change = "remove" if at else "add"
    await desktop.execute(["wmctrl", "-r", ":ACTIVE:", "-b", f"{change},{both}"])
    if at:
        await desktop.execute(["wmctrl", "-r", ":ACTIVE:", "-e", f"0,{at}"])
    await act_and_settle(desktop, Move(AWAY), Press("esc"), title=name)


async def _go_to(desktop: DesktopEnvironment, cells: str) -> None:
    """Select cells by the name box."""
    await act_and_settle(desktop, Hotkey(("ctrl", "shift", "t")))
    await act_and_settle(desktop, Write(cells), Press("enter"))


async def _menu(desktop: DesktopEnvironment, *names: str, title: str = "") -> None:
    """Open the menu ``names[0]`` and choose what follows."""
    await act_and_settle(desktop, await await_click(desktop, "menu", names[0]))
    for name in names[1:]:
        await desktop.act([await await_click(desktop, "menu item", name)])
    await act_and_settle(desktop, Move(AWAY), title=title)


@screen(split="train", app="libreoffice-calc", size=LARGE)
async def calc_sheet(desktop: DesktopEnvironment) -> None:
    """Calc with a stock list of ten articles, the prices selected, and three sheets."""
    await _calc(desktop)
    await _go_to(desktop, "D2:D11")


@screen(split="train", app="libreoffice-calc")
async def calc_format_cells(desktop: DesktopEnvironment) -> None:
    """Calc's Format Cells dialog, page Numbers, for the selected prices."""
    await _calc(desktop)
    await _go_to(desktop, "D2:D11")
    await act_and_settle(desktop, Hotkey(("ctrl", "1")), title="Format Cells")


@screen(split="train", app="libreoffice-calc")
async def calc_alignment(desktop: DesktopEnvironment) -> None:
    """Calc's Format Cells dialog, page Alignment, in a dark theme."""
    await _calc(desktop, dark=True)
    await _go_to(desktop, "A1:F1")
    await act_and_settle(desktop, Hotkey(("ctrl", "1")), title="Format Cells")
    await act_and_settle(desktop, await await_click(desktop, "page tab", "Alignment"), Move(AWAY))


@screen(split="train", app="libreoffice-calc")
async def calc_sort(desktop: DesktopEnvironment) -> None:
    """Calc's Sort dialog over the stock list."""
    await _calc(desktop)
    await _go_to(desktop, "A1:F11")
    await _menu(desktop, "Data", "Sort...", title="Sort")


@screen(split="train", app="libreoffice-calc")
async def calc_autofilter(desktop: DesktopEnvironment) -> None:
    """Calc's stock list with the drop-down of the AutoFilter of the column Group open."""
    await _calc(desktop, filtered=True)
    await _go_to(desktop, "B1")
    await act_and_settle(desktop, Hotkey(("alt", "down")))


@screen(split="train", app="libreoffice-calc")
async def calc_menu(desktop: DesktopEnvironment) -> None:
    """Calc's stock list with the menu Data open."""
    await _calc(desktop)
    await _menu(desktop, "Data")


@screen(split="train", app="libreoffice-calc", size=UHD)
async def calc_options(desktop: DesktopEnvironment) -> None:
    """LibreOffice's Options dialog over the stock list on a screen of 3840x2160."""
    await _calc(desktop, at="1200,600,1400,900")
    await act_and_settle(desktop, Hotkey(("alt", "f12")), title="Options")


def _document() -> bytes:
    text = docx.Document()
    text.add_heading("Minutes of the workshop meeting", 1)
    text.add_paragraph(
        "Present: Ines Brandt, Joseph Okafor, Lena Lindqvist. The meeting began at nine and"
        " ended shortly before eleven."
    )
    text.add_paragraph("Order more beech before the end of April", "List Bullet")
    text.add_paragraph("Repair the band saw", "List Bullet")
    table = text.add_table(4, 3, "Table Grid")
    rows = (
        ("Task", "Who", "Until"),
        ("Price list", "Lena", "12 April"),
        ("Fair in Oslo", "Joseph", "3 May"),
        ("New lamps", "Ines", "open"),
    )
    for row, values in zip(table.rows, rows, strict=True):
        for cell, value in zip(row.cells, values, strict=True):
            cell.text = value
    text.add_paragraph("")
    text.add_paragraph("The next meeting is on Thursday, 18 April.")
    return _save_bytes(text.save)


async def _writer(desktop: DesktopEnvironment) -> None:
    await desktop.write_file(f"{HOME}/minutes.docx", _document())
    await _office(desktop, "--writer", "minutes.docx")


@screen(split="held", app="libreoffice-writer")
async def writer_document(desktop: DesktopEnvironment) -> None:
    """Writer with minutes: a heading, two paragraphs, two bullets and a table of four rows."""
    await _writer(desktop)


@screen(split="held", app="libreoffice-writer")
async def writer_paragraph(desktop: DesktopEnvironment) -> None:
    """Writer's Paragraph dialog, page Indents & Spacing, over the minutes."""
    await _writer(desktop)
    await _menu(desktop, "Format", "Paragraph...", title="Paragraph")


@screen(split="held", app="libreoffice-writer", size=LARGE)
async def writer_find(desktop: DesktopEnvironment) -> None:
    """Writer's Find & Replace dialog, filled in, over the minutes."""
    await _writer(desktop)
    await act_and_settle(desktop, Hotkey(("ctrl", "h")), title="Find and Replace")
    await act_and_settle(desktop, Write("meeting"), title="Find and Replace")


def _slides() -> bytes:
    show = pptx.Presentation()
    show.slide_width, show.slide_height = Cm(28), Cm(15.75)
    for title, body in (
        (
            "Chairs for the town library",
            "Twelve oak chairs\nDelivered in May\nFive years' guarantee",
        ),
        ("What it costs", "Chairs 1,548 EUR\nDelivery 90 EUR"),
        ("How we go on", "Visit on 18 April"),
    ):
        slide = show.slides.add_slide(show.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = body
    return _save_bytes(show.save)


async def _impress(desktop: DesktopEnvironment) -> None:
    await desktop.write_file(f"{HOME}/library.pptx", _slides())
    await _office(desktop, "--impress", "library.pptx")


@screen(split="held", app="libreoffice-impress", size=LARGE)
async def impress_slide(desktop: DesktopEnvironment) -> None:
    """Impress with three slides, the first shown, and the sidebar's Properties."""
    await _impress(desktop)


@screen(split="held", app="libreoffice-impress", size=HD)
async def impress_insert_menu(desktop: DesktopEnvironment) -> None:
    """Impress with three slides and the menu Slide open."""
    await _impress(desktop)
    await _menu(desktop, "Slide")
