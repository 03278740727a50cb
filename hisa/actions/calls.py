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
    """A checked reply of the planner.

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
    """The note to keep for later steps; None: keep the old one, empty: drop it."""
    by_program: bool = False
    """Whether it comes from a stored program: its places are known, in pixels of the picture, and
    no model describes it."""

    @property
    def sequence(self) -> tuple[ToolCall, ...]:
        """Every call of the reply, in order."""
        return (self, *self.following)


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a described target."""

    description: str
    point: Point
    score: float | None = None
    source: str = ""
    label: str = ""
    element: Element | None = field(default=None, compare=False)
    """The chosen element; None: a point alone, such as a model's."""


@dataclass(frozen=True)
class ScreenPrecondition:
    """A look, and the screen-space boxes in which the screen must still be unchanged."""

    look: Observation
    boxes: tuple[BoundingBox, ...]
    own: tuple[BoundingBox, ...] = ()
    """Boxes of elements that may be highlighted under the pointer, if their drawing stays."""
    follows: bool = False
    """Whether it continues the previous action: two clicks may then be a double click."""


@dataclass(frozen=True)
class GroundedCall:
    """A call that can be executed: ``actions`` hold image-space points and no slots.

    ``input`` is shown in the history: regenerated source in image pixels, or the tool's input.
    """

    call: ToolCall
    input: str | Mapping[str, Any]
    actions: tuple[Action, ...] = ()
    places: tuple[Place, ...] = ()
    following: tuple[GroundedCall, ...] = ()
    """The calls of ``call.following`` before the first one whose target has no match."""
    precondition: ScreenPrecondition | None = None
    """The parts of the screen that must be unchanged when it is executed; None: no condition."""
    target_look: Observation | None = field(default=None, compare=False, repr=False)
    """The look on which its targets were located; None: the one on which it was decided."""
    next_moves: tuple[Action, ...] = field(default=(), compare=False, repr=False)
    """Moves of the pointer afterwards, to the element that is pressed next."""
    missing_reason: str = ""
    """The reason for the first call missing from ``following``; empty if none is missing.

    Example: ``call.following`` has three calls, and the target of the second has no match.
    """

    @property
    def sequence(self) -> tuple[GroundedCall, ...]:
        """Every call that can be executed, in order."""
        return (self, *self.following)

    def part(self, actions: Sequence[Action]) -> GroundedCall:
        """Returns the call with only these actions, and the descriptions of their places."""
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
    """An executed call of a sequence, and the look taken just before it."""

    call: GroundedCall
    outcome: Outcome
    before: Observation


@dataclass(frozen=True)
class Outcome:
    """The result of a tool. ``ends`` is set by the tools that end the run."""

    ok: bool
    output: str = ""
    error: str = ""
    exit_code: int | None = None
    ends: ExitStatus | None = None
    points: tuple[Point, ...] = ()
    seconds: float = 0.0
    began: float = 0.0
    """Start time in seconds since the epoch; 0 if it was not recorded."""
    executed_calls: tuple[ExecutedCall, ...] = ()
    """The executed calls of a sequence, in order; empty for a single call."""
    refused: bool = False
    """Whether the policy or a person refused it: its place is not shown in the history."""
    stopped: str = ""
    """The reason why the rest of a sequence was not executed; empty if all of it was."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """A finished command; output and error are cut to the requested limit."""

    exit_code: int
    output: str
    error: str = ""
    timed_out: bool = False
