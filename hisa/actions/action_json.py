"""Converts actions to JSON for HiSA's own guest, which reads and checks it itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from hisa.actions.action_records import Action, Slot
from hisa.screen.geometry import Point

__all__ = ["to_json"]


def to_json(actions: Iterable[Action]) -> list[dict[str, Any]]:
    """Returns one object per action, with its fields. Points are whole screen pixels.

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
            return {"x": round(value.x), "y": round(value.y)}
        case Point():
            raise ValueError(f"{value!r} is not in screen space; convert it first")
        case tuple():
            return list(value)
        case _:
            return value
