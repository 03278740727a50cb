"""Opens the desktop of a run, reattaches to it, or leaves it up so that the run can be resumed."""

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
"""Exit statuses after which somebody may want to resume on the same desktop."""

ResumeMethod = Literal["reattached", "replayed", "fresh"]
"""How a resumed run got its desktop."""


class RunDesktop:
    """The environment of one run: opened when the agent asks for it, left when the run is over.

    Args:
        open: opens the environment, or reattaches to it.
        stays: leave a private desktop up if the run can be resumed.
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
        """Start opening it now; it comes up while the rest of the run is loaded."""
        self._opening = asyncio.create_task(self._start_opening())
        await asyncio.sleep(0)  # runs the opening until it waits for other processes

    async def _start_opening(self) -> Environment:
        return await self._open()

    async def environment(self) -> Environment:
        """Open the environment, or wait until `begin` has opened it."""
        self._environment = await (self._opening or self._open())
        return self._environment

    async def leave(self, result: Result | None) -> str:
        """End the desktop or leave it up; returns the message of one left up, else ""."""
        if self._environment is None and self._opening is not None:
            self._opening.cancel()  # a guest may never answer, and nobody waits for it any more
            await asyncio.wait([self._opening])
            if not self._opening.cancelled() and self._opening.exception() is None:
                self._environment = self._opening.result()
        environment = self._environment
        if environment is None:
            return ""
        # A run without a step is resumed from its beginning, on a fresh desktop.
        begun = result is not None and result.steps > 0 and result.status in _LEFT_UP
        goes_on = self._stays and begun
        if goes_on and isinstance(environment, Detachable):
            return await environment.detach() or ""  # a package's environment may return None
        await environment.__aexit__(None, None, None)
        return ""


async def open_desktop(settings: Settings, log: RunLog) -> Environment:
    """Start the environment of the settings, and record in the manifest how to find it again."""
    note = note_writer(log.emit)
    environment = open_environment(settings.environment, settings.run.image_limit, note)
    await environment.__aenter__()
    if isinstance(environment, Detachable):
        log.amend(desktop=environment.belongs_to(log.id))
    return environment


async def open_fresh(settings: Settings, log: RunLog) -> Environment:
    """`open_desktop` for one of several attempts, each of which needs a machine of its own.

    Raises:
        UsageError: the machine is not thrown away; a package's environment says so only once
            it is open.
    """
    environment = await open_desktop(settings, log)
    if "throw_away" not in environment.capabilities:
        await environment.__aexit__(None, None, None)
        raise not_thrown_away(settings.environment)
    return environment


def not_thrown_away(settings: EnvironmentSettings) -> UsageError:
    """Returns the error for several attempts on a machine that keeps what each does."""
    guest = settings.family == "guest"
    revert = ", or --set environment.remote.revert=COMMAND" if guest else ""
    return UsageError(
        f"environment {settings.kind!r} keeps what an attempt changes, so the next attempt would "
        "not begin at the task's initial state: several attempts need a machine that is thrown "
        "away",
        fix=f"--env desktop or --env vm:NAME, or omit --attempts{revert}",
    )


async def reattach_or_replay(
    settings: Settings, log: RunLog, point: ResumePoint
) -> tuple[Environment, ResumeMethod, str]:
    """Returns the desktop as it was after the last complete step, the method, and a reason.

    Args:
        settings: the run's own settings.
        log: the run's log; a new desktop is recorded in its manifest.
        point: the checkpoint, with the desktop's record and the actions done so far.

    Raises:
        EnvironmentFailed: the desktop could be neither found nor rebuilt by replaying.
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
    if "throw_away" not in environment.capabilities:  # a package's; it still has what was done
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
    return environment, "replayed", f"{count} actions, because {reason}"
