"""A closer look at a step that changed nothing on the screen, before it is called anything."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from hisa.actions import Hotkey, Press, Write
from hisa.observation import Observation
from hisa.protocols import GroundedCall, Outcome

__all__ = ["Inspect", "Looks", "closer"]

Looks = tuple[Observation, Observation]
"""Before and after a step."""

Inspect = Callable[[Observation, Observation], Awaitable[Looks]]
"""Gives both looks back with elements, as far as the machine can tell them."""


async def closer(
    inspect: Inspect | None, call: GroundedCall, looks: Looks, outcome: Outcome
) -> Looks:
    """The looks of a step without a visible change, with elements where they can tell more.

    They can where something was typed or pressed, because the field with the focus holds it, and
    where a described element was aimed at. A click on mere pixels has nothing to be compared.

    Raises:
        EnvironmentFailed: the machine does not answer.
    """
    typed = any(isinstance(action, Write | Press | Hotkey) for action in call.actions)
    if inspect is None or not outcome.ok or outcome.ends or not (typed or call.places):
        return looks
    return await inspect(*looks)
