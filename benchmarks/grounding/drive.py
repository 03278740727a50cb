"""Opens programs on a desktop and waits for what they show."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.grounding.capture import look
from hisa.actions import Action, Click
from hisa.protocols import Environment
from hisa.screen.geometry import Point
from hisa.screen.observation import Element, Observation

__all__ = ["AWAY", "act_and_settle", "await_click", "element", "open_program", "until"]

AWAY = Point(4, 4, "screen")
"""Where the pointer hides nothing and opens no tooltip."""
_LOOKS = 60


async def until(environment: Environment, holds: Callable[[Observation], object]) -> Observation:
    """Look until that holds.

    Raises:
        RuntimeError: it does not; the message names the active window.
    """
    for _ in range(_LOOKS):
        observation = await environment.observe(elements=True, settle=1.0)
        if holds(observation):
            return observation
    raise RuntimeError(f"not reached; the active window is {_title(observation)!r}")


async def open_program(environment: Environment, command: str, title: str) -> Observation:
    """Start a program and wait until the active window's title has ``title`` in it."""
    await environment.execute(f"{command} >/dev/null 2>&1 &")
    return await until(environment, lambda observation: title in _title(observation))


async def act_and_settle(
    environment: Environment, *actions: Action, title: str = ""
) -> Observation:
    """Act, wait for the window with ``title`` in its title, and look until all is at rest."""
    await environment.act(actions)
    await until(environment, lambda observation: title in _title(observation))
    return await look(environment)


def element(observation: Observation, role: str, name: str) -> Element:
    """The first element of that role and name.

    Raises:
        RuntimeError: there is none.
    """
    for candidate in observation.elements or ():
        if candidate.role == role and candidate.name == name:
            return candidate
    raise RuntimeError(f"no {role} {name!r} in {_title(observation)!r}")


async def await_click(environment: Environment, role: str, name: str) -> Click:
    """A click on the first element of that role and name, as soon as there is one."""
    observation = await until(
        environment,
        lambda observation: any(
            e.role == role and e.name == name for e in observation.elements or ()
        ),
    )
    return Click(element(observation, role, name).box.centre)


def _title(observation: Observation) -> str:
    return observation.active.title if observation.active else ""
