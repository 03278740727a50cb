"""What a bench writes down: the plan in ``bench.json``, every attempt in ``attempts.jsonl``.

    DIR/bench.json       what is run: suite, variants, settings; written once
    DIR/attempts.jsonl   one line for each thing that happened to an attempt; only appended to
    DIR/runs/<run id>/   one run folder per attempt, as ``hisa run`` makes it

An attempt is one try at one repeat of one task in one variant. It is ``started`` when
a worker gets it, ``running`` once its run folder is there, and at last ``finished``, or ``lost``
if its worker or the whole bench died first. An attempt without an end is lost and made again.
"""

from __future__ import annotations

import time
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from hisa.outcomes.endings import Ending, ScoreState

__all__ = [
    "AttemptFinished",
    "AttemptLost",
    "AttemptRecord",
    "AttemptResult",
    "AttemptRunning",
    "AttemptStarted",
    "Plan",
    "PlannedTask",
    "Slot",
    "record_adapter",
]


class Slot(NamedTuple):
    """A place in the table that is filled exactly once."""

    variant: str
    task: str
    repeat: int
    """Number of the repeat, from 1; each has its own seed, by which pages draw what they ask."""

    def __str__(self) -> str:
        return f"{self.variant}/{self.task}#{self.repeat}"


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")
    v: int = 1
    at: float = Field(default_factory=time.time)
    """Seconds since 1970."""
    variant: str
    task: str
    repeat: int
    number: int = Field(alias="try", ge=1)
    """Which try of its slot, from 1."""

    @property
    def slot(self) -> Slot:
        """The slot that the attempt is to fill."""
        return Slot(self.variant, self.task, self.repeat)


class AttemptStarted(_Record):
    """A worker began the attempt."""

    type: Literal["started"] = "started"
    worker: str
    """Host and process, as ``host:pid``."""


class AttemptRunning(_Record):
    """The attempt's run folder exists."""

    type: Literal["running"] = "running"
    run: str


class AttemptResult(BaseModel):
    """How an attempt ended; for a "defect", ``message`` holds the traceback."""

    model_config = ConfigDict(frozen=True)
    status: Ending
    score: float | None = None
    message: str = ""
    steps: int = 0
    seconds: float = 0.0
    score_state: ScoreState = "unscored"
    score_detail: str = ""
    judged_by: str = ""
    """Whose metrics were asked; see `hisa.outcomes.endings.Scoring`."""
    partial: Annotated[float, Field(ge=0, le=1)] | None = None
    """See `hisa.outcomes.endings.Scoring`."""


class AttemptFinished(_Record, AttemptResult):
    """The attempt has ended."""

    type: Literal["finished"] = "finished"
    run: str = ""


class AttemptLost(_Record):
    """The worker died, the bench ended first, or a person wants the attempt made again."""

    type: Literal["lost"] = "lost"
    cause: Literal["worker", "bench", "again"]
    reason: str = ""


AttemptRecord = Annotated[
    AttemptStarted | AttemptRunning | AttemptFinished | AttemptLost, Field(discriminator="type")
]

record_adapter: TypeAdapter[AttemptRecord] = TypeAdapter(AttemptRecord)
"""Reads one line of ``attempts.jsonl``."""


class PlannedTask(BaseModel):
    """A task of the plan; ``domain`` groups it in the tables."""

    model_config = ConfigDict(frozen=True)
    id: str
    path: str
    domain: str = ""


class Plan(BaseModel):
    """The content of ``bench.json``."""

    v: int = 1
    suite: str
    variants: dict[str, dict[str, Any]]
    """The effective settings by variant."""
    tasks: tuple[PlannedTask, ...]
    problems: dict[str, str] = {}
    """Task files that cannot be run, with the reason."""
    repeat: int = Field(1, ge=1)
    independent: bool = False
    """Each repeat has a pattern store of its own."""
    started_at: float = Field(default_factory=time.time)

    @property
    def slots(self) -> tuple[Slot, ...]:
        """Every slot to fill: the first repeat of everything, then the second, and so on."""
        return tuple(
            Slot(variant, task.id, repeat)
            for repeat in range(1, self.repeat + 1)
            for variant in self.variants
            for task in self.tasks
        )
