"""The facts of a sequence: what each of its actions changed, by the looks around it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from hisa.actions import points
from hisa.outcomes.made import tell_made
from hisa.outcomes.verdicts import StepVerdict
from hisa.protocols import GroundedCall, MadeCall, Outcome
from hisa.screen.observation import Observation
from hisa.state.base import Looks
from hisa.state.refusals import unexpected
from hisa.state.roi import RoiPair
from hisa.text.prompt_text import excerpt, field_text

__all__ = ["Effect", "Pair", "effects", "merged", "quiet", "shown", "stopped", "surprises"]

Pair = Callable[[Observation, Observation], RoiPair | None]
"""What is shown of the looks before and after a step."""


@dataclass(frozen=True, slots=True)
class Effect:
    """A call that was made, the looks around it, and what differs in them (None: nothing)."""

    made: MadeCall
    looks: Looks
    pair: RoiPair | None


def effects(call: GroundedCall, looks: Looks, outcome: Outcome, pair: Pair) -> tuple[Effect, ...]:
    """The effect of each call that was made, in order; that of ``call``, where it stood alone.

    Args:
        call: what was planned.
        looks: before the first call and after the last one.
        outcome: what came of it.
        pair: compares two looks.
    """
    calls = outcome.made or (MadeCall(call, outcome, looks[0]),)
    starts = [looks[0], *(made.before for made in calls[1:])]
    ends = [*starts[1:], looks[1]]
    return tuple(
        Effect(made, (start, end), pair(start, end))
        for made, start, end in zip(calls, starts, ends, strict=True)
    )


def merged(call: GroundedCall, made: Sequence[MadeCall]) -> GroundedCall:
    """One call that holds the actions and places of all that were made."""
    if not made:
        return call
    return replace(
        call,
        following=tuple(each.call for each in made[1:]),
        actions=tuple(action for each in made for action in each.call.actions),
        places=tuple(place for each in made for place in each.call.places),
    )


def shown(call: GroundedCall, made: Sequence[MadeCall]) -> GroundedCall:
    """The call with those that follow it as they were made, for the step's line."""
    return replace(call, following=tuple(other.call for other in made[1:])) if made else call


def surprises(found: Sequence[Effect]) -> str:
    """The first unexpected thing that was seen, by the number of its action; empty for none."""
    for number, effect in enumerate(found, 1):
        if told := unexpected(effect.made.call, *effect.looks):
            return f"{number}) {told}" if len(found) > 1 else told
    return ""


def quiet(found: Sequence[Effect], last: StepVerdict) -> str:
    """Returns which actions of a sequence had no visible effect; empty where each had one.

    A click before keys may do no more than give a field the focus, which need not show.

    Args:
        found: the effects, in order.
        last: the verdict on the last one, which was looked at more closely.
    """
    numbers = []
    for number, effect in enumerate(found if len(found) > 1 else (), 1):
        if effect.pair is not None or not effect.made.call.actions:
            continue
        if number == len(found):
            silent = last == "no_change"
        else:
            following = found[number].made.call
            focuses = bool(points(effect.made.call.actions)) and bool(following.actions)
            silent = not (focuses and not points(following.actions))
        if silent:
            numbers.append(str(number))
    if not numbers:
        return ""
    told = f"Action {numbers[0]}" if len(numbers) == 1 else f"Actions {', '.join(numbers)}"
    return f"{told} changed nothing that shows."


def stopped(call: GroundedCall, outcome: Outcome) -> str:
    """Returns how many of a sequence were made, and why not more."""
    why = field_text(excerpt(outcome.stopped, 300))
    return tell_made(len(outcome.made), len(call.call.sequence), why)
