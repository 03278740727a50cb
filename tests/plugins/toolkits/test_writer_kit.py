"""Text documents in a running Writer: each result is read in a copy, by python-docx or odfpy."""

from __future__ import annotations

import io
import uuid
import zipfile
from collections.abc import Sequence
from pathlib import PurePosixPath

import docx
import pytest
import pytest_asyncio
from docx.document import Document
from docx.enum.text import WD_ALIGN_PARAGRAPH
from docx.shared import Cm, Pt, RGBColor
from PIL import Image

from hisa.machine.patience import Deadline
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.toolkits.writer import WRITER
from tests.plugins.toolkits.using import KitCaller

pytestmark = pytest.mark.asyncio(loop_scope="module")
desktop = pytest.mark.desktop
TEXT = (
    "A report",
    "It is about water, which is H2O.",
    "The colour of water is no Colour at all.",
    "first point",
    "second point",
    "third point",
    "The end",
)


@pytest.fixture(scope="module")
def use(machine: DesktopEnvironment) -> KitCaller:
    return KitCaller(WRITER, machine)


class Paper:
    """A document that is open in the window in front."""

    def __init__(self, machine: DesktopEnvironment, use: KitCaller, path: str) -> None:
        self._machine, self._use, self.path = machine, use, path

    async def file(self) -> bytes:
        """The document's own file, as it lies on the disk."""
        return await self._machine.read_file(self.path)

    async def copy(self, ending: str) -> bytes:
        path = f"/home/user/{uuid.uuid4().hex}{ending}"
        await self._use("export", path=path)
        return await self._machine.read_file(path)

    async def docx(self) -> Document:
        return docx.Document(io.BytesIO(await self.copy(".docx")))

    async def odt(self, member: str = "content.xml") -> str:
        with zipfile.ZipFile(io.BytesIO(await self.copy(".odt"))) as file:
            return file.read(member).decode()

    async def texts(self) -> Sequence[str]:
        return [paragraph.text for paragraph in (await self.docx()).paragraphs]


@pytest_asyncio.fixture(loop_scope="module")
async def paper(machine: DesktopEnvironment, use: KitCaller) -> Paper:
    """A fresh document in front."""
    document = docx.Document()
    for text in TEXT:
        document.add_paragraph(text)
    buffer = io.BytesIO()
    document.save(buffer)
    name = uuid.uuid4().hex
    path = f"/home/user/{name}.docx"
    await machine.write_file(path, buffer.getvalue())
    await machine.execute(["setsid", "-f", "soffice", "--norestore", path])
    deadline = Deadline(60)
    while not deadline.passed:
        active = (await machine.observe(settle=0.2)).active
        if active is not None and name in active.title:
            assert WRITER.needs.in_front(await machine.observe())
            return Paper(machine, use, path)
    raise AssertionError("the document did not open")


@desktop
async def test_the_text_is_read_with_its_numbers(paper: Paper, use: KitCaller) -> None:
    lines = (await use("read", paragraphs="all")).splitlines()
    assert lines == [f"{at} [Standard] {text}" for at, text in enumerate(TEXT, 1)]
    part = await use("read", paragraphs="2, 4-5")
    assert [line.split()[0] for line in part.splitlines()] == ["2", "4", "5"]
    for wrong in ("0", "3-99", "5-2", "some"):
        assert "paragraph" in await use.expect_refusal("read", paragraphs=wrong)
    about = await use("overview")
    assert f"{PurePosixPath(paper.path).name}”: 1 page," in about
    assert "7 paragraphs" in about
    assert "no unsaved changes" in about


@desktop
async def test_text_is_inserted_written_and_deleted_and_undo_takes_it_back(
    paper: Paper, use: KitCaller
) -> None:
    before = await paper.file()
    await use("insert", text="Summary\nAll in short", before=2)
    await use("insert", text="Heading", before=2, style="heading 1")
    await use("insert", text="plain", before=2)
    await use("insert", text="the very last")
    paragraphs = (await paper.docx()).paragraphs
    assert [
        (paragraph.text, paragraph.style and paragraph.style.name) for paragraph in paragraphs[:5]
    ] == [
        (TEXT[0], "Normal"),
        ("plain", "Normal"),
        ("Heading", "Heading 1"),
        ("Summary", "Normal"),
        ("All in short", "Normal"),
    ]
    assert paragraphs[-1].text == "the very last"
    output = await use("write", paragraph="last", text="really the last")
    assert output == "paragraph 12 is now “really the last”"
    await use("delete", paragraphs="2-5")
    assert await paper.texts() == [*TEXT, "really the last"]
    assert "unsaved changes" in await use("overview")
    output = await use("undo", steps="6")
    assert output.startswith("taken back: Delete text, Write text, Insert text,")
    assert await paper.texts() == list(TEXT)
    assert await paper.file() == before, "nothing is saved unasked"


@desktop
async def test_a_call_that_fails_leaves_nothing_half_done(paper: Paper, use: KitCaller) -> None:
    reason = await use.expect_refusal(
        "header_footer", which="footer", text="Page {page} of {nothing}"
    )
    assert "there is no field {nothing}; there are page, pages" in reason
    reason = await use.expect_refusal("insert", text="x", style="No such style")
    assert "there is no style 'No such style'" in reason
    assert await use.expect_refusal("write", paragraph="1-2", text="x") == (
        "'1-2' means 2 paragraphs; give one"
    )
    assert "is not found" in await use.expect_refusal("format_text", text="nowhere", bold=True)
    assert "is no colour" in await use.expect_refusal(
        "format_text", paragraphs="1", color="reddish"
    )
    assert await paper.texts() == list(TEXT)


@desktop
async def test_text_is_found_and_replaced(paper: Paper, use: KitCaller) -> None:
    output = await use("find", text="water")
    assert output.startswith("2 places\nparagraph 2: “It is about water")
    assert "paragraph 3:" in output
    output = await use("replace", find="colour", replacement="color", match_case=False)
    assert output == "2 places replaced"
    await use("replace", find="^(\\w+) point$", replacement="point: $1", regex=True)
    texts = await paper.texts()
    assert texts[2] == "The color of water is no color at all."
    assert texts[3:6] == ["point: first", "point: second", "point: third"]
    output = await use("replace", find="nowhere", replacement="")
    assert output == "'nowhere' is not found; nothing was changed"
    output = await use("replace", find="water", replacement="waters")
    assert "2 places still match" in output


@desktop
async def test_case_is_changed_and_each_part_keeps_its_look(paper: Paper, use: KitCaller) -> None:
    await use("format_text", text="water", bold=True, paragraphs="2")
    await use("change_case", to="upper", paragraphs="2")
    paragraph = (await paper.docx()).paragraphs[1]
    assert paragraph.text == TEXT[1].upper()
    assert [run.text for run in paragraph.runs if run.bold] == ["WATER"]
    await use("change_case", to="title", text="first point")
    await use("change_case", to="lower", paragraphs="1")
    await use("change_case", to="sentence", paragraphs="2")
    texts = await paper.texts()
    assert texts[:2] == ["a report", "It is about water, which is h2o."]
    assert texts[3] == "First Point"


@desktop
async def test_words_are_formatted(paper: Paper, use: KitCaller) -> None:
    output = await use(
        "format_text",
        text="water",
        paragraphs="2",
        bold=True,
        italic=True,
        underline="double",
        font="Liberation Sans",
        size=15,
        color="#c00000",
    )
    assert output == (
        "1 place; “water” is now Liberation Sans 15 pt, bold, italic, underline double, "
        "colour #c00000"
    )
    await use("format_text", text="2", position="subscript", paragraphs="2")
    await use("format_text", paragraphs="7", strike=True, highlight="yellow")
    document = await paper.docx()
    (run,) = [run for run in document.paragraphs[1].runs if run.text == "water"]
    font = run.font
    assert (run.bold, run.italic, font.name, font.size) == (True, True, "Liberation Sans", Pt(15))
    assert font.color.rgb == RGBColor(0xC0, 0, 0)
    assert [run.text for run in document.paragraphs[1].runs if run.font.subscript] == ["2"]
    assert not any(run.bold for run in document.paragraphs[2].runs), "only in paragraph 2"
    (last,) = document.paragraphs[6].runs
    assert last.font.strike


@desktop
async def test_paragraphs_and_styles_are_formatted(paper: Paper, use: KitCaller) -> None:
    output = await use(
        "format_paragraphs",
        paragraphs="2-3",
        align="justify",
        line_spacing=1.5,
        before_pt=6,
        after_pt=12,
        left_cm=1,
        first_line_cm=0.5,
    )
    assert output.startswith(
        "2 paragraphs; paragraph 2 is now align justify, line spacing 1.5, left"
    )
    paragraph_format = (await paper.docx()).paragraphs[2].paragraph_format
    assert (paragraph_format.alignment, paragraph_format.line_spacing) == (
        WD_ALIGN_PARAGRAPH.JUSTIFY,
        1.5,
    )
    assert (paragraph_format.space_before, paragraph_format.space_after) == (Pt(6), Pt(12))
    assert paragraph_format.left_indent is not None
    assert abs(paragraph_format.left_indent - Cm(1)) < Cm(0.01)
    await use("style", paragraphs="1", name="Title")
    await use("change_style", name="Title", font="Liberation Mono", size=30, align="right")
    first = (await paper.docx()).paragraphs[0]
    assert first.style is not None
    assert (first.style.name, first.style.font.size) == ("Title", Pt(30))


@desktop
async def test_paragraphs_become_lists(paper: Paper, use: KitCaller) -> None:
    output = await use("make_list", paragraphs="4-6", kind="number")
    assert output == "a list of 3 paragraphs, 1. to 3., level 1"
    paragraphs = (await paper.docx()).paragraphs
    assert ["<w:numPr>" in paragraph._p.xml for paragraph in paragraphs] == [False] * 3 + [
        True
    ] * 3 + [False]
    await use("make_list", paragraphs="5", kind="bullet", level=2)
    assert '<w:ilvl w:val="1"/>' in (await paper.docx()).paragraphs[4]._p.xml
    output = await use("make_list", paragraphs="4-6", kind="none")
    assert output == "3 paragraphs; 4 is in no list"
    assert "list" not in await use("read", paragraphs="4-6")


@desktop
async def test_pages_have_a_size_a_footer_and_breaks(paper: Paper, use: KitCaller) -> None:
    await use("page", paper="A4", landscape=True, top_cm=2.5, left_cm=3, columns=2)
    section = (await paper.docx()).sections[0]
    assert section.page_width is not None
    assert section.left_margin is not None
    assert round(section.page_width.cm, 1) == 29.7
    assert round(section.left_margin.cm, 1) == 3.0
    assert 'w:num="2"' in section._sectPr.xml
    output = await use("header_footer", which="footer", text="Page {page} of {pages}")
    assert output.startswith("the footer of page style ")
    await use("header_footer", which="header", text="{title} {date}", align="right")
    section = (await paper.docx()).sections[0]
    assert section.footer.paragraphs[0].text.startswith("Page 1 of 1")
    assert " PAGE" in section.footer._element.xml
    assert "NUMPAGES" in section.footer._element.xml
    output = await use("header_footer", which="header", on=False)
    assert "has no header now" in output
    output = await use("page_break", paragraph="4")
    assert output == "paragraph 4 begins a page; 2 pages"
    assert 'fo:break-before="page"' in await paper.odt()
    output = await use("page_break", paragraph="4", remove=True)
    assert output == "paragraph 4 does not begin a page; 1 page"


@desktop
async def test_steps_that_libreoffice_forgets_are_reported(paper: Paper, use: KitCaller) -> None:
    await use("insert", text="x")
    output = await use("page", top_cm=4)
    assert "(undo does not take this back, and LibreOffice forgot 1 earlier step with it)" in output
    assert await use.expect_refusal("undo") == "nothing can be taken back"


@desktop
async def test_tables_are_made_and_read_and_written(paper: Paper, use: KitCaller) -> None:
    assert await use.expect_refusal("table_read") == "the document has no table"
    rows = [["Name", "Amount", "Note"], ["Anna", "12"], ["Ben", "7", "late"]]
    output = await use("table_insert", values=rows, name="Amounts", before=4)
    assert output.startswith("table Amounts is there: 3 rows, 3 columns")
    (table,) = (await paper.docx()).tables
    assert [cell.text for cell in table.rows[1].cells] == ["Anna", "12", ""]
    assert table.rows[0].cells[0].paragraphs[0].runs[0].bold
    assert "[table Amounts: 3 rows, 3 columns]" in await use("read", paragraphs="3-4")
    await use("table_write", cell="c2", values=[["early"], ["on time"]])
    output = await use("table_read", table="Amounts")
    assert output.splitlines()[2:] == [
        "A2: Anna | B2: 12 | C2: early",
        "A3: Ben | B3: 7 | C3: on time",
    ]
    output = await use.expect_refusal("table_write", cell="C3", values=[["x", "y"]])
    assert output == "table Amounts has no cell D3: 3 rows, 3 columns"


@desktop
async def test_pictures_are_inserted(
    machine: DesktopEnvironment, paper: Paper, use: KitCaller
) -> None:
    buffer = io.BytesIO()
    Image.new("RGB", (200, 100), "red").save(buffer, "PNG")
    await machine.write_file("/home/user/red.png", buffer.getvalue())
    output = await use("image_insert", path="~/red.png", before=3, width_cm=6)
    assert output.endswith("6.00 x 3.00 cm")
    (shape,) = (await paper.docx()).inline_shapes
    assert (round(shape.width.cm, 1), round(shape.height.cm, 1)) == (6.0, 3.0)
    output = await use.expect_refusal("image_insert", path="~/no.png")
    assert output == "there is no file '/home/user/no.png'"


@desktop
async def test_a_document_is_saved_by_path(
    machine: DesktopEnvironment, paper: Paper, use: KitCaller
) -> None:
    before = await paper.file()
    await use("insert", text="saved")
    assert await paper.file() == before
    assert (await use("save")).startswith(f"{paper.path}: ")
    saved = docx.Document(io.BytesIO(await paper.file()))
    assert saved.paragraphs[-1].text == "saved"
    name = uuid.uuid4().hex
    assert (await use("save", path=f"~/{name}.odt")).startswith(f"/home/user/{name}.odt: ")
    assert (await machine.observe(settle=0.5)).active is not None
    assert f"{name}.odt" in await use("overview")
    assert "already exists" in await use.expect_refusal("save", path=paper.path)
    await use("page_break", paragraph="2")
    await use("export", path=f"~/{name}.pdf", pages="1")
    pdf = await machine.read_file(f"/home/user/{name}.pdf")
    assert pdf.startswith(b"%PDF-")
    assert b"/Count 1" in pdf
    await use("export", path=f"~/{name}.txt")
    text = (await machine.read_file(f"/home/user/{name}.txt")).decode("utf-8-sig")
    assert text.splitlines()[-1] == "saved"


DIES = """
import os, sys
sys.path.insert(0, sys.argv.pop(1))
from guest.office_bridge import _office, changes, serve
@changes("writer", "Die")
def die(desk):
    os.kill(_office(), 9)
    while True:
        desk.document.Text.insertString(desk.document.Text.End, "x", False)
serve({"die": die})
"""


@desktop
async def test_an_office_that_dies_in_a_call_is_reported(
    machine: DesktopEnvironment, paper: Paper, use: KitCaller
) -> None:
    await use("read", paragraphs="1")
    folder = (await machine.execute("ls -d /tmp/.hisa-toolkits/*/")).output.strip()
    result = await machine.execute(["/usr/bin/python3", "-c", DIES, folder, "die", "{}"])
    assert "broke in the middle of the call" in result.output, result


@desktop
async def test_every_function_was_called(use: KitCaller) -> None:
    assert use.names - use.called == set()
