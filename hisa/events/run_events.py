"""Events of a run as a whole: its start, its models, its end."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from hisa.events.event_base import EventBase, PatternUse
from hisa.outcomes.endings import Ending, ScoreState

__all__ = [
    "Confirmed",
    "Evaluated",
    "Failed",
    "Guidance",
    "Induced",
    "Instructed",
    "Learned",
    "ModelAsked",
    "ModelCalled",
    "ModelFailed",
    "Noted",
    "PersonActed",
    "PersonAsked",
    "RuleEntered",
    "RunFinished",
    "RunResumed",
    "RunStarted",
]


class RunStarted(EventBase):
    """A run begins."""

    type: Literal["run_started"] = "run_started"
    task: str
    instruction: str
    domain: str
    models: dict[str, str] = Field(default_factory=dict)
    """Role to model name; one that is no language model is named as what it is."""
    environment: str = ""
    hooks: tuple[str, ...] = ()
    """The names of the run's hooks, in the order in which they are called."""


class RunResumed(EventBase):
    """A run goes on after it was cut off."""

    type: Literal["run_resumed"] = "run_resumed"
    desktop: Literal["reattached", "replayed", "fresh"] = "fresh"
    detail: str = ""


class Instructed(EventBase):
    """The setup found what the task's words are, such as those that a page draws."""

    type: Literal["instructed"] = "instructed"
    instruction: str


class Noted(EventBase):
    """Something that a reader of the run should know about the machine."""

    type: Literal["noted"] = "noted"
    where: str
    text: str


class Guidance(EventBase):
    """Level 3: what was retrieved and the advice made of it."""

    type: Literal["guidance"] = "guidance"
    patterns: tuple[PatternUse, ...] = ()
    sops: tuple[str, ...] = ()
    advice: str = ""
    left_out: tuple[str, ...] = ()
    """Rules that bind here and did not fit the advice."""
    waiting: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Rules that enter once a word on the screen begins as one of theirs."""


class RuleEntered(EventBase):
    """A rule entered the advice, since what it speaks of came to the screen."""

    type: Literal["rule_entered"] = "rule_entered"
    rule: str


class ModelAsked(EventBase):
    """A request leaves for a model; one for each try. `hisa.runs.turns` puts it together again."""

    type: Literal["model_asked"] = "model_asked"
    role: str
    model: str
    turn: str = ""
    """The call's name, which its answer or failure has too."""
    attempt: int = 1
    api: str = ""
    """The protocol of ``body``: "chat", "responses"; empty: it left on no wire that is known."""
    body: dict[str, Any] = Field(default_factory=dict)
    """As it was sent, but for pictures (``{"$image": SHA-256}``) and what is long: texts
    (``{"$text": SHA-256}``) and other values (``{"$json": SHA-256}``)."""
    texts: dict[str, str] = Field(default_factory=dict)
    """What ``body`` names by hash, where this process named it for the first time."""
    corrects: str = ""
    """The turn whose reply could not be used."""
    reason: str = ""
    effort: str = ""
    """How hard it asks the model to think; empty: as the model does by itself."""


class ModelCalled(EventBase):
    """A model answered."""

    type: Literal["model_called"] = "model_called"
    role: str
    model: str
    turn: str = ""
    tokens_in: int
    tokens_out: int
    images: int = 0
    usd: float | None = None
    """None where the price is not known."""
    seconds: float = 0.0
    finish: str = ""
    reply: str = ""
    served: str = ""
    policy: str = ""
    tokens: str = ""
    """The file in the run's folder with token ids and log-probs; empty: the server gave none."""
    cached_in: int = 0
    """Of ``tokens_in``: what the server took from its cache."""
    reasoning_out: int = 0
    """Of ``tokens_out``: what the model thought and did not say."""
    effort: str = ""
    """How hard it was asked to think; empty: as it does by itself."""


FailureKind = Literal[
    "rate_limit",
    "server",
    "timeout",
    "connection",
    "refused",
    "cut_off",
    "empty",
    "malformed",
    "too_long",
]


class ModelFailed(EventBase):
    """A model call failed; it is tried again where ``retry_in`` is set."""

    type: Literal["model_failed"] = "model_failed"
    role: str
    model: str
    turn: str = ""
    kind: FailureKind
    status: int | None = None
    message: str = ""
    retry_in: float | None = None


class Confirmed(EventBase):
    """A person was asked."""

    type: Literal["confirmed"] = "confirmed"
    what: str
    allowed: bool
    answer: Literal["", "once", "kind", "stop", "refuse"] = ""
    """kind: this, and everything of its kind for the rest of the run."""
    word: str = ""
    """What the person said to the agent."""


class PersonActed(EventBase):
    """A person steered the run from outside, or acted on its machine with the agent parked."""

    type: Literal["person_acted"] = "person_acted"
    did: Literal["paused", "resumed", "stopped", "took_over", "acted", "gave_back"]
    text: str = ""
    """Of "acted": the acts, as source; of "gave_back": what changed meanwhile, in one line."""
    error: str = ""
    """Why an act was refused or failed; empty: it was done."""
    seconds: float = 0.0
    """Of "resumed" and "gave_back": how long the agent was parked."""


class PersonAsked(EventBase):
    """The agent asked a person something, or handed the machine over for a moment."""

    type: Literal["person_asked"] = "person_asked"
    kind: Literal["question", "hand_over"]
    text: str
    choices: tuple[str, ...] = ()
    answer: str = ""
    by: Literal["person", "default", "nobody"]
    """Whose answer it is; nobody: none came in time, and there was no default."""
    seconds: float = 0.0


class Induced(EventBase):
    """Level 3: a pattern learned from this run."""

    type: Literal["induced"] = "induced"
    pattern: str
    kind: str
    lesson: str
    superseded: str | None = None
    confirmed: bool = False
    """It was known; this run taught the same again."""


class Failed(EventBase):
    """Something broke."""

    type: Literal["failed"] = "failed"
    where: str
    """"environment", "scoring", "learning", "refused", "hisa", or the part that reports it."""
    kind: str
    message: str
    traceback: str = ""


class Evaluated(EventBase):
    """The task's check was asked."""

    type: Literal["evaluated"] = "evaluated"
    score: float | None
    detail: str = ""
    score_state: ScoreState = "unscored"
    judged_by: str = ""
    """Whose metrics were asked; see `hisa.outcomes.endings.Scoring`."""
    partial: float | None = None
    """See `hisa.outcomes.endings.Scoring`."""


class RunFinished(EventBase):
    """A run ended; it can be learned from after that."""

    type: Literal["run_finished"] = "run_finished"
    exit_status: Ending
    message: str = ""
    score: float | None = None
    score_state: ScoreState = "unscored"
    score_detail: str = ""
    """Why the score is what it is, or why there is none."""
    partial: float | None = None
    """See `Evaluated`."""


class Learned(EventBase):
    """Learning from a finished run is over, whether or not there was anything to learn."""

    type: Literal["learned"] = "learned"
    seconds: float = 0.0
