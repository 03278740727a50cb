"""Events of a step: look, plan, ground, act, abstract, refine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from hisa.events.event_base import EventBase, PlaceFound, PlannedCall
from hisa.outcomes.endings import ExitStatus
from hisa.outcomes.verdicts import StepVerdict

if TYPE_CHECKING:
    from hisa.screen.observation import Observation

__all__ = [
    "Abstracted",
    "Acted",
    "Chosen",
    "ChosenBy",
    "ElementsRead",
    "Grounded",
    "GroundingFailed",
    "GroundingTried",
    "GroundingVerdict",
    "HeldBack",
    "Judged",
    "LoopDetected",
    "Observed",
    "PlanRejected",
    "Planned",
    "Refined",
    "Sampled",
    "SequenceStopped",
    "StepFinished",
]


class Observed(EventBase):
    """Level 0: a look at the desktop. Sizes are in pixels of the picture and of the screen."""

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
    """The number of elements; None if the machine does not tell them."""
    elements_sha256: str = ""
    """The name of the file with the elements in the run's ``elements``; empty if none were read."""
    seconds: float = 0.0
    complete: bool = True
    """False if some elements were not read in time, or if they were only seen on the picture."""
    undrawn: tuple[str, ...] = ()
    """What exists and was waited for, but is not yet in the picture."""

    @classmethod
    def of(
        cls, observation: Observation, *, file_names: tuple[str, str], seconds: float
    ) -> Observed:
        """Returns the event of a look.

        Args:
            observation: the look.
            file_names: the names of its picture and of its elements, from `RunLog.keep`.
            seconds: how long the look took.
        """
        active = observation.active
        return cls(
            image=file_names[0],
            elements_sha256=file_names[1],
            width=observation.image.width,
            height=observation.image.height,
            screen_width=observation.screen.width,
            screen_height=observation.screen.height,
            window=active.title if active else "",
            windows=tuple(window.title for window in observation.windows),
            elements=None if observation.elements is None else len(observation.elements),
            seconds=seconds,
            complete=observation.complete,
            undrawn=observation.undrawn,
        )


class PlanRejected(EventBase):
    """A reply of the planner does not fit the schema."""

    type: Literal["plan_rejected"] = "plan_rejected"
    turn: str = ""
    attempt: int
    error: str
    reply: str = ""
    """The reply, cut to 2000 characters."""


class Planned(EventBase):
    """The planner's call."""

    type: Literal["planned"] = "planned"
    thought: str
    tool: str
    input: Any
    description: str = ""
    description_2: str = ""
    following: tuple[PlannedCall, ...] = ()
    """Further calls that were decided on the same look."""
    note: str | None = None
    """The planner's note for later; see `hisa.state.notes`."""

    @property
    def sequence(self) -> tuple[PlannedCall, ...]:
        """All calls of the reply, in order."""
        first = PlannedCall(
            tool=self.tool,
            input=self.input,
            description=self.description,
            description_2=self.description_2,
        )
        return (first, *self.following)


class Sampled(EventBase):
    """One of several replies that were sampled for a step."""

    type: Literal["sampled"] = "sampled"
    n: int
    """The number of the sample in its step, from 1."""
    key: str = ""
    """Samples with the same key would do the same; empty if the reply is unusable."""
    tool: str = ""
    input: Any = ""
    description: str = ""
    description_2: str = ""
    following: tuple[PlannedCall, ...] = ()
    """Further calls of the same reply."""
    error: str = ""
    """Why the reply is unusable; empty if it is usable."""


class Judged(EventBase):
    """A judge was asked which candidate is best."""

    type: Literal["judged"] = "judged"
    turn: str = ""
    candidates: tuple[int, ...]
    """The samples on the judge's list, by their ``n``; of equal ones only the first."""
    index: int | None = None
    """The position on that list, from 1; None: the judge picks none, or its reply is unusable."""
    explaining: str = ""
    invalid: str = ""
    """Why the judge's reply is unusable; empty if it is usable."""


ChosenBy = Literal["agreement", "judge", "votes", "alone", "nobody"]


class Chosen(EventBase):
    """One of several samples was chosen.

    ``by`` says how. agreement: all samples would do the same. judge: the judge picked one. votes:
    no judge decided, so the most frequent one was taken. alone: only one sample was usable. nobody:
    no sample was usable.
    """

    type: Literal["chosen"] = "chosen"
    n: int | None
    by: ChosenBy
    samples: int
    usable: int
    distinct: int
    """The number of different samples among the usable ones."""
    widened: Literal["", "constant", "disagreement", "none_good"] = ""
    """Why more than the first two were sampled; empty: two were enough."""
    detail: str = ""
    """Why the judge did not decide, if one was asked."""


class ElementsRead(EventBase):
    """The elements were read, to ground a description or to check a step that changed no pixel."""

    type: Literal["elements_read"] = "elements_read"
    elements: int | None = None
    """The number of elements; None if the machine does not tell them."""
    elements_sha256: str = ""
    """The name of the file with the elements in the run's ``elements``; empty if none were read."""
    complete: bool = True
    """False if some elements were not read in time, or if they were only seen on the picture."""
    seconds: float = 0.0


class Grounded(EventBase):
    """The descriptions of a call were turned into places."""

    type: Literal["grounded"] = "grounded"
    places: tuple[PlaceFound, ...]
    input: str = ""
    """The source with coordinates in image pixels."""
    seconds: float = 0.0


class GroundingFailed(EventBase):
    """No place was found for a description."""

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
    "trusted",
    "distrusted",
]


class GroundingTried(EventBase):
    """One step of a cascade of grounders: who looked for a place, and the result.

    - sure: the elements' place is taken, and no model is asked. unsure: the model is asked.
    - agreed: the elements confirm the model's point, which is taken. doubted: they do not.
    - repeated: the model gave the same point twice and nothing contradicts it; it is taken.
    - no_point: the model's reply is not a point.
    - unavailable: the model cannot be asked; the elements' place is taken, if there is one.
    - offered: a model gets a list to pick from. chosen, none: what it picked.
    - trusted: the model is asked, as its measured accuracy is ``score``. distrusted: the model is
      not asked, as its accuracy is too low or was never measured.
    """

    type: Literal["grounding_tried"] = "grounding_tried"
    description: str
    by: str
    """"elements" or the grounding model's name."""
    verdict: GroundingVerdict
    x: float | None = None
    """The place, in image pixels; None if there is none."""
    y: float | None = None
    score: float | None = None
    """How well the element at the place fits; for "trusted", the measured accuracy."""
    label: str = ""
    """The name of the element at the place."""
    detail: str = ""
    """Why the place was not taken."""
    part: tuple[int, int, int, int] | None = None
    """The box that was shown enlarged: left, top, right, bottom in image pixels; None: all."""
    closer: tuple[int, int, int, int] | None = None
    """The box that is shown next."""
    offered: tuple[tuple[float, float], ...] = ()
    """The centres of the elements on the list that a model picks from, in its order."""
    seconds: float = 0.0


class HeldBack(EventBase):
    """A call was refused as a repetition; the `Acted` event after it says why."""

    type: Literal["held_back"] = "held_back"
    inputs: tuple[Any, ...]
    """The input of each call that would have run; with coordinates if its target was grounded."""
    steps: tuple[int, ...]
    """The numbers of the steps that had tried the same."""


class Acted(EventBase):
    """A tool ran, or a call was refused."""

    type: Literal["acted"] = "acted"
    tool: str
    input: Any
    """The input that ran: source with coordinates in image pixels, a command, or arguments."""
    points: tuple[tuple[float, float], ...] = ()
    """The points that it clicked, in image pixels."""
    ok: bool
    output: str = ""
    error: str = ""
    exit_code: int | None = None
    seconds: float = 0.0
    ends: ExitStatus | None = None
    """The exit status, if the agent ended the run by this; else None."""


class SequenceStopped(EventBase):
    """The rest of a sequence was not done."""

    type: Literal["sequence_stopped"] = "sequence_stopped"
    made: int
    """The number of calls that were done."""
    of: int
    """The number of calls that were planned."""
    reason: str
    """Why the sequence stopped."""


class Abstracted(EventBase):
    """Level 1: a step has its line."""

    type: Literal["abstracted"] = "abstracted"
    line: str
    """The whole line that the planner will read."""
    result: str
    """The part of the line after "Result:"."""
    roi: tuple[int, int, int, int] | None = None
    """The changed box: left, top, right, bottom in image pixels; None if nothing changed."""
    asked_model: bool = False
    verdict: StepVerdict | None = None
    """The verdict on the step; None if it was not judged."""
    moved: bool = False
    """Whether the screen had changed since the step before was judged."""
    refocused: bool = False
    """Whether another element had the focus after the step."""


class LoopDetected(EventBase):
    """The same action was repeated on the same screen."""

    type: Literal["loop_detected"] = "loop_detected"
    action: str
    times: int


class Refined(EventBase):
    """Level 2: the new context, which covers the steps ``first`` to ``last``."""

    type: Literal["refined"] = "refined"
    text: str
    first: int
    last: int


class StepFinished(EventBase):
    """A step is complete and logged; ``seconds`` has the time of each phase."""

    type: Literal["step_finished"] = "step_finished"
    seconds: dict[str, float] = Field(default_factory=dict)
