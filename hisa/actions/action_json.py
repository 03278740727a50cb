"""Actions to JSON and back: what travels to HiSA's own guest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any, get_args

from hisa.actions import values
from hisa.actions.action_records import Action, Slot
from hisa.errors import ActionRefused
from hisa.screen.geometry import Point

__all__ = ["from_json", "to_json"]

_KINDS: dict[str, type[Action]] = {
    cls.__dataclass_fields__["kind"].default: cls for cls in get_args(Action)
}


def _point_from_json(value: object) -> Point:
    if not isinstance(value, Mapping) or set(value) != {"x", "y"}:
        raise ActionRefused('a point must be {"x": integer, "y": integer}')
    limit = values.MAX_COORDINATE
    x, y = (values.whole(value[axis], axis, -limit, limit) for axis in "xy")
    return Point(x, y, "screen")


def _optional_point(value: object) -> Point | None:
    return None if value is None else _point_from_json(value)


_FIELDS: dict[str, Callable[[object], object]] = {
    "at": _optional_point,
    "start": _optional_point,
    "to": _point_from_json,
    "button": values.button,
    "count": lambda value: values.whole(value, "count", 1, values.MAX_CLICKS),
    "presses": lambda value: values.whole(value, "presses", 1, values.MAX_PRESSES),
    "dx": values.scroll,
    "dy": values.scroll,
    "duration": values.seconds,
    "seconds": lambda value: values.seconds(value, "sleep"),
    "interval": values.interval,
    "text": values.text,
    "key": values.key,
    "keys": values.keys,
}


def to_json(actions: Iterable[Action]) -> list[dict[str, Any]]:
    """One object an action, as `from_json` reads it. Points are whole screen pixels.

    Raises:
        ValueError: a slot is not filled, or a point is not in screen space.
    """
    return [
        {field.name: _json_value(getattr(action, field.name)) for field in fields(action)}
        for action in actions
    ]


def _json_value(value: object) -> object:
    match value:
        case Slot():
            raise ValueError(f"{value!r} is not filled; resolve it first")
        case Point(space="screen"):
            x, y = value.rounded()
            return {"x": x, "y": y}
        case Point():
            raise ValueError(f"{value!r} is not in screen space; convert it first")
        case tuple():
            return list(value)
        case _:
            return value


def from_json(items: object) -> tuple[Action, ...]:
    """Actions from a decoded JSON list; points are in screen space.

    Raises:
        ActionRefused: not a list, an unknown kind or key, a missing key or a bad value.
    """
    if not isinstance(items, list):
        raise ActionRefused(f"actions must be a list, not {values.shown(items)}")
    return values.bounded(_action_from_json(item) for item in items[: values.MAX_ACTIONS + 1])


def _action_from_json(item: object) -> Action:
    kind = item.get("kind") if isinstance(item, Mapping) else None
    if not isinstance(item, Mapping) or not isinstance(kind, str) or kind not in _KINDS:
        raise ActionRefused(
            f"action kind {values.shown(kind)}; allowed are {', '.join(sorted(_KINDS))}"
        )
    cls = _KINDS[kind]
    names = {field.name for field in fields(cls)}
    if unknown := set(item) - names:
        shown = ", ".join(sorted(values.shown(key) for key in unknown))
        raise ActionRefused(f"{kind} has no {shown}; it takes {', '.join(sorted(names))}")
    checked: dict[str, Any] = {k: _FIELDS[k](v) for k, v in item.items() if k != "kind"}
    try:
        return cls(**checked)
    except TypeError:
        raise ActionRefused(f"{kind} lacks a key; it takes {', '.join(sorted(names))}") from None
