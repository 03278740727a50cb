"""The typed events of a run log: everything that happens in a run is one of these.

The loop and the parts around it emit them; the log writes them, and reports, resuming and exports
read them. A run's ``events.jsonl`` has one JSON object per line: ``{"v": 1, "type": …, "at": …,
"step": …}`` and the fields of its class. Fields are only ever added, with defaults; a change of
meaning is a new type. ``step`` is 0 before the first step. Pictures are named by the SHA-256 of
their PNG. The log removes the secrets that it finds before it writes an event. Start with
`event_base.py`, then `step_events.py` and `run_events.py`.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field, TypeAdapter

from hisa.events.event_base import (
    EVENT_VERSION,
    ElementFound,
    PatternUse,
    PlaceFound,
    PlannedCall,
)
from hisa.events.policy_events import Decided
from hisa.events.run_events import (
    Confirmed,
    Evaluated,
    Failed,
    Guidance,
    Induced,
    Instructed,
    Learned,
    ModelAsked,
    ModelCalled,
    ModelFailed,
    Noted,
    PersonActed,
    PersonAsked,
    RuleEntered,
    RunFinished,
    RunResumed,
    RunStarted,
)
from hisa.events.step_events import (
    Abstracted,
    Acted,
    Chosen,
    ChosenBy,
    ElementsRead,
    Grounded,
    GroundingFailed,
    GroundingTried,
    GroundingVerdict,
    HeldBack,
    Judged,
    LoopDetected,
    Observed,
    Planned,
    PlanRejected,
    Refined,
    Sampled,
    SequenceStopped,
    StepFinished,
)

__all__ = [
    "EVENT_VERSION",
    "Abstracted",
    "Acted",
    "Chosen",
    "ChosenBy",
    "Confirmed",
    "Decided",
    "ElementFound",
    "ElementsRead",
    "Evaluated",
    "Event",
    "Failed",
    "Grounded",
    "GroundingFailed",
    "GroundingTried",
    "GroundingVerdict",
    "Guidance",
    "HeldBack",
    "Induced",
    "Instructed",
    "Judged",
    "Learned",
    "LoopDetected",
    "ModelAsked",
    "ModelCalled",
    "ModelFailed",
    "Noted",
    "Observed",
    "PatternUse",
    "PersonActed",
    "PersonAsked",
    "PlaceFound",
    "PlanRejected",
    "Planned",
    "PlannedCall",
    "Refined",
    "RuleEntered",
    "RunFinished",
    "RunResumed",
    "RunStarted",
    "Sampled",
    "SequenceStopped",
    "StepFinished",
    "event_adapter",
]

Event = Annotated[
    RunStarted
    | RunResumed
    | Instructed
    | Noted
    | Guidance
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
    | Decided
    | Confirmed
    | PersonActed
    | PersonAsked
    | HeldBack
    | Acted
    | SequenceStopped
    | Abstracted
    | LoopDetected
    | Refined
    | Induced
    | StepFinished
    | Failed
    | Evaluated
    | RuleEntered
    | RunFinished
    | Learned,
    Field(discriminator="type"),
]

event_adapter: TypeAdapter[Event] = TypeAdapter(Event, config=ConfigDict(defer_build=True))
"""Reads one event from JSON; raises `pydantic.ValidationError` on an unknown type."""
