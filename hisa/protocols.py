"""The seams of HiSA: what each part is asked and what it answers.

`loop.py` knows these and nothing else. Each seam has one conformance suite under ``tests/``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from hisa.actions import Action
from hisa.actions.calls import (
    CommandResult,
    ExecutedCall,
    GroundedCall,
    Outcome,
    Place,
    ScreenPrecondition,
    ToolCall,
)
from hisa.actions.model_reply import ModelReply, TurnTokens, Usage
from hisa.errors import EnvironmentFailed
from hisa.events import Event
from hisa.outcomes.endings import ActingTime, ExitStatus, Result, ScoreState, Scoring
from hisa.outcomes.pattern_records import Pattern, PatternHit, Scope, StepSummary
from hisa.outcomes.verdicts import StepVerdict
from hisa.screen.geometry import Point
from hisa.screen.hit_test import HitTest
from hisa.screen.observation import Observation, Screenshot

__all__ = [
    "COMMAND_LIMIT",
    "FILE_LIMIT",
    "ActingTime",
    "ActsWhereUnchanged",
    "Advice",
    "CommandResult",
    "Concluding",
    "Detachable",
    "Embedder",
    "Emit",
    "Environment",
    "ExecutedCall",
    "ExitStatus",
    "FileRefused",
    "GroundedCall",
    "Grounder",
    "HitTest",
    "HitTester",
    "ImagePart",
    "Message",
    "Model",
    "ModelReply",
    "ModelRequest",
    "Outcome",
    "Part",
    "Pattern",
    "PatternHit",
    "Place",
    "Planner",
    "ReadsHiddenElements",
    "Recorder",
    "Result",
    "Role",
    "Scope",
    "ScoreState",
    "Scorer",
    "Scoring",
    "ScreenPrecondition",
    "StateManager",
    "StateView",
    "StepSummary",
    "StepVerdict",
    "Task",
    "TextPart",
    "ToolCall",
    "Toolbox",
    "TurnTokens",
    "Usage",
]

Role = Literal["planner", "state", "grounder", "judge"]


@dataclass(frozen=True)
class Task:
    """What the agent is asked to do. ``domain`` selects patterns and SOPs."""

    id: str
    instruction: str
    domain: str = "general"
    setup: tuple[Mapping[str, Any], ...] = ()
    """Steps that bring the desktop to its initial state; `hisa.tasks` runs them."""
    check: Mapping[str, Any] | None = None
    """How the result is scored; None: it has no check."""
    folder: str = ""
    """Where relative file names in ``setup`` and ``check`` are looked up."""
    results: tuple[str, ...] = ()
    """Paths of the machine that are brought home at the end: absolute, or with ``~`` in front."""
    apps: tuple[str, ...] = ()
    """Applications that the task says it is about, in its own words."""
    format: str = ""
    """Which entry point of the group ``hisa.tasks`` made it; empty: its data decide."""


@dataclass(frozen=True, slots=True)
class TextPart:
    """Text of a message."""

    text: str


@dataclass(frozen=True, slots=True)
class ImagePart:
    """A picture of a message, encoded by the client."""

    image: Screenshot


Part = TextPart | ImagePart


@dataclass(frozen=True, slots=True)
class Message:
    """One turn."""

    role: Literal["system", "user", "assistant"]
    parts: tuple[Part, ...]


Sent = Callable[[Mapping[str, Any], str], object]
"""Takes a request's body just before it leaves, and the name of the protocol it is of."""
Progress = Callable[[str, str], object]
"""Takes a role and how far its model's answer is, such as "140 tokens", some times a second."""


@dataclass(frozen=True)
class ModelRequest:
    """One call. ``schema`` is a JSON schema where the answer must be a JSON object.

    `hisa.models.role_model.RoleModel` fills in ``step``, from the run's log, ``progress`` and
    ``sent``.
    """

    role: Role
    messages: tuple[Message, ...]
    step: int = 0
    schema: Mapping[str, Any] | None = None
    max_tokens: int = 4096
    temperature: float | None = 0.0
    may_be_empty: bool = False
    """Whether an empty answer is one, as the prompt says; else it is a failure, and asked again."""
    tools: tuple[Mapping[str, Any], ...] = ()
    """Tools of the Responses API, as they are sent. The reply's text is then a JSON list of the
    items that the model answered, and so is an assistant's turn."""
    progress: Progress | None = field(default=None, compare=False, repr=False)
    """Called while the answer is written, where a client can tell."""
    sent: Sent | None = field(default=None, compare=False, repr=False)
    """Called by a client whose ``reports_body`` is True, so that what leaves is logged as it is."""
    corrects: str = field(default="", compare=False)
    """The turn whose reply could not be used, where this asks again; see `ModelReply`."""
    reason: str = field(default="", compare=False)
    """Why it could not be used."""

    @property
    def images(self) -> int:
        """Number of pictures."""
        return len(self.pictures)

    @property
    def pictures(self) -> list[Screenshot]:
        """All pictures, in order."""
        return [p.image for m in self.messages for p in m.parts if isinstance(p, ImagePart)]

    @property
    def text(self) -> str:
        """All text, for counting."""
        return "\n".join(p.text for m in self.messages for p in m.parts if isinstance(p, TextPart))


class Model(Protocol):
    """A model for one or more roles."""

    @property
    def name(self) -> str:
        """As printed in every output."""
        ...

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        """Answer.

        Raises:
            ModelUnavailable: no answer after all retries.
            BudgetExceeded: a limit is reached; nothing was sent.
        """
        ...


COMMAND_LIMIT = 3600.0
"""Seconds that a command may take at most, however far its limit is stretched."""
FILE_LIMIT = 128 << 20
"""Bytes of the largest file that is read from an environment by default."""


class FileRefused(OSError):
    """A file is there and is not read: too large, not a plain file, or not readable."""


class Environment(Protocol):
    """A computer with a screen; also an async context manager that starts and stops it.

    A subclass needs a name, capabilities, `observe` and `act`; what it leaves out does nothing, or
    says that the machine cannot do it.

    ``capabilities`` announces what not every environment has: "elements" (accessibility),
    "execute" (runs commands), "throw_away" (nothing done inside stays after a reset),
    "unchanged" (see `ActsWhereUnchanged`), "lies_at" (see `HitTester`), "hidden" (see
    `ReadsHiddenElements`).
    """

    @property
    def name(self) -> str:
        """As printed: "desktop", "display :1", an address."""
        ...

    @property
    def capabilities(self) -> frozenset[str]:
        """The optional abilities that it has; see the class."""
        ...

    async def reset(self) -> None:
        """Bring the machine to its initial state.

        Raises:
            EnvironmentFailed: it cannot be brought up.
        """
        return

    async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
        """Look. With ``settle`` > 0 wait at most so many seconds for the screen to stop changing.

        The seconds are those of an idle machine; a busy one is given longer.

        Elements are read only where asked for: picture, windows and elements are of one moment,
        and `Observation.complete` says whether an element may be missing.

        Raises:
            EnvironmentFailed: the machine does not answer.
        """
        ...

    async def act(self, actions: Sequence[Action], /) -> None:
        """Do the actions, in order, at most once. Points are in screen space.

        Raises:
            ActionRefused: the guest cannot do one of them (unknown key); those before it are done.
            EnvironmentFailed: the machine does not answer.
        """
        ...

    async def execute(
        self, command: str | Sequence[str], *, timeout: float = 120.0, limit: int = 100_000
    ) -> CommandResult:
        """Run a command (a string goes to bash) as the desktop's user; time-out in seconds.

        A time-out beyond `COMMAND_LIMIT` becomes that.

        Raises:
            EnvironmentFailed: the machine does not answer.
        """
        raise EnvironmentFailed(f"{self.name} runs no commands")

    async def read_file(self, path: str, /, *, limit: int | None = None) -> bytes:
        """A file of the machine.

        Args:
            path: where it is.
            limit: most bytes; None: the environment's own limit, `FILE_LIMIT` by default.

        Raises:
            FileNotFoundError: there is none.
            FileRefused: larger than the limit, not a plain file, or not readable; found before
                anything is transferred where the machine can tell.
            EnvironmentFailed: the machine does not answer.
        """
        raise EnvironmentFailed(f"{self.name} has no files")

    async def write_file(self, path: str, data: bytes, /) -> None:
        """Put a file there, folders made as needed.

        Raises:
            EnvironmentFailed: the machine does not answer.
        """
        raise EnvironmentFailed(f"{self.name} has no files")

    async def __aenter__(self) -> Environment:
        """Start."""
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Stop and leave nothing behind."""
        return


@runtime_checkable
class ActsWhereUnchanged(Protocol):
    """An environment that looks again at the very moment of an act.

    With the capability "unchanged" the machine itself compares; else a picture is taken.
    """

    async def act_where_unchanged(
        self, actions: Sequence[Action], precondition: ScreenPrecondition, /
    ) -> None:
        """Does the actions if the screen is still as it was in the boxes of ``precondition``.

        Raises:
            ScreenChanged: it is not; nothing was done.
            ActionRefused, EnvironmentFailed: as `Environment.act`.
        """
        ...


@runtime_checkable
class HitTester(Protocol):
    """An environment with the capability "lies_at": it tells of a few points alone."""

    async def hit_test(self, points: Sequence[Point], /) -> HitTest:
        """The things at screen-space points now: names, roles and boxes, in the tree's order.

        Raises:
            EnvironmentFailed: the machine does not answer.
        """
        ...


@runtime_checkable
class ReadsHiddenElements(Protocol):
    """An environment with the capability "hidden": it tells what is there and does not show."""

    async def look_everywhere(self) -> Observation:
        """A look whose elements are also those that are scrolled away or behind something.

        Those have no state "showing".

        Raises:
            EnvironmentFailed: the machine does not answer.
        """
        ...


@runtime_checkable
class Concluding(Protocol):
    """An environment that has something to do between a run's last step and its score."""

    async def conclude(self, status: ExitStatus, message: str) -> None:
        """Pass the end on, and wait until programs have done what they were asked for.

        Raises:
            EnvironmentFailed: the machine does not answer.
        """
        ...


@runtime_checkable
class Detachable(Protocol):
    """An environment that can stay up when this process ends, so that a run can go on in it."""

    def belongs_to(self, run: str) -> Mapping[str, Any]:
        """Write down whose it is, now and after each fresh start.

        Returns the handle, JSON data by which `EnvironmentKind.attach` finds it again.
        """
        ...

    async def detach(self) -> str:
        """Let go of it and leave it up; returns its memory, until when, and what ends it."""
        ...


@runtime_checkable
class Toolbox(Protocol):
    """The tools a planner may call."""

    def describe(self) -> str:
        """The tools that are always there, as every prompt shows them."""
        ...

    def names(self) -> tuple[str, ...]:
        """Names of the tools that are always there, sorted."""
        ...

    def offer(self, task: Task, observation: Observation, /) -> str:
        """Returns the further tools for this step, as the prompt shows them; empty: none."""
        ...

    def check(self, call: ToolCall, /) -> None:
        """Refuse a call whose name or input is wrong, without acting.

        Raises:
            InvalidReply: unknown tool (the known ones are named) or bad input.
        """
        ...

    async def execute(
        self, call: GroundedCall, observation: Observation, environment: Environment
    ) -> Outcome:
        """Do it. A tool's own failure is an `Outcome` with ``ok=False``.

        Raises:
            EnvironmentFailed: the machine broke.
        """
        ...


class Planner(Protocol):
    """Decides the next call (HiSA, section 3.1)."""

    async def plan(self, task: Task, observation: Observation, view: StateView) -> ToolCall:
        """The next call.

        Raises:
            InvalidReply: no usable reply after all format corrections.
            ModelUnavailable, BudgetExceeded: from the model.
        """
        ...


class Grounder(Protocol):
    """Turns descriptions into places (HiSA, section 3.2)."""

    async def resolve(self, call: ToolCall, observation: Observation) -> GroundedCall:
        """Fill the slots of a call; returns a call without slots unchanged.

        Raises:
            NotFound: honest "not there" or "cannot tell"; never a made-up point.
            ModelUnavailable, BudgetExceeded: from the model.
        """
        ...


@dataclass(frozen=True)
class Advice:
    """What is known before the first step: level 3 (P)."""

    text: str = ""
    patterns: tuple[PatternHit, ...] = ()
    sops: tuple[str, ...] = ()
    waiting: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Rules that enter once a word on the screen begins as one of theirs."""


@dataclass(frozen=True)
class StateView:
    """The bounded state without the screenshot: <E_t, R_k, P> (HiSA, equation 3)."""

    advice: str = ""
    refined: str = ""
    steps: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    """Every step's line, those that the summary stands for too."""
    notes: str = ""
    """What the planner noted for later, in its own words."""
    notice: str = ""
    """A warning for this step only, such as a detected loop."""
    output: str = ""
    """What the newest step's tool printed, both ends of it, where its line does not hold it all."""
    troubled: bool = False
    """Whether the newest step failed, did something unexpected, or is one of a loop."""


class StateManager(Protocol):
    """Keeps the state bounded (HiSA, section 3.3)."""

    async def recall(self, task: Task) -> Advice:
        """Patterns and SOPs, made into advice."""
        ...

    def view(self, look: Observation | None = None) -> StateView:
        """Returns the state for the planner's next call.

        Args:
            look: what the planner is about to see: where that is no longer what the newest step
                was judged by, its line says so.
        """
        ...

    async def abstract(
        self, call: GroundedCall, before: Observation, after: Observation, outcome: Outcome
    ) -> str:
        """Level 1: the step's line, also kept in the state."""
        ...

    async def refine_if_due(self, task: Task) -> None:
        """Level 2, every N steps."""
        ...

    async def induct(self, task: Task, run_id: str) -> tuple[Pattern, ...]:
        """Level 3: patterns learned from the whole trajectory, stored. The score is never given."""
        ...

    async def credit(self, *, won: bool | None) -> None:
        """Count the run as a use of each pattern that it cited.

        Args:
            won: whether it was a success; None: the run has no score.
        """
        ...


class Embedder(Protocol):
    """Text to unit vectors."""

    @property
    def name(self) -> str:
        """Identity: a store filled by one embedder refuses another."""
        ...

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        ...

    def embed(self, texts: Sequence[str], /) -> list[list[float]]:
        """One unit vector a text; may take long: call it from a thread."""
        ...


class Scorer(Protocol):
    """Prepares a task's initial state and scores the result."""

    async def prepare(self, task: Task, environment: Environment) -> Task:
        """Run the task's setup; the task as it is then: a setup may find its instruction.

        Raises:
            EnvironmentFailed: the initial state cannot be reached.
        """
        ...

    async def over(self, task: Task, environment: Environment) -> str:
        """Returns why nothing that is done counts any more; empty while the task goes on.

        Raises:
            EnvironmentFailed: the machine does not answer.
        """
        ...

    async def score(self, task: Task, environment: Environment, status: ExitStatus) -> Scoring:
        """Score what was left behind. A check that cannot be carried out is "score_failed".

        Raises:
            EnvironmentFailed: the machine does not answer.
        """
        ...


class Emit(Protocol):
    """Takes an event; must be cheap. Parts of the agent get one in their constructor."""

    def __call__(self, event: Event, /) -> object:
        """Record it, with the present step where ``step`` is 0; the return value is ignored."""


class Recorder(Protocol):
    """Where a run is written down; `hisa.runs.RunLog` is one."""

    id: str
    step: int

    def emit(self, event: Event, /) -> object:
        """Record an event; the return value is ignored."""
        ...

    async def save(self, picture: Screenshot, /) -> str:
        """Keep a picture as PNG; returns the file's SHA-256 in hex."""
        ...

    async def keep(self, look: Observation, /) -> tuple[str, str]:
        """Keep a look's picture and elements; returns their names, the second may be empty."""
        ...
