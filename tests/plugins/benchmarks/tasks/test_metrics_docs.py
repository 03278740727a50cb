"""Metrics over text documents, on documents made here."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import docx
import pytest

from hisa.plugins.benchmarks.tasks.metrics import METRICS, Unreadable

Change = Callable[[Any], object]


def document(*texts: str, change: Change | None = None) -> Any:
    made = docx.Document()
    for text in texts:
        made.add_paragraph(text)
    if change is not None:
        change(made)
    return made


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


A = document("one  two", "three")
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
]  # fmt: skip


def kept(value: Any, folder: Path, name: str) -> Any:
    """A made document or bytes as a file; anything else as it is."""
    if isinstance(value, bytes):
        path = folder / f"{name}.odt"
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
