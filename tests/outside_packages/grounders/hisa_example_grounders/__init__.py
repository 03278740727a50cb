"""A grounder format of an outside package."""

from __future__ import annotations

import re

from hisa.errors import NotFound
from hisa.protocols import ImagePart, Message, TextPart
from hisa.screen.geometry import Point, Size
from hisa.screen.observation import Screenshot

_ANSWER = re.compile(r"(\d{1,2}|100)% (\d{1,2}|100)%")


class PercentFormat:
    """Models that answer in whole percent: ``40% 75%``."""

    name = "percent"
    max_tokens = 16

    def prepare(self, screenshot: Screenshot, description: str) -> tuple[Size, tuple[Message, ...]]:
        """The screenshot as it is, and the question."""
        question = f"Where is {description}? Answer as in: 40% 75%"
        parts = (ImagePart(screenshot), TextPart(question))
        return screenshot.size, (Message("user", parts),)

    def parse(self, text: str, shown: Size) -> Point:
        """The point of an answer that is two percentages and nothing else."""
        match = _ANSWER.fullmatch(text.strip())
        if match is None:
            raise NotFound(f"the answer {text[:80]!r} is not two percentages")
        x, y = (int(part) / 100 for part in match.groups())
        return Point(x * (shown.width - 1), y * (shown.height - 1))
