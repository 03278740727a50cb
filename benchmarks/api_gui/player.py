"""A scripted model that waits for its cue, and counts its tokens as HiSA estimates them."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hisa.events import Acted, Event
from hisa.models.tokens import estimate_input, estimate_tokens
from hisa.protocols import Environment, ModelReply, ModelRequest, Usage
from hisa.testing import FunctionModel, tool_call

__all__ = ["Move", "Player", "call", "click", "drag", "keys", "told_of"]

IMAGE_TOKENS = 1105
"""A picture of 1280 by 720 by OpenAI's formula for high detail."""
_LOOKS = 60
"""Looks, a second apart, until a cue is there: three times what a busy machine took."""
_START = 8.0
"""Seconds before the first move: a window that has just come up loses clicks, 3 of 6 within 3 s."""
_THOUGHT = "The last step had its effect. This is the next part of the task."
"""The same for both ways, so that tokens differ by what is done and not by what is said of it."""


@dataclass(frozen=True)
class Move:
    """One step: a call, and what must be in front before."""

    tool: str
    input: str | Mapping[str, Any]
    window: str = ""
    """Part of the title of the window in front; empty: the loop's own wait is enough."""
    target: str = ""
    """Description of the place for X_COORD, Y_COORD."""
    to: str = ""
    """That of the place for X_COORD_2, Y_COORD_2."""

    @property
    def reply(self) -> str:
        """As a planner writes it."""
        said = {"thought": _THOUGHT, "tool": self.tool, "input": self.input}
        places = {"description": self.target, "description_2": self.to}
        return json.dumps({**said, **{name: told for name, told in places.items() if told}})


def click(target: str, after: str = "", *, window: str = "", kind: str = "click") -> Move:
    """A click, with the typing that belongs to it.

    Args:
        target: description of the place.
        after: PyAutoGUI source of what is done there.
        window: see `Move`.
        kind: "click", "doubleClick" or "tripleClick".
    """
    code = f"pyautogui.{kind}(X_COORD, Y_COORD)" + (f"; {after}" if after else "")
    return Move("gui_action", code, window, target)


def drag(start: str, end: str, after: str = "", *, window: str = "") -> Move:
    """A drag from one place to another, with the typing that belongs to it."""
    code = (
        "pyautogui.moveTo(X_COORD, Y_COORD); pyautogui.dragTo(X_COORD_2, Y_COORD_2, duration=0.6)"
    )
    return Move("gui_action", code + (f"; {after}" if after else ""), window, start, end)


def keys(*names: str, window: str = "") -> Move:
    """Keys pressed together."""
    return Move("gui_action", f"pyautogui.hotkey({', '.join(map(repr, names))})", window)


def call(tool: str, window: str = "", /, **arguments: Any) -> Move:
    """A call of a tool with these arguments."""
    return Move(tool, arguments, window)


def told_of(prompt: str, tool: str, arguments: Iterable[str]) -> Literal["all", "names", ""]:
    """How much a planner's prompt tells of a tool that is called with these arguments.

    Args:
        prompt: all of its text.
        tool: the whole name; the prompt may have it by its toolkit's, ``calc_: write(cell)``.
        arguments: those that the call gives.

    Returns:
        "all": its signature, types included; "names": the arguments by name alone; empty: not all
        of them, or not the tool.
    """
    offered = re.search(r"<tools>\n(.*?)\n</tools>", prompt, re.DOTALL)
    kit, _, short = tool.partition("_")
    alone = rf"^{re.escape(tool)}\((.*?)\): "
    by_kit = rf"^{re.escape(kit)}_: (?:.*, )?{re.escape(short)}\(([^)]*)\)"
    ways: tuple[tuple[str, Literal["all", "names"]], ...] = ((alone, "all"), (by_kit, "names"))
    for way, much in ways:
        named = re.search(way, offered.group(1) if offered else "", re.MULTILINE)
        if named is not None and set(arguments) <= set(re.findall(r"\w+", named.group(1))):
            return much
    return ""


class Player:
    """A model for planner and state manager: makes the moves, then says that the task is done.

    Where a cue is late it asks for another look, which counts neither as a step nor in tokens: how
    long a machine takes is no property of a way. A move that fails ends the run.

    Args:
        desktop: looked at for the cues.
        moves: in order.
        looks_up: whether a tool is looked up by tool_help, once a run, before a call where the
            prompt does not have its signature.
    """

    def __init__(
        self, desktop: Environment, moves: Sequence[Move], *, looks_up: bool = False
    ) -> None:
        self.untold: list[str] = []
        """Tools of the calls whose signature the prompt of their step did not have."""
        self.unnamed: list[str] = []
        """The same of those whose arguments it did not even name."""
        self.looked_up: set[str] = set()
        """Tools that were looked up."""
        self._looks_up = looks_up
        self._desktop = desktop
        self._left = list(moves)
        self._failed = ""
        self._begun = False
        self._idle: set[int] = set()
        """Steps that only waited."""

    @property
    def waits(self) -> int:
        """Steps that only waited for a cue."""
        return len(self._idle)

    @property
    def model(self) -> FunctionModel:
        """The model that makes the moves."""
        return FunctionModel(self._answer, name="script")

    def heard(self, event: Event) -> None:
        """Take note of what came of a move."""
        if isinstance(event, Acted) and not event.ok:
            self._failed = f"{event.input!r}: {event.error or event.output}"

    async def _answer(self, request: ModelRequest) -> ModelReply:
        if request.role != "planner":
            done = "Steps so far: each had the effect that was meant. Suggestion: Continue."
            folded = "# Context refinement" in request.text
            said = done if folded else "Succeeded. The screen shows the effect that was meant."
            return self._counted(request, said)
        if self._failed:
            return ModelReply(tool_call("infeasible", f"A move failed: {self._failed}"))
        if not self._left:
            return self._counted(
                request, tool_call("termination", "The task is done.", thought=_THOUGHT)
            )
        if not self._begun:
            self._begun = True
            await asyncio.sleep(_START)
        late = await self._late(self._left[0].window)
        if late is None:
            return self._counted(request, self._next_reply(request.text))
        if late:
            return ModelReply(tool_call("infeasible", late))
        self._idle.add(request.step)
        return ModelReply(tool_call("wait", 0))

    def _next_reply(self, prompt: str) -> str:
        move = self._left[0]
        if (
            not isinstance(move.input, str)
            and (told := told_of(prompt, move.tool, move.input)) != "all"
        ):
            if self._looks_up and move.tool not in self.looked_up:
                self.looked_up.add(move.tool)
                return tool_call("tool_help", move.tool, thought=_THOUGHT)
            self.untold.append(move.tool)
            self.unnamed += [] if told else [move.tool]
        return self._left.pop(0).reply

    def _counted(self, request: ModelRequest, said: str) -> ModelReply:
        if request.step in self._idle:
            return ModelReply(said)
        tokens = estimate_input(request, image_tokens=IMAGE_TOKENS)
        return ModelReply(said, Usage(tokens, estimate_tokens(said)))

    async def _late(self, title: str) -> str | None:
        """None: the cue was there; empty: it is there by now; else what did not come."""
        for number in range(_LOOKS):
            look = await self._desktop.observe(settle=1.0 if number else 0.0)
            if look.active is not None and title in look.active.title:
                return "" if number else None
        return f"No window {title!r} came to the front."
