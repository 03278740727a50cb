"""Rewards of a grounder's reply: click, IoU and format (GTA1, eq. 2 and table 6).

Boxes are (x_min, y_min, x_max, y_max) in the point's unit. The paper leaves open its IoU reward and
how table 6 combines rewards: here it is the IoU itself, and the plain sum.
"""

from __future__ import annotations

import math
import re
from typing import Literal

__all__ = ["Box", "Variant", "click_reward", "format_reward", "iou"]

Point = tuple[float, float]
Box = tuple[float, float, float, float]
Variant = Literal["click", "click+iou", "click+format", "all"]
_N = r" ?\d{1,6}(?:\.\d{1,6})?"
_ANSWER = rf"<answer>\({_N},{_N}\)</answer>"
_BBOX = rf"<bbox>\[{_N},{_N},{_N},{_N}\]</bbox>\s?"
_THINK = r"<think>(?:(?!</?think>).)+</think>\s?"
_BEFORE = {"click": "", "click+iou": _BBOX, "click+format": _THINK, "all": _THINK + _BBOX}


def click_reward(point: Point | None, box: Box) -> float:
    """Returns 1.0 for a point in the box, both ends included (eq. 2); 0.0 outside or for None."""
    x, y = point or (math.nan, math.nan)
    return float(box[0] <= x <= box[2] and box[1] <= y <= box[3])


def iou(first: Box, second: Box) -> float:
    """Returns intersection over union, 0 to 1; a box with its ends the wrong way round is empty."""
    width = max(0.0, min(first[2], second[2]) - max(first[0], second[0]))
    height = max(0.0, min(first[3], second[3]) - max(first[1], second[1]))
    areas = [max(0.0, box[2] - box[0]) * max(0.0, box[3] - box[1]) for box in (first, second)]
    union = sum(areas) - width * height
    return width * height / union if union > 0 else 0.0


def format_reward(reply: str, variant: Variant) -> float:
    """Returns 1.0 for exactly what the variant's prompt asks (tables 15 to 17), else 0.0."""
    return float(bool(re.fullmatch(_BEFORE[variant] + _ANSWER, reply.strip(), re.DOTALL)))
