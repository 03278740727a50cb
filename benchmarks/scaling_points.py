"""Decision points for `benchmarks.scaling`: what is right, what is wrong, who errs how often."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass

from PIL import Image

from hisa.models.tokens import estimate_input, estimate_tokens
from hisa.protocols import (
    ModelReply,
    ModelRequest,
    StateView,
    Task,
    ToolCall,
    Usage,
)
from hisa.screen.geometry import Size
from hisa.screen.observation import Observation, Screenshot
from hisa.testing.scripted import tool_call

__all__ = ["Judging", "World", "build_metered_reply", "point_of"]

IMAGE_TOKENS = 1105
"""A picture of 1280 by 720 by OpenAI's formula for high detail."""
SIZE = Size(1280, 720)
CLICK = "pyautogui.click(X_COORD, Y_COORD)"
NAMES = ("Save", "Open", "Export", "Insert", "Format", "Close", "Apply", "Reset")


@dataclass(frozen=True)
class World:
    """How often who errs; every number is an assumption, printed with the results."""

    error: float
    """Share of a planner's samples that are wrong, over all points."""
    same: float = 0.5
    """Share of a point's wrong samples that make one and the same mistake."""
    uneven: bool = False
    """A quarter of the points have 3.1 times the error rate (90% at most), the others the rest."""
    two_ways: float = 0.2
    """Share of points with two right ways, such as a button and its shortcut, equally likely."""
    after_failure: float = 0.5
    """Of an error rate of 20%, so many times 20% of the points follow a step seen to fail."""
    ends: float = 1 / 12
    """Share of points at which the task is done: a run of twelve steps."""
    right: float = 0.9
    """A judge's picks that are right where a right candidate is listed."""
    none: float = 0.7
    """Its "none is good" where none is; of its errors on lists with a right one 0.3 say none."""
    invalid: float = 0.02
    """Its answers that are no judgement."""


@dataclass(frozen=True)
class DecisionPoint:
    """A moment of a task: what a planner may answer there."""

    task: Task
    look: Observation
    view: StateView
    error: float
    right: tuple[tuple[str, ...], ...]
    """Ways, each in several wordings that mean the same."""
    wrong: tuple[str, ...]
    """Kinds of mistakes; the first is this point's own."""

    def is_right(self, call: ToolCall) -> bool:
        """Whether a call is one of the right answers."""
        return any(_matches_call(text, call) for way in self.right for text in way)


def _matches_call(text: str, call: ToolCall) -> bool:
    reply = json.loads(text)
    parts = (reply["tool"], reply["input"], reply.get("description", ""))
    return parts == (call.tool, call.input, call.description)


SEEN = Screenshot(Image.new("RGB", (SIZE.width, SIZE.height)))
STEP = (
    "Step {n}: gui_action | Thought: The dialog is open, so the name goes in next. | Description: "
    'the field "File name" | Input: pyautogui.click(640, 380); pyautogui.write("q3") | Result: {r}'
)


def point_of(world: World, number: int, seed: int) -> DecisionPoint:
    """The decision point of that number."""
    dice = random.Random(f"{seed} point {number}")
    hard = min(0.9, 3.1 * world.error)
    easy = (world.error - hard / 4) / 0.75
    uneven = hard if dice.random() < 0.25 else easy
    right, wrong = _answers(
        dice, two=dice.random() < world.two_ways, end=dice.random() < world.ends
    )
    mended = "Succeeded. The name is in the field."
    failed = dice.random() < world.after_failure * world.error
    steps = [STEP.format(n=n, r=mended) for n in (6, 7, 8)]
    if failed:
        steps[-1] = STEP.format(n=8, r="Failed. The dialog is not there.")
    view = StateView(advice=ADVICE, refined=REFINED, steps=tuple(steps), troubled=failed)
    task = Task(f"t{number}", f"Bring document {number} into its final form, then {NAMES[0]} it.")
    observation = Observation(SEEN, screen=SIZE)
    return DecisionPoint(
        task, observation, view, uneven if world.uneven else world.error, right, wrong
    )


ADVICE = "\n".join(
    f"- MUST keep the name of sheet {n} and the format of its cells" for n in range(9)
)
REFINED = "Steps 1~5: " + "opened the file [click(640, 380) the list] - succeeded; " * 9


def _answers(
    dice: random.Random, *, two: bool, end: bool
) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]:
    """The right ways, and the mistakes in a random order."""
    name, other, third = dice.sample(NAMES, 3)
    thought = "The name is in the field and the dialog waits, so the next thing is to go on there."
    worded = (f'button "{name}"', f"the {name} button", name)
    clicks = tuple(tool_call("gui_action", CLICK, words, thought=thought) for words in worded)
    keys = tool_call(
        "gui_action", f"pyautogui.hotkey('ctrl', '{name[0].lower()}')", thought=thought
    )
    ending = tool_call("termination", "All is done.", thought=thought)
    mistakes = [
        tool_call("gui_action", CLICK, f'button "{other}"', thought=thought),
        tool_call("gui_action", CLICK, f'button "{third}"', thought=thought),
        tool_call("gui_action", "pyautogui.press('esc')", thought=thought),
        tool_call(
            "bash_execution", f"soffice --headless --convert-to pdf {other}.ods", thought=thought
        ),
        tool_call("gui_action", CLICK, f"the {name} entry of the side bar", thought=thought),
        clicks[0] if end else ending,
    ]
    dice.shuffle(mistakes)
    if end:
        ends = tuple(
            tool_call("termination", summary, thought=thought) for summary in ("Done.", "Saved.")
        )
        return (ends,), tuple(mistakes)
    return ((clicks, (keys,)) if two else (clicks,)), tuple(mistakes)


def sample(world: World, point: DecisionPoint, dice: random.Random) -> str:
    """One reply of the planner."""
    if dice.random() >= point.error:
        return dice.choice(dice.choice(point.right))
    return point.wrong[0] if dice.random() < world.same else dice.choice(point.wrong[1:])


@dataclass
class Judging:
    """Answers for the planner and for the judge at one point, from dice of their own."""

    world: World
    point: DecisionPoint
    seed: str
    samples: int = 0
    judgements: int = 0

    def answer(self, request: ModelRequest) -> ModelReply:
        """The reply to a request of either role."""
        if request.role == "planner":
            self.samples += 1
            dice = random.Random(f"{self.seed} sample {self.samples}")
            return build_metered_reply(request, sample(self.world, self.point, dice))
        self.judgements += 1
        dice = random.Random(f"{self.seed} judgement {self.judgements}")
        listed = request.text.split("\n<candidates>\n")[1].split("\n</candidates>")[0]
        return build_metered_reply(
            request, self._judge([json.loads(line) for line in listed.splitlines()], dice)
        )

    def _judge(self, listed: Sequence[dict[str, object]], dice: random.Random) -> str:
        world = self.world
        if dice.random() < world.invalid:
            return "Candidate two seems best to me."
        right = [candidate["index"] for candidate in listed if self._is_right(candidate)]
        wrong = [candidate["index"] for candidate in listed if candidate["index"] not in right]
        index: object = None
        if right:
            if dice.random() < world.right:
                index = dice.choice(right)
            elif dice.random() >= 0.3:
                index = dice.choice(wrong or right)
        elif dice.random() >= world.none:
            index = dice.choice(wrong)
        return json.dumps(
            {"explaining": "It brings the task on as the screen stands.", "index": index}
        )

    def _is_right(self, listed: dict[str, object]) -> bool:
        tool, value, words = (
            str(listed.get(name, "")) for name in ("tool", "input", "description")
        )
        return self.point.is_right(ToolCall("", tool, value, words))


def build_metered_reply(request: ModelRequest, text: str) -> ModelReply:
    """A reply with tokens as HiSA estimates them: an upper bound, the same for all ways."""
    tokens = estimate_input(request, image_tokens=IMAGE_TOKENS)
    return ModelReply(text, Usage(tokens, estimate_tokens(text)))
