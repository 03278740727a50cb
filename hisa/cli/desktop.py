"""The desktop of a run from the terminal: opened, found again, or left up to go on with."""

from __future__ import annotations

from typing import Literal

from hisa.agent import Result
from hisa.config import Settings
from hisa.environments.desktop import DesktopEnvironment
from hisa.environments.open import open_environment
from hisa.errors import EnvironmentFailed
from hisa.protocols import Environment
from hisa.runs.log import RunLog
from hisa.runs.replay import replay
from hisa.runs.resume import ResumePoint
from hisa.tasks.scorer import TaskScorer
from hisa.wiring import image_limit

__all__ = ["find_again", "leave", "opened"]

_LEFT_UP = ("stopped", "budget", "model_error")
"""Ends after which somebody may want to go on where the desktop stands."""

How = Literal["reattached", "replayed", "fresh"]


async def opened(settings: Settings, log: RunLog) -> Environment:
    """The environment of the settings, started; how to find it again is in the manifest."""
    environment = open_environment(settings.environment, image_limit(settings))
    await environment.__aenter__()
    _remember(environment, log)
    return environment


async def leave(environment: Environment, result: Result | None) -> bool:
    """End the desktop, or leave it up (True) where the run can go on in it."""
    if isinstance(environment, DesktopEnvironment) and result and result.status in _LEFT_UP:
        await environment.detach()
        return True
    await environment.__aexit__(None, None, None)
    return False


async def find_again(
    settings: Settings, log: RunLog, point: ResumePoint
) -> tuple[Environment, How, str]:
    """The desktop as it was after the last complete step, how it was found, and one line why.

    Raises:
        EnvironmentFailed: neither found nor brought there again.
    """
    if settings.environment.kind != "desktop":
        return await opened(settings, log), "reattached", settings.environment.kind
    why = "the log names no desktop"
    if point.desktop:
        try:
            found = DesktopEnvironment.attach(point.desktop, image_limit=image_limit(settings))
            await found.__aenter__()
        except EnvironmentFailed as error:
            why = str(error)
        else:
            if point.step:
                return found, "reattached", ""
            await found.__aexit__(None, None, None)
    environment = await opened(settings, log)
    if not point.step:
        return environment, "fresh", ""
    try:
        await TaskScorer().prepare(point.task, environment)
        count = await replay(point.acts, environment, settle=settings.environment.settle)
    except BaseException:
        await environment.__aexit__(None, None, None)
        raise
    return environment, "replayed", f"{count} acts, because {why}"


def _remember(environment: Environment, log: RunLog) -> None:
    if isinstance(environment, DesktopEnvironment):
        log.amend(desktop=environment.handle)
