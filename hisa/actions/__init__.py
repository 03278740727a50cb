"""The closed set of GUI actions, with conversion from and to PyAutoGUI source and to JSON.

Model output is data: source is read with `ast` into these records and nothing else. A guest gets
source or JSON that is regenerated from the records. The planner's replies are parsed here, tools
and the policy read the records, and environments send them on. Start with `action_records.py`, then
`source.py` (`parse` and `to_source`) and `calls.py`, the planner's call.
"""

from __future__ import annotations

from hisa.actions.action_json import to_json
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
    presses,
)
from hisa.actions.places import fill, map_points, points, slots, to_space
from hisa.actions.source import parse, to_source

__all__ = [
    "Action",
    "Button",
    "Click",
    "Drag",
    "Hotkey",
    "KeyDown",
    "KeyUp",
    "MouseDown",
    "MouseUp",
    "Move",
    "Press",
    "Scroll",
    "Sleep",
    "Slot",
    "Target",
    "Write",
    "fill",
    "map_points",
    "parse",
    "points",
    "presses",
    "slots",
    "to_json",
    "to_source",
    "to_space",
]
