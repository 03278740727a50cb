"""Metrics over text documents, on documents made here."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import docx
import pytest
from docx.enum.text import WD_ALIGN_PARAGRAPH, WD_BREAK
from docx.shared import Inches, Pt
from PIL import Image

from hisa.tasks.metrics import METRICS, Unreadable

Change = Callable[[Any], object]


def document(*texts: str, change: Change | None = None) -> Any:
    made = docx.Document()
    for text in texts:
        made.add_paragraph(text)
    if change is not None:
        change(made)
    return made


def settings(item: str, name: str, value: str) -> bytes:
    return (
        '<?xml version="1.0"?><oor:items xmlns:oor="http://openoffice.org/2001/registry">'
        f'<item oor:path="{item}"><prop oor:name="{name}"><value>{value}</value></prop></item>'
        "</oor:items>"
    ).encode()


def odt(*texts: str) -> bytes:
    lines = "".join(
        f"<text:p>{text[:2]}<text:span>{text[2:]}</text:span></text:p>" for text in texts
    )
    names = "urn:oasis:names:tc:opendocument:xmlns"
    kind = "application/vnd.oasis.opendocument.text"
    content = (
        f'<office:document-content xmlns:office="{names}:office:1.0" xmlns:text="{names}:text:1.0">'
        f"<office:body><office:text>{lines}</office:text></office:body></office:document-content>"
    )
    manifest = (
        f'<m:manifest xmlns:m="{names}:manifest:1.0">'
        f'<m:file-entry m:full-path="/" m:media-type="{kind}"/>'
        '<m:file-entry m:full-path="content.xml" m:media-type="text/xml"/></m:manifest>'
    )
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("mimetype", kind)
        archive.writestr("content.xml", content)
        archive.writestr("META-INF/manifest.xml", manifest)
    return target.getvalue()


def table(text: str) -> Change:
    def change(made: Any) -> None:
        made.add_table(1, 1).cell(0, 0).text = text

    return change


def picture(colour: str, text: str = "") -> Change:
    def change(made: Any) -> None:
        data = io.BytesIO()
        Image.new("RGB", (4, 4), colour).save(data, "PNG")
        data.seek(0)
        made.add_paragraph().add_run(text).add_picture(data)

    return change


def spacing(*values: float) -> Change:
    def change(made: Any) -> None:
        for paragraph, value in zip(made.paragraphs, values, strict=True):
            paragraph.paragraph_format.line_spacing = value

    return change


def run(**style: Any) -> Change:
    """Styles the last paragraph's only run."""

    def change(made: Any) -> None:
        font = made.paragraphs[-1].runs[0].font
        for name, value in style.items():
            setattr(font, name, value)

    return change


def page_break(made: Any) -> None:
    made.paragraphs[-1].add_run().add_break(WD_BREAK.PAGE)


def footer(text: str) -> Change:
    def change(made: Any) -> None:
        made.sections[0].footer.paragraphs[0].text = text

    return change


def centered(made: Any) -> None:
    made.paragraphs[0].alignment = WD_ALIGN_PARAGRAPH.CENTER


def tab_stop(inches: float) -> Change:
    def change(made: Any) -> None:
        made.paragraphs[-1].paragraph_format.tab_stops.add_tab_stop(Inches(inches))

    return change


A = document("one  two", "three")
FONT = "/org.openoffice.Office.Writer/DefaultFont"
BLANKS = {"ignore_blanks": False}
Case = tuple[str, Any, Any, Mapping[str, Any], float]
CASES: list[Case] = [
    ("compare_docx_files", document("one two", "", "three"), A, {}, 1),
    ("compare_docx_files", document("one two"), A, {}, 0),
    ("compare_docx_files", document("ONE  two", "three"), A, {}, 0),
    ("compare_docx_files", document("ONE  two", "three"), A, {"ignore_case": True}, 1),
    ("compare_docx_files", document("three", "one  two"), A, {"ignore_order": True}, 1),
    ("compare_docx_files", document("one two", "three"), A, BLANKS, 0),
    ("compare_docx_files", document("one  two", "", "three"), A, BLANKS, 0),
    ("compare_docx_files", document("one  two", "", "three"), A,
     {**BLANKS, "delete_empty_lines": True}, 1),
    ("compare_docx_files", document("abcd"), document("abce"), {"fuzzy_match": True}, 0.75),
    ("compare_docx_files", document("abcd", "x"), document("abce", "x"),
     {**BLANKS, "fuzzy_match": True}, 0.875),
    ("compare_docx_files", document("abcd"), document("abce"), {"content_only": True}, 0.75),
    ("compare_docx_files", odt("hello", "you"), odt("hello", "you"), {}, 1),
    ("compare_docx_files", odt("hello"), odt("hello", "you"), {}, 0),
    ("compare_docx_files", odt("hello"), document("hello"), {}, 0),
    ("compare_docx_tables", document(change=table(" a ")), document(change=table("a")), {}, 1),
    ("compare_docx_tables", document(change=table("a")), document(change=table("b")), {}, 0),
    ("compare_docx_tables", document(), document(change=table("b")), {}, 0),
    ("compare_docx_images", document(change=picture("red")),
     document(change=picture("red")), {}, 1),
    ("compare_docx_images", document(change=picture("red")),
     document(change=picture("blue")), {}, 0),
    ("compare_contains_image", document(change=picture("red")),
     document(change=picture("tan")), {}, 1),
    ("compare_contains_image", document("a"), document(change=picture("red", "a")), {}, 0),
    ("compare_line_spacing", document("a", "b", change=spacing(1, 2)),
     document("a", "b", change=spacing(1, 2)), {}, 1),
    ("compare_line_spacing", document("a", change=spacing(1)),
     document("a", change=spacing(2)), {}, 0),
    ("compare_line_spacing", document("b"), document("a"), {}, 0),
    ("compare_subscript_contains", document("2", change=run(subscript=True)),
     document("2", change=run(subscript=True)), {}, 1),
    ("compare_subscript_contains", document("2"), document("2", change=run(subscript=True)), {}, 0),
    ("evaluate_strike_through_last_paragraph", document("a", "b", change=run(strike=True)),
     document("a", "b"), {}, 1),
    ("evaluate_strike_through_last_paragraph", document("a"), document("a"), {}, 0),
    ("check_italic_font_size_14", document("a", change=run(italic=True, size=Pt(14))),
     document("a"), {}, 1),
    ("check_italic_font_size_14", document("a", change=run(italic=True)), document("a"), {}, 0),
    ("check_tabstops", document("a\tb", change=tab_stop(2)), document("a\tb", change=tab_stop(2)),
     {"word_number_split_by_tabstop": 1}, 1),
    ("check_tabstops", document("a\tb", change=tab_stop(5)), document("a\tb", change=tab_stop(2)),
     {}, 0.5),
    ("check_tabstops", document("a\tb"), document("a\tb", change=tab_stop(2)), {}, 0),
    ("check_tabstops", document("a c\tb", change=tab_stop(2)), document("a\tb", change=tab_stop(2)),
     {"word_number_split_by_tabstop": 1}, 0),
    ("contains_page_break", document("a", change=page_break), None, {}, 1),
    ("contains_page_break", document("a", change=page_break), {"page_break_count": 2}, {}, 0),
    ("contains_page_break", document("a"), None, {}, 0),
    ("compare_font_names", document("a", change=run(name="Arial")), {"font_name": "Arial"}, {}, 1),
    ("compare_font_names", document("a"), {"font_name": "Arial"}, {}, 0),
    ("has_page_numbers_in_footers", document(change=footer("Page 1")), None, {}, 1),
    ("has_page_numbers_in_footers", document(change=footer("Page")), None, {}, 0),
    ("is_first_line_centered", document("a", change=centered), None, {}, 1),
    ("is_first_line_centered", document("a"), None, {}, 0),
    ("find_default_font", settings(FONT, "Standard", "Arial"), {"font_name": "Arial"}, {}, 1),
    ("find_default_font", settings(FONT, "Heading", "Arial"), {"font_name": "Arial"}, {}, 0),
    ("find_default_font", b"<cut", {"font_name": "Arial"}, {}, 0),
]  # fmt: skip


def kept(value: Any, folder: Path, name: str) -> Any:
    """A made document or bytes as a file; anything else as it is."""
    if isinstance(value, bytes):
        path = folder / f"{name}{'.odt' if value[:2] == b'PK' else '.xcu'}"
        path.write_bytes(value)
        return path
    if hasattr(value, "save"):
        path = folder / f"{name}.docx"
        value.save(str(path))
        return path
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
