"""Lines of bash that set a fact on a machine: to undo a change, or as another way to the same."""

from __future__ import annotations

import shlex

from hisa.plugins.synthesis.records import Fact

__all__ = ["here", "write_command"]


def here(program: str, *arguments: str) -> str:
    """A bash line that runs Python source with arguments, by the machine's own Python."""
    return f"python3 -I -S - {shlex.join(arguments)} <<'END'\n{program.strip()}\nEND"


def write_command(fact: Fact, value: str | None) -> str | None:
    """A line that makes a fact hold a value; with None, that makes it absent or the default.

    Returns None where the content behind the value is not known, or is a document's.
    """
    if value is not None and value.startswith("… "):
        return None
    if fact.kind == "gsettings":
        key = shlex.join([fact.place, fact.item])
        return f"gsettings reset {key}" if value is None else (
            f"gsettings set {key} {shlex.quote(value)}"
        )  # fmt: skip
    path = f"~/{shlex.quote(fact.place.removeprefix('~/'))}"
    if fact.kind == "file":
        return _file(path, value)
    if fact.kind == "text":
        return f"rm -f -- {path}" if value is None else (
            f'mkdir -p -- "$(dirname -- {path})" && printf %s {shlex.quote(value)} > {path}'
        )  # fmt: skip
    program = _PROGRAMS.get(fact.kind)
    if program is None:
        return None
    arguments = [fact.place, fact.item, *([] if value is None else [value])]
    return here(_START + program, *arguments)


def _file(path: str, value: str | None) -> str | None:
    if value is None:
        return f"rm -rf -- {path}"
    if value.startswith("link "):
        return f"ln -sfn -- {shlex.quote(value[5:])} {path}"
    return f"mkdir -p -- {path}" if value == "folder" else None


_START = """
import json, os, re, sqlite3, sys
from xml.dom import minidom
path, item = os.path.expanduser(sys.argv[1]), sys.argv[2]
value = sys.argv[3] if len(sys.argv) > 3 else None
os.makedirs(os.path.dirname(path), exist_ok=True)
"""
_INI = r"""
section, key = re.fullmatch(r"\[(.*?)\] (.*)", item, re.S).groups()
lines = open(path, encoding="utf-8").read().splitlines() if os.path.exists(path) else []
now, kept, at = "", [], None if section else 0
for line in lines:
    head = re.fullmatch(r"\s*\[([^\]]*)\]\s*([#;].*)?", line)
    now = head.group(1) if head else now
    if now != section or head or line.partition("=")[0].strip() != key:
        kept.append(line)
    at = len(kept) if now == section else at
if at is None:
    kept.append("[%s]" % section)
if value is not None:
    kept.insert(len(kept) if at is None else at, key + "=" + value)
open(path, "w", encoding="utf-8").write("\n".join(kept) + "\n")
"""
_JSON = """
tree = json.load(open(path, encoding="utf-8")) if os.path.exists(path) else {}
names = [n.replace("~1", "/").replace("~0", "~") for n in item.split("/")[1:]]
node = tree
for name in names[:-1]:
    node = node[int(name)] if isinstance(node, list) else node.setdefault(name, {})
last = int(names[-1]) if isinstance(node, list) else names[-1]
if value is not None:
    node[last] = json.loads(value)
elif isinstance(node, list) or last in node:
    del node[last]
json.dump(tree, open(path, "w", encoding="utf-8"), ensure_ascii=False)
"""
_XCU = """
tree = minidom.parse(path)
root = tree.documentElement
place, name = item.rpartition("/")[::2]
for one in list(root.getElementsByTagName("item")):
    names = [prop.getAttribute("oor:name") for prop in one.getElementsByTagName("prop")]
    if one.getAttribute("oor:path") == place and name in names:
        root.removeChild(one)
if value is not None:
    one, prop, text = map(tree.createElement, ("item", "prop", "value"))
    one.setAttribute("oor:path", place)
    prop.setAttribute("oor:name", name)
    prop.setAttribute("oor:op", "fuse")
    text.appendChild(tree.createTextNode(value))
    prop.appendChild(text)
    one.appendChild(prop)
    root.appendChild(one)
open(path, "w", encoding="utf-8").write(tree.toxml())
"""
_ROW = """
def quoted(name):
    return '"' + name.replace('"', '""') + '"'


table, keys, column = json.loads(item)
base = sqlite3.connect(path, timeout=10)
columns = base.execute("PRAGMA table_info(%s)" % quoted(table)).fetchall()
names = [c[1] for c in sorted(columns, key=lambda c: c[5]) if c[5]] or ["rowid"]
where = " AND ".join("CAST(%s AS TEXT) = ?" % quoted(n) for n in names)
if value is None:
    base.execute("DELETE FROM %s WHERE %s" % (quoted(table), where), keys)
else:
    row = {**{c[1]: "" for c in columns}, **dict(zip(names, keys))}
    into = quoted(table), ", ".join(map(quoted, row)), ", ".join("?" * len(row))
    base.execute("INSERT OR IGNORE INTO %s (%s) VALUES (%s)" % into, [*row.values()])
    line = "UPDATE %s SET %s = ? WHERE %s" % (quoted(table), quoted(column), where)
    if base.execute(line, [None if value == "NULL" else value, *keys]).rowcount != 1:
        sys.exit("no such row")
base.commit()
"""
_PROGRAMS = {"ini": _INI, "json": _JSON, "xcu": _XCU, "row": _ROW}
