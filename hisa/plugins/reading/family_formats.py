"""Formats of families of grounding models that do not answer with a mere pair of numbers.

What they are asked stands in `hisa.grounder.trained_words`. Facts: the model cards of UI-TARS 1.0
and 1.5, OpenCUA and Holo1.5. Each enters by its name in the group ``hisa.grounders``.
"""

from __future__ import annotations

import json
import re
from functools import partial

from hisa.grounder import trained_words
from hisa.grounder.formats import NUMBER, PAIR, AnswerSyntax, PixelFormat, RelativeFormat, read_pair

__all__ = ["HOLO", "OPENCUA", "OPENCUA_RELATIVE", "UI_TARS", "UI_TARS_1_5"]

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
_BARE = re.compile(_BOX[0])
_FAR = 100_000
"""Pixels or parts; no screen is as wide."""
_CALLS = r"(?:pyautogui|computer)\.(?:click|doubleClick|rightClick|moveTo|triple_click)"
_CODE = re.compile(
    rf"(?:```(?:python|code)?\s*)?{_CALLS}\(\s*(?:x\s*=\s*)?{NUMBER}\s*,\s*(?:y\s*=\s*)?{NUMBER}\s*\)"
    r"(?:\s*```)?"
)
_SECTIONS = re.compile(r"\A(?:## (?:Observation|Thought|Action|Code):?\n[^`]*)+(?=```)")


def _read_action(text: str) -> tuple[float, float] | None:
    pairs = (read_pair(pattern, text) for pattern in (*_ACTIONS, _BARE))
    return next((pair for pair in pairs if pair is not None), None)


def _read_code(text: str) -> tuple[float, float] | None:
    return read_pair(_CODE, _SECTIONS.sub("", text.strip())) or PAIR.read(text)


def _read_json(text: str) -> tuple[float, float] | None:
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict) or not fields.keys() <= {"action", "x", "y"}:
        return None
    if fields.get("action", "click_absolute") not in ("click_absolute", "click"):
        return None
    x, y = _number(fields.get("x")), _number(fields.get("y"))
    return None if x is None or y is None else (x, y)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < _FAR else None


ACTION = AnswerSyntax(
    "Action: click(start_box='(x,y)')", 200, "one click(start_box='(x,y)')", _read_action
)
"""UI-TARS; a thought may stand before the action. Version 1.0, asked for a point, gives a pair."""
CODE = AnswerSyntax(
    "```python\npyautogui.click(x=…, y=…)\n```", 200, "one pyautogui.click(x=…, y=…)", _read_code
)
"""OpenCUA; its sections may stand before the code. GTA1-32B may answer with a pair."""
JSON = AnswerSyntax(
    '{"action": "click_absolute", "x": …, "y": …}', 64, 'one object with "x" and "y"', _read_json
)
"""Holo1.5."""

HOLO = partial(PixelFormat, "holo", JSON, words=trained_words.HOLO_1_5)
OPENCUA = partial(PixelFormat, "opencua", CODE, words=trained_words.OPENCUA)
OPENCUA_RELATIVE = partial(RelativeFormat, "opencua-relative", 1, CODE, words=trained_words.OPENCUA)
UI_TARS = partial(RelativeFormat, "ui-tars", 1000, ACTION, words=trained_words.UI_TARS)
UI_TARS_1_5 = partial(
    PixelFormat, "ui-tars-1.5", ACTION, min_pixels=78_400, words=trained_words.UI_TARS_1_5
)
