"""Converts PyAutoGUI source to actions and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Literal, assert_never

from hisa.actions import values
from hisa.actions.action_records import (
    Action,
    Button,
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
    Slot,
    Target,
    Write,
)
from hisa.actions.literal_calls import Call, Name, Value, read_calls
from hisa.errors import ActionRefused
from hisa.screen.geometry import Point

__all__ = ["parse", "to_source"]

_Arguments = Mapping[str, Value]
_Builder = Callable[[_Arguments], Iterable[Action]]


def _at(arguments: _Arguments) -> Target | None:
    x, y = arguments.get("x"), arguments.get("y")
    if isinstance(x, tuple) and len(x) == 2 and y is None:
        x, y = x
    match x, y:
        case None, None:
            return None
        case Name("X_COORD"), Name("Y_COORD"):
            return Slot(1)
        case Name("X_COORD_2"), Name("Y_COORD_2"):
            return Slot(2)
        case (Name(), _) | (_, Name()):
            raise ActionRefused(
                f"place ({values.show_value(x)}, {values.show_value(y)}): use the pair "
                "X_COORD, Y_COORD or "
                "the pair X_COORD_2, Y_COORD_2, or two plain numbers"
            )
        case _:
            return Point(values.coordinate(x, "x"), values.coordinate(y, "y"))


def _to(arguments: _Arguments) -> Target:
    if (target := _at(arguments)) is None:
        raise ActionRefused("a move or drag needs x and y: X_COORD, Y_COORD or plain numbers")
    return target


def _click(button: Button = "left", count: int = 1) -> _Builder:
    def build(arguments: _Arguments) -> Iterable[Action]:
        values.interval(arguments.get("interval", 0))
        values.seconds(arguments.get("duration", 0))
        clicks = values.integer(arguments.get("clicks", count), "clicks", 1, values.MAX_CLICKS)
        yield Click(_at(arguments), values.button(arguments.get("button", button)), clicks)

    return build


def _move(arguments: _Arguments) -> Iterable[Action]:
    yield Move(_to(arguments), values.seconds(arguments.get("duration", 0)))


def _drag(arguments: _Arguments) -> Iterable[Action]:
    button = values.button(arguments.get("button", "left"))
    yield Drag(_to(arguments), None, button, values.seconds(arguments.get("duration", 0)))


def _scroll(axis: Literal["dx", "dy"]) -> _Builder:
    def build(arguments: _Arguments) -> Iterable[Action]:
        clicks = values.scroll(arguments.get("clicks"))
        yield (
            Scroll(clicks, 0, _at(arguments)) if axis == "dy" else Scroll(0, clicks, _at(arguments))
        )

    return build


def _write(arguments: _Arguments) -> Iterable[Action]:
    message, interval = arguments.get("message"), values.interval(arguments.get("interval", 0))
    if not isinstance(message, tuple):
        return [Write(values.text(message), interval)]
    return [
        Write(values.text(item), interval)
        if isinstance(item, str) and len(item) == 1 and item.isprintable()
        else Press(values.key(item))
        for item in message
    ]


def _press(arguments: _Arguments) -> Iterable[Action]:
    values.interval(arguments.get("interval", 0))
    presses = values.integer(arguments.get("presses", 1), "presses", 1, values.MAX_PRESSES)
    keys = arguments.get("keys")
    if not isinstance(keys, tuple):
        return [Press(values.key(keys), presses)]
    if len(keys) * presses > values.MAX_ACTIONS:
        raise ActionRefused(f"{len(keys)} keys pressed {presses} times; shorten the list")
    return [Press(values.key(key)) for key in keys] * presses


def _hotkey(arguments: _Arguments) -> Iterable[Action]:
    values.interval(arguments.get("interval", 0))
    yield Hotkey(values.keys(arguments.get("keys")))


_XY = ("x", "y")
_FUNCTIONS: dict[str, tuple[tuple[str, ...], _Builder]] = {
    "click": ((*_XY, "clicks", "interval", "button", "duration"), _click()),
    "doubleClick": ((*_XY, "interval", "button", "duration"), _click(count=2)),
    "tripleClick": ((*_XY, "interval", "button", "duration"), _click(count=3)),
    "rightClick": ((*_XY, "interval", "duration"), _click("right")),
    "middleClick": ((*_XY, "interval", "duration"), _click("middle")),
    "moveTo": ((*_XY, "duration"), _move),
    "dragTo": ((*_XY, "duration", "button"), _drag),
    "scroll": (("clicks", *_XY), _scroll("dy")),
    "vscroll": (("clicks", *_XY), _scroll("dy")),
    "hscroll": (("clicks", *_XY), _scroll("dx")),
    "write": (("message", "interval"), _write),
    "typewrite": (("message", "interval"), _write),
    "press": (("keys", "presses", "interval"), _press),
    "hotkey": (("keys", "interval"), _hotkey),
    "keyDown": (("key",), lambda arguments: [KeyDown(values.key(arguments.get("key")))]),
    "keyUp": (("key",), lambda arguments: [KeyUp(values.key(arguments.get("key")))]),
    "mouseDown": (
        (*_XY, "button"),
        lambda arguments: [
            MouseDown(_at(arguments), values.button(arguments.get("button", "left")))
        ],
    ),
    "mouseUp": (
        (*_XY, "button"),
        lambda arguments: [MouseUp(_at(arguments), values.button(arguments.get("button", "left")))],
    ),
    "sleep": (
        ("seconds",),
        lambda arguments: [Sleep(values.seconds(arguments.get("seconds"), "sleep"))],
    ),
}
_RELATIVE = ("move", "moveRel", "drag", "dragRel")


def _bind_arguments(call: Call, parameters: tuple[str, ...]) -> dict[str, Value]:
    """Returns the arguments by name, positional ones first, as Python binds them."""
    args = call.args
    if call.function == "pyautogui.hotkey":
        args = (args[0] if len(args) == 1 and isinstance(args[0], tuple) else args,)
    # PyAutoGUI's fourth positional argument is a tween, not the button.
    allowed = len(parameters) - (call.function == "pyautogui.dragTo")
    if len(args) > allowed:
        raise ActionRefused(f"{call.function} takes {', '.join(parameters)}: too many arguments")
    arguments = dict(zip(parameters, args, strict=False))
    for name, value in call.kwargs.items():
        if name not in parameters or name in arguments:
            problem = "twice" if name in arguments else "which is not allowed"
            raise ActionRefused(
                f"{call.function} was given {name[:60]!r} {problem}; it takes "
                f"{', '.join(parameters)}"
            )
        arguments[name] = value
    return arguments


def _from_call(call: Call) -> Iterable[Action]:
    module, _, name = call.function.partition(".")
    known = name in _FUNCTIONS if module == "pyautogui" else call.function == "time.sleep"
    if known:
        parameters, build = _FUNCTIONS[name]
        return build(_bind_arguments(call, parameters))
    if module == "pyautogui" and name in _RELATIVE:
        raise ActionRefused(f"{call.function}: relative moves are refused; use moveTo or dragTo")
    raise ActionRefused(
        f"{call.function[:80]!r} is not allowed; allowed are time.sleep and pyautogui."
        + ", ".join(_FUNCTIONS)
    )


@lru_cache(maxsize=256)
def parse(source: str) -> tuple[Action, ...]:
    """Read PyAutoGUI source as actions, with points in image space. Nothing is executed.

    ``X_COORD, Y_COORD`` and ``X_COORD_2, Y_COORD_2`` become `Slot` 1 and 2. An interval between
    clicks or key presses is checked and dropped: the guest paces itself.

    Raises:
        ActionRefused: the source has anything outside the closed set or its limits.
    """
    actions = values.check_limits(
        action for call in read_calls(source) for action in _from_call(call)
    )
    if not actions:
        raise ActionRefused("an empty list of keys or text does nothing; say what to type")
    return actions


def to_source(actions: Iterable[Action], *, stock: bool = False) -> str:
    """Write actions as PyAutoGUI source, one call per line, with coordinates rounded to pixels.

    ``parse`` reads it back to equal actions if coordinates are whole, a `Drag` has no start and a
    `Scroll` turns one wheel.

    Args:
        actions: the actions; slots are written by their names.
        stock: whether the guest runs PyAutoGUI itself, which types ``<`` wrongly: it becomes
            ``hotkey('shift', ',')``. Pauses then use ``time.sleep``, which every guest has.
    """
    spelt = (part for action in actions for part in (_without_less(action) if stock else (action,)))
    return "\n".join(line for action in spelt for line in _lines(action, stock))


def _without_less(action: Action) -> Iterable[Action]:
    less = Hotkey(("shift", ","))
    match action:
        case Press(key="<"):
            return [less] * action.presses
        case Write() if "<" in action.text:
            first, *rest = action.text.split("<")
            parts: list[Action] = [Write(first, action.interval)]
            for text in rest:
                parts += [less, Write(text, action.interval)]
            return [part for part in parts if part != Write("", action.interval)]
        case _:
            return [action]


_CLICK_NAMES: dict[tuple[Button, int], str] = {
    ("left", 2): "doubleClick",
    ("left", 3): "tripleClick",
    ("right", 1): "rightClick",
    ("middle", 1): "middleClick",
}


def _lines(action: Action, stock: bool) -> Iterable[str]:
    match action:
        case Click() | Move() | Drag() | Scroll() | MouseDown() | MouseUp():
            return _pointer_lines(action)
        case Write():
            return [_line("write", repr(action.text), interval=action.interval)]
        case Press():
            presses = action.presses if action.presses > 1 else 0
            return [_line("press", repr(action.key), presses=presses)]
        case Hotkey():
            return [_line("hotkey", *map(repr, action.keys))]
        case KeyDown():
            return [_line("keyDown", repr(action.key))]
        case KeyUp():
            return [_line("keyUp", repr(action.key))]
        case Sleep():
            seconds = repr(action.seconds).removesuffix(".0")
            return [f"{'time' if stock else 'pyautogui'}.sleep({seconds})"]
        case _:
            assert_never(action)


def _pointer_lines(action: Click | Move | Drag | Scroll | MouseDown | MouseUp) -> Iterable[str]:
    match action:
        case Click():
            if name := _CLICK_NAMES.get((action.button, action.count)):
                yield _line(name, *_place(action.at))
            else:
                clicks = action.count if action.count > 1 else 0
                yield _line("click", *_place(action.at), clicks=clicks, button=action.button)
        case Move():
            yield _line("moveTo", *_place(action.to), duration=action.duration)
        case Drag():
            if action.start is not None:
                yield _line("moveTo", *_place(action.start))
            options = {"duration": action.duration, "button": action.button}
            yield _line("dragTo", *_place(action.to), **options)
        case Scroll():
            if action.dy or not action.dx:
                yield _line("scroll", str(action.dy), *_place(action.at))
            if action.dx:
                yield _line("hscroll", str(action.dx), *_place(action.at))
        case MouseDown():
            yield _line("mouseDown", *_place(action.at), button=action.button)
        case MouseUp():
            yield _line("mouseUp", *_place(action.at), button=action.button)
        case _:
            assert_never(action)


def _place(target: Target | None) -> tuple[str, ...]:
    match target:
        case None:
            return ()
        case Slot(index=1):
            return "X_COORD", "Y_COORD"
        case Slot():
            return "X_COORD_2", "Y_COORD_2"
        case Point():
            return str(round(target.x)), str(round(target.y))


def _line(name: str, *args: str, **options: object) -> str:
    """Returns one call; options that are 0 or the left button are defaults and are left out."""
    pairs = [f"{key}={value!r}" for key, value in options.items() if value not in (0, "left")]
    return f"pyautogui.{name}({', '.join([*args, *pairs])})"
