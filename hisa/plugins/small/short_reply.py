"""A small model's reply: one action of a table from which prompt, schema and parser are made.

``{"thought": …, "action": "type", "element": 3, "text": "Ada"}`` gives the same call as PyAutoGUI
source in the long form. This is a pure function of the reply's text and the list.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hisa.actions import (
    Action,
    Click,
    Drag,
    Hotkey,
    Move,
    Press,
    Scroll,
    Slot,
    Write,
    to_source,
    values,
)
from hisa.errors import ActionRefused, InvalidReply
from hisa.planner.call_schema import Schema, bound_schema, one_of, text
from hisa.planner.reply import MAX_REPLY, check_characters, find_object
from hisa.plugins.small.past_steps import Mark
from hisa.protocols import ToolCall
from hisa.text.prompt_text import excerpt, printable

__all__ = ["ACTIONS", "action_lines", "build_short_schema", "parse_short"]

_CLICKS: Mapping[str, Click] = {
    "click": Click(Slot(1)),
    "double_click": Click(Slot(1), count=2),
    "right_click": Click(Slot(1), "right"),
}
ACTIONS: Mapping[str, tuple[tuple[str, ...], str]] = {
    **dict.fromkeys(_CLICKS, (("element",), "")),
    "type": (("element", "text"), "what the field holds is replaced"),
    "press": (("text", "times"), 'a key such as "enter", "tab", "down", "ctrl+s"'),
    "scroll": (("element", "text"), '"up" or "down"'),
    "drag": (("element", "to"), "another element"),
    "wait": ((), ""),
    "done": (("text",), "what was done, or the answer"),
    "impossible": (("text",), "why"),
}
"""Each action with the fields that it takes and the prompt's words about them."""
_TOOLS = {"done": "termination", "impossible": "infeasible", "wait": "wait"}
_KEYS = (
    "enter", "tab", "escape", "backspace", "delete", "space", "up", "down", "left", "right", "home",
    "end", "page up", "page down", "ctrl+a", "ctrl+c", "ctrl+v", "ctrl+x", "ctrl+z", "ctrl+s",
    "ctrl+f", "ctrl+n", "ctrl+o", "ctrl+w", "alt+f4", "f2", "f5",
)  # fmt: skip
"""The keys that a server with a schema allows."""
_THOUGHT, _TEXT = 100, 300
_TEXTS = {"press": text(0, *_KEYS), "scroll": text(0, "up", "down")}
_ELEMENT_NUMBER = re.compile(r"(?:element)?[\s:#]*(\d{1,5})\b", re.IGNORECASE)
_NAME = 24
"""Most characters of an element's name in a reply."""
_TIMES = 20
"""Most presses of a key in one step."""
_SCROLL, _WAIT = 5, 2
"""Wheel clicks of a scroll, and seconds of a wait, as people do them."""


def action_lines() -> Iterator[str]:
    """Yields the prompt's lines about the actions; actions with the same fields share a line."""
    by_fields: dict[tuple[tuple[str, ...], str], list[str]] = {}
    for name, takes in ACTIONS.items():
        by_fields.setdefault(takes, []).append(name)
    for (fields, words), names in by_fields.items():
        about = f" ({words})" if words else ""
        yield f"- {', '.join(names)}: {', '.join(fields) or 'nothing'}{about}"


def build_short_schema(
    marks: Sequence[Mark], tools: Sequence[Schema], *, ends: bool = True
) -> Schema:
    """Returns the schema of a reply: the possible actions, with the elements that each can take.

    Args:
        marks: the entries of the list.
        tools: also offered, as `hisa.planner.call_schema.Functions` returns them.
        ends: whether the reply may be "done".
    """
    every = list(range(1, len(marks) + 1))
    typed = [number for number in every if marks[number - 1].takes_text]
    names_by_fields: dict[str, tuple[list[str], dict[str, Schema]]] = {}
    for name, (fields, _) in ACTIONS.items():
        if name == "done" and not ends:
            continue
        numbers = typed if name == "type" else every
        if "element" in fields and not numbers:
            if name != "type":
                continue
            fields = ("text",)  # types into the focused element
        element = text(0, *(_build_element_name(number, marks[number - 1]) for number in numbers))
        kinds = {"element": element, "to": element, "text": _TEXTS.get(name, text(_TEXT))}
        kinds["times"] = {"type": "integer", "enum": list(range(1, _TIMES + 1))}
        taken = {field: kinds[field] for field in fields}
        names_by_fields.setdefault(json.dumps(taken), ([], taken))[0].append(name)
    alternatives: list[Mapping[str, Schema]] = [
        {"thought": text(_THOUGHT), "action": text(0, *names), **taken}
        for names, taken in names_by_fields.values()
    ]
    for tool in tools:
        named = {"thought": text(_THOUGHT), "action": text(0, str(tool["name"]))}
        alternatives.append({**named, "input": bound_schema(tool["parameters"])})
    return one_of(alternatives)


def parse_short(reply: str, marks: Sequence[Mark]) -> ToolCall:
    """Checks a reply, and returns its call.

    Tolerates prose around the object, numbers as texts, and fields that an action does not take.

    Args:
        reply: the model's text.
        marks: the entries of the list, to which its numbers refer.

    Raises:
        InvalidReply: the message says what is wrong and what is allowed.
    """
    if len(reply) > MAX_REPLY:
        raise InvalidReply(f"the reply is {len(reply)} characters; at most {MAX_REPLY}")
    fields = check_characters(find_object(printable(reply), "action", "tool"))
    action = str(fields.get("action") or fields.get("tool") or "").strip()
    thought = str(fields.get("thought") or "")
    if action in ACTIONS and isinstance(value := fields.get("input"), dict):
        fields = {**fields, **value}  # a call that the server split into name and arguments
    if not action:
        raise InvalidReply(f"key 'action' is missing; actions are {', '.join(ACTIONS)}")
    if action not in ACTIONS:
        value = fields.get("input", {})
        return ToolCall(thought, action, value if isinstance(value, str | dict) else str(value))
    words = str(fields.get("text") if fields.get("text") is not None else "")
    if action in _TOOLS:
        return ToolCall(thought, _TOOLS[action], str(_WAIT) if action == "wait" else words)
    takes = ACTIONS[action][0]
    focused = action == "type" and fields.get("element") in (None, "")
    element = _read_number(fields, "element", marks) if "element" in takes and not focused else 0
    to = _read_number(fields, "to", marks) if "to" in takes else 0
    value = str(fields.get("times", 1))
    times = min(_TIMES, max(1, int(value))) if value.isdecimal() and len(value) < 4 else 1
    try:
        actions = _actions(action, words, marks[element - 1] if element else None, times=times)
    except ActionRefused as error:
        raise InvalidReply(f"action {action!r} with text {words[:60]!r}: {error}") from error
    at, end = (f"element: {number}" if number else "" for number in (element, to))
    return ToolCall(thought, "gui_action", to_source(actions), at, end, actions)


def _build_element_name(number: int, mark: Mark) -> str:
    """Returns an element's name in a reply; spelling it makes a model take the right number."""
    return f"{number} {excerpt(mark.name or mark.kind, _NAME)}"


def _read_number(fields: Mapping[str, Any], key: str, marks: Sequence[Mark]) -> int:
    """Returns the number of an element, which may be written as a text."""
    match = _ELEMENT_NUMBER.match(str(fields.get(key, "")))
    number = int(match[1]) if match else 0
    if 1 <= number <= len(marks):
        return number
    allowed = f"1 to {len(marks)}" if marks else "none, for nothing is listed"
    raise InvalidReply(f"{key!r} is {fields.get(key)!r:.60}; allowed: {allowed}")


def _actions(action: str, words: str, mark: Mark | None, *, times: int) -> tuple[Action, ...]:
    """Returns the GUI actions of an action in a reply.

    Raises:
        ActionRefused: the text cannot be typed, pressed or scrolled.
    """
    if action in _CLICKS:
        return (_CLICKS[action],)
    if action == "drag":
        return Move(Slot(1)), Drag(Slot(2))
    if action == "scroll":
        if words not in ("up", "down"):
            raise ActionRefused("allowed are 'up' and 'down'")
        return (Scroll(dy=_SCROLL if words == "up" else -_SCROLL, at=Slot(1)),)
    if action == "press":
        keys = values.keys([key.strip() for key in words.split("+")] if words != "+" else ["+"])
        return (Hotkey(keys),) * times if len(keys) > 1 else (Press(keys[0], presses=times),)
    if not values.text(words):
        raise ActionRefused("'text' is empty; say what to type")
    if mark is None:
        return (Write(words),)
    replaced = (Hotkey(("ctrl", "a")),) if mark.is_line and mark.is_filled else ()
    return (Click(Slot(1)), *replaced, Write(words))
