"""The desktop of a run from the terminal: opened, found again, or left up to go on with."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal

from hisa.config import EnvironmentSettings, Settings
from hisa.environments.kinds import find_kind
from hisa.environments.open_environment import attach_environment, open_environment
from hisa.errors import EnvironmentFailed, UsageError
from hisa.outcomes.endings import Result
from hisa.protocols import Detachable, Environment
from hisa.runs.log import RunLog
from hisa.runs.resume import ResumePoint, replay
from hisa.tasks.scorer import TaskScorer
from hisa.wiring import note_writer
from hisa.wiring.border import border_of

__all__ = [
    "ResumeMethod",
    "RunDesktop",
    "not_thrown_away",
    "open_desktop",
    "open_fresh",
    "reattach_or_replay",
]

_LEFT_UP = ("stopped", "budget", "model_error")
"""Ends after which somebody may want to go on where the desktop stands."""

ResumeMethod = Literal["reattached", "replayed", "fresh"]
"""How a resumed run got its desktop."""


class RunDesktop:
    """The environment of one run: opened when the agent asks for it, left when the run is over.

    Args:
        open: opens or finds it.
        stays: leave a private desktop up after an end with which somebody may go on.
    """

    def __init__(
        self,
        open: Callable[[], Awaitable[Environment]],  # noqa: A002 - a verb
        *,
        stays: bool = True,
    ) -> None:
        self._open = open
        self._stays = stays
        self._environment: Environment | None = None
        self._opening: asyncio.Task[Environment] | None = None

    async def begin(self) -> None:
        """Begin to open it already now; it comes up while the rest of the run is loaded."""
        self._opening = asyncio.create_task(self._start_opening())
        await asyncio.sleep(0)  # up to where it waits for other processes

    async def _start_opening(self) -> Environment:
        return await self._open()

    async def environment(self) -> Environment:
        """Open it."""
        self._environment = await (self._opening or self._open())
        return self._environment

    async def leave(self, result: Result | None) -> str:
        """End the desktop, or leave it up to go on in; returns what one left up says of itself."""
        if self._environment is None and self._opening is not None:
            self._opening.cancel()  # a guest may be mute, and nobody waits for it any more
            await asyncio.wait([self._opening])
            if not self._opening.cancelled() and self._opening.exception() is None:
                self._environment = self._opening.result()
        environment = self._environment
        if environment is None:
            return ""
        # A run without a step goes on at its beginning, on a desktop of its own.
        begun = result is not None and result.steps > 0 and result.status in _LEFT_UP
        goes_on = self._stays and begun
        if goes_on and isinstance(environment, Detachable):
            return await environment.detach() or ""  # of a package, which may say nothing
        await environment.__aexit__(None, None, None)
        return ""


async def open_desktop(settings: Settings, log: RunLog) -> Environment:
    """The environment of the settings, started; how to find it again is in the manifest."""
    note = note_writer(log.emit)
    environment = open_environment(settings.environment, settings.run.image_limit, note)
    await environment.__aenter__()
    if isinstance(environment, Detachable):
        log.amend(desktop=environment.belongs_to(log.id))
    return environment


async def open_fresh(settings: Settings, log: RunLog) -> Environment:
    """`open_desktop` for one of several attempts, each of which needs a machine of its own.

    Raises:
        UsageError: what came up is not thrown away, as only a package's environment can say.
    """
    environment = await open_desktop(settings, log)
    if "throw_away" not in environment.capabilities:
        await environment.__aexit__(None, None, None)
        raise not_thrown_away(settings.environment)
    return environment


def not_thrown_away(settings: EnvironmentSettings) -> UsageError:
    """Returns the error of several attempts on one machine that keeps what each does."""
    guest = settings.family == "guest"
    revert = ", or --set environment.remote.revert=COMMAND" if guest else ""
    return UsageError(
        f"environment {settings.kind!r} keeps what an attempt does to it, so that the next one "
        "would not begin where the task begins: several attempts need a machine that is thrown "
        "away",
        fix=f"--env desktop or --env vm:NAME, or leave --attempts out{revert}",
    )


async def reattach_or_replay(
    settings: Settings, log: RunLog, point: ResumePoint
) -> tuple[Environment, ResumeMethod, str]:
    """The desktop as it was after the last complete step, how it was found, and one line why.

    Raises:
        EnvironmentFailed: neither found nor brought there again.
    """
    kind = settings.environment.kind
    if not settings.environment.throw_away:
        return await open_desktop(settings, log), "reattached", kind
    stays = find_kind(settings.environment)[1].attach is not None
    reason = "the log names no desktop" if stays else "each run has a fresh machine"
    if point.desktop and stays:
        try:
            desktop = attach_environment(
                settings.environment, point.desktop, settings.run.image_limit
            )
            await desktop.__aenter__()
        except EnvironmentFailed as error:
            reason = str(error)
        else:
            if point.step:
                return desktop, "reattached", ""
            await desktop.__aexit__(None, None, None)
    environment = await open_desktop(settings, log)
    if "throw_away" not in environment.capabilities:  # of a package; what was done is done
        return environment, "reattached", kind
    if not point.step:
        return environment, "fresh", ""
    try:
        guarded = border_of(environment, settings, log)
        await TaskScorer(settings=settings.tasks).prepare(point.task, guarded)
        count = await replay(point.acts, guarded, settle=settings.environment.settle)
    except BaseException:
        await environment.__aexit__(None, None, None)
        raise
    return environment, "replayed", f"{count} acts, because {reason}"
