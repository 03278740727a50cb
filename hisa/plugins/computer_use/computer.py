"""A planner that is a computer-use model: the Responses API with its computer tool.

Each step is a new chain of responses from the bounded state: the model's earlier replies are not
sent again. If the model asks for a screenshot within a step, it gets one as the output of its call.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

from hisa.config import PlannerSettings
from hisa.errors import InvalidReply
from hisa.events import PlanRejected
from hisa.planner.call_schema import Functions
from hisa.planner.planner import (
    MAX_TRIES,
    SHOWN_REPLY,
    Programs,
    build_planned_event,
    read_programs_once,
)
from hisa.planner.prompt_budget import prompt_room
from hisa.planner.view import state_text
from hisa.plugins.computer_use.computer_calls import ComputerReply, read_computer_reply
from hisa.plugins.computer_use.responses_body import ACKNOWLEDGED
from hisa.protocols import (
    Emit,
    ImagePart,
    Message,
    Model,
    ModelReply,
    ModelRequest,
    StateView,
    Task,
    TextPart,
    Toolbox,
    ToolCall,
)
from hisa.screen.geometry import Size
from hisa.screen.observation import Observation
from hisa.text.prompt_text import clean, printable, sections
from hisa.text.prompts import render

__all__ = ["ComputerPlanner"]

ComputerTool = Literal["computer", "computer_use_preview"]
Confirm = Callable[[str], Awaitable[None]]


class ComputerPlanner:
    """Asks a computer-use model for the next call.

    Args:
        model: the planner role's model, behind the Responses API.
        toolbox: the tools; names and inputs of calls are checked against it.
        emit: gets a `Planned`, or a `PlanRejected` for each unusable reply.
        functions: gives the tools of a step besides the computer, as the API takes them.
        tool: the computer tool that the model knows.
        confirm: asks a person about a safety check; raises `ActionRefused` if it is not allowed.
        max_tokens: most tokens of a reply.
        programs: lists what is installed, for the first step; None: no list.
        settings: the planner's; the prompt's file may use each of them.
        room: most tokens of the state, without the tools; None: as in the default settings.
    """

    def __init__(
        self,
        model: Model,
        toolbox: Toolbox,
        *,
        emit: Emit,
        functions: Functions,
        tool: ComputerTool,
        confirm: Confirm,
        max_tokens: int = 4096,
        programs: Programs | None = None,
        settings: PlannerSettings | None = None,
        room: int | None = None,
    ) -> None:
        self._model = model
        self._toolbox = toolbox
        self._emit = emit
        self._functions, self._tool = functions, tool
        self._confirm = confirm
        self._max_tokens = max_tokens
        self._programs = programs
        self._system = render(
            "planner",
            computer=True,
            marks=False,
            pointing="",
            picture=True,
            tools=toolbox.describe(),
            **dict(settings or PlannerSettings()),
        )
        self._room = room or prompt_room()

    async def plan(self, task: Task, observation: Observation, view: StateView) -> ToolCall:
        """Returns the next call; see `hisa.protocols.Planner`.

        Args:
            task: what the agent has to do.
            observation: the screen now; the model sees its picture.
            view: the bounded state: context, step lines, advice.

        Raises:
            ActionRefused: a person did not allow what the API wants confirmed.
        """
        question = await self._question(task, observation, view)
        request = question
        for attempt in range(1, MAX_TRIES + 1):
            reply = await self._model.complete(request)
            try:
                answer = self._read(reply, looks_left=attempt < MAX_TRIES)
            except InvalidReply as error:
                shown = printable(reply.text)[:SHOWN_REPLY]
                self._emit(
                    PlanRejected(attempt=attempt, error=str(error), reply=shown, turn=reply.turn)
                )
                if attempt == MAX_TRIES:
                    raise
                request = _add_refusal(question, reply.turn, str(error))
                continue
            if answer.call is not None:
                self._record(answer.call)
            for check in answer.checks:
                await self._confirm(_build_check_text(answer.call, check))
            if answer.call is not None:
                return answer.call
            request = _add_picture(question, answer)
        raise AssertionError("unreachable: the last try raises or returns")

    async def _question(
        self, task: Task, observation: Observation, view: StateView
    ) -> ModelRequest:
        programs = await read_programs_once(self._programs, view)
        text = state_text(
            task,
            observation,
            view,
            elements=False,
            room=self._room,
            programs=programs,
        )
        return ModelRequest(
            role="planner",
            messages=(
                Message("system", (TextPart(self._system),)),
                Message("user", (TextPart(text), ImagePart(observation.screenshot))),
            ),
            tools=(
                _computer_tool(self._tool, observation.image),
                *self._functions(task, observation),
            ),
            max_tokens=self._max_tokens,
        )

    def _read(self, reply: ModelReply, *, looks_left: bool) -> ComputerReply:
        if reply.finish == "length":
            raise InvalidReply(f"the reply was cut off at {self._max_tokens} tokens; be shorter")
        answer = read_computer_reply(reply.text)
        if answer.call is not None:
            self._toolbox.check(answer.call)
        elif not looks_left:
            raise InvalidReply("you have the screenshot already: act on it, or call wait")
        return answer

    def _record(self, call: ToolCall) -> None:
        self._emit(build_planned_event(call))


def _computer_tool(name: ComputerTool, image: Size) -> Mapping[str, Any]:
    if name == "computer":
        return {"type": name}
    size = {"display_width": image.width, "display_height": image.height}
    return {"type": name, "environment": "ubuntu", **size}


def _build_check_text(call: ToolCall | None, check: str) -> str:
    """Returns the text that a person reads: the check in the server's words, and the action."""
    act = "look at the screen" if call is None else str(call.input)
    return f"{check}\n{act}"


def _add_refusal(question: ModelRequest, turn: str, error: str) -> ModelRequest:
    """Returns the question again, with the error but without the refused call."""
    system, user = question.messages
    notice = TextPart(sections({"notice": f"Your last answer was refused: {clean(error)}"}))
    return replace(
        question,
        messages=(system, replace(user, parts=(*user.parts, notice))),
        corrects=turn,
        reason=error,
    )


def _add_picture(question: ModelRequest, answer: ComputerReply) -> ModelRequest:
    """Returns the question with the call for a screenshot, and the picture as its output."""
    system, user = question.messages
    texts = tuple(part for part in user.parts if isinstance(part, TextPart))
    pictures = tuple(part for part in user.parts if isinstance(part, ImagePart))
    return replace(
        question,
        messages=(
            system,
            replace(user, parts=texts),
            Message(
                "assistant", (TextPart(json.dumps([_acknowledge_checks(i) for i in answer.items])),)
            ),
            Message("user", pictures),
        ),
    )


def _acknowledge_checks(item: dict[str, Any]) -> dict[str, Any]:
    """Returns an item with its safety checks marked as allowed by a person."""
    checks = item.get("pending_safety_checks")
    return {**item, ACKNOWLEDGED: checks} if checks else item
