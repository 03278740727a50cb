"""Reads OpenDocument sheets and texts: cells and paragraphs, with formatting as styles resolve it.

Stands in front of `guest_facts` when that is sent to a machine: the standard library alone.
"""

import io
import json
import re
import zipfile
from xml.etree import ElementTree

LONGEST, UNPACKED = 4000, 40_000_000


class Cut(Exception):
    """A file that is larger, deeper or slower than a document of a person."""


def parsed(data):
    if b"<!ENTITY" in data or b"<!DOCTYPE" in data:
        raise Cut("entities")
    return ElementTree.fromstring(data)


def local(name):
    return name.rpartition("}")[2]


def attribute(element, name, default=""):
    """An attribute by its name without a namespace."""
    for key, value in element.items():
        if local(key) == name:
            return value
    return default


SAME_NAME = {
    "color": "color", "text-align": "align", "vertical-align": "valign", "wrap-option": "wrap",
    "font-size": "size", "text-position": "position", "line-height": "line-height",
    "margin-left": "margin-left", "margin-right": "margin-right", "margin-top": "margin-top",
    "margin-bottom": "margin-bottom", "text-indent": "indent", "break-before": "break",
    "rotation-angle": "rotation", "text-transform": "transform", "font-variant": "variant",
    "border": "border", "border-left": "border-left", "border-right": "border-right",
    "border-top": "border-top", "border-bottom": "border-bottom",
    "column-width": "width", "text-underline-style": "underline", "text-line-through-style": "strike",
}  # fmt: skip
NOTHING = frozenset(("", "normal", "none", "transparent", "auto", "0cm", "0in", "no-wrap", "0% 100%"))
CHARACTER = ("bold", "italic", "underline", "strike", "color", "highlight", "font", "size",
             "position", "transform", "variant")  # fmt: skip


class Styles:
    """Formatting of a document by the names of its styles, inherited and all."""

    def __init__(self, common, own):
        self.styles, self.defaults, self.formats, self.named = {}, {}, {}, set()
        self.fonts = {}
        for root, kinds in ((common, ("styles",)), (own, ("automatic-styles",))):
            for face in root.iter():
                if local(face.tag) == "font-face":
                    family = attribute(face, "font-family").strip("'\"")
                    self.fonts[attribute(face, "name")] = family
            for style in (s for part in root if local(part.tag) in kinds for s in part):
                kind, name = local(style.tag), attribute(style, "name")
                if kind == "default-style":
                    self.defaults[attribute(style, "family")] = style
                elif kind == "style":
                    self.styles[attribute(style, "family"), name] = style
                    if root is common:
                        self.named.add((attribute(style, "family"), name))
                elif name:
                    self.formats[name] = style
        self.known = {}

    def common(self, family, name):
        """The named style that an automatic one stands on."""
        for _ in range(30):
            if (family, name) in self.named or (family, name) not in self.styles:
                break
            name = attribute(self.styles[family, name], "parent-style-name")
        return name

    def of(self, family, name):
        """Properties of a style in plain words."""
        if (family, name) not in self.known:
            chain, at = [], self.styles.get((family, name))
            while at is not None and len(chain) < 30:
                chain.append(at)
                at = self.styles.get((family, attribute(at, "parent-style-name")))
            if family in self.defaults:
                chain.append(self.defaults[family])
            merged = {}
            for style in reversed(chain):
                merged.update(self.plain(style))
            self.known[family, name] = {k: v for k, v in merged.items() if v not in NOTHING}
        return self.known[family, name]

    def plain(self, style):
        found = {}
        for part in style:
            values = {local(key): value for key, value in part.items()}
            for key, value in values.items():
                if key in SAME_NAME:
                    found[SAME_NAME[key]] = value.lower()
                elif key == "font-weight":
                    found["bold"] = "true" if value in ("bold", "600", "700", "800", "900") else ""
                elif key == "font-style":
                    found["italic"] = "true" if value in ("italic", "oblique") else ""
                elif key == "font-name":
                    found["font"] = self.fonts.get(value, value)
                elif key == "background-color":
                    of_text = local(part.tag) == "text-properties"
                    found["highlight" if of_text else "background"] = value.lower()
            if values.get("use-window-font-color") == "true":
                found["color"] = ""
            if values.get("text-underline-type") == "double" and "underline" in found:
                found["underline"] = "double"
        if attribute(style, "data-style-name") in self.formats:
            found["format"] = number_format(self.formats[attribute(style, "data-style-name")])
        return found


def number_format(style):
    """A number format in words: its kind, and its parts with what they look like."""
    words = [local(style.tag).replace("-style", "")]
    for part in style:
        name = local(part.tag)
        if name == "map":
            continue
        marks = {local(k): v for k, v in part.items()}
        extra = [marks.get("decimal-places"), "long" if marks.get("style") == "long" else None]
        extra += ["grouped" if marks.get("grouping") == "true" else None, marks.get("color")]
        extra += [marks.get("textual") and "name", (part.text or "").strip() or None]
        shown = [x for x in extra if x]
        if shown or name not in ("text", "text-properties"):
            words.append(":".join([name, *shown]))
    return " ".join(words) if words != ["number", "number"] else ""


def spoken(node, most=LONGEST * 4):
    """The text inside a paragraph."""
    return "".join(text for text, _ in runs(node, ()))[:most]


def runs(node, spans):
    """Pieces of a paragraph's text, each with the names of the spans around it."""
    yield node.text or "", spans
    for child in node:
        name = local(child.tag)
        if name == "s":
            yield " " * min(int(attribute(child, "c", "1")), 1000), spans
        elif name in ("tab", "line-break"):
            yield "\t" if name == "tab" else "\n", spans
        elif name == "span":
            yield from runs(child, (*spans, attribute(child, "style-name")))
        elif name not in ("annotation", "note", "frame", "custom-shape", "change", "tracked-changes"):
            yield from runs(child, spans)
        yield child.tail or "", spans


def letters(number):
    name = ""
    while number >= 0:
        name, number = chr(65 + number % 26) + name, number // 26 - 1
    return name


def package(data):
    """The XML parts of an OpenDocument file."""
    parts, left = {}, UNPACKED
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in ("content.xml", "styles.xml", "settings.xml"):
            if name not in archive.namelist():
                parts[name] = ElementTree.Element("none")
                continue
            with archive.open(name) as file:
                text = file.read(left + 1)
            left -= len(text)
            if left < 0:
                raise Cut("unpacked size")
            parts[name] = parsed(text)
    return parts


def document(data):
    """Facts of a sheet or a text."""
    parts = package(data)
    styles = Styles(parts["styles.xml"], parts["content.xml"])
    body = next((e for e in parts["content.xml"] if local(e.tag) == "body"), ())
    for kind in body:
        if local(kind.tag) == "spreadsheet":
            yield from sheets(kind, styles, parts["settings.xml"])
        elif local(kind.tag) == "text":
            yield from paragraphs(kind, styles)
    for layout in parts["styles.xml"].iter():
        if local(layout.tag) == "page-layout-properties":
            for name in ("print-orientation", "page-width", "page-height", "margin-left",
                         "margin-right", "margin-top", "margin-bottom"):  # fmt: skip
                if attribute(layout, name):
                    yield "page/" + name, attribute(layout, name)
            break


def sheets(body, styles, view):
    tables = [t for t in body if local(t.tag) == "table"]
    yield "sheets", json.dumps([attribute(t, "name") for t in tables], ensure_ascii=False)
    for table in tables:
        name = attribute(table, "name")
        look = styles.styles.get(("table", attribute(table, "style-name")))
        if look is not None and any(attribute(part, "display") == "false" for part in look):
            yield name + "/hidden", "true"
        drawn = sum(local(e.tag) in ("frame", "custom-shape") for e in table.iter())
        if drawn:
            yield name + "/objects", str(drawn)
        columns = dict(columns_of(table, styles))
        for at, (column, hidden, width) in columns.items():
            if hidden:
                yield "%s.%s/hidden" % (name, letters(at)), "true"
            if width:
                yield "%s.%s/width" % (name, letters(at)), width
            for key, value in formatting(styles, column):
                yield "%s.%s/%s" % (name, letters(at), key), value
        yield from cells(table, name, columns, styles)
    for area in body.iter():
        if local(area.tag) == "database-range" and attribute(area, "display-filter-buttons") == "true":
            yield "filter", attribute(area, "target-range-address")
    yield from frozen(view)


def columns_of(table, styles):
    at = 0
    for column in table.iter():
        if local(column.tag) == "table-column":
            many = int(attribute(column, "number-columns-repeated", "1"))
            name = attribute(column, "default-cell-style-name")
            hidden = attribute(column, "visibility") in ("collapse", "filter")
            width = styles.of("table-column", attribute(column, "style-name")).get("width")
            for place in range(at, at + (many if many < 100 else 0)):
                yield place, (name, hidden, width)
            at += many


def formatting(styles, name):
    """What a cell's style says that the document's usual cells do not."""
    usual = styles.of("table-cell", "Default")
    own = styles.of("table-cell", name) if name else usual
    for key in usual.keys() | own.keys():
        if usual.get(key) != own.get(key):
            yield key, own.get(key, "none")
    named = styles.common("table-cell", name)
    if named and named != "Default":
        yield "style", named


def cells(table, sheet, columns, styles):
    down = 0
    for row in table.iter():
        if local(row.tag) != "table-row":
            continue
        many = int(attribute(row, "number-rows-repeated", "1"))
        if attribute(row, "visibility") in ("collapse", "filter") and many < 1000:
            for line in range(down, down + many):
                yield "%s.%d/hidden" % (sheet, line + 1), "true"
        usual = attribute(row, "default-cell-style-name")
        for line in range(down, down + (many if many <= 200 else 0)):
            across = 0
            for cell in row:
                if local(cell.tag) not in ("table-cell", "covered-table-cell"):
                    continue
                wide = int(attribute(cell, "number-columns-repeated", "1"))
                for at in range(across, across + (wide if wide <= 200 else 0)):
                    style = attribute(cell, "style-name") or usual or columns.get(at, ("",))[0]
                    address = "%s.%s%d/" % (sheet, letters(at), line + 1)
                    for key, value in (*cell_values(cell), *formatting(styles, style)):
                        yield address + key, value
                across += wide
        down += many


def cell_values(cell):
    kind = attribute(cell, "value-type")
    value = attribute(cell, "value") or attribute(cell, "boolean-value")
    value = value or attribute(cell, "date-value") or attribute(cell, "time-value")
    if kind in ("float", "percentage", "currency") and value:
        yield "value", "%.12g" % float(value)
    elif kind == "string" or value:
        paragraphs_ = [spoken(p) for p in cell if local(p.tag) == "p"]
        yield "value", value or attribute(cell, "string-value") or "\n".join(paragraphs_)
    if attribute(cell, "formula"):
        source = re.sub(r"^\w+:=", "=", attribute(cell, "formula"))
        yield "formula", re.sub(r"\[\.?([^\]:]*)(:?)\.?([^\]]*)\]", r"\1\2\3", source)
    spans = attribute(cell, "number-rows-spanned", "1"), attribute(cell, "number-columns-spanned", "1")
    if spans != ("1", "1"):
        yield "merged", "x".join(spans)
    for note in cell:
        if local(note.tag) == "annotation":
            yield "comment", "\n".join(spoken(p) for p in note if local(p.tag) == "p")


def frozen(view):
    for table in view.iter():
        if local(table.tag) != "config-item-map-entry" or not attribute(table, "name"):
            continue
        items = {attribute(item, "name"): item.text or "" for item in table}
        at = [
            items.get(way + "SplitPosition", "0") if items.get(way + "SplitMode") == "2" else "0"
            for way in ("Horizontal", "Vertical")
        ]
        if at != ["0", "0"]:
            yield attribute(table, "name") + "/frozen", ",".join(at)


def paragraphs(body, styles):
    counts = {}
    for number, (node, listed) in enumerate(lines(body, "", styles)):
        name = attribute(node, "style-name")
        common = styles.common("paragraph", name)
        usual, whole = styles.of("paragraph", common), styles.of("paragraph", name)
        place = "p%d/" % (number + 1)
        pieces = list(runs(node, ()))
        text = "".join(piece for piece, _ in pieces)
        yield place + "text", text
        yield place + "style", common
        if listed:
            yield place + "list", listed
        for key in (usual.keys() | whole.keys()) - set(CHARACTER):
            if usual.get(key) != whole.get(key):
                yield place + key, whole.get(key, "none")
        for key in CHARACTER:
            value = spread(pieces, text, key, usual, whole, styles)
            if value:
                yield place + key, value
    for node in body.iter():
        if local(node.tag) in ("table", "image", "annotation", "note"):
            counts[local(node.tag)] = counts.get(local(node.tag), 0) + 1
    for kind, number in counts.items():
        yield kind + "s", str(number)


def lines(node, listed, styles):
    """The paragraphs of a text in order, with the list that holds them."""
    for child in node:
        name = local(child.tag)
        if name in ("p", "h"):
            yield child, listed
        elif name == "list":
            style = styles.formats.get(attribute(child, "style-name"))
            marks = [local(e.tag) for e in style] if style is not None else []
            depth = int(listed.rpartition(" ")[2] or 0) + 1
            kind = listed.partition(" ")[0] if listed else "number"
            if marks:
                kind = "bullet" if "bullet" in marks[0] else "number"
            yield from lines(child, "%s %d" % (kind, depth), styles)
        elif name not in ("tracked-changes", "forms", "sequence-decls", "table-of-content-source"):
            yield from lines(child, listed, styles)


def spread(pieces, text, key, usual, whole, styles):
    """Which characters have a property: its value alone where all have it."""
    values, at = [], 0
    for piece, spans in pieces:
        value = whole.get(key)
        for span in spans:
            value = styles.of("text", span).get(key, value)
        values += [value if value != usual.get(key) else None] * len(piece)
    for place, letter in enumerate(text):  # a blank shows no formatting: it is as what is before it
        if letter.isspace() and place < len(values):
            values[place] = values[place - 1] if place else None
    visible = {values[place] for place, letter in enumerate(text) if not letter.isspace()}
    if len(visible) <= 1:
        return visible.pop() if visible else None
    said = []
    while at < len(values):
        end = at
        while end < len(values) and values[end] == values[at]:
            end += 1
        if values[at]:
            said.append("%s %r" % (values[at], text[at:end].strip()[:200]))
        at = end
    return "; ".join(said)
