"""Checks of task files, made from the changes alone: the acts are not known here.

A check compares every value that an effect set, in the form that the machine stores. Forms with the
same meaning pass as well: "True" for "true", 5.0 for 5, a blank at the end of a text. Files are
read by parts of the program that reads facts, which tests compare with what real programs write.
"""

from __future__ import annotations

import json
import shlex
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from hisa.plugins.synthesis import guest_documents
from hisa.plugins.synthesis.distinct_effects import WINDOWS
from hisa.plugins.synthesis.guest_documents import Cut
from hisa.plugins.synthesis.guest_facts import content, ini, plain
from hisa.plugins.synthesis.machine_facts import guest_source
from hisa.plugins.synthesis.records import Change, Effect, ElementChange

__all__ = ["check_of"]

_MOST = 60  # changes of an effect; with more, it is not one thing that a person would ask for
_MOST_ELEMENTS = 4
_CHECKED = ("checked", "pressed", "expanded", "selected")
_READERS: dict[str, tuple[str, tuple[Any, ...]]] = {
    "ini": ("ini(content(path).decode('utf-8', 'replace'))", (Cut, ini)),
    "document": ("dict(document(content(path)))", (guest_documents,)),
}
"""For each kind of fact: an expression that reads a file's items, and the parts that it needs."""
_SHOW = """
import json, os, re, sys
from xml.etree import ElementTree
path, items = os.path.expanduser(sys.argv[1]), sys.argv[2:]
facts = {}
values = [plain(facts.get(item, "{}")) for item in items]
print(*[json.dumps(v, ensure_ascii=False) if len(values) > 1 else v for v in values], sep="\\n")
"""


class _Uncheckable(Exception):
    pass


def check_of(effect: Effect) -> tuple[dict[str, Any], ...] | str:
    """Returns checks that pass once an effect has come about, or why none can be made.

    They are checks as in HiSA's own task files, all of which must pass.
    """
    if len(effect.changes) > _MOST:
        return f"{len(effect.changes)} values changed, more than {_MOST}"
    if not effect.changes:
        return _of_elements(effect.elements) or "nothing changed that a check can test"
    groups: dict[tuple[str, str], list[Change]] = defaultdict(list)
    for change in effect.changes:
        groups[change.fact.kind, change.fact.place].append(change)
    try:
        return tuple(
            check
            for (kind, place), changes in groups.items()
            for check in _of_place(kind, place, changes, effect.changes)
        )
    except _Uncheckable as reason:
        return str(reason)


def _of_place(
    kind: str, place: str, changes: Sequence[Change], everything: Sequence[Change]
) -> list[dict[str, Any]]:
    if kind == "file":
        return [_file(change, everything) for change in changes]
    for change in changes:
        if (change.after or "").startswith("… "):
            raise _Uncheckable(f"{place} {change.fact.item} is longer than a check can compare")
        if _plain(kind, change.after).strip() == _plain(kind, change.before).strip():
            raise _Uncheckable(f"{place}: only blanks or the format of a value changed")
        if kind == "text" and change.after is None:
            raise _Uncheckable(f"{place} is longer than a check can compare, or no longer a text")
    if kind == "text":
        return [{"file": place, "equals": change.after} for change in changes]
    if kind == "document":
        return [_build_print_check(kind, place, changes)]
    return [_build_print_check(kind, place, [change]) for change in changes]


def _build_print_check(kind: str, place: str, changes: Sequence[Change]) -> dict[str, Any]:
    items = [change.fact.item for change in changes]
    if kind == "gsettings":
        command = shlex.join(["gsettings", "get", place, *items])
        return {"command": command, "equals": changes[0].after or ""}
    values = [_plain(kind, change.after) for change in changes]
    if len(values) > 1:
        values = [json.dumps(value, ensure_ascii=False) for value in values]
    expression, parts = _READERS[kind]
    program = guest_source(*parts, content, plain) + _SHOW.format(expression, _plain(kind, None))
    command = f"python3 -I -S - {shlex.join((place, *items))} <<'END'\n{program.strip()}\nEND"
    return {"command": command, "equals": "\n".join(values)}


def _plain(kind: str, value: str | None) -> str:
    """Returns a value as a check's program prints it."""
    if value is None:
        return "(no file)" if kind == "text" else ""
    return plain(value)


def _file(change: Change, everything: Sequence[Change]) -> dict[str, Any]:
    path, value = f"~/{shlex.quote(change.fact.place.removeprefix('~/'))}", change.after
    if value is None:
        return {"command": f"test ! -e {path} && test ! -L {path} && echo gone", "equals": "gone"}
    if value == "folder":
        return {"command": f"test -d {path} && echo folder", "equals": "folder"}
    words = value.split()
    if words[0] != "file" or len(words) < 4:
        raise _Uncheckable(f"nothing is known about {change.fact.place} except that it exists")
    if any(other.before == value and other.after is None for other in everything):  # moved
        return {"command": f"sha256sum < {path} | cut -c 1-16", "equals": words[2]}
    head = f"head -c 4 -- {path} | od -An -tx1 | tr -d ' \\n'"
    return {"command": f"test -f {path} && {head}", "equals": words[3]}


def _of_elements(changes: Sequence[ElementChange]) -> tuple[dict[str, Any], ...]:
    """Returns checks of the best sort that applies: what came is better than what went."""
    sorts: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for change in changes:
        if change.what == "value" and change.after.strip():
            sorts[2].append(_element(change, value=change.after))
        if change.what == "value" or not change.name:
            continue
        if change.what == "came":
            sorts[0 if change.role in WINDOWS else 4].append(_element(change))
        elif change.what == "went":
            sorts[5 if change.role in WINDOWS else 6].append(_element(change, absent=True))
        elif gained := _states(change.before, change.after):
            sorts[1].append(_element(change, state=gained))
        elif lost := _states(change.after, change.before):
            sorts[3] += [_element(change), _element(change, state=lost, absent=True)]
    return tuple(sorts[min(sorts, default=0)][:_MOST_ELEMENTS])


def _element(change: ElementChange, **more: object) -> dict[str, Any]:
    named = {"name": change.name} if change.name else {}
    return {"element": {"role": change.role, **named, **more}}


def _states(before: str, after: str) -> str | list[str]:
    new = [state for state in _CHECKED if state in set(after.split()) - set(before.split())]
    return new[0] if len(new) == 1 else new
