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
    """The number of elements; None where nothing tells them."""
    elements_sha256: str = ""
    """The file with them in the run's ``elements``; empty where none were read."""
    seconds: float = 0.0
    complete: bool = True
    """False: some of the elements could not be read in time."""
    undrawn: tuple[str, ...] = ()
    """What is there, was waited for and is not in the picture yet."""

    @classmethod
    def of(
        cls, observation: Observation, *, file_names: tuple[str, str], seconds: float
    ) -> Observed:
        """The event of a look that took ``seconds``, with the names of its picture and elements."""
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
    """A planner reply that does not fit the schema."""

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
    """What the planner wants to keep; see `hisa.state.notes`."""

    @property
    def sequence(self) -> tuple[PlannedCall, ...]:
        """Every call, in order."""
        first = PlannedCall(
            tool=self.tool,
            input=self.input,
            description=self.description,
            description_2=self.description_2,
        )
        return (first, *self.following)


class Sampled(EventBase):
    """One of several replies that the planner was asked for at a step."""

    type: Literal["sampled"] = "sampled"
    n: int
    """Counts from 1 within the step."""
    key: str = ""
    """Equal ones would do the same; empty where the reply is unusable."""
    tool: str = ""
    input: Any = ""
    description: str = ""
    description_2: str = ""
    following: tuple[PlannedCall, ...] = ()
    """Further calls of the same reply."""
    error: str = ""
    """Why there is no usable reply."""


class Judged(EventBase):
    """A judge was asked which candidate is best."""

    type: Literal["judged"] = "judged"
    turn: str = ""
    candidates: tuple[int, ...]
    """The samples on its list, by their ``n``; of equal ones the first."""
    index: int | None = None
    """Counts from 1 on that list; None: it picks none, or its answer is no judgement."""
    explaining: str = ""
    invalid: str = ""
    """Why the answer is no judgement; empty where it is one."""


ChosenBy = Literal["agreement", "judge", "votes", "alone", "nobody"]


class Chosen(EventBase):
    """A decision between samples is made.

    agreement: all samples would do the same. judge: it picked. votes: no judge decided,
    and what most samples would do was taken. alone: there was one usable sample. nobody: there
    was none.
    """

    type: Literal["chosen"] = "chosen"
    n: int | None
    by: ChosenBy
    samples: int
    usable: int
    distinct: int
    """Different ones among the usable ones."""
    widened: Literal["", "constant", "disagreement", "none_good"] = ""
    """Why more than the first two were sampled; empty: they were enough."""
    detail: str = ""
    """Why no judge decided, where one was asked."""


class ElementsRead(EventBase):
    """The elements were read, to ground a description or to check a step that changed no pixel."""

    type: Literal["elements_read"] = "elements_read"
    elements: int | None = None
    """The number of elements; None where nothing tells them."""
    elements_sha256: str = ""
    """The file with them in the run's ``elements``; empty where none were read."""
    """None where the machine cannot tell them."""
    complete: bool = True
    """False: some could not be read in time."""
    seconds: float = 0.0


class Grounded(EventBase):
    """Placeholders resolved."""

    type: Literal["grounded"] = "grounded"
    places: tuple[PlaceFound, ...]
    input: str = ""
    """The source with coordinates in image pixels."""
    seconds: float = 0.0


class GroundingFailed(EventBase):
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
    "trusted",
    "distrusted",
]


class GroundingTried(EventBase):
    """One step of a cascade of grounders: who looked for a place, and what became of it.

    sure: taken, no model is asked. unsure: the model is asked. agreed: the elements bear the
    model's point out, it is taken. doubted: they do not. repeated: nothing speaks against a point
    that was answered twice, it is taken. no_point: the answer is none. unavailable: the model
    cannot be asked; what the elements found by themselves is taken, if anything. offered: a model
    gets a list to pick from; chosen, none: what it picked. trusted: it was measured, and right by
    ``score``; distrusted: too seldom, or nobody measured it, and it is not asked.
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


class HeldBack(EventBase):
    """A call was not made again; the `Acted` after it says so."""

    type: Literal["held_back"] = "held_back"
    inputs: tuple[Any, ...]
    """What would have run, of a sequence each; with places as far as they were looked for."""
    steps: tuple[int, ...]
    """Those that had tried it."""


class Acted(EventBase):
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


class SequenceStopped(EventBase):
    """The rest of a sequence was not made."""

    type: Literal["sequence_stopped"] = "sequence_stopped"
    made: int
    """Calls of the sequence that were made."""
    of: int
    """Calls that were planned."""
    reason: str


class Abstracted(EventBase):
    """Level 1: one abstracted step."""

    type: Literal["abstracted"] = "abstracted"
    line: str
    """The whole line the planner will read."""
    result: str
    roi: tuple[int, int, int, int] | None = None
    """Left, top, right, bottom in image pixels; None where nothing changed."""
    asked_model: bool = False
    verdict: StepVerdict | None = None
    """What was seen of the step; None where nobody judged it."""
    moved: bool = False
    """Whether the screen had changed since the step before was judged."""
    refocused: bool = False
    """Whether another element had the focus after it."""


class LoopDetected(EventBase):
    """The same action on the same screen again and again."""

    type: Literal["loop_detected"] = "loop_detected"
    action: str
    times: int


class Refined(EventBase):
    """Level 2: the refined context."""

    type: Literal["refined"] = "refined"
    text: str
    first: int
    last: int


class StepFinished(EventBase):
    """A step is complete and safe on disk; ``seconds`` by phase."""

    type: Literal["step_finished"] = "step_finished"
    seconds: dict[str, float] = Field(default_factory=dict)
