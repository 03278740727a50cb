"""Metrics over text documents: .docx, and .odt where only texts are compared."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import Any

from hisa.plugins.benchmarks.tasks.metric import (
    Options,
    Score,
    Unreadable,
    as_package,
    as_path,
    equal,
    expecting,
    metric,
    parsed,
)

__all__: list[str] = []

_NEEDS = ("docx", "lxml", "rapidfuzz")
_ODT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"


def _open(path: Any) -> Any:
    import docx

    return docx.Document(str(as_package(path)))


def _texts(path: Any) -> list[str]:
    """The texts of a document's paragraphs, without those in tables of a .docx."""
    if as_path(path).suffix.lower() == ".odt":
        with zipfile.ZipFile(path) as archive:
            tree = parsed(archive.read("content.xml"))
        return ["".join(node.itertext()) for node in tree.iter(f"{_ODT}p")]
    return [paragraph.text for paragraph in _open(path).paragraphs]


@metric("compare_docx_files", needs=_NEEDS)
def compare_docx_files(result: Any, expected: Any, options: Options) -> Score:
    """Two documents have the same text.

    Options: ``ignore_blanks`` (default), ``ignore_case``, ``ignore_order`` (of paragraphs),
    ``delete_empty_lines``, ``fuzzy_match`` and ``content_only`` (a degree instead of yes or no).
    """
    with expecting("expected"):
        wanted = _prepared(_texts(expected), options)
        kind = Path(expected).suffix.lower()
    if Path(result).suffix.lower() != kind:
        raise Unreadable(f"{result.name} is no {kind} file")
    found = _prepared(_texts(result), options)
    if options.get("content_only", False) or options.get("ignore_blanks", True):
        fuzzy = options.get("content_only", False) or options.get("fuzzy_match", False)
        return _compared([_joined(found)], [_joined(wanted)], fuzzy)
    if len(found) != len(wanted):
        return 0.0, f"{len(found)} paragraphs, not {len(wanted)}"
    return _compared(found, wanted, options.get("fuzzy_match", False))


def _prepared(texts: list[str], options: Options) -> list[str]:
    if options.get("ignore_case", False):
        texts = [text.lower() for text in texts]
    if options.get("ignore_order", False):
        texts = sorted(texts)
    if options.get("delete_empty_lines", False):
        texts = [text for text in texts if text.strip()]
    return texts


def _joined(texts: list[str]) -> str:
    return re.sub(r"\s+", " ", "\n".join(texts)).strip()


def _compared(result: list[str], expected: list[str], fuzzy: bool) -> Score:
    if fuzzy:
        from rapidfuzz import fuzz

        ratios = [fuzz.ratio(a, b) / 100.0 for a, b in zip(result, expected, strict=True)]
        score = sum(ratios) / len(ratios) if ratios else 1.0
        return score, f"{score:.3f} of the text agrees"
    for number, (one, other) in enumerate(zip(result, expected, strict=True), 1):
        if one != other:
            return 0.0, f"text {number}: {one[:100]!r} is not {other[:100]!r}"
    return 1.0, "the texts are equal"


def _tables(path: Any) -> list[Any]:
    return [
        [[cell.text.strip() for cell in row.cells] for row in table.rows]
        for table in _open(path).tables
    ]


equal("compare_docx_tables", _tables, needs=_NEEDS)
