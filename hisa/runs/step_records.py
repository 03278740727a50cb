"""Groups the events of a run into the steps of the agent's loop."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hisa.events import (
    Abstracted,
    Acted,
    Chosen,
    Confirmed,
    Decided,
    Event,
    Failed,
    Grounded,
    GroundingFailed,
    GroundingTried,
    Judged,
    LoopDetected,
    ModelCalled,
    ModelFailed,
    Observed,
    PersonActed,
    PlaceFound,
    Planned,
    PlanRejected,
    Refined,
    RunFinished,
    RunResumed,
    Sampled,
    SequenceStopped,
    StepFinished,
)
from hisa.outcomes.verdicts import StepVerdict
from hisa.text.prompt_text import by_number

__all__ = ["StepRecord", "group"]


@dataclass
class StepRecord:
    """One step: what was seen, decided, done and noted.

    - ``before`` is the look that the planner decided on, ``acted_on`` the look just before the
      action if planning took long, and ``after`` the last look since the action.
    - ``acts`` has several entries if the planner's reply was a sequence; ``stopped`` says why the
      rest of it was not done.
    - ``finished`` is set if the step is complete. ``interrupted`` is True if the run was
      interrupted in this step and resumed, so that a later record has the same number.
    - ``person`` is what a person did since the step before; for the last step, also after it.
    """

    number: int
    before: Observed | None = None
    acted_on: Observed | None = None
    after: Observed | None = None
    planned: Planned | None = None
    chosen: Chosen | None = None
    acts: list[Acted] = field(default_factory=list)
    stopped: SequenceStopped | None = None
    abstracted: Abstracted | None = None
    refined: Refined | None = None
    finished: StepFinished | None = None
    interrupted: bool = False
    groundings: list[Grounded] = field(default_factory=list)
    rejected: list[PlanRejected] = field(default_factory=list)
    sampled: list[Sampled] = field(default_factory=list)
    judged: list[Judged] = field(default_factory=list)
    not_found: list[GroundingFailed] = field(default_factory=list)
    tried: list[GroundingTried] = field(default_factory=list)
    confirmed: list[Confirmed] = field(default_factory=list)
    person: list[PersonActed] = field(default_factory=list)
    decisions: list[Decided] = field(default_factory=list)
    loops: list[LoopDetected] = field(default_factory=list)
    calls: list[ModelCalled] = field(default_factory=list)
    model_failures: list[ModelFailed] = field(default_factory=list)
    failures: list[Failed] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """Seconds that the step took: the sum of its phases, or from first to last event."""
        if self.finished is not None and self.finished.seconds:
            return sum(self.finished.seconds.values())
        return self.events[-1].at - self.events[0].at if self.events else 0.0

    @property
    def acted(self) -> Acted | None:
        """The last act of a tool; None if there is none."""
        return self.acts[-1] if self.acts else None

    @property
    def places(self) -> list[PlaceFound]:
        """The places of what the planner described, in the order in which they were used."""
        ran = [act.input for act in self.acts]  # places are found at the same time, in any order

        def usage_index(grounded: Grounded) -> int:
            return ran.index(grounded.input) if grounded.input in ran else len(ran)

        return [
            place
            for grounded in sorted(self.groundings, key=usage_index)
            for place in grounded.places
        ]

    @property
    def tool(self) -> str:
        """The name of the tool, or "sequence of N"; empty before the plan."""
        if self.planned is None:
            return ""
        count = 1 + len(self.planned.following)
        return self.planned.tool if count == 1 else f"sequence of {count}"

    @property
    def judged_from(self) -> Observed | None:
        """The look that the look after the step was compared with."""
        return self.acted_on or self.before

    @property
    def verdict(self) -> StepVerdict | None:
        """The verdict on the step: "failed" if its tool failed; None if it was not judged."""
        if self.failures or any(not act.ok for act in self.acts):
            return "failed"
        return self.abstracted.verdict if self.abstracted is not None else None

    @property
    def planner_tokens(self) -> int:
        """Input tokens of the last planner call, whose reply was used."""
        return next((c.tokens_in for c in reversed(self.calls) if c.role == "planner"), 0)

    @property
    def source(self) -> str:
        """The input that ran, or was planned, as text; empty before the plan."""
        inputs = [act.input for act in self.acts]
        if not inputs and self.planned is not None:
            inputs = [self.planned.input, *(call.input for call in self.planned.following)]
        texts = [text if isinstance(text, str) else _json(text) for text in inputs]
        return texts[0] if len(texts) == 1 else by_number(texts, between="\n")

    def take(self, event: Event) -> None:
        """Add an event to this step."""
        self.events.append(event)
        if isinstance(event, Observed):
            if self.planned is None:
                self.before = event
            elif not self.acts:
                self.acted_on = event
            else:
                self.after = event
        elif name := _LAST_FIELDS.get(type(event)):
            setattr(self, name, event)
        elif name := _LIST_FIELDS.get(type(event)):
            getattr(self, name).append(event)


_LAST_FIELDS: Mapping[type, str] = {
    Planned: "planned",
    SequenceStopped: "stopped",
    Chosen: "chosen",
    Abstracted: "abstracted",
    Refined: "refined",
    StepFinished: "finished",
}
"""Fields that hold the last event of a type."""
_LIST_FIELDS: Mapping[type, str] = {
    Acted: "acts",
    Grounded: "groundings",
    PlanRejected: "rejected",
    Sampled: "sampled",
    Judged: "judged",
    GroundingFailed: "not_found",
    GroundingTried: "tried",
    Confirmed: "confirmed",
    PersonActed: "person",
    Decided: "decisions",
    LoopDetected: "loops",
    ModelCalled: "calls",
    ModelFailed: "model_failures",
    Failed: "failures",
}
"""Fields that hold all events of a type."""


def group(events: Iterable[Event]) -> tuple[StepRecord, ...]:
    """Returns the steps in the order in which they ran.

    Events of step 0, of scoring and of learning belong to no step. What a person did between two
    steps belongs to the later one.
    """
    records: list[StepRecord] = []
    finished: set[int] = set()
    between: list[PersonActed] = []
    last_look: Observed | None = None
    ended = False
    for event in events:
        ended = (ended or isinstance(event, RunFinished)) and not isinstance(event, RunResumed)
        if isinstance(event, RunResumed):
            _interrupt(records)
        elif not ended and event.step > 0 and event.step not in finished:
            record = records[-1] if records else None
            if record is None or record.number != event.step or record.interrupted:
                record = StepRecord(event.step, before=last_look)
                records.append(record)
                while between:
                    record.take(between.pop(0))
            record.take(event)
        elif isinstance(event, PersonActed):
            between.append(event)
        if isinstance(event, Observed):
            last_look = event
        elif isinstance(event, StepFinished):
            finished.add(event.step)
    for event in between if records else ():
        records[-1].take(event)
    for record, following in itertools.pairwise(records):
        if record.after is None and not (record.interrupted or following.person):
            record.after = following.before
    return tuple(records)


def _interrupt(records: list[StepRecord]) -> None:
    if records and records[-1].finished is None:
        records[-1].interrupted = True


def _json(value: object) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, indent=1)
