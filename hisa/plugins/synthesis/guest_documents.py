"""Reads OpenDocument sheets and texts: cells and paragraphs, with formatting as styles resolve it.

Stands in front of `guest_facts` when that is sent to a machine: the standard library alone.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

__all__ = ["LONGEST", "Cut", "attribute", "document", "parsed"]

LONGEST, UNPACKED = 4000, 40_000_000
Items = Iterator[tuple[str, str]]
"""Facts of one file: an item, and its value."""
KEPT_NAMES = {
    "color": "color", "text-align": "align", "vertical-align": "valign", "wrap-option": "wrap",
    "font-size": "size", "text-position": "position", "line-height": "line-height",
    "margin-left": "margin-left", "margin-right": "margin-right", "margin-top": "margin-top",
    "margin-bottom": "margin-bottom", "text-indent": "indent", "break-before": "break",
    "rotation-angle": "rotation", "text-transform": "transform", "font-variant": "variant",
    "border": "border", "border-left": "border-left", "border-right": "border-right",
    "border-top": "border-top", "border-bottom": "border-bottom", "column-width": "width",
    "text-underline-style": "underline", "text-line-through-style": "strike",
}  # fmt: skip
NOTHING = ("", "normal", "none", "transparent", "auto", "0cm", "0in", "no-wrap", "0% 100%")
CHARACTER = ("bold", "italic", "underline", "strike", "color", "highlight", "font", "size",
             "position", "transform", "variant")  # fmt: skip
PAGE = ("print-orientation", "page-width", "page-height", "margin-left", "margin-right",
        "margin-top", "margin-bottom")  # fmt: skip
UNSPOKEN = ("annotation", "note", "frame", "custom-shape", "change", "tracked-changes")
MOST_ALIKE = 200
"""Cells, rows and columns that one element may stand for: more are the empty rest of a sheet."""


class Cut(Exception):
    """A file that is larger, deeper or slower than a document of a person."""


def parsed(data: bytes) -> Element:
    """The root of an XML file that defines no entities.

    Raises:
        Cut: it does.
    """
    if b"<!ENTITY" in data or b"<!DOCTYPE" in data:
        raise Cut("entities")
    return ElementTree.fromstring(data)


def local(name: str) -> str:
    """A name without its namespace."""
    return name.rpartition("}")[2]


def attribute(element: Element, name: str, default: str = "") -> str:
    """An attribute by its name without a namespace."""
    return next((value for key, value in element.items() if local(key) == name), default)


def document(data: bytes) -> Items:
    """Facts of a sheet or a text.

    Raises:
        Cut, ValueError, OSError, zipfile.BadZipFile, ElementTree.ParseError: it is damaged.
    """
    content, common, view = package(data)
    styles = Styles(common, content)
    for kind in (kind for body in content if local(body.tag) == "body" for kind in body):
        if local(kind.tag) == "spreadsheet":
            yield from sheets(kind, styles, view)
        elif local(kind.tag) == "text":
            yield from paragraphs(kind, styles)
    for layout in common.iter():
        if local(layout.tag) == "page-layout-properties":
            named = [(name, attribute(layout, name)) for name in PAGE]
            yield from ((f"page/{name}", value) for name, value in named if value)
            break


def package(data: bytes) -> list[Element]:
    """The content, the styles and the settings of an OpenDocument file."""
    parts, left = [], UNPACKED
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in ("content.xml", "styles.xml", "settings.xml"):
            text = b"<none/>"
            if name in archive.namelist():
                with archive.open(name) as file:
                    text = file.read(left + 1)
            left -= len(text)
            if left < 0:
                raise Cut("unpacked size")
            parts.append(parsed(text))
    return parts


class Styles:
    """Formatting of a document by the names of its styles, inherited and all."""

    def __init__(self, common: Element, own: Element) -> None:
        self.styles: dict[tuple[str, str], Element] = {}
        self.formats: dict[str, Element] = {}
        self.named: set[tuple[str, str]] = set()
        self.fonts: dict[str, str] = {}
        self.known: dict[tuple[str, str], dict[str, str]] = {}
        for root, kind in ((common, "styles"), (own, "automatic-styles")):
            for face in root.iter():
                if local(face.tag) == "font-face":
                    family = attribute(face, "font-family").strip("'\"")
                    self.fonts[attribute(face, "name")] = family
            for style in (style for part in root if local(part.tag) == kind for style in part):
                key = attribute(style, "family"), attribute(style, "name")
                if local(style.tag) in ("style", "default-style"):
                    self.styles[key] = style
                    if root is common:
                        self.named.add(key)
                else:
                    self.formats[key[1]] = style

    def common(self, family: str, name: str) -> str:
        """The named style that an automatic one stands on."""
        for _ in range(30):
            if (family, name) in self.named or (family, name) not in self.styles:
                break
            name = attribute(self.styles[family, name], "parent-style-name")
        return name

    def of(self, family: str, name: str) -> dict[str, str]:
        """Properties of a style in plain words, those of the styles below it included."""
        if (family, name) not in self.known:
            chain: list[Element] = []
            at, key = self.styles.get((family, name)), name
            while at is not None and key and len(chain) < 30:
                chain.append(at)
                key = attribute(at, "parent-style-name")
                at = self.styles.get((family, key))
            merged: dict[str, str] = {}
            default = self.styles.get((family, ""))
            for style in [*([] if default is None else [default]), *reversed(chain)]:
                merged.update(self.plain(style))
            self.known[family, name] = {k: v for k, v in merged.items() if v not in NOTHING}
        return self.known[family, name]

    def plain(self, style: Element) -> dict[str, str]:
        """Properties that one style sets."""
        props: dict[str, str] = {}
        for part in style:
            values = {local(key): value for key, value in part.items()}
            for key, value in values.items():
                if key in KEPT_NAMES:
                    props[KEPT_NAMES[key]] = value.lower()
                elif key == "font-weight":
                    props["bold"] = "true" if value in ("bold", "600", "700", "800", "900") else ""
                elif key == "font-style":
                    props["italic"] = "true" if value in ("italic", "oblique") else ""
                elif key == "font-name":
                    props["font"] = self.fonts.get(value, value)
                elif key == "background-color":
                    of_text = local(part.tag) == "text-properties"
                    props["highlight" if of_text else "background"] = value.lower()
            if values.get("use-window-font-color") == "true":
                props["color"] = ""
            if values.get("text-underline-type") == "double" and props.get("underline"):
                props["underline"] = "double"
        if (numbers := self.formats.get(attribute(style, "data-style-name"))) is not None:
            props["format"] = number_format(numbers)
        return props


def number_format(style: Element) -> str:
    """A number format in words: its kind, and its parts with what they look like."""
    words = [local(style.tag).replace("-style", "")]
    for part in style:
        name, marks = local(part.tag), {local(key): value for key, value in part.items()}
        looks = [
            marks.get("decimal-places"), "long" if marks.get("style") == "long" else None,
            "grouped" if marks.get("grouping") == "true" else None, marks.get("color"),
            "name" if marks.get("textual") else None, (part.text or "").strip(),
        ]  # fmt: skip
        shown = [look for look in looks if look]
        if name != "map" and (shown or name not in ("text", "text-properties")):
            words.append(":".join([name, *shown]))
    return "" if words == ["number", "number"] else " ".join(words)


def runs(node: Element, spans: tuple[str, ...] = ()) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Pieces of a paragraph's text, with the names of the spans around each."""
    yield node.text or "", spans
    for child in node:
        name = local(child.tag)
        if name == "s":
            yield " " * min(int(attribute(child, "c", "1")), 1000), spans
        elif name in ("tab", "line-break"):
            yield "\t" if name == "tab" else "\n", spans
        elif name == "span":
            yield from runs(child, (*spans, attribute(child, "style-name")))
        elif name not in UNSPOKEN:
            yield from runs(child, spans)
        yield child.tail or "", spans


def text_in(node: Element) -> str:
    """The text of the paragraphs that a node holds, a line each."""
    return "\n".join("".join(piece for piece, _ in runs(p)) for p in node if local(p.tag) == "p")


def letters(number: int) -> str:
    """The name of a column, counted from 0."""
    name = ""
    while number >= 0:
        name, number = chr(65 + number % 26) + name, number // 26 - 1
    return name


def repeated(nodes: Iterator[Element], way: str) -> Iterator[tuple[int, Element]]:
    """Cells, rows or columns with their places, those that stand for several once for each."""
    at = 0
    for node in nodes:
        many = int(attribute(node, f"number-{way}-repeated", "1"))
        for place in range(at, at + (many if many <= MOST_ALIKE else 0)):
            yield place, node
        at += many


def sheets(body: Element, styles: Styles, view: Element) -> Items:
    """Facts of a workbook."""
    tables = [table for table in body if local(table.tag) == "table"]
    yield "sheets", json.dumps([attribute(t, "name") for t in tables], ensure_ascii=False)
    for table in tables:
        name = attribute(table, "name")
        look = styles.styles.get(("table", attribute(table, "style-name")))
        if look is not None and any(attribute(part, "display") == "false" for part in look):
            yield f"{name}/hidden", "true"
        if drawn := sum(local(node.tag) in ("frame", "custom-shape") for node in table.iter()):
            yield f"{name}/objects", str(drawn)
        yield from cells(table, name, styles)
    for area in body.iter():
        if attribute(area, "display-filter-buttons") == "true":
            yield "filter", attribute(area, "target-range-address")
    for entry in view.iter():
        if local(entry.tag) == "config-item-map-entry" and attribute(entry, "name"):
            items = {attribute(item, "name"): item.text or "0" for item in entry}
            at = [
                items.get(f"{way}SplitPosition", "0")
                if items.get(f"{way}SplitMode") == "2"
                else "0"
                for way in ("Horizontal", "Vertical")
            ]
            if at != ["0", "0"]:
                yield f"{attribute(entry, 'name')}/frozen", ",".join(at)


def cells(table: Element, sheet: str, styles: Styles) -> Items:
    """Facts of columns, rows and cells."""
    usual: dict[int, str] = {}
    columns = (node for node in table.iter() if local(node.tag) == "table-column")
    for at, column in repeated(columns, "columns"):
        usual[at] = attribute(column, "default-cell-style-name")
        width = styles.of("table-column", attribute(column, "style-name")).get("width")
        facts = [*hidden(column), *formatting(styles, usual[at])]
        facts += [("width", width)] if width else []
        yield from ((f"{sheet}.{letters(at)}/{key}", value) for key, value in facts)
    lines = (node for node in table.iter() if local(node.tag) == "table-row")
    for line, row in repeated(lines, "rows"):
        yield from ((f"{sheet}.{line + 1}/{key}", value) for key, value in hidden(row))
        own = attribute(row, "default-cell-style-name")
        held = (cell for cell in row if local(cell.tag) in ("table-cell", "covered-table-cell"))
        for at, cell in repeated(held, "columns"):
            style = attribute(cell, "style-name") or own or usual.get(at, "")
            for key, value in (*cell_values(cell), *formatting(styles, style)):
                yield f"{sheet}.{letters(at)}{line + 1}/{key}", value


def hidden(node: Element) -> Items:
    """Whether a row or a column is hidden."""
    if attribute(node, "visibility") in ("collapse", "filter"):
        yield "hidden", "true"


def formatting(styles: Styles, name: str) -> list[tuple[str, str]]:
    """Properties of a cell's style that the document's usual cells do not have."""
    usual = styles.of("table-cell", "Default")
    own = styles.of("table-cell", name) if name else usual
    keys = sorted(usual.keys() | own.keys())
    told = [(key, own.get(key, "none")) for key in keys if usual.get(key) != own.get(key)]
    named = styles.common("table-cell", name)
    return told + ([("style", named)] if named not in ("", "Default") else [])


def cell_values(cell: Element) -> Items:
    """Facts of a cell but for its formatting."""
    kind, value = attribute(cell, "value-type"), ""
    for name in ("value", "boolean-value", "date-value", "time-value", "string-value"):
        value = value or attribute(cell, name)
    if kind in ("float", "percentage", "currency") and value:
        yield "value", f"{float(value):.12g}"
    elif kind:
        yield "value", value or text_in(cell)
    if formula := attribute(cell, "formula"):
        source = re.sub(r"^\w+:=", "=", formula)
        yield "formula", re.sub(r"\[\.?([^\]:]*)(:?)\.?([^\]]*)\]", r"\1\2\3", source)
    size = [attribute(cell, f"number-{way}-spanned", "1") for way in ("rows", "columns")]
    if size != ["1", "1"]:
        yield "merged", "x".join(size)
    for note in cell:
        if local(note.tag) == "annotation":
            yield "comment", text_in(note)


def paragraphs(body: Element, styles: Styles) -> Items:
    """Facts of a text: its paragraphs in order, and how many of other things it holds."""
    for number, (node, listed) in enumerate(lines_of(body, "", styles), 1):
        name, place = attribute(node, "style-name"), f"p{number}/"
        common = styles.common("paragraph", name)
        usual, whole = styles.of("paragraph", common), styles.of("paragraph", name)
        pieces = list(runs(node))
        yield f"{place}text", "".join(piece for piece, _ in pieces)
        yield f"{place}style", common
        if listed:
            yield f"{place}list", listed
        for key in sorted((usual.keys() | whole.keys()) - set(CHARACTER)):
            if usual.get(key) != whole.get(key):
                yield place + key, whole.get(key, "none")
        for key in CHARACTER:
            if value := spread(pieces, key, usual.get(key), whole.get(key), styles):
                yield place + key, value
    kinds = Counter(local(node.tag) for node in body.iter())
    for kind in ("table", "image", "annotation", "note"):
        if kinds[kind]:
            yield f"{kind}s", str(kinds[kind])


def lines_of(node: Element, listed: str, styles: Styles) -> Iterator[tuple[Element, str]]:
    """The paragraphs of a text in order, with the kind and depth of the list that holds each."""
    for child in node:
        name = local(child.tag)
        if name in ("p", "h"):
            yield child, listed
        elif name == "list":
            style = styles.formats.get(attribute(child, "style-name"))
            kind, _, depth = (listed or "number 0").partition(" ")
            if style is not None and len(style):
                kind = "bullet" if "bullet" in style[0].tag else "number"
            yield from lines_of(child, f"{kind} {int(depth) + 1}", styles)
        elif name not in ("tracked-changes", "forms", "sequence-decls"):
            yield from lines_of(child, listed, styles)


def spread(
    pieces: Sequence[tuple[str, tuple[str, ...]]],
    key: str, usual: str | None, whole: str | None, styles: Styles,
) -> str:  # fmt: skip
    """Tell which characters have a property: its value alone where all do. Blanks do not count."""
    groups: list[tuple[str, str]] = []
    blank = ""
    for piece, spans in pieces:
        value = whole
        for span in spans:
            value = styles.of("text", span).get(key, value)
        shown = value if value and value != usual else ""
        for letter in piece:
            if letter.isspace():
                blank += letter
            elif groups and groups[-1][0] == shown:
                groups[-1], blank = (shown, groups[-1][1] + blank + letter), ""
            else:
                groups, blank = [*groups, (shown, letter)], ""
    if len(groups) == 1:
        return groups[0][0]
    return "; ".join(f"{value} {text[:200]!r}" for value, text in groups if value)
