"""Assembles a run: one function builds a `Loop` from settings and parts.

`hisa.Agent` calls it once for each run. No other package knows which planner, grounder or model a
run has. Start with `_Opening.loop`. `agent_parts.py` reads the arguments of `hisa.Agent`;
`grounding_parts.py`, `hook_list.py`, `planner_kind.py` and `tool_parts.py` build the parts that
have several forms.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial

from hisa.conclusion import write_end
from hisa.config import PlannerSettings, Settings
from hisa.environments.confirmation import Ask, Question, ask_person
from hisa.environments.programs import installed_programs
from hisa.errors import ActionRefused, ConfigError, LogFailed, with_fix
from hisa.events import Noted, RunFinished, RunStarted
from hisa.grounder.elements_reader import ElementsReader
from hisa.grounder.marks import MarkGrounder, Marks
from hisa.grounder.pointing_grounder import written_as
from hisa.hooks import Hook, Hooks
from hisa.loop import Loop
from hisa.models.budget import Budget
from hisa.models.open_models import Models, open_models
from hisa.models.profiles import Profile
from hisa.models.role_model import CallContext
from hisa.models.spending import Ledger
from hisa.patterns.memory import open_memory
from hisa.planner.prompt_budget import prompt_room
from hisa.protocols import (
    Detachable,
    Emit,
    Environment,
    Grounder,
    Model,
    Planner,
    Scorer,
    Task,
)
from hisa.runs.log import RunLog
from hisa.runs.results import Results
from hisa.state.base import Memory
from hisa.state.blind_acts import BlindActs
from hisa.state.manager import HierarchicalState, Repeats, build_state
from hisa.state.written_files import WrittenFiles
from hisa.tools.person import Person
from hisa.tools.registry import ToolRegistry
from hisa.wiring.base import HookParts, Listener, RunParts
from hisa.wiring.border import scrubber_of, with_border
from hisa.wiring.grounding_parts import build_grounder, grounder_kind, open_grounder
from hisa.wiring.hook_list import applied_hooks, in_order, open_hooks, scorer_on
from hisa.wiring.planner_kind import (
    PlannerKind,
    PlannerParts,
    choose_planner,
    find_leading,
)
from hisa.wiring.prompt_parts import open_prompts, write_prompts
from hisa.wiring.tool_parts import allowed_tools, open_served_tools

__all__ = [
    "Listener",
    "RunParts",
    "build_grounder",
    "end_of_opening",
    "grounder_kind",
    "note_writer",
    "open_loop",
]


def note_writer(emit: Emit) -> Callable[[str], None]:
    """Returns a function that records a note about the machine as an event."""

    def note(text: str) -> None:
        emit(Noted(where="machine", text=text))

    return note


@asynccontextmanager
async def open_loop(
    settings: Settings, task: Task, log: RunLog, parts: RunParts | None = None
) -> AsyncIterator[Loop]:
    """Build a loop ready for `Loop.run`; everything that it opened is closed at the end.

    Args:
        settings: the effective settings.
        task: the task; the log's first event names it.
        log: an open run log.
        parts: parts that replace those of the settings, persons to ask, listeners, and the
            progress of a resumed run.

    Raises:
        OperatorError: a part cannot be opened, with the command that fixes it. The log has the
            error, and an end.
    """
    async with AsyncExitStack() as stack:
        with end_of_opening(log):
            loop = await _Opening(settings, task, log, parts or RunParts(), stack).loop()
        yield loop


@contextmanager
def end_of_opening(log: RunLog) -> Iterator[None]:
    """Record the end of a run in its log if opening the parts fails or is cancelled."""
    try:
        yield
    except asyncio.CancelledError:
        log.emit(RunFinished(exit_status="stopped", message="stopped by a person"))
        raise
    except LogFailed:
        raise
    except Exception as error:
        status = write_end(log, error)
        if status is not None:
            log.emit(RunFinished(exit_status=status, message=with_fix(error)))
        raise


class _Opening:
    """Opens the parts of one run, in the order in which they need one another."""

    def __init__(
        self, settings: Settings, task: Task, log: RunLog, parts: RunParts, stack: AsyncExitStack
    ) -> None:
        self._settings, self._task, self._log = settings, task, log
        self._parts, self._stack = parts, stack
        self._emit = log.emit
        log.listen(*parts.listeners)
        self._resumed = bool(parts.events)
        self._leading = None if self._resumed else find_leading(settings.planner)

    async def loop(self) -> Loop:
        """Open all parts, and return the loop."""
        settings, log, emit = self._settings, self._log, self._emit
        hashes = self._stack.enter_context(open_prompts(settings.prompts))
        hooking = self._hook_parts()
        announced = open_hooks(hooking)
        hooks = [*self._parts.hooks, *announced]
        models = await self._models(CallContext(secrets=scrubber_of(hooks)))
        served = await self._stack.enter_async_context(open_served_tools(settings.tools, emit))
        machine = await self._machine()
        hooks = applied_hooks(hooks, settings, machine)
        environment = with_border(machine, hooks)
        self._elements = "elements" in environment.capabilities
        reader = ElementsReader(environment, emit=emit)
        state = self._parts.state or self._state(models, environment)
        log.amend(
            environment=environment.name,
            models={role: model.name for role, model in models.items()},
            settings=settings.model_dump(mode="json"),
        )
        write_prompts(hashes, log, emit)
        own = state if isinstance(state, HierarchicalState) else None
        registry = ToolRegistry(
            allowed_tools(settings.tools, (*self._parts.tools, *served)),
            capabilities=environment.capabilities,
            person=Person(hooking.inquire, emit=emit) if hooking.inquire else None,
        )
        planner, grounder, deciding = self._deciders(
            models, registry, reader, environment, hooking.ask
        )
        hooks += [hook for hook in deciding if hook not in hooks]
        if own is not None:
            hooks.append(Repeats(own, registry.others))
        hooks.append(Results(self._task, environment, log, small=settings.run.fetch_small))
        if not settings.planner.guards:
            hooks.append(BlindActs(settings.environment.settle))
        chain = Hooks(in_order(hooks), emit=emit)
        if not log.step and not self._resumed:
            emit(_started(self._task, log, chain))
        loop = Loop(
            planner=planner,
            grounder=grounder,
            state=state,
            tools=registry,
            environment=environment,
            scorer=scorer_on(_scorer(settings, emit), chain, environment),
            log=log,
            hooks=chain,
            max_steps=settings.run.max_steps,
            elements=self._elements,
            settle=settings.environment.settle,
        )
        log.listen(loop.hear)
        return loop

    def _hook_parts(self) -> HookParts:
        parts = self._parts
        return HookParts(
            self._settings,
            self._log,
            self._emit,
            ask=parts.ask,
            inquire=parts.inquire,
            events=parts.events,
            decisions=parts.decisions,
        )

    async def _models(self, context: CallContext) -> Models:
        log, settings = self._log, self._settings
        context = replace(
            context,
            step=lambda: log.step,
            progress=self._parts.progress,
            keep_picture=log.save,
            keep_tokens=log.keep_tokens,
        )
        budget = Budget(
            settings.run.budget_usd,
            settings.run.budget_tokens,
            seconds=settings.run.budget_seconds,
            used_seconds=log.manifest.totals.seconds,
        )
        ledger = Ledger.from_events(self._parts.calls)
        models, planner, own = settings.models, settings.planner, self._parts.models
        return await self._stack.enter_async_context(
            open_models(models, planner, self._emit, budget, ledger, own=own, context=context)
        )

    async def _machine(self) -> Environment:
        """Returns the machine; if it can outlive the run, log and machine record each other."""
        if self._parts.environment is not None:
            machine = await self._parts.environment()
        else:
            from hisa.environments.open_environment import open_environment

            settings, note = self._settings, note_writer(self._emit)
            opened = open_environment(settings.environment, settings.run.image_limit, note)
            machine = await self._stack.enter_async_context(opened)
        if isinstance(machine, Detachable):
            self._log.amend(desktop=machine.belongs_to(self._log.id))
        return machine

    def _state(self, models: Models, environment: Environment) -> HierarchicalState:
        state = build_state(
            models["state"],
            self._settings.state,
            emit=self._emit,
            memory=self._parts.memory or self._memory(models["state"]),
            written=WrittenFiles(environment).since,
            profile=_state_profile(self._settings, models),
            again=lambda: environment.observe(elements=self._elements),  # a new look each time
        )
        state.restore(self._parts.events)
        return state

    def _memory(self, model: Model) -> Memory | None:
        if not self._settings.patterns.enabled:
            return None
        memory = open_memory(self._settings.patterns, self._settings.state, model, self._emit)
        self._stack.callback(memory.close)
        return memory

    def _deciders(
        self,
        models: Models,
        registry: ToolRegistry,
        reader: ElementsReader,
        environment: Environment,
        ask: Ask | None,
    ) -> tuple[Planner, Grounder, list[Hook]]:
        """Returns the planner, the grounder, and those of them that are also hooks."""
        emit, known = self._emit, models.profiles["planner"]
        kind, settings = choose_planner(self._settings, known, elements=self._elements)
        own = self._parts.planner
        grounder = self._parts.grounder or open_grounder(
            settings.grounder,
            settings.models,
            models,
            reader,
            emit,
            seer=models.profiles.get("grounder", known),
            planner=known,
            points=kind.points,
            events=self._parts.events,
        )
        marks = _marks(settings.planner, environment, known, kind) if own is None else None
        if marks is not None:
            grounder = MarkGrounder(grounder, marks, emit=emit)
        parts = self._planner_parts(settings, models, registry, marks, environment, ask)
        planner = kind.open(parts) if own is None else own
        if settings.planner.samples > 1 and own is None:
            from hisa.planner.scaling import open_scaling  # most runs ask once

            judge = models.get("judge", models["planner"])
            model = settings.models.planner
            planner = open_scaling(
                settings.planner, model, planner, judge, emit=emit, profile=known
            )
        if self._leading is not None:
            planner = self._leading.lead(parts, planner, settings.planner.leads)
        return planner, grounder, [planner] if isinstance(planner, Hook) else []

    def _planner_parts(
        self,
        settings: Settings,
        models: Models,
        registry: ToolRegistry,
        marks: Marks | None,
        environment: Environment,
        ask: Ask | None,
    ) -> PlannerParts:
        emit, known = self._emit, models.profiles["planner"]
        points = settings.grounder.kind == "planner"
        programs = partial(installed_programs, environment, note_writer(emit))
        return PlannerParts(
            settings.planner,
            settings.models.planner,
            models["planner"],
            known,
            registry,
            emit,
            marks=marks,
            programs=None if _fills_screen(self._task) else programs,
            confirm=_confirming(ask, emit),
            room=prompt_room(settings.state),
            pointing=written_as(known.coordinates) if points else "",
            ask=ask,
            environment=environment,
        )


def _marks(
    settings: PlannerSettings, environment: Environment, planner: Profile, kind: PlannerKind
) -> Marks | None:
    """Returns the numbered list for a planner that gets one, else None.

    Raises:
        ConfigError: there are no elements to list, or the planner does not read such a list.
    """
    if settings.sees == "picture":
        return None
    setting = f"planner.sees = {settings.sees!r}"
    if planner.reads_elements:
        raise ConfigError(
            f"{setting}: {planner.name} reads the elements in its own form",
            fix="--set planner.sees=picture, or give --model",
        )
    if "elements" not in environment.capabilities:
        raise ConfigError(
            f"{setting}: {environment.name} cannot list what is on its screen (no accessibility)",
            fix="--set planner.sees=picture",
        )
    return kind.marks()


def _state_profile(settings: Settings, models: Models) -> Profile | None:
    """Returns the profile of the state's model, without pictures if its planner uses elements."""
    profile = models.profiles.get("state")
    if profile and settings.planner.sees == "elements" and settings.models.state is None:
        return profile.model_copy(update={"sees_pictures": False})
    return profile


def _confirming(ask: Ask | None, emit: Emit) -> Callable[[str], Awaitable[None]]:
    """Returns a function that asks a person for a confirmation that a model's maker requires.

    It raises ActionRefused if nobody can be asked.
    """

    async def confirm(text: str) -> None:
        if ask is None:
            raise ActionRefused(
                f"the model's maker wants a person to confirm this, but nobody can be asked: {text}"
            )
        await ask_person(ask, Question("safety", text), emit=emit)

    return confirm


def _fills_screen(task: Task) -> bool:
    from hisa.tasks.find_format import format_of  # slow to import, like the scorer

    return format_of(task).fills_screen


def _scorer(settings: Settings, emit: Emit) -> Scorer:
    from hisa.tasks.scorer import TaskScorer  # `import hisa.wiring` stays light

    return TaskScorer(emit=emit, settings=settings.tasks)


def _started(task: Task, log: RunLog, hooks: Hooks) -> RunStarted:
    return RunStarted(
        task=task.id,
        instruction=task.instruction,
        domain=task.domain,
        models=log.manifest.models,
        environment=log.manifest.environment,
        hooks=hooks.names,
    )
