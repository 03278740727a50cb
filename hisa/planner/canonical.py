"""The canonical form of calls: two candidates with one key would do the same. Pure functions."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, assert_never

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
    Slot,
    Write,
)
from hisa.actions.keys import MODIFIERS
from hisa.protocols import GroundedCall, Place
from hisa.screen.geometry import Point

__all__ = ["canonical", "canonical_keys"]

_NEAR = 6.0
"""Image pixels between two points that mean one place: half of a small button's height."""
_NEAR_WITHIN = 12.0
"""The same where both lie on things of one name: less than rows and buttons of a toolbar are apart,
since every row of a list may have a "Delete"."""
_ALONE = frozenset({"termination", "infeasible", "wait"})
"""Tools whose words or seconds make no other decision."""
_TYPED = {"\n": ("press", "enter"), "\t": ("press", "tab")}

_Step = tuple[Any, ...]
_Settle = Callable[[Point], Point]


def canonical_keys(candidates: Sequence[Sequence[GroundedCall]]) -> tuple[str, ...]:
    """The key of each candidate of one decision; equal keys do the same.

    Args:
        candidates: each the calls of one reply, in order, their targets found on the same look.
    """
    known: list[tuple[Point, Place | None]] = []

    def key(calls: Sequence[GroundedCall]) -> str:
        places = [place for call in calls for place in call.places]
        return canonical(calls, lambda point: _settled(point, places, known))

    return tuple(key(calls) for calls in candidates)


def canonical(calls: Iterable[GroundedCall], settle: _Settle) -> str:
    """One reply's calls as text that leaves out wording, spelling and a few pixels.

    Args:
        calls: with their targets found.
        settle: returns the point that stands for all that mean its place.
    """
    return json.dumps([_call(call, settle) for call in calls], ensure_ascii=False)


def _settled(
    point: Point, places: Sequence[Place], known: list[tuple[Point, Place | None]]
) -> Point:
    """The first known point that means the same place; the point itself where it is new."""
    place = next((place for place in places if place.point == point), None)
    for other, found in known:
        apart = math.dist((point.x, point.y), (other.x, other.y))
        if apart <= (_NEAR_WITHIN if _alike(place, found) else _NEAR):
            return other
    known.append((point, place))
    return point


def _alike(one: Place | None, other: Place | None) -> bool:
    """Whether the same grounder names both places, and by one name."""
    if one is None or other is None or not one.label:
        return False
    return (one.label, one.source) == (other.label, other.source)


def _call(call: GroundedCall, settle: _Settle) -> list[Any]:
    tool = call.call.tool
    if tool in _ALONE:
        return [tool]
    if tool == "gui_action":
        return [tool, *_merged(_steps(call.actions, settle))]
    return [tool, _plain(call.call.input)]


def _plain(value: object) -> object:
    """A tool's input without what white space alone makes different; keys in one order."""
    match value:
        case str():
            lines = (_line(line) for line in value.strip().splitlines())
            return "\n".join(line for line in lines if line)
        case Mapping():
            return {str(name): _plain(value[name]) for name in sorted(value, key=str)}
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            return value


def _line(line: str) -> str:
    """A line of a command: its indentation, which Python counts, and single blanks."""
    words = " ".join(line.split())
    return line[: len(line) - len(line.lstrip())] + words if words else ""


def _steps(actions: Sequence[Action], settle: _Settle) -> Iterator[_Step]:
    """Yields what the actions do, the pointer followed, pauses left out."""
    at: object = None

    def place(target: Point | Slot | None) -> object:
        nonlocal at
        if isinstance(target, Point):
            at = list(settle(target).rounded())
        elif target is not None:
            at = f"slot {target.index}"
        return at

    for action in actions:
        match action:
            case Click():
                yield "click", place(action.at), action.button, action.count
            case Move():
                yield "move", place(action.to)
            case Drag():
                start = place(action.start)
                yield "drag", start, place(action.to), action.button
            case Scroll():
                yield "scroll", place(action.at), _sign(action.dy), _sign(action.dx)
            case MouseDown() | MouseUp():
                yield action.kind, place(action.at), action.button
            case Write():
                yield from _typed(action.text)
            case Press():
                yield from [("press", action.key)] * action.presses
            case Hotkey():
                yield "hotkey", *_chord(action.keys)
            case KeyDown() | KeyUp():
                yield action.kind, action.key
            case Sleep():
                pass
            case _:
                assert_never(action)


def _sign(clicks: int) -> int:
    """The direction of a wheel: how far it is turned is seen and mended in the next step."""
    return (clicks > 0) - (clicks < 0)


def _chord(keys: Sequence[str]) -> Iterator[str]:
    """Modifiers in one order, then the rest as it is pressed; a letter means its key."""
    spelt = [key.lower() for key in keys]
    yield from sorted(key for key in spelt if key in MODIFIERS)
    yield from (key for key in spelt if key not in MODIFIERS)


def _typed(text: str) -> Iterator[_Step]:
    """A text as it is typed: Enter and Tab are keys of their own."""
    written = ""
    for character in text:
        if character not in _TYPED:
            written += character
            continue
        yield "write", " ".join(written.split())
        yield _TYPED[character]
        written = ""
    yield "write", " ".join(written.split())


def _merged(steps: Iterable[_Step]) -> list[_Step]:
    """The steps without empty texts, and without a move to where the next one acts anyway."""
    kept: list[_Step] = []
    for step in steps:
        if step == ("write", ""):
            continue
        if kept and kept[-1][0] == "move" and len(step) > 1 and step[1] == kept[-1][1]:
            kept.pop()
        kept.append(step)
    return kept
