"""The protocols of HiSA: what each part is asked to do and what it returns.

`loop.py` knows these and nothing else. Each protocol has one conformance suite under ``tests/``.
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
    """What the agent has to do. ``domain`` selects patterns and SOPs."""

    id: str
    instruction: str
    domain: str = "general"
    setup: tuple[Mapping[str, Any], ...] = ()
    """Steps that bring the desktop to its initial state; `hisa.tasks` runs them."""
    check: Mapping[str, Any] | None = None
    """How the result is scored; None if the task has no check."""
    folder: str = ""
    """The folder that relative file names in ``setup`` and ``check`` are resolved against."""
    results: tuple[str, ...] = ()
    """Paths (absolute, or beginning with ``~``) that are copied from the machine at the end."""
    apps: tuple[str, ...] = ()
    """The applications that the task is about, as the task names them."""
    format: str = ""
    """The entry point of the group ``hisa.tasks`` that made it; empty: recognised from the data."""


@dataclass(frozen=True, slots=True)
class TextPart:
    """A piece of text in a message."""

    text: str


@dataclass(frozen=True, slots=True)
class ImagePart:
    """A picture in a message; the client encodes it."""

    image: Screenshot


Part = TextPart | ImagePart


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of the conversation that is sent to a model."""

    role: Literal["system", "user", "assistant"]
    parts: tuple[Part, ...]


Sent = Callable[[Mapping[str, Any], str], object]
"""Called with the body of a request just before it is sent, and the name of its protocol."""
Progress = Callable[[str, str], object]
"""Called several times a second with a role and how far its model's reply is: "140 tokens"."""


@dataclass(frozen=True)
class ModelRequest:
    """One request to a model. With a JSON schema in ``schema`` the reply must be a JSON object.

    `hisa.models.role_model.RoleModel` fills in ``step`` (from the run's log), ``progress`` and
    ``sent``; whoever makes a request leaves them alone.
    """

    role: Role
    messages: tuple[Message, ...]
    step: int = 0
    schema: Mapping[str, Any] | None = None
    max_tokens: int = 4096
    temperature: float | None = 0.0
    may_be_empty: bool = False
    """Whether the prompt allows an empty reply; if not, the request is sent again."""
    tools: tuple[Mapping[str, Any], ...] = ()
    """Tools of the Responses API, as they are sent. The reply's text is then a JSON list of the
    items that the model returned; so is the text of an assistant's message."""
    progress: Progress | None = field(default=None, compare=False, repr=False)
    """Called while the reply is written, if the client streams."""
    sent: Sent | None = field(default=None, compare=False, repr=False)
    """Called by a client whose ``reports_body`` is True, so that the log has the body as sent."""
    corrects: str = field(default="", compare=False)
    """If this request asks again after an unusable reply: the ``turn`` of that `ModelReply`."""
    reason: str = field(default="", compare=False)
    """Why that reply could not be used."""

    @property
    def images(self) -> int:
        """The number of pictures in the messages."""
        return len(self.pictures)

    @property
    def pictures(self) -> list[Screenshot]:
        """All pictures of the messages, in order."""
        return [p.image for m in self.messages for p in m.parts if isinstance(p, ImagePart)]

    @property
    def text(self) -> str:
        """All text of the messages, one part a line; used to count tokens."""
        return "\n".join(p.text for m in self.messages for p in m.parts if isinstance(p, TextPart))


class Model(Protocol):
    """A model for one or more roles."""

    @property
    def name(self) -> str:
        """The name that every output prints."""

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        """Send a request and return the model's reply.

        Raises:
            ModelUnavailable: no reply after all retries.
            BudgetExceeded: a limit is reached; nothing was sent.
        """


COMMAND_LIMIT = 3600.0
"""The longest time in seconds that any command may take; a longer time-out is cut to this."""
FILE_LIMIT = 128 << 20
"""Size in bytes of the largest file that is read from an environment by default."""


class FileRefused(OSError):
    """A file exists but is not read: it is too large, not a plain file, or not readable."""


class Environment(Protocol):
    """A computer with a screen; also an async context manager that starts and stops it.

    A subclass needs `name`, `capabilities`, `observe` and `act`. The other methods have a default
    that does nothing, or raises `EnvironmentFailed` to say that the machine cannot do it.

    ``capabilities`` names the optional abilities of an environment: "elements" (reads the
    accessibility tree), "execute" (runs commands), "throw_away" (a reset undoes all that was done
    inside), "unchanged" (see `ActsWhereUnchanged`), "lies_at" (see `HitTester`), "hidden" (see
    `ReadsHiddenElements`).
    """

    @property
    def name(self) -> str:
        """The name that outputs print: "desktop", "display :1", an address."""

    @property
    def capabilities(self) -> frozenset[str]:
        """The optional abilities of this environment, from the list in the class's docstring."""

    async def reset(self) -> None:
        """Bring the machine to its initial state.

        Raises:
            EnvironmentFailed: it cannot be brought up.
        """
        return

    async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
        """Take a look: the screenshot, the windows and, on request, the elements of one moment.

        Args:
            elements: whether to read the elements too. `Observation.complete` then says whether
                one may be missing.
            settle: longest wait, in seconds, for the screen to stop changing; 0 does not wait.
                The seconds are those of an idle machine; a busy machine is given longer.

        Raises:
            EnvironmentFailed: the machine does not answer.
        """

    async def act(self, actions: Sequence[Action], /) -> None:
        """Do the actions in order, each at most once. Their points are in screen space.

        Raises:
            ActionRefused: the guest cannot do one of them, such as an unknown key; the actions
                before that one were done.
            EnvironmentFailed: the machine does not answer.
        """

    async def execute(
        self, command: str | Sequence[str], *, timeout: float = 120.0, limit: int = 100_000
    ) -> CommandResult:
        """Run a command as the desktop's user.

        Args:
            command: a program with its arguments; a string is passed to bash.
            timeout: seconds after which the command is ended, at most `COMMAND_LIMIT`.
            limit: most bytes that are kept of its output, and as many of its errors.

        Raises:
            EnvironmentFailed: the machine does not answer.
        """
        raise EnvironmentFailed(f"{self.name} runs no commands")

    async def read_file(self, path: str, /, *, limit: int | None = None) -> bytes:
        """Returns the content of a file on the machine.

        Args:
            path: where the file is.
            limit: most bytes; None: the environment's own limit, `FILE_LIMIT` by default.

        Raises:
            FileNotFoundError: there is no such file.
            FileRefused: the file is larger than the limit, not a plain file, or not readable.
                Nothing is transferred if the machine can tell that beforehand.
            EnvironmentFailed: the machine does not answer.
        """
        raise EnvironmentFailed(f"{self.name} has no files")

    async def write_file(self, path: str, data: bytes, /) -> None:
        """Write a file on the machine, and create its folders if they do not exist.

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
    """An environment that compares the screen with an earlier look just before it acts.

    With the capability "unchanged" the machine compares; else a new screenshot is taken for it.
    """

    async def act_where_unchanged(
        self, actions: Sequence[Action], precondition: ScreenPrecondition, /
    ) -> None:
        """Do the actions if the boxes of ``precondition`` show what they showed.

        Raises:
            ScreenChanged: one of them shows something else; nothing was done.
            ActionRefused, EnvironmentFailed: as in `Environment.act`.
        """


@runtime_checkable
class HitTester(Protocol):
    """An environment with the capability "lies_at": it can look up the elements at a few points."""

    async def hit_test(self, points: Sequence[Point], /) -> HitTest:
        """Returns the elements at screen-space points now: name, role and box, in tree order.

        Raises:
            EnvironmentFailed: the machine does not answer.
        """


@runtime_checkable
class ReadsHiddenElements(Protocol):
    """An environment with the capability "hidden": it also reads elements that are not visible."""

    async def look_everywhere(self) -> Observation:
        """Take a look whose elements include those scrolled out of view or covered.

        The elements that are not visible lack the state "showing".

        Raises:
            EnvironmentFailed: the machine does not answer.
        """


@runtime_checkable
class Concluding(Protocol):
    """An environment that has something to do between the last step of a run and its score."""

    async def conclude(self, status: ExitStatus, message: str) -> None:
        """Pass on that the run ended, and wait until programs have finished what was started.

        Raises:
            EnvironmentFailed: the machine does not answer.
        """


@runtime_checkable
class Detachable(Protocol):
    """An environment that can stay up when this process ends, so that a run can go on in it."""

    def belongs_to(self, run: str) -> Mapping[str, Any]:
        """Record which run uses the machine, now and after each fresh start.

        Args:
            run: the id of the run.

        Returns:
            The handle: JSON data with which `EnvironmentKind.attach` finds the machine again.
        """

    async def detach(self) -> str:
        """Leave the machine up as this process lets go of it.

        Returns a sentence for the user: the memory it uses, until when, and what ends it.
        """


@runtime_checkable
class Toolbox(Protocol):
    """The tools a planner may call."""

    def describe(self) -> str:
        """Returns the tools of every step, as the prompt shows them."""

    def names(self) -> tuple[str, ...]:
        """Returns the sorted names of the tools of every step."""

    def offer(self, task: Task, observation: Observation, /) -> str:
        """Returns the further tools for this step, as the prompt shows them; empty if none."""

    def check(self, call: ToolCall, /) -> None:
        """Check the tool's name and input of a call, without acting.

        Raises:
            InvalidReply: the tool is unknown (the known ones are named) or the input is wrong.
        """

    async def execute(
        self, call: GroundedCall, observation: Observation, environment: Environment
    ) -> Outcome:
        """Run the tool of a call.

        Args:
            call: the call, with coordinates for its targets.
            observation: the look that the call was decided on.
            environment: the machine to act on.

        Returns:
            The outcome; if the tool itself fails, one with ``ok=False``.

        Raises:
            EnvironmentFailed: the machine broke.
        """


class Planner(Protocol):
    """Decides the next call (HiSA, section 3.1)."""

    async def plan(self, task: Task, observation: Observation, view: StateView) -> ToolCall:
        """Returns the next call, which may be followed by others in `ToolCall.following`.

        Args:
            task: what the agent has to do.
            observation: the look that the planner is shown.
            view: the rest of the state: step lines, summary, advice, notes.

        Raises:
            InvalidReply: no usable reply after all format corrections.
            ModelUnavailable, BudgetExceeded: from the model.
        """


class Grounder(Protocol):
    """Turns descriptions into places (HiSA, section 3.2)."""

    async def resolve(self, call: ToolCall, observation: Observation) -> GroundedCall:
        """Replace the targets that a call describes by coordinates.

        A call that describes no target is returned with its input unchanged.

        Raises:
            NotFound: nothing fits a description, or several things do; no point is made up.
            ModelUnavailable, BudgetExceeded: from the model.
        """


@dataclass(frozen=True)
class Advice:
    """What is recalled before the first step: level 3 of the state, P (HiSA, equation 3)."""

    text: str = ""
    """The advice as the planner reads it."""
    patterns: tuple[PatternHit, ...] = ()
    sops: tuple[str, ...] = ()
    waiting: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Rules that are not advice yet, each with its words. A rule is added to the advice as soon as
    a word on the screen begins with one of them."""


@dataclass(frozen=True)
class StateView:
    """The bounded state without the screenshot: <E_t, R_k, P> (HiSA, equation 3)."""

    advice: str = ""
    """P: the patterns and SOPs recalled for the task, as text."""
    refined: str = ""
    """R_k: the context, a summary of the older steps; empty before the first refinement."""
    steps: tuple[str, ...] = ()
    """E_t: the lines of the steps that the context does not cover."""
    lines: tuple[str, ...] = ()
    """The lines of all steps, including those that the context covers."""
    notes: str = ""
    """What the planner noted for later, in its own words."""
    notice: str = ""
    """A warning for this step only, such as a detected loop."""
    output: str = ""
    """Beginning and end of what the newest step's tool printed; empty if its line has all of it."""
    troubled: bool = False
    """Whether the newest step failed, did something unexpected, or is part of a loop."""


class StateManager(Protocol):
    """Keeps the state bounded (HiSA, section 3.3)."""

    async def recall(self, task: Task) -> Advice:
        """Returns the advice for a task, made of the patterns and SOPs that fit it."""

    def view(self, look: Observation | None = None) -> StateView:
        """Returns the state for the planner's next call.

        Args:
            look: what the planner is about to see. If it differs from the look that the newest
                step was judged by, that step's line says so.
        """

    async def abstract(
        self, call: GroundedCall, before: Observation, after: Observation, outcome: Outcome
    ) -> str:
        """Level 1: write the line of a step, keep it in the state and return it.

        Args:
            call: what was done, with coordinates.
            before: the look before it.
            after: the look after it.
            outcome: what the tool returned.
        """

    async def refine_if_due(self, task: Task) -> None:
        """Level 2: after every N steps, fold the lines since the last time into the context."""

    async def induct(self, task: Task, run_id: str) -> tuple[Pattern, ...]:
        """Level 3: learn patterns from all steps, store and return them. Never sees the score."""

    async def credit(self, *, won: bool | None) -> None:
        """Count the run as a use of each pattern that its steps cited.

        Args:
            won: whether the run was a success; None if it has no score.
        """


class Embedder(Protocol):
    """Turns text into unit vectors."""

    @property
    def name(self) -> str:
        """The identity of the embedder: a store filled by one embedder refuses another."""

    @property
    def dimension(self) -> int:
        """The number of components of a vector."""

    def embed(self, texts: Sequence[str], /) -> list[list[float]]:
        """Returns one unit vector for each text. It may take long: call it from a thread."""


class Scorer(Protocol):
    """Prepares a task's initial state and scores the result."""

    async def prepare(self, task: Task, environment: Environment) -> Task:
        """Run the setup of a task, and return the task to run.

        It is usually the same task; a setup may be what finds out the instruction.

        Raises:
            EnvironmentFailed: the initial state cannot be reached.
        """

    async def over(self, task: Task, environment: Environment) -> str:
        """Returns why the task is over by itself; empty while it goes on. Asked after each step.

        Raises:
            EnvironmentFailed: the machine does not answer.
        """

    async def score(self, task: Task, environment: Environment, status: ExitStatus) -> Scoring:
        """Score the state in which the run left the machine.

        Args:
            task: the task, as `prepare` returned it.
            environment: the machine, as the run left it.
            status: why the run ended.

        Returns:
            The score; its state is "score_failed" if the check cannot be carried out.

        Raises:
            EnvironmentFailed: the machine does not answer.
        """


class Emit(Protocol):
    """Records an event, quickly. The parts of an agent get one in their constructor."""

    def __call__(self, event: Event, /) -> object:
        """Record it, with the present step if its ``step`` is 0; the return value is ignored."""


class Recorder(Protocol):
    """Records a run; `hisa.runs.RunLog` is one."""

    id: str
    """The id of the run."""
    step: int
    """The number of the present step; 0 before the first step."""

    def emit(self, event: Event, /) -> object:
        """Record an event; the return value is ignored."""

    async def save(self, picture: Screenshot, /) -> str:
        """Save a picture as PNG; returns the file's SHA-256 in hex."""

    async def keep(self, look: Observation, /) -> tuple[str, str]:
        """Save a look's picture and elements; returns both names, the second empty if none."""
