"""Checks of task files, made from what changed and nothing else: no act is known here.

Every value that an effect set is asked for, in the form that the machine keeps it; forms that mean
the same pass as well: a truth in any case, 5.0 for 5, a blank at the end of a text.
"""

from __future__ import annotations

import json
import re
import shlex
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from hisa.plugins.synthesis.check_programs import PROGRAMS
from hisa.plugins.synthesis.distinct_effects import WINDOWS
from hisa.plugins.synthesis.records import Change, ElementChange
from hisa.plugins.synthesis.rewrite import here
from hisa.plugins.synthesis.task_records import Effect

__all__ = ["check_of"]

_MOST = 60
"""Changes beyond which an effect is no one thing that a person asks for."""
_MOST_ELEMENTS = 3
_CHECKED = ("checked", "pressed", "expanded", "selected")


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
    for change in changes:
        if (change.after or "").startswith("… "):
            raise _Uncheckable(f"{place} {change.fact.item} holds more than a check compares")
    if kind == "gsettings":
        return [_setting(change) for change in changes]
    if kind == "file":
        return [_file(change, everything) for change in changes]
    if kind == "text":
        return [_text(place, changes[0])]
    items = [change.fact.item for change in changes]
    if kind == "row" and (lone := [item for item in items if len(json.loads(item)) < 3]):
        raise _Uncheckable(f"{place}: the table {lone[0]} was made or changed")
    if kind != "document":
        return [_printed(kind, place, [change]) for change in changes]
    return [_printed(kind, place, changes)]


def _printed(kind: str, place: str, changes: Sequence[Change]) -> dict[str, Any]:
    values = [_plain(kind, change.after) for change in changes]
    if kind == "document" and len(values) > 1:
        values = [json.dumps(value, ensure_ascii=False) for value in values]
    items = [change.fact.item for change in changes]
    _require_visible(place, changes, values)
    return {"command": here(PROGRAMS[kind], place, *items), "equals": "\n".join(values)}


def _require_visible(place: str, changes: Sequence[Change], values: Sequence[str]) -> None:
    """Refuse values that a check would not tell from those before: it strips blanks at ends."""
    before = [_plain(changes[0].fact.kind, change.before) for change in changes]
    if "\n".join(values).strip() == "\n".join(before).strip():
        raise _Uncheckable(f"{place}: only blanks or the form of a value changed")


def _plain(kind: str, value: str | None) -> str:
    """A value as `hisa.plugins.synthesis.check_programs` print it."""
    if value is None:
        return "(no row)" if kind == "row" else ""
    if kind == "document":
        return value
    if kind == "json":
        loaded = json.loads(value)
        whole = isinstance(loaded, float) and loaded == int(loaded)
        return json.dumps(int(loaded) if whole else loaded, ensure_ascii=False, sort_keys=True)
    lowered = value.lower() if value.lower() in ("true", "false") else value
    return re.sub(r"^(-?[0-9]+)\.0+$", r"\1", lowered)


def _setting(change: Change) -> dict[str, Any]:
    if change.after is None:
        raise _Uncheckable(f"the setting {change.fact.place} {change.fact.item} is gone")
    command = shlex.join(["gsettings", "get", change.fact.place, change.fact.item])
    return {"command": command, "equals": change.after}


def _text(place: str, change: Change) -> dict[str, Any]:
    if change.after is None:
        raise _Uncheckable(f"the text of {place} is longer than a check compares, or no text now")
    if change.before is not None and change.before.strip() == change.after.strip():
        return {"command": here(PROGRAMS["text"], place), "equals": ascii(change.after)}
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
    head = f"head -c 4 -- {path} | od -An -tx1 | tr -d ' \\n'"
    return {"command": f"test -f {path} && {head}", "equals": words[3]}


def _of_elements(changes: Sequence[ElementChange]) -> tuple[dict[str, Any], ...]:
    """Checks of the first of: windows that came, states, values, what came, what went."""
    came = [c for c in changes if c.what == "came"]
    went = [c for c in changes if c.what == "went"]
    ranks = (
        [_element(c) for c in came if c.role in WINDOWS and c.name],
        [check for c in changes if c.what == "states" and c.name for check in _states(c)],
        [_element(c, value=c.after) for c in changes if c.what == "value" and c.after.strip()],
        [_element(c) for c in came if c.name],
        [_element(c, absent=True) for c in went if c.role in WINDOWS and c.name],
        [_element(c, absent=True) for c in went if c.name],
    )
    best = next((checks for checks in ranks if checks), [])
    return tuple(best[:_MOST_ELEMENTS])


def _element(change: ElementChange, **more: object) -> dict[str, Any]:
    named = {"name": change.name} if change.name else {}
    return {"element": {"role": change.role, **named, **more}}


def _states(change: ElementChange) -> list[dict[str, Any]]:
    """The states that an element has now; of those that it lost, that it is there without them."""
    before, after = set(change.before.split()), set(change.after.split())
    if new := [state for state in _CHECKED if state in after - before]:
        return [_element(change, state=new[0] if len(new) == 1 else new)]
    lost = [state for state in _CHECKED if state in before - after]
    if not lost:
        return []
    return [_element(change), *(_element(change, state=state, absent=True) for state in lost)]
