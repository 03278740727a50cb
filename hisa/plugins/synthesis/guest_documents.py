"""Reads what OpenDocument sheets and texts say: values, formulas, paragraphs; no formatting.

Runs on machines: in front of `guest_facts`, and as the check of a document in a task file. A check
of documents has no reader of its own, so tests hold this one to what LibreOffice writes.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterable, Iterator
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

__all__ = ["Cut", "document"]

UNPACKED = 40_000_000
Items = Iterator[tuple[str, str]]  # facts of one file: an item, and its value
UNSPOKEN = ("annotation", "note", "frame", "custom-shape", "change")
MOST_REPEATED = 200
"""Cells and rows that one element may stand for: more are the empty rest of a sheet."""


class Cut(Exception):
    """A file that is larger, deeper or slower than a person's."""


def parse_xml(data: bytes) -> Element:
    """The root of an XML file that defines no entities; names are without namespaces.

    Raises: Cut where it does.
    """
    if b"<!ENTITY" in data or b"<!DOCTYPE" in data:
        raise Cut("entities")
    root = ElementTree.fromstring(data)
    for node in root.iter():
        node.tag = node.tag.rpartition("}")[2]
        node.attrib = {key.rpartition("}")[2]: node.attrib[key] for key in reversed(node.attrib)}
    return root


def document(data: bytes) -> Items:
    """Facts of a sheet or a text.

    Raises:
        Cut, ValueError, OSError, zipfile.BadZipFile, ElementTree.ParseError: it is damaged.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive, archive.open("content.xml") as file:
        text = file.read(UNPACKED + 1)
    if len(text) > UNPACKED:
        raise Cut("unpacked size")
    for kind in parse_xml(text).iterfind("body/*"):
        if kind.tag == "spreadsheet":
            yield from sheets(kind)
        else:
            yield "text", "\n".join(map(text_in, lines_of(kind)))


def text_in(line: Element) -> str:
    """The text of a paragraph."""
    text = line.text or ""
    for child in line:
        if child.tag == "s":
            text += " " * min(int(child.get("c", 1)), 1000)
        elif child.tag in ("tab", "line-break"):
            text += "\t" if child.tag == "tab" else "\n"
        elif child.tag not in UNSPOKEN:
            text += text_in(child)
        text += child.tail or ""
    return text


def letters(number: int) -> str:
    """The name of a column, counted from 0."""
    return (letters(number // 26 - 1) if number > 25 else "") + chr(65 + number % 26)


def expand_repeated(nodes: Iterable[Element], way: str) -> Iterator[tuple[int, Element]]:
    """Cells or rows with their places, those that stand for several once for each."""
    at = 0
    for node in nodes:
        many = int(node.get(f"number-{way}-repeated", 1))
        for place in range(at, at + (many if many <= MOST_REPEATED else 0)):
            yield place, node
        at += many


def sheets(body: Element) -> Items:
    """Facts of a workbook: its sheets and their cells."""
    tables = {table.get("name", ""): table for table in body.iterfind("table")}
    yield "sheets", json.dumps([*tables], ensure_ascii=False)
    for sheet, table in tables.items():
        for line, row in expand_repeated(table.iter("table-row"), "rows"):
            cells = (cell for cell in row if cell.tag in ("table-cell", "covered-table-cell"))
            for at, cell in expand_repeated(cells, "columns"):
                place = f"{sheet}.{letters(at)}{line + 1}"
                yield from ((f"{place}/{key}", value) for key, value in cell_values(cell))


def cell_values(cell: Element) -> Items:
    """The value and the formula of a cell."""
    if kind := cell.get("value-type"):
        number = cell.get("value")
        text = cell.get(f"{kind}-value") or "\n".join(map(text_in, cell.iterfind("p")))
        yield "value", f"{float(number):.12g}" if number else text
    if formula := cell.get("formula"):
        source = re.sub(r"^\w+:=", "=", formula)
        yield "formula", re.sub(r"\[\.?([^\]:]*)(:?)\.?([^\]]*)\]", r"\1\2\3", source)


def lines_of(node: Element) -> Iterator[Element]:
    """The paragraphs of a text in order."""
    for child in node:
        if child.tag in ("p", "h"):
            yield child
        elif child.tag not in ("tracked-changes", "forms", "sequence-decls"):
            yield from lines_of(child)
