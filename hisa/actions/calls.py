"""A planner's calls and their outcomes: records without behaviour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hisa.actions import Action, points, to_source
from hisa.outcomes.endings import ExitStatus
from hisa.screen.geometry import BoundingBox, Point
from hisa.screen.observation import Element, Observation

__all__ = [
    "CommandResult",
    "ExecutedCall",
    "GroundedCall",
    "Outcome",
    "Place",
    "ScreenPrecondition",
    "ToolCall",
]


@dataclass(frozen=True)
class ToolCall:
    """The planner's reply, checked.

    ``actions`` is the parsed ``input`` of a gui_action, still with slots; empty for other tools.
    """

    thought: str
    tool: str
    input: str | Mapping[str, Any]
    description: str = ""
    description_2: str = ""
    actions: tuple[Action, ...] = ()
    following: tuple[ToolCall, ...] = ()
    """Further calls of the same reply, decided on the same look (OS-Catalyst, section 3.1)."""
    note: str | None = None
    """The note to keep for later steps; None: unchanged, empty: drop it."""
    by_program: bool = False
    """Whether a stored program makes it: its places are pixels of the picture, which are known,
    and no model writes of it."""

    @property
    def sequence(self) -> tuple[ToolCall, ...]:
        """Every call of the reply, in order."""
        return (self, *self.following)


@dataclass(frozen=True, slots=True)
class Place:
    """The place at which a description was found."""

    description: str
    point: Point
    score: float | None = None
    source: str = ""
    label: str = ""
    element: Element | None = field(default=None, compare=False)
    """What was chosen; None: a point alone, such as a model's."""


@dataclass(frozen=True)
class ScreenPrecondition:
    """A look, and the screen-space boxes in which the screen must still be as it was then."""

    look: Observation
    boxes: tuple[BoundingBox, ...]
    own: tuple[BoundingBox, ...] = ()
    """Boxes of things that may light up as the pointer comes or goes, if their drawing stays."""
    follows: bool = False
    """Whether it goes on with the act before it: two clicks may then be a double click."""


@dataclass(frozen=True)
class GroundedCall:
    """A call that can be executed: ``actions`` hold image-space points and no slots.

    ``input`` is what history shows: regenerated source in image pixels, or the tool's own input.
    """

    call: ToolCall
    input: str | Mapping[str, Any]
    actions: tuple[Action, ...] = ()
    places: tuple[Place, ...] = ()
    following: tuple[GroundedCall, ...] = ()
    """The calls of ``call.following`` before the first one whose target was not found."""
    precondition: ScreenPrecondition | None = None
    """What must still be as it was when it is done; None: nothing is asked."""
    target_look: Observation | None = field(default=None, compare=False, repr=False)
    """The look on which its targets were found; None: the one that it was decided on."""
    next_moves: tuple[Action, ...] = field(default=(), compare=False, repr=False)
    """Where the pointer goes afterwards: to what is pressed next."""
    missing_reason: str = ""
    """Why the first call missing from ``following`` is missing; empty if none is.

    Example: ``call.following`` has three calls, and the target of the second was not found.
    """

    @property
    def sequence(self) -> tuple[GroundedCall, ...]:
        """Every call that can be executed, in order."""
        return (self, *self.following)

    def part(self, actions: Sequence[Action]) -> GroundedCall:
        """The call of some of its actions alone, with what describes their places."""
        at = points(actions)
        places = tuple(place for place in self.places if place.point in at)
        described = places or not self.places
        call = self.call if described else replace(self.call, description="", description_2="")
        return replace(
            self,
            call=call,
            input=to_source(actions),
            actions=tuple(actions),
            places=places,
            precondition=None,
        )


@dataclass(frozen=True)
class ExecutedCall:
    """A call of a sequence that was made, and the look taken just before it."""

    call: GroundedCall
    outcome: Outcome
    before: Observation


@dataclass(frozen=True)
class Outcome:
    """What a tool did. ``ends`` is set by the tools that end the run."""

    ok: bool
    output: str = ""
    error: str = ""
    exit_code: int | None = None
    ends: ExitStatus | None = None
    points: tuple[Point, ...] = ()
    seconds: float = 0.0
    began: float = 0.0
    """When, in seconds since the epoch; 0 where nobody noted it."""
    executed_calls: tuple[ExecutedCall, ...] = ()
    """The calls of a sequence that were made, in order; empty for a call that stood alone."""
    refused: bool = False
    """Whether the policy or a person did not allow it: its place is not told in the history."""
    stopped: str = ""
    """Why the rest of a sequence was not done; empty if all of it was."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """A finished command; output and error cut to the limit asked for."""

    exit_code: int
    output: str
    error: str = ""
    timed_out: bool = False
