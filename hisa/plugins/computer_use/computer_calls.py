"""Turns the output items of a model with a computer tool into a checked `ToolCall`.

A pure function of the text: nothing here is grounded, asked, called or executed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, assert_never

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from hisa.actions import (
    Action,
    Click,
    Drag,
    Hotkey,
    KeyDown,
    KeyUp,
    MouseDown,
    MouseUp,
    Move,
    Press,
    Scroll,
    Sleep,
    Write,
    parse,
    to_source,
    values,
)
from hisa.errors import ActionRefused, InvalidReply
from hisa.planner.call_schema import NOTE
from hisa.planner.reply import MAX_REPLY
from hisa.protocols import ToolCall
from hisa.screen.geometry import Point
from hisa.text.prompt_text import printable

__all__ = ["ComputerReply", "read_computer_reply"]

_WAIT = 2.0
"""Seconds of a wait, for which the protocol gives no length; chosen by hand."""
_DRAG = 0.5
"""Seconds of a drag, so that toolkits see it begin; chosen by hand."""
_WHEEL = 100
"""Pixels of one wheel click: about as far as browsers scroll for one."""
_THOUGHT = 4000
"""Most characters of a thought that are kept."""
_NOTE = "Note:"


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Held(_Part):
    keys: tuple[str, ...] | None = None
    """Keys that are held during the action."""


class _Point(_Part):
    x: float
    y: float

    @property
    def point(self) -> Point:
        """In pixels of the picture that was sent."""
        return Point(values.coordinate(self.x, "x"), values.coordinate(self.y, "y"))


class _Click(_Point, _Held):
    type: Literal["click"]
    button: str = "left"


class _DoubleClick(_Point, _Held):
    type: Literal["double_click"]


class _Drag(_Held):
    type: Literal["drag"]
    path: tuple[_Point, ...] = Field(min_length=2)


class _Keypress(_Part):
    type: Literal["keypress"]
    keys: tuple[str, ...] = Field(min_length=1)


class _Move(_Point, _Held):
    type: Literal["move"]


class _Screenshot(_Part):
    type: Literal["screenshot"]


class _Scroll(_Point, _Held):
    type: Literal["scroll"]
    scroll_x: float = 0
    scroll_y: float = 0


class _Type(_Part):
    type: Literal["type"]
    text: str


class _Wait(_Part):
    type: Literal["wait"]


_Known = _Click | _DoubleClick | _Drag | _Keypress | _Move | _Screenshot | _Scroll | _Type | _Wait
_ACTION: TypeAdapter[_Known] = TypeAdapter(Annotated[_Known, Field(discriminator="type")])
_NAMES = "click, double_click, drag, keypress, move, screenshot, scroll, type, wait"
_BUTTONS: dict[str, Literal["left", "middle", "right"]] = {
    "left": "left",
    "right": "right",
    "wheel": "middle",
}


@dataclass(frozen=True)
class ComputerReply:
    """What a model answered; ``call`` is None if it only wants to see the screen."""

    call: ToolCall | None
    items: list[dict[str, Any]]
    """The items of the response, unchanged."""
    checks: tuple[str, ...] = ()
    """What a person has to confirm before the call is made, in the server's words."""


def read_computer_reply(text: str) -> ComputerReply:
    """Returns the one call of a response, to the computer or to a function, after checking it.

    Raises:
        InvalidReply: the reply cannot be used; the message says why and what is allowed.
    """
    if len(text) > MAX_REPLY:
        raise InvalidReply(f"the reply is {len(text)} characters; at most {MAX_REPLY}")
    items = _items(text)
    calls = [item for item in items if str(item.get("type")).endswith("_call")]
    if len(calls) != 1:
        names = ", ".join(str(call.get("name") or call["type"])[:60] for call in calls) or "none"
        raise InvalidReply(
            f"make exactly one call, not {len(calls)} ({names}): to the computer, to another tool, "
            "or termination or infeasible to end"
        )
    (call,) = calls
    thought, note = _split_note(printable("\n".join(_thoughts(items))))
    match call["type"]:
        case "computer_call":
            acted = _computer(call, thought)
            checks = tuple(_checks(call))
            return ComputerReply(acted and replace(acted, note=note), items, checks)
        case "function_call":
            return ComputerReply(replace(_function(call, thought), note=note), items)
        case other:
            raise InvalidReply(
                f"a call of type {str(other)[:60]!r}; allowed are computer_call and function_call"
            )


def _items(text: str) -> list[dict[str, Any]]:
    try:
        items = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidReply(f"not a list of output items: {error}") from None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise InvalidReply("not a list of output items")
    return items


def _thoughts(items: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Yields the summaries of reasoning, and the words."""
    for item in items:
        for key in ("summary", "content"):
            parts = item.get(key)
            for part in parts if isinstance(parts, list) else ():
                text = part.get("text") if isinstance(part, dict) else None
                if isinstance(text, str) and text.strip():
                    yield text.strip()


def _split_note(words: str) -> tuple[str, str | None]:
    """Returns the thought, and as the note what its lines say after ``Note:``."""
    lines = words.split("\n")
    notes = [line[len(_NOTE) :].strip() for line in lines if line.startswith(_NOTE)]
    if (length := len(note := "\n".join(notes))) > NOTE:
        raise InvalidReply(f"a note of {length} characters; at most {NOTE}")
    thought = "\n".join(line for line in lines if not line.startswith(_NOTE))
    return thought[:_THOUGHT], note if notes else None


def _checks(call: dict[str, Any]) -> Iterator[str]:
    pending = call.get("pending_safety_checks")
    for check in pending if isinstance(pending, list) else ():
        fields = check if isinstance(check, dict) else {"message": check}
        words = (fields.get("code"), fields.get("message"))
        yield printable(": ".join(str(word) for word in words if word)) or "(no reason given)"


def _function(call: dict[str, Any], thought: str) -> ToolCall:
    name = call.get("name")
    if not isinstance(name, str) or name == "gui_action":
        raise InvalidReply(f"{str(name)[:60]!r} is no function here")
    try:
        arguments = json.loads(call.get("arguments") or "{}")
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidReply(f"the arguments of {name[:60]!r} are not JSON: {error}") from None
    if not isinstance(arguments, dict):
        raise InvalidReply(f"the arguments of {name[:60]!r} are no JSON object")
    alone = next(iter(arguments.values())) if len(arguments) == 1 else None
    return ToolCall(thought, name, alone if isinstance(alone, str) else arguments)


def _computer(call: dict[str, Any], thought: str) -> ToolCall | None:
    """Returns a call with the actions as PyAutoGUI source; None if it only looks."""
    batch = call.get("actions")
    raw_actions = batch if isinstance(batch, list) and batch else [call.get("action")]
    known = [_read_action(action) for action in raw_actions]
    if all(isinstance(action, _Screenshot) for action in known):
        return None
    try:
        source = to_source(converted for action in known for converted in _actions(action))
        return ToolCall(thought, "gui_action", source, actions=parse(source))
    except ActionRefused as error:
        raise InvalidReply(f"action refused: {error}") from error


def _read_action(action: object) -> _Known:
    try:
        return _ACTION.validate_python(action)
    except ValidationError as error:
        named = action.get("type") if isinstance(action, dict) else None
        if named not in _NAMES.split(", "):
            raise InvalidReply(
                f"unknown action {str(named)[:60]!r}; allowed are {_NAMES}"
            ) from error
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"][1:])
        raise InvalidReply(f"action {named}: {where}: {first['msg']}") from error


def _actions(action: _Known) -> Iterator[Action]:
    """Yields HiSA's actions for one of the API; a screenshot needs none: the next look is one."""
    held = [values.key(key) for key in getattr(action, "keys", None) or ()]
    match action:
        case _Screenshot():
            return
        case _Keypress():
            yield _convert_keys(action.keys)
            return
        case _Type():
            yield Write(values.text(action.text))
            return
        case _Wait():
            yield Sleep(_WAIT)
            return
        case _Click() | _DoubleClick() | _Drag() | _Move() | _Scroll():
            yield from map(KeyDown, held)
            yield from _convert_pointing(action)
            yield from map(KeyUp, reversed(held))
        case _:
            assert_never(action)


def _convert_pointing(action: _Click | _DoubleClick | _Drag | _Move | _Scroll) -> Iterator[Action]:
    match action:
        case _Click():
            if action.button not in _BUTTONS:
                raise ActionRefused(
                    f"button {action.button[:60]!r}; allowed are {', '.join(_BUTTONS)}. For back "
                    "and forward, press ALT and an arrow key"
                )
            yield Click(action.point, _BUTTONS[action.button])
        case _DoubleClick():
            yield Click(action.point, count=2)
        case _Move():
            yield Move(action.point)
        case _Scroll():
            yield from _convert_scroll(action)
        case _Drag():
            first, *between, last = (at.point for at in action.path)
            if not between:
                yield from (Move(first), Drag(last, duration=_DRAG))
                return
            yield MouseDown(first)
            yield from map(Move, between)
            yield from (Move(last), MouseUp(last))
        case _:
            assert_never(action)


def _convert_scroll(action: _Scroll) -> Iterator[Action]:
    """Yields scrolls; positive numbers scroll down in the API, and up in HiSA."""
    down, right = _clicks(action.scroll_y), _clicks(action.scroll_x)
    if down or not right:
        yield Scroll(-down, 0, action.point)
    if right:
        yield Scroll(0, right, action.point)


def _clicks(pixels: float) -> int:
    """Returns wheel clicks for pixels; at least one unless there are no pixels."""
    if not pixels:
        return 0
    clicks = max(1, round(abs(values.number(pixels, "scroll", -1e5, 1e5)) / _WHEEL))
    return clicks if pixels > 0 else -clicks


def _convert_keys(keys: tuple[str, ...]) -> Action:
    if len(keys) == 1:
        return Press(values.key(keys[0]))
    # The API writes a letter key in upper case; that does not mean Shift.
    return Hotkey(values.keys([key.lower() if len(key) == 1 else key for key in keys]))
