"""BrowserGym's published actions with coordinates, read into HiSA's own and what is said.

Source is read with `ast` and nothing is evaluated. Those that name an element by its ``bid``, a
tab or an address are of a page that BrowserGym drives itself; here they are refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from hisa.actions import values
from hisa.actions.action_records import (
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
)
from hisa.actions.literal_calls import SHAPE, Call, Value, read_calls
from hisa.errors import ActionRefused
from hisa.screen.geometry import Point, Size

__all__ = ["GYM_FUNCTIONS", "Said", "read_gym_calls"]

_NOTCH = 100
"""Pixels that a page scrolls for one click of the wheel, as in the other direction."""
_SHAPE = "only calls such as mouse_click(100, 200) with plain numbers and strings are allowed"
_MODIFIER = {"ControlOrMeta": "ctrl", "Meta": "win"}


@dataclass(frozen=True, slots=True)
class Said:
    """Words to the user, or the report that the task cannot be done."""

    role: Literal["assistant", "infeasible"]
    text: str


_Given = Mapping[str, Value]
_Build = Callable[[_Given, Size], Iterable[Action | Said]]


def _point(given: _Given, picture: Size, x: str = "x", y: str = "y") -> Point:
    return Point(
        values.number(given.get(x), x, 0, picture.width - 1),
        values.number(given.get(y), y, 0, picture.height - 1),
    )


def _click(count: int) -> _Build:
    def build(given: _Given, picture: Size) -> Iterable[Action]:
        yield Click(_point(given, picture), values.button(given.get("button", "left")), count)

    return build


def _button(record: type[MouseDown] | type[MouseUp]) -> _Build:
    def build(given: _Given, picture: Size) -> Iterable[Action]:
        yield record(_point(given, picture), values.button(given.get("button", "left")))

    return build


def _drag(given: _Given, picture: Size) -> Iterable[Action]:
    start = _point(given, picture, "from_x", "from_y")
    yield Drag(_point(given, picture, "to_x", "to_y"), start)


def _scroll(across: str, down: str, *, placed: bool) -> _Build:
    def build(given: _Given, picture: Size) -> Iterable[Action]:
        at = _point(given, picture) if placed else None
        dx, dy = (_notches(given.get(name, 0), name) for name in (across, down))
        if dx or dy:
            yield Scroll(-dy, dx, at)

    return build


def _notches(value: Value, what: str) -> int:
    """Clicks of the wheel that come nearest to some pixels, and at least one for any at all."""
    pixels = values.number(value, what, -_NOTCH * values.MAX_SCROLL, _NOTCH * values.MAX_SCROLL)
    if not pixels:
        return 0
    return round(pixels / _NOTCH) or (1 if pixels > 0 else -1)


def _press(given: _Given, picture: Size) -> Iterable[Action]:
    keys = _keys(given.get("key"))
    yield Press(keys[0]) if len(keys) == 1 else Hotkey(keys)


def _keys(value: Value) -> tuple[str, ...]:
    """The keys of ``Control+Shift+K``; a plus at the end is the key of that name."""
    if not isinstance(value, str) or not value:
        raise ActionRefused(f"key must be a string such as 'Control+a', not {values.shown(value)}")
    names = [*value[:-2].split("+"), "+"] if value.endswith("++") else value.split("+")
    names = [value] if value == "+" else names
    return values.keys([_MODIFIER.get(name, name) for name in names])


def _held(record: type[KeyDown] | type[KeyUp]) -> _Build:
    def build(given: _Given, picture: Size) -> Iterable[Action]:
        (key, *more) = _keys(given.get("key"))
        if more:
            raise ActionRefused("keyboard_down and keyboard_up take one key each")
        yield record(key)

    return build


def _type(given: _Given, picture: Size) -> Iterable[Action]:
    yield Write(values.text(given.get("text")))


def _wait(given: _Given, picture: Size) -> Iterable[Action]:
    most = 1000 * values.MAX_SECONDS
    yield Sleep(values.number(given.get("wait_ms", 1000), "wait_ms", 0, most) / 1000)


def _say(role: Literal["assistant", "infeasible"], name: str) -> _Build:
    def build(given: _Given, picture: Size) -> Iterable[Said]:
        yield Said(role, values.text(given.get(name)))

    return build


def _move(given: _Given, picture: Size) -> Iterable[Action]:
    yield Move(_point(given, picture))


_XY = ("x", "y")
_FUNCTIONS: dict[str, tuple[tuple[str, ...], _Build]] = {
    "noop": (("wait_ms",), _wait),
    "send_msg_to_user": (("text",), _say("assistant", "text")),
    "report_infeasible": (("reason",), _say("infeasible", "reason")),
    "scroll": (("delta_x", "delta_y"), _scroll("delta_x", "delta_y", placed=False)),
    "scroll_at": ((*_XY, "dx", "dy"), _scroll("dx", "dy", placed=True)),
    "mouse_move": (_XY, _move),
    "mouse_down": ((*_XY, "button"), _button(MouseDown)),
    "mouse_up": ((*_XY, "button"), _button(MouseUp)),
    "mouse_click": ((*_XY, "button"), _click(1)),
    "mouse_dblclick": ((*_XY, "button"), _click(2)),
    "mouse_drag_and_drop": (("from_x", "from_y", "to_x", "to_y"), _drag),
    "keyboard_press": (("key",), _press),
    "keyboard_down": (("key",), _held(KeyDown)),
    "keyboard_up": (("key",), _held(KeyUp)),
    "keyboard_type": (("text",), _type),
    "keyboard_insert_text": (("text",), _type),
}
GYM_FUNCTIONS = tuple(_FUNCTIONS)
"""Names of the actions that can be read."""


def read_gym_calls(source: str, *, picture: Size) -> tuple[Action | Said, ...]:
    """The actions of a step, in order, with points in the picture's pixels; nothing is done.

    Args:
        source: a call a line.
        picture: size of the picture that they point into.

    Raises:
        ActionRefused: anything but these calls on literals, or a place beyond the picture.
    """
    try:
        calls = read_calls(source, bare=True)
    except ActionRefused as error:
        raise ActionRefused(str(error).replace(SHAPE, _SHAPE)) from None
    found = [one for call in calls for one in _built(call, picture)]
    values.bounded(one for one in found if not isinstance(one, Said))
    return tuple(found)


def _built(call: Call, picture: Size) -> Iterable[Action | Said]:
    known = _FUNCTIONS.get(call.function)
    if known is None:
        raise ActionRefused(
            f"no action {call.function[:60]!r} on a desktop; there are {', '.join(GYM_FUNCTIONS)}"
        )
    names, build = known
    if len(call.args) > len(names):
        raise ActionRefused(f"{call.function} takes {', '.join(names)}")
    given: dict[str, Any] = dict(zip(names, call.args, strict=False))
    for name, value in call.kwargs.items():
        if name not in names or name in given:
            raise ActionRefused(f"{call.function} takes {', '.join(names)}, each once")
        given[name] = value
    return build(given, picture)
