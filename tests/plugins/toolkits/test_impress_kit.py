"""Presentations in a running Impress: each result is read in a copy, by python-pptx or as XML."""

from __future__ import annotations

import io
import uuid
from collections.abc import Sequence
from typing import Any

import pptx
import pytest
import pytest_asyncio
from PIL import Image
from pptx.enum.text import PP_ALIGN
from pptx.util import Cm, Pt

from hisa.errors import InvalidReply
from hisa.machine.patience import Deadline
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.toolkits.impress import IMPRESS
from tests.plugins.toolkits.using import KitCaller

pytestmark = pytest.mark.asyncio(loop_scope="module")
on_desktop = pytest.mark.desktop
TITLES = ("One", "Two", "Three")
UNRECORDED = "(undo does not take this back)"


@pytest.fixture(scope="module")
def use(machine: DesktopEnvironment) -> KitCaller:
    return KitCaller(IMPRESS, machine)


class Deck:
    """A presentation that is open in the window in front."""

    def __init__(self, machine: DesktopEnvironment, use: KitCaller, path: str) -> None:
        self._machine, self._use, self.path = machine, use, path

    async def file(self) -> bytes:
        """The presentation's own file, as it lies on the disk."""
        return await self._machine.read_file(self.path)

    async def pptx(self) -> Any:
        path = f"/home/user/{uuid.uuid4().hex}.pptx"
        await self._use("export", path=path)
        return pptx.Presentation(io.BytesIO(await self._machine.read_file(path)))

    async def titles(self) -> Sequence[str]:
        slides = (await self.pptx()).slides
        return [slide.shapes.title.text if slide.shapes.title else "" for slide in slides]

    async def slide(self, number: int) -> Any:
        return (await self.pptx()).slides[number - 1]


@pytest_asyncio.fixture(loop_scope="module")
async def deck(machine: DesktopEnvironment, use: KitCaller) -> Deck:
    """A fresh presentation in front."""
    presentation = pptx.Presentation()
    for title in TITLES:
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = f"a point of {title}\nanother"
    buffer = io.BytesIO()
    presentation.save(buffer)
    name = uuid.uuid4().hex
    path = f"/home/user/{name}.pptx"
    await machine.write_file(path, buffer.getvalue())
    await machine.execute(["setsid", "-f", "soffice", "--norestore", path])
    deadline = Deadline(60)
    while not deadline.passed:
        observation = await machine.observe(settle=0.2)
        if observation.active is not None and name in observation.active.title:
            assert IMPRESS.needs.in_front(observation)
            return Deck(machine, use, path)
    raise AssertionError("the presentation did not open")


def content(slide: Any) -> Any:
    """What stands below the title."""
    return slide.shapes[1]


async def test_slides_and_shapes_are_one_argument_each_by_number_or_name() -> None:
    named = {name for tool in IMPRESS.tools() for name in tool.parameters["properties"]}
    assert {"slide", "shape"} <= named
    assert not named & {"slides", "shapes", "object", "objects"}
    delete = next(tool for tool in IMPRESS.tools() if tool.name == "impress_shape_delete")
    assert delete.arguments({"slide": 2, "shape": 3}) == {"slide": "2", "shape": "3"}
    with pytest.raises(InvalidReply, match="valid string"):
        delete.arguments({"slide": True, "shape": [3]})


@on_desktop
async def test_slides_are_described_and_read(deck: Deck, use: KitCaller) -> None:
    about = await use("overview")
    assert "3 slides, 25.40 x 19.05 cm" in about
    assert "has no unsaved changes" in about
    assert about.count("content 'Content Placeholder 2'") == 3
    output = await use("read", slide="2")
    assert "“Two”" in output
    assert output.endswith("    a point of Two\n    another")
    for wrong in ("4", "0", "2-9", "some"):
        assert "slide" in await use.expect_refusal("read", slide=wrong)


@on_desktop
async def test_slides_are_added_copied_moved_and_deleted_and_undo_takes_it_back(
    deck: Deck, use: KitCaller
) -> None:
    before = await deck.file()
    output = await use("add", title="Results", content="More\nLess")
    assert output == "slide 4 of 4 (layout title_content) is there"
    await use("add", title="Written later")
    await use("write", slide=5, shape=2, text="First\nSecond")
    slides = (await deck.pptx()).slides
    assert content(slides[3]).text == "More\nLess"
    for number in (0, 3, 4):
        drawn = content(slides[number])._element.xpath(".//a:p/a:pPr/a:buChar")
        assert len(drawn) == 2, "a bullet for each point, as its placeholder has"
    await use("undo", steps="1")
    await use("add", at=1, layout="title_slide", title="Start")
    await use("add", at=2, layout="blank")
    assert await deck.titles() == ["Start", "", *TITLES, "Results"]
    assert await use("undo", steps="3") == (
        "taken back: Insert slide, Insert slide, Insert slide; 0 more can be"
    )
    assert await use("duplicate", slide="2") == "slide 3 is a copy of slide 2; 4 slides now"
    assert await use("move", slide="4", to=1) == "slide 4 is now slide 1"
    assert await deck.titles() == ["Three", "One", "Two", "Two"]
    assert await use("delete", slide="1-2") == "2 slides deleted; 2 of 4 are left"
    assert await deck.titles() == ["Two", "Two"]
    await use("undo", steps="3")
    assert await deck.titles() == list(TITLES)
    assert "at least one slide" in await use.expect_refusal("delete", slide="all")
    assert "there is no place 9" in await use.expect_refusal("move", slide="1", to=9)
    assert await deck.file() == before, "nothing is saved unasked"


@on_desktop
async def test_a_layout_is_set_and_taken_back(deck: Deck, use: KitCaller) -> None:
    await use("layout", slide="2", name="title_only")
    assert "slide 2 (layout title_only)" in await use("read", slide="2")
    await use("undo", steps="1")
    assert "layout title_only" not in await use("read", slide="2")
    assert content(await deck.slide(2)).text == "a point of Two\nanother"


@on_desktop
async def test_written_texts_report_where_undo_fails(deck: Deck, use: KitCaller) -> None:
    output = await use("write", slide="1", shape="title", text="Our year")
    assert output == f"title of slide 1 is now “Our year” {UNRECORDED}"
    await use("write", slide="1", shape="content", text="First\nSecond")
    await use("write", slide="2", shape="1", text="By number")
    slides = (await deck.pptx()).slides
    assert content(slides[0]).text == "First\nSecond"
    assert [slide.shapes.title.text for slide in slides] == ["Our year", "By number", "Three"]
    output = await use.expect_refusal("write", slide="1", shape="nothing", text="x")
    assert output.startswith("there is no shape 'nothing' on that slide; it has 1: title")
    output = await use("replace", find="a point of", replacement="no point from")
    assert output.startswith("2 places replaced")
    assert "is not found" in await use("replace", find="POINT", replacement="x")
    assert "1 place" in await use("replace", find="our YEAR", replacement="2024", match_case=False)
    await use("notes", slide="3", text="Thank the team.")
    slide = await deck.slide(3)
    assert slide.notes_slide.notes_text_frame.text == "Thank the team."
    assert content(slide).text == "no point from Three\nanother"
    assert "notes: Thank the team." in await use("read", slide="3")


@on_desktop
async def test_text_is_formatted(deck: Deck, use: KitCaller) -> None:
    await use(
        "format_text",
        slide="2",
        shape="content",
        text="point",
        bold=True,
        italic=True,
        underline="single",
        font="DejaVu Serif",
        size=20,
        color="#c00000",
    )
    (run,) = [
        run
        for paragraph in content(await deck.slide(2)).text_frame.paragraphs
        for run in paragraph.runs
        if run.font.bold
    ]
    assert run.text == "point"
    assert (run.font.italic, run.font.underline, run.font.size) == (True, True, Pt(20))
    assert (run.font.name, str(run.font.color.rgb)) == ("DejaVu Serif", "C00000")
    await use("format_text", slide="all", shape="title", size=50)
    sizes = [
        slide.shapes.title.text_frame.paragraphs[0].runs[0].font.size
        for slide in (await deck.pptx()).slides
    ]
    assert sizes == [Pt(50)] * 3
    await use(
        "format_paragraphs",
        slide="2",
        shape="content",
        align="right",
        line_spacing=1.5,
        bullets="numbers",
    )
    frame = content(await deck.slide(2)).text_frame
    assert frame.paragraphs[0].alignment == PP_ALIGN.RIGHT
    assert frame.paragraphs[0].line_spacing == 1.5
    assert frame._txBody.xml.count("buAutoNum") == 2
    await use("format_paragraphs", slide="2", shape="content", bullets="none")
    assert "buAutoNum" not in content(await deck.slide(2)).text_frame._txBody.xml
    assert "is no colour" in await use.expect_refusal("format_text", slide="1", color="reddish")


@on_desktop
async def test_boxes_shapes_and_pictures_get_their_given_places(
    machine: DesktopEnvironment, deck: Deck, use: KitCaller
) -> None:
    output = await use(
        "text_box",
        slide="1",
        text="Source: own data",
        left_cm=2,
        top_cm=16,
        width_cm=9,
        size=12,
    )
    assert output.startswith("shape 3 of slide 1: “Source: own data”, at 2.00, 16.00 cm, 9.00 x")
    assert output.endswith(UNRECORDED)
    await use("text_box", slide="1", text="hi", left_cm=3, top_cm=5, width_cm=6)
    await use("shape_change", slide="1", shape=4, fill="#ffcc00", line="none")
    buffer = io.BytesIO()
    Image.new("RGB", (200, 100), "red").save(buffer, "PNG")
    await machine.write_file("/home/user/red.png", buffer.getvalue())
    output = await use("image_insert", slide="1", path="~/red.png", width_cm=4)
    assert "at 10.70, 8.53 cm, 4.00 x 2.00 cm" in output, "in the middle"
    _, _, box, egg, red = (await deck.slide(1)).shapes
    assert box.text_frame.text == "Source: own data"
    assert box.text_frame.paragraphs[0].runs[0].font.size == Pt(12)
    assert abs(egg.left - Cm(3)) < Cm(0.02)
    assert abs(egg.width - Cm(6)) < Cm(0.02)
    assert str(egg.fill.fore_color.rgb) == "FFCC00"
    assert red.image.size == (200, 100)
    await use("shape_change", slide="1", shape=4, left_cm=8, width_cm=4, fill="blue", degrees=30)
    egg = (await deck.slide(1)).shapes[3]
    assert abs(egg.width - Cm(4)) < Cm(0.02)
    assert str(egg.fill.fore_color.rgb) == "0000FF"
    assert round(egg.rotation) == 30
    await use("shape_delete", slide="1", shape=4)
    assert len((await deck.slide(1)).shapes) == 4
    await use("undo", steps="1")
    assert len((await deck.slide(1)).shapes) == 5


@on_desktop
async def test_tables_are_inserted_and_written(deck: Deck, use: KitCaller) -> None:
    output = await use("table_insert", slide="3", values=[["Name", "Amount"], ["Anna", "12"]])
    assert "is a table: 2 rows, 2 columns" in output
    output = await use("table_write", slide="3", row=2, column=2, values=[["14"], ["9"]])
    assert output == f"2 cells read back as written; 3 rows now {UNRECORDED}"
    (table,) = [shape.table for shape in (await deck.slide(3)).shapes if shape.has_table]
    cells = [[cell.text for cell in row.cells] for row in table.rows]
    assert cells == [["Name", "Amount"], ["Anna", "14"], ["", "9"]]
    assert "Anna | 14" in await use("read", slide="3")
    assert "has no table" in await use.expect_refusal("table_write", slide="1", values=[["x"]])
    wide = {"slide": "3", "values": [["x", "y", "z"]]}
    assert await use.expect_refusal("table_write", **wide) == "the table has 2 columns"


@on_desktop
async def test_slides_have_a_background_a_footer_and_a_size_and_are_shown(
    machine: DesktopEnvironment, deck: Deck, use: KitCaller
) -> None:
    output = await use("background", slide="1-2", color="#003366")
    assert output.startswith("2 slides; the background is solid #003366")
    fill = (await deck.slide(2)).background.fill
    assert str(fill.fore_color.rgb) == "003366"
    buffer = io.BytesIO()
    Image.new("RGB", (20, 10), "red").save(buffer, "PNG")
    await machine.write_file("/home/user/back.png", buffer.getvalue())
    await use("background", slide="1", image="~/back.png")
    assert "blipFill" in (await deck.slide(1))._element.xml
    assert "that of the master" in await use("background", slide="1")
    await use("footer", slide="all", text="Annual report", number=True, date=False)
    output = await use("size", format="16:9")
    assert output.startswith("slides are now 28.00 x 15.75 cm")
    document = await deck.pptx()
    assert "Annual report" in document.slides[0]._element.xml
    assert "blipFill" not in document.slides[0]._element.xml
    assert round(document.slide_width / document.slide_height, 3) == round(16 / 9, 3)
    assert await use("show", slide="3") == "slide 3 is in front"
    assert "slide 3 is in front" in await use("overview")
    assert "“Three”" in await use("read", slide="current")


@on_desktop
async def test_a_presentation_is_saved_and_exported_by_path(
    machine: DesktopEnvironment, deck: Deck, use: KitCaller
) -> None:
    await use("write", slide="1", shape="title", text="Saved")
    assert (await use("save")).startswith(f"{deck.path}: ")
    saved = pptx.Presentation(io.BytesIO(await deck.file()))
    assert saved.slides[0].shapes.title.text == "Saved"
    name = f"/home/user/{uuid.uuid4().hex}"
    await use("export", path=f"{name}.pdf", slide="1-2")
    pdf = await machine.read_file(f"{name}.pdf")
    assert b"/Count 2" in pdf
    await use("export", path=f"{name}.png", slide="2", width=640)
    picture = Image.open(io.BytesIO(await machine.read_file(f"{name}.png")))
    assert picture.size == (640, 480)
    assert "already exists" in await use.expect_refusal("export", path=f"{name}.png", slide="1")
    assert (await use("save", path=f"{name}.odp")).startswith(f"{name}.odp: ")
    assert f"{name}.odp" in await use("overview")


@on_desktop
async def test_every_function_was_called(use: KitCaller) -> None:
    assert use.names - use.called == set()
