"""Formats of families of grounding models that do not answer with a mere pair of numbers.

Facts: the model cards of UI-TARS 1.0 and 1.5, OpenCUA and Holo1.5, and GTA1's table 10. Each enters
by its name in the group ``hisa.grounders``.
"""

from __future__ import annotations

import json
import re
from functools import partial

from hisa.grounder.formats import NUMBER, PAIR, AnswerSyntax, PixelFormat, RelativeFormat, read_pair

__all__ = ["HOLO", "OPENCUA", "OPENCUA_RELATIVE", "SYNTAXES", "UI_TARS", "UI_TARS_1_5"]

_BOX = (
    rf"(?:<\|box_start\|>)?\(\s*{NUMBER}\s*,\s*{NUMBER}\s*\)(?:<\|box_end\|>)?",
    rf"<point>\s*{NUMBER}\s+{NUMBER}\s*</point>",
)
_VERBS = r"(?:click|left_single|left_double|right_single|hover)"
_ACTIONS = [
    re.compile(
        rf"(?:Thought:(?:(?!\nAction:).)*\n)?(?:Action:\s*)?{_VERBS}\((?:start_box|point)='{box}'\)",
        re.DOTALL,
    )
    for box in _BOX
]
_FAR = 100_000
"""Pixels or parts; no screen is as wide."""
_CALLS = r"(?:pyautogui|computer)\.(?:click|doubleClick|rightClick|moveTo|triple_click)"
_CODE = re.compile(
    rf"(?:```(?:python|code)?\s*)?{_CALLS}\(\s*(?:x\s*=\s*)?{NUMBER}\s*,\s*(?:y\s*=\s*)?{NUMBER}\s*\)"
    r"(?:\s*```)?"
)
_SECTIONS = re.compile(r"\A(?:## (?:Observation|Thought|Action|Code):?\n[^`]*)+(?=```)")


def _read_action(text: str) -> tuple[float, float] | None:
    return next(filter(None, (read_pair(pattern, text) for pattern in _ACTIONS)), None)


def _read_code(text: str) -> tuple[float, float] | None:
    return read_pair(_CODE, _SECTIONS.sub("", text.strip()))


def _read_json(text: str) -> tuple[float, float] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or not found.keys() <= {"action", "x", "y"}:
        return None
    if found.get("action", "click_absolute") not in ("click_absolute", "click"):
        return None
    x, y = _number(found.get("x")), _number(found.get("y"))
    return None if x is None or y is None else (x, y)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < _FAR else None


ACTION = AnswerSyntax(
    "Action: click(start_box='(x,y)')", 200, "one click(start_box='(x,y)')", _read_action
)
"""UI-TARS; a thought may stand before the action."""
CODE = AnswerSyntax(
    "```python\npyautogui.click(x=…, y=…)\n```", 200, "one pyautogui.click(x=…, y=…)", _read_code
)
"""OpenCUA; its sections may stand before the code."""
JSON = AnswerSyntax(
    '{"action": "click_absolute", "x": …, "y": …}', 64, 'one object with "x" and "y"', _read_json
)
"""Holo1.5."""
SYNTAXES = {"pair": PAIR, "action": ACTION, "code": CODE, "json": JSON}

OPENCUA_SYSTEM = (
    "You are a GUI agent. You are given a task and a screenshot of the screen. You need to perform "
    "a series of pyautogui actions to complete the task."
)
"""OpenCUA was trained with these words, and GTA1-32B after it (GTA1, table 10)."""

HOLO = partial(PixelFormat, "holo", JSON)
OPENCUA = partial(PixelFormat, "opencua", CODE, system=OPENCUA_SYSTEM)
OPENCUA_RELATIVE = partial(RelativeFormat, "opencua-relative", 1, CODE, system=OPENCUA_SYSTEM)
UI_TARS = partial(RelativeFormat, "ui-tars", 1000, ACTION)
UI_TARS_1_5 = partial(PixelFormat, "ui-tars-1.5", ACTION, min_pixels=78_400)
