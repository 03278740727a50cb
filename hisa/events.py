"""The typed events of a run log: everything that happens in a run is one of these.

A run's ``events.jsonl`` holds one JSON object a line: ``{"v": 1, "type": …, "at": …, "step": …}``
plus the fields below. Fields are only ever added, with defaults; a change of meaning is a new type.
``step`` is 0 before the first step. Images are named by the SHA-256 of their PNG. Secrets are taken
out where the log writes, so an event that is read back, or shown, holds none that were found.
"""

from __future__ import annotations

import time
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from hisa.outcomes.endings import Ending, ExitStatus, ScoreState, with_score_state
from hisa.outcomes.verdicts import StepVerdict, split_verdict

__all__ = [
    "EVENT_VERSION",
    "Abstracted",
    "Acted",
    "Chosen",
    "ChosenBy",
    "Confirmed",
    "Evaluated",
    "Event",
    "Failed",
    "Fingerprinted",
    "Grounded",
    "GroundingFailed",
    "GroundingTried",
    "GroundingVerdict",
    "Guidance",
    "Induced",
    "Instructed",
    "Judged",
    "Learned",
    "LoggedMessage",
    "LoopDetected",
    "ModelAsked",
    "ModelCalled",
    "ModelFailed",
    "Noted",
    "Observed",
    "PatternUse",
    "PlaceFound",
    "PlanRejected",
    "Planned",
    "Refined",
    "RunFinished",
    "RunResumed",
    "RunStarted",
    "Sampled",
    "StartFile",
    "StepFinished",
    "event_adapter",
]

EVENT_VERSION = 1


class _Event(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)
    v: int = EVENT_VERSION
    at: float = Field(default_factory=time.time)
    """Seconds since 1970."""
    step: int = 0


class RunStarted(_Event):
    """A run begins."""

    type: Literal["run_started"] = "run_started"
    task: str
    instruction: str
    domain: str
    models: dict[str, str] = {}
    """Role to model name; the offline model is named as what it is."""
    environment: str = ""


class RunResumed(_Event):
    """A run goes on after it was cut off."""

    type: Literal["run_resumed"] = "run_resumed"
    desktop: Literal["reattached", "replayed", "fresh"] = "fresh"
    detail: str = ""


class Instructed(_Event):
    """The setup found what the task's words are, such as those that a page draws."""

    type: Literal["instructed"] = "instructed"
    instruction: str


class Noted(_Event):
    """Something that a reader of the run should know about the machine."""

    type: Literal["noted"] = "noted"
    where: str
    text: str


class PatternUse(BaseModel):
    """A pattern that was retrieved, with its cosine similarity."""

    model_config = ConfigDict(frozen=True, defer_build=True)
    id: str
    kind: str
    lesson: str
    score: float
    source_run: str = ""
    shown: bool = True
    """Whether the advice mentions it; those mentioned come first, in the order of their marks."""


class Guidance(_Event):
    """Level 3: what was retrieved and the advice made of it."""

    type: Literal["guidance"] = "guidance"
    patterns: tuple[PatternUse, ...] = ()
    sops: tuple[str, ...] = ()
    advice: str = ""
    left_out: tuple[str, ...] = ()
    """Rules that bind here and did not fit the advice."""


class Observed(_Event):
    """Level 0: a look at the desktop."""

    type: Literal["observed"] = "observed"
    image: str
    """SHA-256 of the picture that models see."""
    width: int
    height: int
    screen_width: int
    screen_height: int
    window: str = ""
    windows: tuple[str, ...] = ()
    elements: int | None = None
    seconds: float = 0.0
    complete: bool = True
    """False: some of the elements could not be read in time."""
    undrawn: tuple[str, ...] = ()
    """What is there, was waited for and is not in the picture yet."""


class StartFile(BaseModel):
    """A file that was there when a task began; ``size`` in bytes."""

    model_config = ConfigDict(frozen=True, defer_build=True)
    path: str
    size: int
    sha256: str = ""
    """Empty where the file is too large to be read for this, or cannot be read."""


class Fingerprinted(_Event):
    """What a task began from, after its set-up and before anything else.

    The screen belongs to it and is not here: it is the `Observed` that follows.
    """

    type: Literal["fingerprinted"] = "fingerprinted"
    environment: str
    """Kind of the machine, or its name; a machine at an address is just ``guest``."""
    versions: dict[str, str] = {}
    """What it was made of: HiSA, image, system, packages."""
    more: bool = False
    """Whether there were more files than are looked at."""
    unknown: str = ""
    """Why the machine could not list its files and packages; empty where it could."""
    digest: str = ""
    """SHA-256 over environment, versions, files and ``more``: the same start has the same one."""
    seconds: float = 0.0
    files: tuple[StartFile, ...] | None = None
    """Those that the set-up names and those in the home folder; None where it is not known. They
    come last, because a log cuts what is too long."""


class LoggedMessage(BaseModel):
    """One turn of a request as it left; pictures are named by hash. Role "tools": its tools.

    ``text`` is left out where the same turn was logged before in this run: ``sha256`` finds it.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)
    role: str
    sha256: str
    text: str | None = None
    images: tuple[str, ...] = ()


class ModelAsked(_Event):
    """A request leaves for a model; one for each try."""

    type: Literal["model_asked"] = "model_asked"
    role: str
    model: str
    messages: tuple[LoggedMessage, ...]


class ModelCalled(_Event):
    """A model answered."""

    type: Literal["model_called"] = "model_called"
    role: str
    model: str
    tokens_in: int
    tokens_out: int
    images: int = 0
    text_chars: int = 0
    """Characters of text in the request."""
    usd: float | None = None
    """None where the price is not known."""
    seconds: float = 0.0
    finish: str = ""
    reply: str = ""
    cached_in: int = 0
    """Of ``tokens_in``: what the server took from its cache."""


class ModelFailed(_Event):
    """A model call failed; it is tried again where ``retry_in`` is set."""

    type: Literal["model_failed"] = "model_failed"
    role: str
    model: str
    kind: Literal[
        "rate_limit", "server", "timeout", "connection", "refused", "cut_off", "empty", "malformed"
    ]
    status: int | None = None
    message: str = ""
    retry_in: float | None = None


class PlanRejected(_Event):
    """A planner reply that does not fit the schema."""

    type: Literal["plan_rejected"] = "plan_rejected"
    attempt: int
    error: str
    reply: str = ""
    """The reply, cut to 2000 characters."""


class Planned(_Event):
    """The planner's call."""

    type: Literal["planned"] = "planned"
    thought: str
    tool: str
    input: Any
    description: str = ""
    description_2: str = ""


class PlaceFound(BaseModel):
    """A placeholder and where it was found, in image pixels."""

    model_config = ConfigDict(frozen=True, defer_build=True)
    description: str
    x: float
    y: float
    score: float | None = None
    source: str = ""
    """"accessibility", "shapes", "ocr", "planner", "mark" or the grounding model's name."""
    label: str = ""
    """What was chosen, as the grounder names it."""


class Sampled(_Event):
    """One of several replies that the planner was asked for at a step."""

    type: Literal["sampled"] = "sampled"
    n: int
    """Counts from 1 within the step, over all rounds."""
    round: int = 1
    """2: fresh replies, after a judge found none good."""
    key: str = ""
    """Its canonical form: equal ones would do the same. Empty where the reply is unusable."""
    tool: str = ""
    input: Any = ""
    description: str = ""
    description_2: str = ""
    places: tuple[PlaceFound, ...] = ()
    not_found: str = ""
    """Why its target is no candidate's agreement: it was not found, or could not be looked for."""
    error: str = ""
    """Why there is no usable reply."""


class Judged(_Event):
    """A judge was asked which candidate is best."""

    type: Literal["judged"] = "judged"
    candidates: tuple[int, ...]
    """The samples on its list, by their ``n``; of equal ones the first."""
    index: int | None = None
    """Counts from 1 on that list; None: it finds none good, or its answer is no judgement."""
    explaining: str = ""
    invalid: str = ""
    """Why the answer is no judgement; empty where it is one."""


ChosenBy = Literal["agreement", "judge", "votes", "alone", "nobody"]


class Chosen(_Event):
    """A decision between samples is made.

    agreement: the first samples would all do the same. judge: it picked. votes: no judge decided,
    and what most samples would do was taken. alone: there was one usable sample. nobody: there was
    none.
    """

    type: Literal["chosen"] = "chosen"
    n: int | None
    by: ChosenBy
    samples: int
    usable: int
    distinct: int
    """Canonical forms among the usable ones."""
    rounds: int = 1
    widened: Literal["", "constant", "trouble", "disagreement", "none_good"] = ""
    """Why more than the first two were sampled; empty: they were enough."""
    detail: str = ""
    """Why no judge decided, where one was asked."""


class ElementsRead(_Event):
    """The elements were read, to ground a description or to check a step that changed no pixel."""

    type: Literal["elements_read"] = "elements_read"
    elements: int | None = None
    """None where the machine cannot tell them."""
    complete: bool = True
    """False: some could not be read in time."""
    seconds: float = 0.0


class Grounded(_Event):
    """Placeholders resolved."""

    type: Literal["grounded"] = "grounded"
    places: tuple[PlaceFound, ...]
    input: str = ""
    """The source with coordinates in image pixels."""
    seconds: float = 0.0


class GroundingFailed(_Event):
    """The described element was not found."""

    type: Literal["grounding_failed"] = "grounding_failed"
    description: str
    reason: str
    candidates: tuple[str, ...] = ()


GroundingVerdict = Literal[
    "sure",
    "unsure",
    "agreed",
    "doubted",
    "repeated",
    "no_point",
    "unavailable",
    "offered",
    "chosen",
    "none",
]


class GroundingTried(_Event):
    """One step of a cascade of grounders: who looked for a place, and what became of it.

    sure: taken, no model is asked. unsure: the model is asked. agreed: the elements bear the
    model's point out, it is taken. doubted: they do not. repeated: nothing speaks against a point
    that was answered twice, it is taken. no_point: the answer is none. unavailable: the model
    cannot be asked; what the elements found by themselves is taken, if anything. offered: a model
    gets a list to pick from; chosen, none: what it picked.
    """

    type: Literal["grounding_tried"] = "grounding_tried"
    description: str
    by: str
    """"elements" or the grounding model's name."""
    verdict: GroundingVerdict
    x: float | None = None
    """The place, in image pixels; None where there is none."""
    y: float | None = None
    score: float | None = None
    """How well what lies there fits, by the elements."""
    label: str = ""
    """What lies there."""
    detail: str = ""
    """Why it was not taken."""
    part: tuple[int, int, int, int] | None = None
    """Left, top, right, bottom in image pixels of what was shown enlarged; None: everything."""
    closer: tuple[int, int, int, int] | None = None
    """The same of what is shown next."""
    offered: tuple[tuple[float, float], ...] = ()
    """The middles of the things on the list that a model picks from, in its order."""
    seconds: float = 0.0


class Confirmed(_Event):
    """A person was asked."""

    type: Literal["confirmed"] = "confirmed"
    what: str
    allowed: bool
    answer: Literal["", "once", "kind", "stop", "refuse"] = ""
    """kind: this, and everything of its kind for the rest of the run; empty: of an older run."""
    word: str = ""
    """What the person said to the agent."""


class Acted(_Event):
    """A tool ran."""

    type: Literal["acted"] = "acted"
    tool: str
    input: Any
    """What ran: source regenerated in image pixels, or the command."""
    points: tuple[tuple[float, float], ...] = ()
    """Where it clicked, in image pixels."""
    ok: bool
    output: str = ""
    error: str = ""
    exit_code: int | None = None
    seconds: float = 0.0
    ends: ExitStatus | None = None
    """How the run ended, where this was the agent's word that it does."""


class Abstracted(_Event):
    """Level 1: one abstracted step."""

    type: Literal["abstracted"] = "abstracted"
    line: str
    """The whole line the planner will read."""
    result: str
    roi: tuple[int, int, int, int] | None = None
    """Left, top, right, bottom in image pixels; None where nothing changed."""
    asked_model: bool = False
    verdict: StepVerdict | None = None
    """What was seen of the step; None where an old log's result does not begin with one."""

    @model_validator(mode="before")
    @classmethod
    def _verdict_of_result(cls, data: Any) -> Any:
        """Old logs have it in the result alone."""
        if isinstance(data, dict) and data.get("verdict") is None:
            return {**data, "verdict": split_verdict(str(data.get("result", "")))[0]}
        return data


class LoopDetected(_Event):
    """The same action on the same screen again and again."""

    type: Literal["loop_detected"] = "loop_detected"
    action: str
    times: int


class Refined(_Event):
    """Level 2: the refined context."""

    type: Literal["refined"] = "refined"
    text: str
    first: int
    last: int


class Induced(_Event):
    """Level 3: a pattern learned from this run."""

    type: Literal["induced"] = "induced"
    pattern: str
    kind: str
    lesson: str
    superseded: str | None = None
    confirmed: bool = False
    """It was known; this run taught the same again."""


class StepFinished(_Event):
    """A step is complete and safe on disk; ``seconds`` by phase."""

    type: Literal["step_finished"] = "step_finished"
    seconds: dict[str, float] = {}


class Failed(_Event):
    """Something broke."""

    type: Literal["failed"] = "failed"
    where: str
    """"environment", "scoring", "learning", "refused", "hisa", or the part that reports it."""
    kind: str
    message: str
    traceback: str = ""


class Evaluated(_Event):
    """The task's check was asked."""

    type: Literal["evaluated"] = "evaluated"
    score: float | None
    detail: str = ""
    score_state: ScoreState = "unscored"
    judged_by: str = ""
    """Whose metrics were asked; see `hisa.outcomes.endings.Scoring`."""

    _older = model_validator(mode="before")(with_score_state)


class RunFinished(_Event):
    """A run ended; it can be learned from after that."""

    type: Literal["run_finished"] = "run_finished"
    exit_status: Ending
    message: str = ""
    score: float | None = None
    score_state: ScoreState = "unscored"
    score_detail: str = ""
    """Why the score is what it is, or why there is none."""

    _older = model_validator(mode="before")(with_score_state)


class Learned(_Event):
    """Learning from a finished run is over, whether or not there was anything to learn."""

    type: Literal["learned"] = "learned"
    seconds: float = 0.0


Event = Annotated[
    RunStarted
    | RunResumed
    | Instructed
    | Noted
    | Guidance
    | Fingerprinted
    | Observed
    | ModelAsked
    | ModelCalled
    | ModelFailed
    | PlanRejected
    | Planned
    | Sampled
    | Judged
    | Chosen
    | ElementsRead
    | Grounded
    | GroundingFailed
    | GroundingTried
    | Confirmed
    | Acted
    | Abstracted
    | LoopDetected
    | Refined
    | Induced
    | StepFinished
    | Failed
    | Evaluated
    | RunFinished
    | Learned,
    Field(discriminator="type"),
]

event_adapter: TypeAdapter[Event] = TypeAdapter(Event, config=ConfigDict(defer_build=True))
"""Reads one event from JSON; raises `pydantic.ValidationError` on an unknown type."""
