"""Python that a task's check runs on the machine: it prints one value a line, and no more.

Settings and documents are read by functions cut from the program that reads facts: the task file
needs no HiSA on the machine. Tests hold them to files that real programs wrote. What is not there
prints an empty line.
"""

from __future__ import annotations

import ast
from importlib.resources import files

__all__ = ["PROGRAMS"]

_FOLDER = files("hisa.plugins.synthesis")
_DOCUMENTS = (_FOLDER / "guest_documents.py").read_text("utf-8")
_FACTS = (_FOLDER / "guest_facts.py").read_text("utf-8")
_START = """
import json, os, re, sys
path, items = os.path.expanduser(sys.argv[1]), sys.argv[2:]
"""
_SHOW = """
for item in items:
    value = facts.get(item, "")
    if value.lower() in ("true", "false"):
        value = value.lower()
    print(re.sub(r"^(-?[0-9]+)[.]0+$", r"\\1", value))
"""
_SHOW_ALL = """
values = [facts.get(item, "") for item in items]
print(*[json.dumps(v, ensure_ascii=False) if len(values) > 1 else v for v in values], sep="\\n")
"""
_ROW = """
import sqlite3, urllib.parse
base = sqlite3.connect("file:%s?mode=ro" % urllib.parse.quote(path), uri=True, timeout=20)
quoted = lambda name: '"' + name.replace('"', '""') + '"'
facts = {}
for item in items:
    table, keys, column = json.loads(item)
    info = base.execute("SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", [table])
    where = ["CAST(%s AS TEXT) = ?" % quoted(name) for (name,) in info] or ["rowid = ?"]
    line = "SELECT %s FROM %s WHERE %s" % (quoted(column), quoted(table), " AND ".join(where))
    row = base.execute(line, keys).fetchone()
    facts[item] = "(no row)" if row is None else "NULL" if row[0] is None else str(row[0])
"""


def _cut(source: str, *names: str) -> str:
    parts = (part for part in ast.parse(source).body if getattr(part, "name", "") in names)
    return "\n\n".join(ast.get_source_segment(source, part) or "" for part in parts)


def _reading(cut: str, facts: str, show: str = _SHOW) -> str:
    return f"from __future__ import annotations\n{cut}\n{_START}facts = {facts}{show}"


_TEXT = "open(path, encoding='utf-8', errors='replace').read()"
PROGRAMS = {
    "text": f"{_START}print(ascii(open(path, encoding='utf-8', newline='').read()))",
    "ini": _reading(_cut(_FACTS, "ini"), f"ini({_TEXT})"),
    "json": _reading(_cut(_FACTS, "flat"), f"dict(flat(json.loads({_TEXT})))"),
    "xcu": _reading(
        "from xml.etree import ElementTree\n\n\n"
        + _cut(_DOCUMENTS, "Cut", "parsed")
        + "\n\n\n"
        + _cut(_FACTS, "registry"),
        "dict(registry(parsed(open(path, 'rb').read())))",
    ),
    "row": _START + _ROW + _SHOW,
    "document": f"{_DOCUMENTS}{_START}facts = dict(document(open(path, 'rb').read())){_SHOW_ALL}",
}
"""By the kind of fact."""
