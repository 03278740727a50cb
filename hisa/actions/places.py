"""The places inside actions: slots, points, and the space they are in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import assert_never

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
    Slot,
    Target,
    Write,
)
from hisa.screen.geometry import Point, Size, Space, convert

__all__ = ["fill", "map_points", "points", "slots", "to_space"]


def _targets(action: Action) -> tuple[Target, ...]:
    match action:
        case Click() | Scroll() | MouseDown() | MouseUp():
            return () if action.at is None else (action.at,)
        case Move():
            return (action.to,)
        case Drag():
            return (action.to,) if action.start is None else (action.start, action.to)
        case Write() | Press() | Hotkey() | KeyDown() | KeyUp() | Sleep():
            return ()
        case _:
            assert_never(action)


def _with_targets(action: Action, new: Callable[[Target], Target]) -> Action:
    match action:
        case Click() | Scroll() | MouseDown() | MouseUp():
            return action if action.at is None else replace(action, at=new(action.at))
        case Move():
            return replace(action, to=new(action.to))
        case Drag():
            start = None if action.start is None else new(action.start)
            return replace(action, to=new(action.to), start=start)
        case Write() | Press() | Hotkey() | KeyDown() | KeyUp() | Sleep():
            return action
        case _:
            assert_never(action)


def points(actions: Iterable[Action]) -> tuple[Point, ...]:
    """Returns every point, in order of use."""
    return tuple(t for action in actions for t in _targets(action) if isinstance(t, Point))


def slots(actions: Iterable[Action]) -> tuple[int, ...]:
    """Returns the distinct slots still to be filled, in rising order."""
    indices = {t.index for action in actions for t in _targets(action) if isinstance(t, Slot)}
    return tuple(sorted(indices))


def fill(actions: Iterable[Action], places: Mapping[int, Point]) -> tuple[Action, ...]:
    """Returns the actions with every slot replaced by its point.

    Raises:
        KeyError: a slot has no point.
    """
    return tuple(
        _with_targets(action, lambda t: places[t.index] if isinstance(t, Slot) else t)
        for action in actions
    )


def map_points(actions: Iterable[Action], new: Callable[[Point], Point]) -> tuple[Action, ...]:
    """Returns the actions with every point replaced; slots are kept."""
    return tuple(
        _with_targets(action, lambda t: t if isinstance(t, Slot) else new(t)) for action in actions
    )


def to_space(
    actions: Iterable[Action], to: Space, *, screen: Size, image: Size
) -> tuple[Action, ...]:
    """Returns the actions with every point in another space; slots are kept.

    Args:
        actions: the actions.
        to: the space of the result: "screen", "image" or "unit".
        screen: size of the desktop in physical pixels.
        image: size of the picture that models see.
    """
    return map_points(actions, lambda at: convert(at, to, screen=screen, image=image))
