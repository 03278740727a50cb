"""The global planner: one request from the bounded state, corrected at most twice (HiSA, 3.1)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace

from hisa.config import PlannerSettings
from hisa.errors import InvalidReply
from hisa.events import Planned, PlannedCall, PlanRejected
from hisa.models.correction import with_correction
from hisa.planner.base import Form, NumberedList
from hisa.planner.call_schema import Functions, Schema, reply_schema
from hisa.planner.prompt_budget import prompt_room
from hisa.planner.reply import REPLY_SCHEMA, parse_reply, sequence_schema
from hisa.planner.view import state_text
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
from hisa.screen.observation import Observation
from hisa.text.prompt_text import mark_untrusted, printable, sections
from hisa.text.prompts import render

__all__ = [
    "GlobalPlanner",
    "Programs",
    "build_planned_event",
    "planned_calls",
    "read_programs_once",
]

Programs = Callable[[], Awaitable[str]]
"""Returns the installed programs in words."""

MAX_TRIES = 3
SHOWN_REPLY = 2000
"""Most characters of a rejected reply in the event and the correction; chosen by hand."""


async def read_programs_once(programs: Programs | None, view: StateView) -> str:
    """Returns the machine's programs at the first step, and an empty text at any other."""
    first = not view.steps and not view.refined
    return await programs() if first and programs is not None else ""


def planned_calls(calls: Iterable[ToolCall]) -> tuple[PlannedCall, ...]:
    """Returns calls as events record them."""
    return tuple(
        PlannedCall(
            tool=call.tool,
            input=call.input,
            description=call.description,
            description_2=call.description_2,
        )
        for call in calls
    )


def build_planned_event(call: ToolCall) -> Planned:
    """Returns the event of a step's call, the same for every kind of planner."""
    return Planned(
        thought=call.thought,
        tool=call.tool,
        input=call.input,
        description=call.description,
        description_2=call.description_2,
        following=planned_calls(call.following),
        note=call.note,
    )


class GlobalPlanner:
    """Asks the planner model for the next call.

    Args:
        model: the planner role's model.
        toolbox: tools to describe, and to check names and inputs against.
        emit: gets a `Planned`, or a `PlanRejected` for each unusable reply.
        reads_elements: add the screen's elements as text (for models that cannot see).
        max_tokens: limit of a reply (HiSA, section 4.3: 4096).
        pointing: how a planner with its own coordinates should write them; empty: it describes
            places, and the grounder finds them.
        programs: returns the installed programs, for the first step; None: none are listed.
        marks: adds its numbered list of the screen; a reply may name places by its numbers.
        settings: section of the planner; the prompt file may use each setting. If it sees only
            elements, ``marks`` is needed.
        room: most tokens of the state; None: that of the default settings.
        functions: returns a step's tools, if the server should constrain replies to them; None:
            replies are constrained only to their form.
        form: form of prompt and reply that replaces HiSA's own for capable models.
    """

    def __init__(
        self,
        model: Model,
        toolbox: Toolbox,
        *,
        emit: Emit,
        reads_elements: bool = False,
        max_tokens: int = 4096,
        pointing: str = "",
        programs: Programs | None = None,
        marks: NumberedList | None = None,
        settings: PlannerSettings | None = None,
        room: int | None = None,
        functions: Functions | None = None,
        form: Form | None = None,
    ) -> None:
        self._model = model
        self._toolbox = toolbox
        self._emit = emit
        self._reads_elements = reads_elements
        self._max_tokens = max_tokens
        self._programs = programs
        settings = settings or PlannerSettings()
        self._marks, self._picture = marks, settings.sees != "elements"
        self._sequence = sequence = settings.sequence
        self._functions, self._form = functions, form
        self._schema: Schema | None = REPLY_SCHEMA if sequence == 1 else sequence_schema(sequence)
        if form is not None:
            self._system = form.system
            return
        self._system = render(
            "planner",
            tools=toolbox.describe(),
            pointing=pointing,
            marks=marks is not None,
            picture=self._picture,
            computer=False,
            **dict(settings),
        )
        self._room = room or prompt_room()

    async def plan(self, task: Task, observation: Observation, view: StateView) -> ToolCall:
        """Returns the next call; see `hisa.protocols.Planner`.

        Args:
            task: what to do.
            observation: the current look.
            view: the bounded state.
        """
        call = await self.propose(await self.question(task, observation, view))
        self.record(call)
        return call

    async def question(self, task: Task, observation: Observation, view: StateView) -> ModelRequest:
        """Build the request for the next call; it may be sent several times.

        Args:
            task: what to do.
            observation: the current look.
            view: the bounded state.
        """
        schema = self._schema
        if self._form is not None:
            text, schema = await asyncio.to_thread(self._form.ask, task, observation, view)
        else:
            text = await self._text(task, observation, view)
            if self._functions is not None:
                schema = reply_schema(self._functions(task, observation), self._sequence)
        shown = (ImagePart(observation.screenshot),) if self._picture else ()
        return ModelRequest(
            role="planner",
            messages=(
                Message("system", (TextPart(self._system),)),
                Message("user", (TextPart(text), *shown)),
            ),
            schema=schema,
            max_tokens=self._max_tokens,
        )

    async def propose(self, question: ModelRequest) -> ToolCall:
        """Returns one checked reply, corrected at most twice; it logs only `PlanRejected`.

        Raises:
            InvalidReply: there is no usable reply after all format corrections.
            ModelUnavailable, BudgetExceeded: from the model.
        """
        request = question
        for attempt in range(1, MAX_TRIES + 1):
            reply = await self._model.complete(request)
            reply = replace(reply, text=printable(reply.text))  # so that it can be logged
            try:
                return self._read(reply)
            except InvalidReply as error:
                self._emit(
                    PlanRejected(
                        attempt=attempt,
                        error=str(error),
                        turn=reply.turn,
                        reply=reply.text[:SHOWN_REPLY],
                    )
                )
                if attempt == MAX_TRIES:
                    raise
                shown = reply.text[:SHOWN_REPLY]
                text = self._correction(str(error), shown)
                request = with_correction(
                    question, reply, text, shown=SHOWN_REPLY, reason=str(error)
                )
        raise AssertionError("unreachable: the last try raises")

    def record(self, call: ToolCall) -> None:
        """Log that this is the step's call."""
        self._emit(build_planned_event(call))

    def _correction(self, error: str, reply: str) -> str:
        if self._form is not None:
            return self._form.correction(error)
        return render("format_correction", error=error, reply=reply, sequence=self._sequence)

    async def _text(self, task: Task, observation: Observation, view: StateView) -> str:
        text = state_text(
            task,
            observation,
            view,
            elements=self._reads_elements,
            room=self._room,
            programs=await read_programs_once(self._programs, view),
            tools=self._toolbox.offer(task, observation),
        )
        if self._marks is not None:
            listed = await asyncio.to_thread(self._marks.build_list, task, observation)
            text += "\n" + sections({mark_untrusted("elements"): listed})
        return text

    def _read(self, reply: ModelReply) -> ToolCall:
        if reply.finish == "length":
            raise InvalidReply(f"the reply was cut off at {self._max_tokens} tokens; be shorter")
        if self._form is not None:
            call = self._form.read(reply.text)
        else:
            numbered = self._marks is not None
            call = parse_reply(reply.text, most=self._sequence, numbered=numbered)
        for part in call.sequence:
            self._toolbox.check(part)
            if self._marks is not None:
                self._marks.check(part)
        return call
