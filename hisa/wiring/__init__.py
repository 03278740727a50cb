"""Where the parts meet: one function builds an `Agent` from settings, top to bottom.

Command line, API and benches call it, once for each run. No other room knows which planner,
grounder or model a run has. Start with this file; `grounding_parts.py`, `decision_parts.py`,
`tool_parts.py` and `secret_parts.py` build what has more than one form.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial

from hisa.agent import Agent
from hisa.conclusion import write_end
from hisa.config import Settings
from hisa.environments.confirm import Ask, ConfirmedEnvironment, Question, ask_person
from hisa.environments.programs import installed_programs
from hisa.errors import ActionRefused, ConfigError, LogFailed, UsageError, with_fix
from hisa.events import Decided, Event, ModelCalled, Noted, RunFinished, RunStarted
from hisa.grounder.marks import MarkGrounder, Marks
from hisa.grounder.reading import ElementsReader, SharedReader
from hisa.models.budget import Budget
from hisa.models.open_models import Models, open_models
from hisa.models.profiles import Profile
from hisa.models.role_model import CallContext
from hisa.models.spending import Ledger
from hisa.patterns.memory import PatternMemory
from hisa.patterns.open_memory import open_memory
from hisa.protocols import (
    Detachable,
    Emit,
    Environment,
    Model,
    Outcome,
    Progress,
    Role,
    Scorer,
    Task,
)
from hisa.runs.log import RunLog
from hisa.runs.results import Results, ResultsScorer
from hisa.screen.geometry import Size
from hisa.screen.observation import Observation, Screenshot
from hisa.state.inspection import StepInspector
from hisa.state.manager import build_state
from hisa.state.written_files import WrittenFiles
from hisa.tools.person import Inquire
from hisa.wiring.decision_parts import (
    elements_of,
    open_policy,
    open_toolbox,
    scaled,
)
from hisa.wiring.grounding_parts import (
    build_grounder,
    grounder_kind,
    open_grounder,
    pixel_grounder,
)
from hisa.wiring.leads import Leads
from hisa.wiring.memo import without_groundings
from hisa.wiring.new_calls import NewCallGrounder
from hisa.wiring.planner_kind import PlannerKind, PlannerParts, choose_planner
from hisa.wiring.secret_parts import open_secrets
from hisa.wiring.sequences import SequenceGrounder
from hisa.wiring.supervision import open_supervisors
from hisa.wiring.tool_parts import open_registry, open_served_tools

__all__ = [
    "Listener",
    "RunContext",
    "build_grounder",
    "emitter",
    "grounder_kind",
    "image_limit",
    "note_writer",
    "open_agent",
]

Listener = Callable[[Event], None]


@dataclass
class RunContext:
    """The parts of a run besides its settings and its log."""

    environment: Callable[[], Awaitable[Environment]] | None = None
    """Gives a started one instead of the one in the settings; it is not closed here. Called once
    the models are there, so that a missing key costs no desktop."""
    models: Mapping[Role, Model] = field(default_factory=dict)
    """Own models by role, instead of those in the settings; see `open_models`."""
    ask: Ask | None = None
    """Asks a person before an act or a command; None: there is nobody to ask."""
    inquire: Inquire | None = None
    """Asks a person what the agent wants to know; None: there is nobody to ask."""
    listeners: Sequence[Listener] = ()
    progress: Progress | None = None
    """Told how far a model's answer is; nothing of it is logged."""
    events: Sequence[Event] = ()
    """Events of complete steps so far, where a run goes on; the state is rebuilt from them."""
    calls: Sequence[ModelCalled] = ()
    """Model calls paid for so far."""
    decisions: Sequence[Decided] = ()
    """Decisions so far, those of steps that were cut off too: their calls may have been made."""
    ended: Outcome | None = None
    """The outcome of the last step, where that ended the run: `Agent.run` takes it."""
    around: Callable[[Environment], Environment] | None = None
    """Put around the machine, beneath secrets, questions and everybody who looks at it."""


def emitter(log: RunLog, listeners: Sequence[Listener]) -> Emit:
    """Returns a function that writes events into the log and passes them to the listeners."""

    def emit(event: Event, /) -> None:
        event = log.emit(event)
        for listener in listeners:
            listener(event)

    return emit


def _must_ask(settings: Settings, environment: Environment) -> bool:
    match settings.run.confirm:
        case "always":
            return True
        case "never":
            return False
        case "auto":
            return "throw_away" not in environment.capabilities


def _marks(
    settings: Settings, environment: Environment, planner: Profile, kind: PlannerKind
) -> Marks | None:
    """The numbered list for a planner that gets one.

    Raises:
        ConfigError: there is nothing to list, or nobody who reads it.
    """
    if settings.planner.sees == "picture":
        return None
    told = f"planner.sees = {settings.planner.sees!r}"
    if planner.reads_elements:
        raise ConfigError(
            f"{told}: {planner.name} reads the elements in a form of its own",
            fix="--set planner.sees=picture, or give --model",
        )
    if "elements" not in environment.capabilities:
        raise ConfigError(
            f"{told}: {environment.name} cannot tell what is on its screen (no accessibility)",
            fix="--set planner.sees=picture",
        )
    return kind.marks()


def image_limit(settings: Settings) -> Size:
    """The largest picture that models see."""
    return Size(settings.run.image_width, settings.run.image_height)


def note_writer(emit: Emit) -> Callable[[str], None]:
    """Returns a function that records a note about the machine as an event."""

    def note(text: str) -> None:
        emit(Noted(where="machine", text=text))

    return note


@asynccontextmanager
async def open_agent(
    settings: Settings, task: Task, log: RunLog, run_context: RunContext | None = None
) -> AsyncIterator[Agent]:
    """An agent ready for `Agent.run`; everything it opened is closed at the end.

    Args:
        settings: the effective settings.
        task: for the log's first event.
        log: an open run log.
        run_context: a started environment, who to ask, who listens, events so far.

    Raises:
        OperatorError: a part cannot be opened, with the command that fixes it. The log has the
            error, and an end.
    """
    run_context = run_context or RunContext()
    async with AsyncExitStack() as stack:
        with _end_of_opening(log):
            supervisors = open_supervisors(log, emitter(log, run_context.listeners))
            for supervisor in supervisors:
                run_context = supervisor.context(run_context)
            agent = await stack.enter_async_context(_opened(settings, task, log, run_context))
            for supervisor in supervisors:
                await stack.enter_async_context(supervisor.over(agent))
        yield agent


@contextmanager
def _end_of_opening(log: RunLog) -> Iterator[None]:
    """A run that ends before its agent is there has an end in its log too."""
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


def _state_profile(settings: Settings, models: Models) -> Profile | None:
    """Returns what the state's model takes: no pictures if it is a planner that gets none."""
    profile = models.profiles.get("state")
    if profile and settings.planner.sees == "elements" and settings.models.state is None:
        return profile.model_copy(update={"sees_pictures": False})
    return profile


@asynccontextmanager
async def _opened(
    settings: Settings, task: Task, log: RunLog, run_context: RunContext
) -> AsyncIterator[Agent]:
    emit = emitter(log, run_context.listeners)
    ledger = Ledger.from_events(run_context.calls)
    secrets = open_secrets(settings, log, emit)
    leads = Leads(settings, resumed=bool(run_context.events))
    async with AsyncExitStack() as stack:
        budget = _budget(settings, log)
        context = CallContext(
            step=lambda: log.step,
            secrets=secrets.scrubber,
            progress=run_context.progress,
            keep_picture=log.save,
            keep_tokens=log.keep_tokens,
            run=log.id,
        )
        models = await stack.enter_async_context(
            open_models(settings, emit, budget, ledger, own=run_context.models, context=context)
        )
        served = await stack.enter_async_context(open_served_tools(settings, emit))
        environment = await _environment(settings, run_context, emit, stack)
        _mark_as_ours(environment, log)
        environment = run_context.around(environment) if run_context.around else environment
        kept = "throw_away" not in environment.capabilities
        environment = secrets.machine(environment, live=kept or bool(run_context.events))
        results = Results(task, environment, log, small=settings.run.fetch_small)
        stack.push_async_callback(results.fetch_results)
        sampling = settings.planner.samples > 1
        reader = (SharedReader if sampling else ElementsReader)(environment, emit=emit)
        state = build_state(
            models["state"],
            settings.state,
            emit=emit,
            memory=_memory(settings, models["state"], emit, stack),
            closer=StepInspector(WrittenFiles(environment).since),
            picture_changes=models.picture_changes.get("state"),
            profile=_state_profile(settings, models),
            led=leads.alone,
            again=partial(environment.observe, elements="elements" in environment.capabilities),
        )
        state.restore(run_context.events)
        _write_down(settings, environment, models, log)
        if not log.step and not run_context.events:
            emit(_started(task, log))
        registry = open_registry(
            settings,
            emit,
            capabilities=environment.capabilities,
            inquire=run_context.inquire,
            more=served,
            withdrawn=state.withdrawn,
        )
        policy = await open_policy(settings, environment, run_context.decisions)
        known = models.profiles["planner"]
        kind, settings = choose_planner(
            settings, known, elements="elements" in environment.capabilities
        )
        finding = without_groundings(emit) if sampling else emit
        grounder = open_grounder(
            settings,
            models,
            reader,
            finding,
            seer=models.profiles.get("grounder", known),
            planner=known,
            points=kind.points,
            events=run_context.events,
        )
        marks = _marks(settings, environment, known, kind)
        if marks is not None:
            grounder = MarkGrounder(grounder, marks, emit=finding)
        if settings.planner.sequence > 1 and not sampling:
            grounder = SequenceGrounder(grounder, elements_of(reader, environment))
        programs = partial(installed_programs, environment, note_writer(emit))
        parts = PlannerParts(
            settings,
            models["planner"],
            known,
            registry,
            emit,
            marks=marks,
            programs=None if _fills_screen(task) else programs,
            confirm=_confirming(run_context.ask, emit),
            ask=run_context.ask,
            environment=environment,
        )
        planner = kind.open(parts)
        if sampling:
            planner, grounder = scaled(settings, planner, grounder, models, emit, profile=known)
        planner, grounder = leads.open(
            parts, planner, grounder, pixel_grounder(settings, reader, emit)
        )
        yield Agent(
            planner=planner,
            grounder=NewCallGrounder(grounder, state, registry),
            state=state,
            tools=open_toolbox(
                settings,
                registry,
                elements_of(reader, environment),
                log,
                emit,
                policy=policy,
                ask=run_context.ask,
            ),
            environment=_asking(settings, environment, run_context.ask, emit),
            scorer=ResultsScorer(_scorer(settings, environment, emit), results),
            log=_Tee(log, emit),
            max_steps=settings.run.max_steps,
            elements="elements" in environment.capabilities,
            settle=settings.environment.settle,
        )


def _mark_as_ours(environment: Environment, log: RunLog) -> None:
    """Let a desktop of this machine and the run know each other, for `hisa runs resume`."""
    if isinstance(environment, Detachable):
        log.amend(desktop=environment.belongs_to(log.id))


def _write_down(
    settings: Settings, environment: Environment, models: Mapping[Role, Model], log: RunLog
) -> None:
    log.amend(
        environment=environment.name,
        models={role: model.name for role, model in models.items()},
        settings=settings.model_dump(mode="json"),
    )


def _budget(settings: Settings, log: RunLog) -> Budget:
    return Budget(
        settings.run.budget_usd,
        settings.run.budget_tokens,
        seconds=settings.run.budget_seconds,
        used_seconds=log.manifest.totals.seconds,
    )


async def _environment(
    settings: Settings, run_context: RunContext, emit: Emit, stack: AsyncExitStack
) -> Environment:
    if run_context.environment is not None:
        return await run_context.environment()
    from hisa.environments.open_environment import open_environment

    environment = open_environment(settings.environment, image_limit(settings), note_writer(emit))
    return await stack.enter_async_context(environment)


def _memory(
    settings: Settings, model: Model, emit: Emit, stack: AsyncExitStack
) -> PatternMemory | None:
    if not settings.patterns.enabled:
        return None
    memory = open_memory(settings, model, emit)
    stack.callback(memory.close)
    return memory


def _asking(
    settings: Settings, environment: Environment, ask: Ask | None, emit: Emit
) -> Environment:
    if not _must_ask(settings, environment):
        return environment
    if ask is None:
        raise UsageError(
            f"run.confirm = {settings.run.confirm!r} asks a person before each act on "
            f"{environment.name}, and nobody can be asked",
            fix="pass RunContext(ask=…), an async function from a Question of "
            "hisa.environments.confirm to an Answer, or set run.confirm = 'never'",
        )
    return ConfirmedEnvironment(environment, ask=ask, emit=emit)


def _confirming(ask: Ask | None, emit: Emit) -> Callable[[str], Awaitable[None]]:
    """Asks a person about what a model's maker wants confirmed; refuses where nobody can be."""

    async def confirm(what: str) -> None:
        if ask is None:
            raise ActionRefused(
                f"the model's maker wants a person to confirm this, and nobody can be asked: {what}"
            )
        await ask_person(ask, Question("safety", what), emit=emit)

    return confirm


def _fills_screen(task: Task) -> bool:
    from hisa.tasks.find_format import format_of  # as heavy as the scorer

    return format_of(task).fills_screen


def _scorer(settings: Settings, environment: Environment, emit: Emit) -> Scorer:
    from hisa.tasks.scorer import TaskScorer  # `import hisa.wiring` stays light

    scorer = TaskScorer(emit=emit, settings=settings.tasks)
    if not settings.run.fingerprint:
        return scorer
    from hisa.wiring.fingerprint import FingerprintingScorer

    return FingerprintingScorer(scorer, environment=environment, emit=emit)


def _started(task: Task, log: RunLog) -> RunStarted:
    return RunStarted(
        task=task.id,
        instruction=task.instruction,
        domain=task.domain,
        models=log.manifest.models,
        environment=log.manifest.environment,
    )


class _Tee:
    """The log as the agent sees it: its events reach the listeners too."""

    def __init__(self, log: RunLog, emit: Emit) -> None:
        self._log = log
        self._emit = emit
        self.id = log.id

    @property
    def step(self) -> int:
        return self._log.step

    @step.setter
    def step(self, number: int) -> None:
        self._log.step = number

    def emit(self, event: Event, /) -> None:
        self._emit(event)

    async def save(self, picture: Screenshot, /) -> str:
        return await self._log.save(picture)

    async def keep(self, look: Observation, /) -> tuple[str, str]:
        return await self._log.keep(look)
