"""Checks of task files, made from what changed and nothing else: no act is known here.

Every value that an effect set is asked for, in the form that the machine keeps it; forms that mean
the same pass as well: a truth in any case, 5.0 for 5, a blank at the end of a text. Files are read
by functions cut from the program that reads facts, which tests hold to what real programs write.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections import defaultdict
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from hisa.plugins.synthesis.distinct_effects import WINDOWS
from hisa.plugins.synthesis.records import Change, ElementChange
from hisa.plugins.synthesis.rewrite import here
from hisa.plugins.synthesis.task_records import Effect

__all__ = ["check_of"]

_MOST = 60
"""Changes beyond which an effect is no one thing that a person asks for."""
_MOST_ELEMENTS = 4
_CHECKED = ("checked", "pressed", "expanded", "selected")
_DOCUMENTS, _FACTS = (
    (files("hisa.plugins.synthesis") / f"guest_{name}.py").read_text("utf-8")
    for name in ("documents", "facts")
)
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


_TEXT = "open(path, encoding='utf-8', errors='replace').read()"
_HEAD = "from __future__ import annotations\nfrom xml.etree import ElementTree\n\n\n"
_PROGRAMS = {
    "text": f"{_START}print(ascii(open(path, encoding='utf-8', newline='').read()))",
    "ini": f"{_HEAD}{_cut(_FACTS, 'ini')}\n{_START}facts = ini({_TEXT}){_SHOW}",
    "json": f"{_HEAD}{_cut(_FACTS, 'flat')}\n{_START}"
    f"facts = dict(flat(json.loads({_TEXT}))){_SHOW}",
    "xcu": f"{_HEAD}{_cut(_DOCUMENTS, 'Cut', 'parsed')}\n\n\n{_cut(_FACTS, 'registry')}\n{_START}"
    f"facts = dict(registry(parsed(open(path, 'rb').read()))){_SHOW}",
    "row": _START + _ROW + _SHOW,
    "document": f"{_DOCUMENTS}{_START}facts = dict(document(open(path, 'rb').read())){_SHOW_ALL}",
}
"""By the kind of fact: Python that prints the values of items of a file, a line each."""


class _Uncheckable(Exception):
    pass


def check_of(effect: Effect) -> tuple[dict[str, Any], ...] | str:
    """The checks that hold once an effect has come about, or why none can be made.

    Returns checks of HiSA's own task files; all must hold.
    """
    if len(effect.changes) > _MOST:
        return f"{len(effect.changes)} values changed, more than {_MOST}"
    if not effect.changes:
        return _of_elements(effect.elements) or "nothing changed that a check can ask for"
    groups: dict[tuple[str, str], list[Change]] = defaultdict(list)
    for change in effect.changes:
        groups[change.fact.kind, change.fact.place].append(change)
    try:
        return tuple(
            check
            for (kind, place), changes in groups.items()
            for check in _of_place(kind, place, changes, effect.changes)
        )
    except (_Uncheckable, ValueError, OverflowError, RecursionError) as error:
        return str(error)


def _of_place(
    kind: str, place: str, changes: Sequence[Change], everything: Sequence[Change]
) -> list[dict[str, Any]]:
    if kind == "file":
        return [_file(change, everything) for change in changes]
    if any((change.after or "").startswith("… ") for change in changes):
        raise _Uncheckable(f"{place} {changes[0].fact.item} holds more than a check compares")
    if kind == "text":
        return [_text(place, changes[0])]
    if kind == "row":
        if lone := [c.fact.item for c in changes if len(json.loads(c.fact.item)) < 3]:
            raise _Uncheckable(f"{place}: the table {lone[0]} was made or changed")
        gone = {str(json.loads(c.fact.item)[:2]): c for c in changes if c.after is None}
        changes = [c for c in changes if c.after is not None] + [*gone.values()]
    for change in changes:
        if change.after is None and kind == "gsettings":
            raise _Uncheckable(f"the setting {place} {change.fact.item} is gone")
        if _plain(kind, change.after).strip() == _plain(kind, change.before).strip():
            raise _Uncheckable(f"{place}: only blanks or the form of a value changed")
    if kind == "document":
        return [_printed(kind, place, changes)]
    return [_printed(kind, place, [change]) for change in changes]


def _printed(kind: str, place: str, changes: Sequence[Change]) -> dict[str, Any]:
    values = [_plain(kind, change.after) for change in changes]
    items = [change.fact.item for change in changes]
    if kind == "gsettings":
        return {"command": shlex.join(["gsettings", "get", place, *items]), "equals": values[0]}
    if len(values) > 1:
        values = [json.dumps(value, ensure_ascii=False) for value in values]
    return {"command": here(_PROGRAMS[kind], place, *items), "equals": "\n".join(values)}


def _plain(kind: str, value: str | None) -> str:
    """A value as `_PROGRAMS` print it."""
    if value is None:
        return "(no row)" if kind == "row" else ""
    if kind in ("document", "gsettings"):
        return value
    if kind == "json":
        loaded = json.loads(value)
        whole = isinstance(loaded, float) and loaded == int(loaded)
        return json.dumps(int(loaded) if whole else loaded, ensure_ascii=False, sort_keys=True)
    lowered = value.lower() if value.lower() in ("true", "false") else value
    return re.sub(r"^(-?[0-9]+)\.0+$", r"\1", lowered)


def _text(place: str, change: Change) -> dict[str, Any]:
    if change.after is None:
        raise _Uncheckable(f"the text of {place} is longer than a check compares, or no text now")
    if change.before is not None and change.before.strip() == change.after.strip():
        return {"command": here(_PROGRAMS["text"], place), "equals": ascii(change.after)}
    return {"file": place, "equals": change.after}


def _file(change: Change, everything: Sequence[Change]) -> dict[str, Any]:
    path, value = f"~/{shlex.quote(change.fact.place.removeprefix('~/'))}", change.after
    if value is None:
        return {"command": f"test ! -e {path} && test ! -L {path} && echo gone", "equals": "gone"}
    if value == "folder":
        return {"command": f"test -d {path} && echo folder", "equals": "folder"}
    if value.startswith("link "):
        return {"command": f"readlink -- {path}", "equals": value[5:]}
    words = value.split()
    moved = any(other.before == value and other.after is None for other in everything)
    if len(words) < 4:
        raise _Uncheckable(f"of {change.fact.place} nothing is known but that it is there")
    if moved:
        return {"command": f"sha256sum < {path} | cut -c 1-16", "equals": words[2]}
    if (change.before or "").split()[3:] == words[3:]:
        raise _Uncheckable(f"of {change.fact.place} only a hash is known to be another one")
    head = f"head -c 4 -- {path} | od -An -tx1 | tr -d ' \\n'"
    return {"command": f"test -f {path} && {head}", "equals": words[3]}


def _of_elements(changes: Sequence[ElementChange]) -> tuple[dict[str, Any], ...]:
    """Checks of the first sort that there is: what is there now before what is not any more."""
    came = [c for c in changes if c.what == "came" and c.name]
    went = [_absent(c) for c in changes if c.what == "went" and c.name]
    states = [c for c in changes if c.what == "states" and c.name]
    ranks = (
        [_element(c) for c in came if c.role in WINDOWS],
        [_element(c, **new) for c in states if (new := _states(c.before, c.after))],
        [_element(c, value=c.after) for c in changes if c.what == "value" and c.after.strip()],
        [one for c in states if (lost := _states(c.after, c.before))
         for one in (_element(c), _absent(c, **lost))],
        [_element(c) for c in came],
        [check for check in went if check["element"]["role"] in WINDOWS],
        went,
    )  # fmt: skip
    best = next((checks for checks in ranks if checks), [])
    return tuple(best[:_MOST_ELEMENTS])


def _element(change: ElementChange, **more: object) -> dict[str, Any]:
    named = {"name": change.name} if change.name else {}
    return {"element": {"role": change.role, **named, **more}}


def _absent(change: ElementChange, **more: object) -> dict[str, Any]:
    return _element(change, **more, absent=True)


def _states(before: str, after: str) -> dict[str, Any]:
    new = [one for one in _CHECKED if one in set(after.split()) - set(before.split())]
    return {"state": new[0] if len(new) == 1 else new} if new else {}
