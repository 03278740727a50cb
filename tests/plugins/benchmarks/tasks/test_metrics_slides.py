"""Metrics over presentations, on presentations made here."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pptx
import pytest
from lxml import etree
from PIL import Image
from pptx.dml.color import RGBColor
from pptx.enum.text import MSO_TEXT_UNDERLINE_TYPE as UNDERLINE
from pptx.enum.text import PP_ALIGN
from pptx.util import Emu, Inches, Pt

from hisa.plugins.benchmarks.tasks.metrics import METRICS, Unreadable

LEFT = PP_ALIGN.LEFT
Change = Callable[[Any], object]


def slides(*texts: str, change: Change | None = None) -> Any:
    """A presentation with one slide a text; ``change`` is given the last one."""
    made = pptx.Presentation()
    for text in texts:
        slide = made.slides.add_slide(made.slide_layouts[6])
        box = slide.shapes.add_textbox(Inches(1), Inches(1), Inches(4), Inches(1))
        box.text_frame.text = text
    if change is not None:
        change(made.slides[-1])
    return made


def font(**style: Any) -> Change:
    def change(slide: Any) -> None:
        chosen = slide.shapes[0].text_frame.paragraphs[0].runs[0].font
        for name, value in style.items():
            setattr(chosen, name, value)

    return change


def made_colour(rgb: str) -> Any:
    kind: Any = RGBColor
    return kind.from_string(rgb)


def colour(rgb: str) -> Change:
    def change(slide: Any) -> None:
        chosen = slide.shapes[0].text_frame.paragraphs[0].runs[0].font
        chosen.color.rgb = made_colour(rgb)

    return change


def strike(slide: Any) -> None:
    chosen = slide.shapes[0].text_frame.paragraphs[0].runs[0].font
    chosen._element.set("strike", "sngStrike")


def paragraph(at: int = 0, **style: Any) -> Change:
    def change(slide: Any) -> None:
        for name, value in style.items():
            setattr(slide.shapes[0].text_frame.paragraphs[at], name, value)

    return change


def more_text(text: str) -> Change:
    """Another paragraph, or another piece of text where there is none to add."""

    def change(slide: Any) -> None:
        frame = slide.shapes[0].text_frame
        if text:
            frame.add_paragraph().text = text
        else:
            frame.paragraphs[0].add_run()

    return change


def moved(**sides: Any) -> Change:
    def change(slide: Any) -> None:
        for name, value in sides.items():
            setattr(slide.shapes[0], name, value)

    return change


def background(rgb: str) -> Change:
    def change(slide: Any) -> None:
        slide.background.fill.solid()
        slide.background.fill.fore_color.rgb = made_colour(rgb)

    return change


def notes(text: str) -> Change:
    def change(slide: Any) -> None:
        slide.notes_slide.notes_text_frame.text = text

    return change


def bullet(slide: Any) -> None:
    style = slide.shapes[0].text_frame.paragraphs[0]._p.get_or_add_pPr()
    style.append(etree.fromstring(f'<a:buChar xmlns:a="{style.nsmap["a"]}" char="•"/>'))


def gap(*more: Change) -> Change:
    """An empty piece of text, and what else changes."""

    def change(slide: Any) -> None:
        slide.shapes[0].text_frame.paragraphs[0].add_run()
        for one in more:
            one(slide)

    return change


def listed(*, bullet: bool = False) -> Change:
    """A table whose text may be an item of a list."""

    def change(slide: Any) -> None:
        shape = slide.shapes.add_table(1, 1, 0, 0, Inches(1), Inches(1))
        shape.table.cell(0, 0).text = "x"
        if bullet:
            shape.table.cell(0, 0).text_frame.paragraphs[0].level = 1

    return change


def grouped(*texts: str) -> Change:
    """A group with one box, a paragraph for each text."""

    def change(slide: Any) -> None:
        group = slide.shapes.add_group_shape()
        box = group.shapes.add_textbox(Inches(1), Inches(1), Inches(4), Inches(1))
        box.text_frame.text = "\n".join(texts)

    return change


def table(text: str, *, bold: bool = False) -> Change:
    def change(slide: Any) -> None:
        shape = slide.shapes.add_table(1, 1, 0, 0, Inches(1), Inches(1))
        cell = shape.table.cell(0, 0)
        cell.text = text
        cell.text_frame.paragraphs[0].runs[0].font.bold = bold

    return change


def image(**sides: int) -> Change:
    def change(slide: Any) -> None:
        data = io.BytesIO()
        Image.new("RGB", (4, 3), "red").save(data, "PNG")
        data.seek(0)
        shape = slide.shapes.add_picture(data, Emu(0), Emu(0), Inches(1), Inches(1))
        for name, value in sides.items():
            setattr(shape, name, Emu(value))

    return change


def lower(texts: str, top: float) -> Any:
    return slides(texts, change=moved(top=Inches(top)))


A = slides("one", "two")
ONLY_HEIGHT = {"examine_shape": False, "examine_modify_height": True}
WIDTH = 9_144_000
Case = tuple[str, Any, Any, Mapping[str, Any], float]


def differ(change: Change, option: str) -> list[Case]:
    """A changed slide is another one, and the same where the option says so."""
    return [
        ("compare_pptx_files", slides("one", "two", change=change), A, {}, 0),
        (
            "compare_pptx_files",
            slides("one", "two", change=change),
            A,
            {f"examine_{option}": False},
            1,
        ),
    ]


CASES: list[Case] = [
    ("compare_pptx_files", slides("one", "two"), A, {}, 1),
    ("compare_pptx_files", slides("one"), A, {}, 0),
    ("compare_pptx_files", slides("one"), A, {"examine_number_of_slides": False}, 1),
    ("compare_pptx_files", slides("one", "three"), A, {}, 0),
    ("compare_pptx_files", slides("one", "two", change=more_text("  ")), A, {}, 0),
    ("compare_pptx_files", slides("one", "two", change=more_text("")), A, {}, 0),
    ("compare_pptx_files", slides("one", "two", change=table("x")), A, {}, 0),
    ("compare_pptx_files", slides("x", change=table("a")), slides("x", change=table("a")), {}, 1),
    ("compare_pptx_files", slides("x", change=table("a", bold=True)),
     slides("x", change=table("a")), {}, 0),
    *differ(font(bold=True), "font_bold"),
    *differ(font(italic=True), "font_italic"),
    *differ(font(underline=True), "font_underline"),
    *differ(font(size=Pt(30)), "font_size"),
    *differ(font(name="Arial"), "font_name"),
    *differ(strike, "strike_through"),
    *differ(paragraph(alignment=PP_ALIGN.CENTER), "alignment"),
    *(("compare_pptx_files", slides("one", "two\nthree", change=paragraph(at, alignment=LEFT)),
       slides("one", "two\nthree"), {"examine_bullets": asked}, wanted)
      for at, asked, wanted in ((0, True, 1), (1, True, 0), (1, False, 1))),
    ("compare_pptx_files", slides("one", "two", change=gap(bullet)),
     slides("one", "two", change=gap()), {}, 1),
    ("compare_pptx_files", slides("one", "", change=listed(bullet=True)),
     slides("one", "", change=listed()), {}, 1),
    ("compare_pptx_files", slides("one", "two", change=listed(bullet=True)),
     slides("one", "two", change=listed()), {}, 0),
    ("compare_pptx_files", slides("one", "two", change=font(underline=UNDERLINE.WAVY_LINE)),
     A, {}, 1),
    ("compare_pptx_files", slides("one", "two", change=font(underline=UNDERLINE.WAVY_LINE)),
     slides("one", "two", change=font(underline=True)), {}, 0),
    ("compare_pptx_files", slides("one", "two", change=font(underline=False)), A, {}, 1),
    ("compare_pptx_files", slides("one", "two", change=grouped("a", "")),
     slides("one", "two", change=grouped("a")), {}, 0),
    ("compare_pptx_files", slides("one", "two", change=grouped("a", "")),
     slides("one", "two", change=grouped("a")), {"examine_alignment": False}, 1),
    ("compare_pptx_files", slides("one", "two", change=grouped("a")),
     slides("one", "two", change=grouped("b")),
     {"examine_text": False, "examine_bullets": False}, 1),
    *differ(moved(left=Inches(2)), "shape"),
    *differ(background("FF0000"), "background_color"),
    *differ(notes("Say this."), "note"),
    *differ(bullet, "bullets"),
    ("compare_pptx_files", slides("one", "two", change=paragraph(level=1)), A,
     {"examine_bullets": False}, 0),
    ("compare_pptx_files", slides("one", "two", change=paragraph(level=1)), A,
     {"examine_bullets": False, "examine_indent": False}, 1),
    ("compare_pptx_files", slides("x", change=colour("FF0000")),
     slides("x", change=colour("0000FF")), {}, 0),
    ("compare_pptx_files", slides("x", change=colour("FF0000")), slides("x"), {}, 1),
    ("compare_pptx_files", slides("one", "two", change=moved(left=Inches(1) + 1)), A, {}, 1),
    ("compare_pptx_files", slides("one", "two", change=moved(height=Inches(3))), A, ONLY_HEIGHT, 0),
    ("compare_pptx_files", slides("one", "two"), A, ONLY_HEIGHT, 1),
    ("compare_pptx_files", slides("one", "two", change=moved(left=Inches(5))), A,
     {"examine_shape": False, "examine_shape_for_shift_size": True}, 0),
    ("compare_pptx_files", slides("x", change=image(width=WIDTH)), slides("x", change=image()),
     {"examine_shape": False, "examine_image_size": True}, 0),
    ("compare_pptx_files", slides("x", change=image(left=WIDTH)), slides("x", change=image()),
     {"examine_shape": False, "examine_image_size": True}, 1),
    ("compare_pptx_files", lower("Product Comparison", 5), lower("Product Comparison", 1),
     {"examine_shape": False, "examine_title_bottom_position": True}, 1),
    ("compare_pptx_files", lower("Product Comparison", 2), lower("Product Comparison", 1),
     {"examine_shape": False, "examine_title_bottom_position": True}, 0),
    ("compare_pptx_files", slides("a", "b", change=image(top=0)),
     slides("a", "b", change=image(top=3_000_000)),
     {"examine_shape": False, "examine_top_position": True}, 1),
    ("compare_pptx_files", slides("a", "b", change=image(top=3_100_000)),
     slides("a", "b", change=image(top=3_000_000)),
     {"examine_shape": False, "examine_top_position": True}, 0),
    ("compare_pptx_files", slides("a", "b", change=image(left=5_000_000)),
     slides("a", "b", change=image()),
     {"examine_shape": False, "examine_right_position": True}, 1),
    ("compare_pptx_files", slides("a", "b", change=image()), slides("a", "b", change=image()),
     {"examine_shape": False, "examine_right_position": True}, 0),
    ("compare_pptx_files", b"no presentation", A, {}, 0),
]  # fmt: skip


def kept(value: Any, folder: Path, name: str) -> Any:
    if isinstance(value, bytes):
        (folder / name).write_bytes(value)
        return folder / name
    if hasattr(value, "save"):
        value.save(str(folder / f"{name}.pptx"))
        return folder / f"{name}.pptx"
    return value


@pytest.mark.parametrize(
    ("name", "result", "expected", "options", "wanted"),
    CASES,
    ids=[f"{n}-{case[0]}" for n, case in enumerate(CASES)],
)
def test_scores(
    tmp_path: Path, name: str, result: Any, expected: Any, options: Any, wanted: float
) -> None:
    metric = METRICS.get(name)
    assert metric is not None
    pair = kept(result, tmp_path, "result"), kept(expected, tmp_path, "expected")
    try:
        score, why = metric.run(*pair, options)
    except Unreadable as error:
        score, why = 0.0, str(error)
    assert score == pytest.approx(wanted, abs=1e-3), why
