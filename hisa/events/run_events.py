"""Events of a run as a whole: its start, its model calls, its end."""

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
    """The model of each role; what is not a language model is named by what it is."""
    environment: str = ""
    hooks: tuple[str, ...] = ()
    """The names of the run's hooks, in the order in which they are called."""


class RunResumed(EventBase):
    """A run was resumed after it was interrupted."""

    type: Literal["run_resumed"] = "run_resumed"
    desktop: Literal["reattached", "replayed", "fresh"] = "fresh"
    detail: str = ""


class Instructed(EventBase):
    """The setup found out the task's instruction, such as one that a page draws."""

    type: Literal["instructed"] = "instructed"
    instruction: str


class Noted(EventBase):
    """Something that a reader of the run should know about the machine."""

    type: Literal["noted"] = "noted"
    where: str
    text: str


class Guidance(EventBase):
    """Level 3: the patterns and rules that were recalled, and the advice made of them."""

    type: Literal["guidance"] = "guidance"
    patterns: tuple[PatternUse, ...] = ()
    sops: tuple[str, ...] = ()
    advice: str = ""
    left_out: tuple[str, ...] = ()
    """Rules that bind here but did not fit into the advice."""
    waiting: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Rules that are added to the advice once a word on the screen begins with one of these."""


class RuleEntered(EventBase):
    """A rule was added to the advice, because what it speaks of appeared on the screen."""

    type: Literal["rule_entered"] = "rule_entered"
    rule: str


class ModelAsked(EventBase):
    """A request is sent to a model; one event for each try. `hisa.runs.turns` rebuilds it."""

    type: Literal["model_asked"] = "model_asked"
    role: str
    model: str
    turn: str = ""
    """The name of the call; its `ModelCalled` or `ModelFailed` event has the same."""
    attempt: int = 1
    api: str = ""
    """The protocol of ``body``: "chat" or "responses"; empty: no known protocol."""
    body: dict[str, Any] = Field(default_factory=dict)
    """The body as it was sent, but with hashes for pictures (``{"$image": SHA-256}``), long texts
    (``{"$text": SHA-256}``) and other long values (``{"$json": SHA-256}``)."""
    texts: dict[str, str] = Field(default_factory=dict)
    """The texts of hashes in ``body`` that this process uses for the first time."""
    corrects: str = ""
    """If this asks again after an unusable reply: the turn of that reply."""
    reason: str = ""
    """Why that reply could not be used."""
    effort: str = ""
    """The reasoning effort that is asked for; empty: the model's default."""


class ModelCalled(EventBase):
    """A model replied."""

    type: Literal["model_called"] = "model_called"
    role: str
    model: str
    turn: str = ""
    tokens_in: int
    tokens_out: int
    images: int = 0
    usd: float | None = None
    """The cost in US dollars; None if the price is not known."""
    seconds: float = 0.0
    finish: str = ""
    reply: str = ""
    served: str = ""
    policy: str = ""
    tokens: str = ""
    """The file in the run's folder with token ids and log-probs; empty: the server sent none."""
    cached_in: int = 0
    """The part of ``tokens_in`` that the server took from its cache."""
    reasoning_out: int = 0
    """The part of ``tokens_out`` that is reasoning, which is not in the reply."""
    effort: str = ""
    """The reasoning effort that was asked for; empty: the model's default."""


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
    """A model call failed; if ``retry_in`` is set, it is tried again after so many seconds."""

    type: Literal["model_failed"] = "model_failed"
    role: str
    model: str
    turn: str = ""
    kind: FailureKind
    status: int | None = None
    message: str = ""
    retry_in: float | None = None


class Confirmed(EventBase):
    """A person was asked to confirm an action."""

    type: Literal["confirmed"] = "confirmed"
    what: str
    allowed: bool
    answer: Literal["", "once", "kind", "stop", "refuse"] = ""
    """The person's answer. kind: this, and all of its kind for the rest of the run."""
    word: str = ""
    """What the person wrote to the agent."""


class PersonActed(EventBase):
    """A person controlled the run, or acted on its machine while the agent was paused."""

    type: Literal["person_acted"] = "person_acted"
    did: Literal["paused", "resumed", "stopped", "took_over", "acted", "gave_back"]
    text: str = ""
    """For "acted", the actions as source; for "gave_back", what changed meanwhile, in one line."""
    error: str = ""
    """Why an action was refused or failed; empty: it was done."""
    seconds: float = 0.0
    """For "resumed" and "gave_back", how long the agent was paused."""


class PersonAsked(EventBase):
    """The agent asked a person something, or handed the machine over for a moment."""

    type: Literal["person_asked"] = "person_asked"
    kind: Literal["question", "hand_over"]
    text: str
    choices: tuple[str, ...] = ()
    answer: str = ""
    by: Literal["person", "default", "nobody"]
    """Who gave the answer; nobody: there was none in time, and no default."""
    seconds: float = 0.0


class Induced(EventBase):
    """Level 3: a pattern learned from this run."""

    type: Literal["induced"] = "induced"
    pattern: str
    kind: str
    lesson: str
    superseded: str | None = None
    confirmed: bool = False
    """Whether the pattern was known, and this run taught the same again."""


class Failed(EventBase):
    """A part of HiSA, the machine or a check raised an error."""

    type: Literal["failed"] = "failed"
    where: str
    """"environment", "scoring", "learning", "refused", "hisa", or the part that reports it."""
    kind: str
    message: str
    traceback: str = ""


class Evaluated(EventBase):
    """The task's check was carried out."""

    type: Literal["evaluated"] = "evaluated"
    score: float | None
    detail: str = ""
    score_state: ScoreState = "unscored"
    judged_by: str = ""
    """Whose metrics were used; see `hisa.outcomes.endings.Scoring`."""
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
    """The reason for the score, or for having none."""
    partial: float | None = None
    """See `Evaluated`."""


class Learned(EventBase):
    """Learning from a finished run is over, whether or not there was anything to learn."""

    type: Literal["learned"] = "learned"
    seconds: float = 0.0
