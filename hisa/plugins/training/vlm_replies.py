"""What a vision-language grounder is asked, how its replies are read, and what they are worth.

The arms are those of GTA1's table 6. A reply that is not exactly in the form of its arm is not
read: all its rewards are 0, and it stays in its group. The paper defines neither its IoU reward nor
how rewards are combined; here it is the IoU itself, and the plain sum, as in `grounder`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from hisa.grounder.formats import NUMBER, PAIR
from hisa.grounder.trained_words import GTA1_7B
from hisa.plugins.training.box_cleaning import iou
from hisa.plugins.training.widget_pages import Box

__all__ = ["FORMS", "Pointed", "ReplyForm", "Reward"]

_LOCATOR = GTA1_7B.system.partition("\n\n")[0]
_THOUGHT = r"<think>(?P<thought>(?:(?!</?think>).)+)</think>\s*"
_BOX = r"<bbox>\[\s*" + r"\s*,\s*".join([NUMBER] * 4) + r"\s*\]</bbox>\s*"
_ANSWER = r"<answer>(?P<answer>[^<>]*)</answer>"


class Pointed(NamedTuple):
    """What a reply says: a point, and in two arms a box, in pixels of the picture as shown."""

    x: float
    y: float
    box: Box | None = None


class Reward(NamedTuple):
    """Rewards of a reply: eq. 2, the arm's whole reward, and whether it was well-formed."""

    click: float
    total: float
    formed: bool


@dataclass(frozen=True, slots=True)
class ReplyForm:
    """The form of replies of one arm."""

    task: str  # what the prompt asks for after the common words
    thinks: bool  # whether a thought comes first; its form is then a reward of 1
    draws: bool  # whether a box is written; its IoU is then a reward

    @property
    def system(self) -> str:
        """The system message, with ``{height}`` and ``{width}`` of the picture as shown."""
        return f"{_LOCATOR}\n\n{self.task}" if self.task else GTA1_7B.system

    def read(self, text: str) -> Pointed | None:
        """Returns what a reply says; None if it is not exactly in this form."""
        answer, box = text, None
        if self.task:
            pattern = (_THOUGHT if self.thinks else "") + (_BOX if self.draws else "") + _ANSWER
            match = re.fullmatch(pattern, text.strip(), re.DOTALL)
            if match is None:
                return None
            answer = match["answer"]
            if self.draws:
                box = Box(*map(float, match.groups()[self.thinks :][:4]))
        point = PAIR.read(answer)
        return Pointed(*point, box) if point else None

    def reward(self, text: str, target: Box) -> Reward:
        """Returns the rewards of a reply; both ends of the target's box belong to it."""
        pointed = self.read(text)
        if pointed is None:
            return Reward(0.0, 0.0, formed=False)
        inside = target.left <= pointed.x <= target.right and target.top <= pointed.y
        click = float(inside and pointed.y <= target.bottom)
        total = click + float(self.thinks)
        if pointed.box is not None:
            total += iou(pointed.box, target)
        return Reward(click, total, formed=True)

    def write(self, target: Box, description: str) -> str:
        """Returns a right reply, for supervised steps; the description stands for a thought."""
        x, y = (target.left + target.right) / 2, (target.top + target.bottom) / 2
        point = f"({x:.0f},{y:.0f})"
        if not self.task:
            return point
        thought = f"<think>{description}</think>\n" if self.thinks else ""
        box = "<bbox>[{:.0f},{:.0f},{:.0f},{:.0f}]</bbox>\n".format(*target) if self.draws else ""
        return f"{thought}{box}<answer>{point}</answer>"


FORMS = {
    "click": ReplyForm("", thinks=False, draws=False),
    "click+iou": ReplyForm(
        "First provide the bounding box of the target element within <bbox></bbox> tags, then "
        "output the coordinate pair within <answer></answer> tags.\n\nOutput exactly:\n"
        "<bbox>[x0,y0,x1,y1]</bbox>\n<answer>(x,y)</answer>",
        thinks=False,
        draws=True,
    ),
    "click+format": ReplyForm(
        "First analyze the reasoning process within <think></think> tags, then provide only the "
        "coordinate pair within <answer></answer> tags.\n\nOutput exactly:\n"
        "<think>your reasoning process</think>\n<answer>(x,y)</answer>",
        thinks=True,
        draws=False,
    ),
    "all": ReplyForm(
        "First analyze the reasoning process within <think></think> tags, then provide the "
        "bounding box of the target element within <bbox></bbox> tags and output the coordinate "
        "pair within <answer></answer> tags.\n\nOutput exactly:\n"
        "<think>your reasoning process</think>\n<bbox>[x0,y0,x1,y1]</bbox>\n<answer>(x,y)</answer>",
        thinks=True,
        draws=True,
    ),
}
"""The arms of table 6; the words are wire format, those of tables 9 and 15 to 17."""
