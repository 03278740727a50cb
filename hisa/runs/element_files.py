"""Turns the elements of a look into plain data and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Element
from hisa.screen.roles import PASSWORD

__all__ = ["plain_element", "read_elements"]

_TEXTS = ("name", "text", "label", "app", "window", "description")


def plain_element(element: Element) -> dict[str, Any]:
    """Returns an element as JSON data, without empty fields and without the text of passwords."""
    box = element.box
    plain: dict[str, Any] = {
        "role": element.role,
        "box": [round(side, 1) for side in (box.left, box.top, box.right, box.bottom)],
    }
    plain |= {name: text for name in _TEXTS if (text := getattr(element, name))}
    if element.role == PASSWORD:
        plain.pop("text", None)
    if element.states:
        plain["states"] = sorted(element.states)
    if element.parent is not None:
        plain["parent"] = element.parent
    return plain


def read_elements(path: Path) -> tuple[Element, ...]:
    """Returns the elements of a run's elements file; their boxes are in screen space.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is damaged.
    """
    try:
        return tuple(_element(dict(plain)) for plain in json.loads(path.read_text("utf-8")))
    except (KeyError, TypeError) as error:
        raise ValueError(f"{path.name}: {error!r}") from error


def _element(plain: dict[str, Any]) -> Element:
    left, top, right, bottom = map(float, plain.pop("box"))
    box = BoundingBox(left, top, right, bottom, "screen")
    states = frozenset(map(str, plain.pop("states", ())))
    return Element(**{"name": "", **plain}, box=box, states=states)
