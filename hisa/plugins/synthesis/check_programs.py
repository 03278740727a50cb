"""Python that a task's check runs on the machine: each prints one value a line, and no more.

They read files in another way than `guest_facts`, so that neither hides an error of the other.
Arguments are the path, below ``~``, and the items; what is not there prints an empty line.
"""

__all__ = ["PROGRAMS"]

_START = """
import os, re, sys
path, items = os.path.expanduser(sys.argv[1]), sys.argv[2:]


def plain(value):
    if value.lower() in ("true", "false"):
        return value.lower()
    return re.sub(r"^(-?[0-9]+)[.]0+$", r"\\1", value)
"""
_TEXT = "print(ascii(open(path, encoding='utf-8', newline='').read()))"
_INI = r"""
import configparser
lines = [line.strip() for line in open(path, encoding="utf-8", errors="replace")]
read = configparser.RawConfigParser(
    strict=False, delimiters="=", comment_prefixes=("#", ";"), allow_no_value=True,
    empty_lines_in_values=False, default_section="\0",
)
read.optionxform = str
read.read_string("\n".join(["[\1]", *lines]))
for item in items:
    section, key = item[1:].split("] ", 1)
    print(plain(read.get(section or "\1", key, fallback=None) or ""))
"""
_JSON = """
import json
tree = json.load(open(path, encoding="utf-8"))
for item in items:
    node = tree
    try:
        for part in item.split("/")[1:]:
            part = part.replace("~1", "/").replace("~0", "~")
            node = node[int(part) if isinstance(node, list) else part]
    except (KeyError, IndexError, ValueError, TypeError):
        print()
        continue
    whole = isinstance(node, float) and node == int(node)
    print(json.dumps(int(node) if whole else node, ensure_ascii=False, sort_keys=True))
"""
_XCU = """
from xml.dom import minidom
values = {}
for prop in minidom.parse(path).getElementsByTagName("prop"):
    names, at = [prop.getAttribute("oor:name")], prop.parentNode
    while at.tagName in ("node", "item"):
        names.insert(0, at.getAttribute("oor:name") or at.getAttribute("oor:path"))
        at = at.parentNode
    leaves = prop.getElementsByTagName("it") or prop.getElementsByTagName("value")
    texts = ["".join(t.data for t in leaf.childNodes if hasattr(t, "data")) for leaf in leaves]
    values["/".join(names)] = ";".join(texts)
for item in items:
    print(plain(values.get(item, "")))
"""
_ROW = """
import json, sqlite3, urllib.parse
base = sqlite3.connect("file:%s?mode=ro" % urllib.parse.quote(path), uri=True, timeout=20)
quoted = lambda name: '"' + name.replace('"', '""') + '"'
for item in items:
    table, keys, column = json.loads(item)
    info = base.execute("SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", [table])
    where = ["CAST(%s AS TEXT) = ?" % quoted(name) for (name,) in info] or ["rowid = ?"]
    line = "SELECT %s FROM %s WHERE %s" % (quoted(column), quoted(table), " AND ".join(where))
    row = base.execute(line, keys).fetchone()
    print("(no row)" if row is None else "NULL" if row[0] is None else plain(str(row[0])))
"""
_DOCUMENT = r"""
import itertools, json, zipfile
import xml.etree.ElementTree as tree
archive = zipfile.ZipFile(path)
names = {"content.xml", "styles.xml", "settings.xml"} & set(archive.namelist())
if sum(archive.getinfo(name).file_size for name in names) > 60000000:
    sys.exit("too large")
roots = {name: tree.fromstring(archive.read(name)) for name in names}
for node in itertools.chain.from_iterable(root.iter() for root in roots.values()):
    node.tag = node.tag.split("}")[-1]
    for name in list(node.attrib):
        node.attrib.setdefault(name.split("}")[-1], node.attrib[name])
content, common, view = (roots.get(n, tree.Element("none")) for n in
                         ("content.xml", "styles.xml", "settings.xml"))
own, named, formats = {}, {}, {}
for keep, part in ((named, common.find("styles")), (own, content.find("automatic-styles"))):
    for node in part if part is not None else ():
        if node.tag in ("style", "default-style"):
            keep[node.get("family"), node.get("name")] = node
        else:
            formats[node.get("name")] = node
fonts = {f.get("name"): f.get("font-family", "").strip("'\"") for r in (common, content)
         for f in r.iter("font-face")}
WHERE = {
    "bold": "font-weight", "italic": "font-style", "underline": "text-underline-style",
    "strike": "text-line-through-style", "font": "font-name", "size": "font-size",
    "highlight": "background-color", "align": "text-align", "valign": "vertical-align",
    "wrap": "wrap-option", "position": "text-position", "indent": "text-indent",
    "background": "background-color", "break": "break-before", "rotation": "rotation-angle",
    "transform": "text-transform", "variant": "font-variant", "width": "column-width",
}
VOID = (None, "", "normal", "none", "transparent", "auto", "0cm", "0in", "no-wrap", "0% 100%")


def parent(family, style):
    while style is not None and (family, style) not in named and (family, style) in own:
        style = own[family, style].get("parent-style-name")
    return style or ""


def looks(family, style, key):
    seen = 0
    while seen < 40:
        seen += 1
        node = own.get((family, style))
        node = named.get((family, style)) if node is None else node
        if node is None:
            style, node = None, named.get((family, None))
        found = None if node is None else written(node, key)
        if found is not None or style is None:
            return None if found in VOID else found
        style = node.get("parent-style-name")


def written(node, key):
    if key == "format":
        kind = formats.get(node.get("data-style-name"))
        return None if kind is None else number(kind)
    found = None
    for part in node:
        of_text = part.tag == "text-properties"
        if key in ("highlight", "background") and (key == "highlight") != of_text:
            continue
        value = part.get(WHERE.get(key, key))
        if key == "color" and part.get("use-window-font-color") == "true":
            value = ""
        if key == "underline" and value and part.get("text-underline-type") == "double":
            value = "double"
        if value is not None:
            found = value
    if key == "bold" and found:
        return "true" if found in ("bold", "600", "700", "800", "900") else ""
    if key == "italic" and found:
        return "true" if found in ("italic", "oblique") else ""
    return fonts.get(found, found) if key == "font" else found.lower() if found else found


def number(kind):
    said = [kind.tag.replace("-style", "")]
    for part in kind:
        marks = [part.get("decimal-places"), "long" if part.get("style") == "long" else None,
                 "grouped" if part.get("grouping") == "true" else None, part.get("color"),
                 "name" if part.get("textual") else None, (part.text or "").strip()]
        marks = [mark for mark in marks if mark]
        if part.tag != "map" and (marks or part.tag not in ("text", "text-properties")):
            said.append(":".join([part.tag] + marks))
    return "" if said == ["number", "number"] else " ".join(said)


def differs(value, usual):
    return "" if value == usual else value or "none"


def pieces(node, spans=()):
    if node.tag in ("annotation", "note", "frame", "custom-shape", "change", "tracked-changes"):
        return
    fixed = {"s": " " * int(node.get("c", 1)), "tab": "\t", "line-break": "\n"}
    if node.tag in fixed:
        yield fixed[node.tag], spans
        return
    spans += (node.get("style-name"),) if node.tag == "span" else ()
    yield node.text or "", spans
    for child in node:
        yield from pieces(child, spans)
        yield child.tail or "", spans


def text(node):
    return "".join(piece for piece, _ in pieces(node))


def times(node, way):
    return int(node.get("number-%s-repeated" % way, 1))


def nth(nodes, way, wanted):
    for node in nodes:
        wanted -= times(node, way)
        if wanted < 0:
            return node
    return tree.Element("none")


def at(letters):
    place = 0
    for letter in letters:
        place = place * 26 + ord(letter) - 64
    return place - 1


def of_sheet(table, letters, line, key):
    column = nth(table.iter("table-column"), "columns", at(letters)) if letters else None
    row = nth(table.iter("table-row"), "rows", int(line) - 1) if line else None
    if key == "hidden":
        node = column if row is None else row
        return "true" if node.get("visibility") in ("collapse", "filter") else ""
    if row is None:
        style = column.get("default-cell-style-name")
        if key == "width":
            return looks("table-column", column.get("style-name"), key) or ""
        return cell_style(style, key)
    cells = [node for node in row if node.tag in ("table-cell", "covered-table-cell")]
    cell = nth(cells, "columns", at(letters))
    lines = "\n".join(text(p) for p in cell.findall("p"))
    kind = cell.get("value-type")
    if key == "value" and kind in ("float", "percentage", "currency"):
        return "%.12g" % float(cell.get("value"))
    if key == "value":
        kept = cell.get("%s-value" % kind) if kind else ""
        return lines if kept is None else kept
    if key == "formula":
        words = re.split(r"[][]", cell.get("formula", "").partition(":")[2])
        words[1::2] = [":".join(w.lstrip(".") for w in word.split(":")) for word in words[1::2]]
        return "".join(words)
    if key == "merged":
        size = [cell.get("number-%s-spanned" % way, "1") for way in ("rows", "columns")]
        return "" if size == ["1", "1"] else "x".join(size)
    if key == "comment":
        return "\n".join(text(p) for note in cell.findall("annotation") for p in note.findall("p"))
    style = cell.get("style-name") or row.get("default-cell-style-name")
    column = nth(table.iter("table-column"), "columns", at(letters))
    return cell_style(style or column.get("default-cell-style-name"), key)


def cell_style(style, key):
    if key == "style":
        return parent("table-cell", style).replace("Default", "")
    usual = looks("table-cell", "Default", key)
    return differs(looks("table-cell", style, key) if style else usual, usual)


def of_paragraph(place, key):
    every = list(inside(content.find("body/text"), []))
    if int(place) > len(every):
        return ""
    node, lists = every[int(place) - 1]
    style = node.get("style-name")
    if key == "text":
        return text(node)
    if key == "style":
        return parent("paragraph", style)
    if key == "list":
        kinds = [formats.get(name) for name in lists]
        marks = [k[0].tag for k in kinds if k is not None and len(k)]
        kind = "bullet" if marks and "bullet" in marks[-1] else "number"
        return "%s %d" % (kind, len(lists)) if lists else ""
    usual = looks("paragraph", parent("paragraph", style), key)
    whole, values, written_ = looks("paragraph", style, key), [], text(node)
    for piece, spans in pieces(node):
        value = whole
        for span in spans:
            found = looks("text", span, key)
            value = value if found is None else found
        values += [value if value != usual else None] * len(piece)
    if key not in ("bold", "italic", "underline", "strike", "color", "highlight", "font", "size",
                   "position", "transform", "variant"):
        return differs(whole, usual)
    ink = [n for n, letter in enumerate(written_) if not letter.isspace()]
    if len({values[n] or "" for n in ink}) < 2:
        return (values[ink[0]] if ink else "") or ""
    groups = itertools.groupby(ink, key=lambda n: values[n] or "")
    spread = [(value, list(places)) for value, places in groups if value]
    return "; ".join("%s %r" % (value, written_[p[0]:p[-1] + 1][:200]) for value, p in spread)


def inside(node, lists):
    for child in node:
        if child.tag in ("p", "h"):
            yield child, lists
        elif child.tag == "list":
            yield from inside(child, lists + [child.get("style-name")])
        elif child.tag not in ("tracked-changes", "forms", "sequence-decls"):
            yield from inside(child, lists)


def answer(item):
    tables = content.findall("body/spreadsheet/table")
    if item == "sheets":
        return json.dumps([table.get("name") for table in tables], ensure_ascii=False)
    if item == "filter":
        return "\n".join(area.get("target-range-address") for area in content.iter("database-range")
                         if area.get("display-filter-buttons") == "true")
    name, _, key = item.rpartition("/")
    if not name:
        return str(len(list(content.find("body").iter(item[:-1]))))
    if name == "page":
        return next((p.get(key) or "" for p in common.iter("page-layout-properties")), "")
    if re.fullmatch("p[0-9]+", name) and not tables:
        return of_paragraph(name[1:], key)
    if key == "frozen":
        entry = [e for e in view.iter("config-item-map-entry") if e.get("name") == name]
        found = {i.get("name"): i.text for e in entry for i in e.findall("config-item")}
        ends = [found.get(w + "SplitPosition") if found.get(w + "SplitMode") == "2" else "0"
                for w in ("Horizontal", "Vertical")]
        return "" if ends == ["0", "0"] else ",".join(ends)
    sheet, _, cell = name.rpartition(".")
    for table in tables:
        if table.get("name") == name and key == "hidden":
            shown = looks("table", table.get("style-name"), "display")
            return "true" if shown == "false" else ""
        if table.get("name") == name and key == "objects":
            return str(sum(node.tag in ("frame", "custom-shape") for node in table.iter()))
        if table.get("name") == sheet:
            return of_sheet(table, *re.fullmatch("([A-Z]*)([0-9]*)", cell).groups(), key)
    return ""


for item in items:
    value = answer(item) or ""
    print(json.dumps(value, ensure_ascii=False) if len(items) > 1 else value)
"""
PROGRAMS = {
    "text": _START + _TEXT,
    "ini": _START + _INI,
    "json": _START + _JSON,
    "xcu": _START + _XCU,
    "row": _START + _ROW,
    "document": _START + _DOCUMENT,
}
"""By the kind of fact."""
