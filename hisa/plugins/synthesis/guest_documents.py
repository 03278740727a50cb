"""Reads OpenDocument sheets and texts, with formatting as styles resolve it.

Runs on machines: in front of `guest_facts`, and as the check of a document in a task file. A check
of documents has no reader of its own, so tests hold this one to what LibreOffice writes.
Sizes, pages, default styles and views are left out: a first save changes them on its own.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterable, Iterator
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

__all__ = ["Cut", "document", "parsed"]

UNPACKED = 40_000_000
Items = Iterator[tuple[str, str]]  # facts of one file: an item, and its value
LOOKS = {
    "font-weight": "bold", "font-style": "italic", "text-underline-style": "underline",
    "text-line-through-style": "strike", "font-name": "font", "font-size": "size",
    "color": "color", "text-position": "position", "highlight": "highlight",
    "text-align": "align", "vertical-align": "valign", "wrap-option": "wrap", "break-before":
    "break", "text-indent": "indent", "margin-left": "margin", "line-height": "line-height",
    "border": "border", "background-color": "background",
}  # fmt: skip
NOTHING = ("normal", "none", "transparent", "auto", "0cm", "0in", "no-wrap", "0% 100%", "100%")
UNSPOKEN = ("annotation", "note", "frame", "custom-shape", "change")
MOST_ALIKE = 200
"""Cells, rows and columns that one element may stand for: more are the empty rest of a sheet."""


class Cut(Exception):
    """A file that is larger, deeper or slower than a person's."""


def parsed(data: bytes) -> Element:
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
    parts, left = [], UNPACKED
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in ("styles.xml", "content.xml"):
            with archive.open(name) as file:
                text = file.read(left + 1)
            left -= len(text)
            if left < 0:
                raise Cut("unpacked size")
            parts.append(parsed(text))
    styles = Styles(*parts)
    for kind in parts[1].iterfind("body/*"):
        reader = sheets if kind.tag == "spreadsheet" else paragraphs
        yield from reader(kind, styles)
        for name in ("image", "object"):
            if many := len([*kind.iter(name)]):
                yield f"{name}s", str(many)


class Styles:
    """Formatting of a document by the families and names of its styles."""

    def __init__(self, common: Element, own: Element) -> None:
        every = [*common.iterfind("styles/*"), *own.iterfind("automatic-styles/*")]
        faces = [*common.iter("font-face"), *own.iter("font-face")]
        self.styles = {(one.get("family", ""), one.get("name", "")): one for one in every}
        self.fonts = {one.get("name"): one.get("font-family", "").strip("'\"") for one in faces}
        self.common = {
            one.get("name", ""): one.get("parent-style-name", "")
            for one in own.iterfind("automatic-styles/*[@family='paragraph']")
        }
        """The named styles that automatic ones of paragraphs stand on."""
        self.looks = {key: self.resolved(*key) for key in self.styles}

    def of(self, family: str, name: str) -> dict[str, str]:
        """Properties of a style and of those below it in plain words; empty: as usual."""
        return self.looks.get((family, name), {})

    def resolved(self, family: str, name: str, depth: int = 30) -> dict[str, str]:
        """As `of`, worked out."""
        style = self.styles.get((family, name))
        if style is None or not depth:
            return {}
        below = style.get("parent-style-name", "")
        merged = self.resolved(family, below, depth - 1) if name else {}
        merged |= self.plain(style)
        if family == "paragraph" and merged.get("align") == "start":
            merged["align"] = ""
        return merged

    def plain(self, style: Element) -> dict[str, str]:
        """Properties that one style sets."""
        props: dict[str, str] = {}
        for part in style:
            values = dict(part.items())
            if part.tag == "text-properties" and "background-color" in values:
                values["highlight"] = values.pop("background-color")
            if values.get("use-window-font-color") == "true":
                values["color"] = ""
            for key, name in LOOKS.items():
                if key in values:
                    props[name] = "" if values[key] in NOTHING else values[key].lower()
            props |= {name: "true" for name in ("bold", "italic") if props.get(name)}
            if "font-name" in values:
                props["font"] = self.fonts.get(values["font-name"], values["font-name"])
        if (numbers := self.styles.get(("", style.get("data-style-name", "")))) is not None:
            props["format"] = numbers.tag.removesuffix("number-style").removesuffix("-style")
        return props


def runs(node: Element, spans: tuple[str, ...] = ()) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Pieces of a paragraph's text, with the names of the spans around each."""
    yield node.text or "", spans
    for child in node:
        if child.tag == "s":
            yield " " * min(int(child.get("c", 1)), 1000), spans
        elif child.tag in ("tab", "line-break"):
            yield "\t" if child.tag == "tab" else "\n", spans
        elif child.tag not in UNSPOKEN:
            own = (child.get("style-name", ""),) if child.tag == "span" else ()
            yield from runs(child, spans + own)
        yield child.tail or "", spans


def text_in(line: Element) -> str:
    """The text of a paragraph."""
    return "".join(piece for piece, _ in runs(line))


def letters(number: int) -> str:
    """The name of a column, counted from 0."""
    return (letters(number // 26 - 1) if number > 25 else "") + chr(65 + number % 26)


def repeated(nodes: Iterable[Element], way: str) -> Iterator[tuple[int, Element]]:
    """Cells, rows or columns with their places, those that stand for several once for each."""
    at = 0
    for node in nodes:
        many = int(node.get(f"number-{way}-repeated", 1))
        for place in range(at, at + (many if many <= MOST_ALIKE else 0)):
            yield place, node
        at += many


def sheets(body: Element, styles: Styles) -> Items:
    """Facts of a workbook: its sheets, their cells, and which rows and columns are hidden."""
    tables = {table.get("name", ""): table for table in body.iterfind("table")}
    yield "sheets", json.dumps([*tables], ensure_ascii=False)
    common = styles.of("table-cell", "Default")
    for sheet, table in tables.items():
        usual: dict[int, str] = {}
        for at, column in repeated(table.iter("table-column"), "columns"):
            usual[at] = column.get("default-cell-style-name", "")
            if column.get("visibility") == "collapse":
                yield f"{sheet}.{letters(at)}/hidden", "true"
        for line, row in repeated(table.iter("table-row"), "rows"):
            if row.get("visibility") in ("collapse", "filter"):
                yield f"{sheet}.{line + 1}/hidden", "true"
            cells = (cell for cell in row if cell.tag in ("table-cell", "covered-table-cell"))
            for at, cell in repeated(cells, "columns"):
                style = cell.get("style-name") or row.get("default-cell-style-name")
                own = styles.of("table-cell", style or usual.get(at) or "Default")
                facts = dict(cell_values(cell))
                for key in sorted(own.keys() | common.keys()):
                    if own.get(key, "") != common.get(key, ""):
                        facts[key] = own.get(key) or "none"
                yield from ((f"{sheet}.{letters(at)}{line + 1}/{k}", facts[k]) for k in facts)


def cell_values(cell: Element) -> Items:
    """Facts of a cell but for its formatting."""
    if kind := cell.get("value-type"):
        number = cell.get("value")
        text = cell.get(f"{kind}-value") or "\n".join(map(text_in, cell.iterfind("p")))
        yield "value", f"{float(number):.12g}" if number else text
    if formula := cell.get("formula"):
        source = re.sub(r"^\w+:=", "=", formula)
        yield "formula", re.sub(r"\[\.?([^\]:]*)(:?)\.?([^\]]*)\]", r"\1\2\3", source)


def paragraphs(body: Element, styles: Styles) -> Items:
    """Facts of a text: all of it, and for each property where it is not as usual.

    Such a value has a line for each place, of what is there and the text that has it: no paragraph
    has a number, which one that comes before it would change.
    """
    lists: dict[Element, str] = {}
    for group in body.iter("list"):
        for level in styles.styles.get(("", group.get("style-name", "")), ())[:1]:
            lists |= dict.fromkeys(group.iter(), level.tag.removeprefix("list-level-style-"))
    texts: list[str] = []
    looks: dict[str, list[str]] = {}
    for line in lines_of(body):
        name = line.get("style-name", "")
        common = styles.common.get(name, name)
        usual, whole = styles.of("paragraph", common), styles.of("paragraph", name)
        own = {"style": common if common != "Standard" else "", "list": lists.get(line, "")}
        pieces: list[tuple[str, dict[str, str]]] = []
        for text, spans in runs(line):
            look = whole | own
            for span in spans:
                look |= styles.of("text", span)
            pieces.append((text, look))
        texts.append("".join(text for text, _ in pieces))
        for key in {key for _, look in pieces for key in look}:
            looks.setdefault(key, []).extend(spread(pieces, key, usual.get(key, "")))
    yield "text", "\n".join(texts)
    yield from ((key, "\n".join(places)) for key, places in sorted(looks.items()) if places)


def lines_of(node: Element) -> Iterator[Element]:
    """The paragraphs of a text in order."""
    for child in node:
        if child.tag in ("p", "h"):
            yield child
        elif child.tag not in ("tracked-changes", "forms", "sequence-decls"):
            yield from lines_of(child)


def spread(pieces: list[tuple[str, dict[str, str]]], key: str, usual: str) -> list[str]:
    """The parts of a paragraph that have a property otherwise than usual; blanks do not count."""
    groups: list[tuple[str, str]] = []
    for text, looks in pieces:
        value = looks.get(key, usual)
        look = "" if value == usual else value or "none"
        if groups and (groups[-1][0] == look or not text.strip()):
            look, text = groups[-1][0], groups.pop()[1] + text
        groups.append((look, text))
    return [f"{look} {text.strip()[:200]!r}" for look, text in groups if look and text.strip()]
