"""Holds the agent at its safe points while a person has paused it or holds a lease."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from hisa.hooks import Run
from hisa.screen.observation import Observation

__all__ = ["Gate", "Lease", "Refused"]

_INTERRUPTED = "nothing was done: a person was about to take the machine over"


class Refused(Exception):
    """A person's request was refused; the text is a sentence for that person."""


@dataclass(eq=False)
class Lease:
    """One person's right to act; ``ready`` once the agent is parked and a look was taken."""

    viewer: str
    owner: object
    token: str = field(default_factory=lambda: secrets.token_urlsafe(16), repr=False)
    since: float = 0.0
    ready: bool = False


class Gate:
    """Parks the agent's task. Owners are connections; persons' requests may raise `Refused`."""

    look: Observation | None = None
    """The newest look that was taken for a person."""
    returned: Observation | None = None
    """The look at which a person last gave the machine back."""
    over = False
    lease: Lease | None = None
    _idle_count = 0
    _run: Run | None = None
    _task: asyncio.Task[Any] | None = None

    def __init__(self) -> None:
        self.lines: list[tuple[int, str]] = []
        """The step and the line on what changed, for each time that a person had the machine."""
        self._pauses: dict[object, float] = {}
        self._open, self._idle = asyncio.Event(), asyncio.Event()
        self._open.set()

    def begin(self, run: Run) -> None:
        """Take a run; its asyncio task must be the one that calls this."""
        self._run, self._task = run, asyncio.current_task()

    @property
    def state(self) -> str:
        """The state of the run, for a person: running, pausing, paused or held."""
        if self._open.is_set():
            return "running"
        if self.lease is None:
            return "paused" if self._idle.is_set() else "pausing"
        return "held" if self.lease.ready else "pausing"

    @property
    def newest(self) -> Observation | None:
        """The newest look that anybody took."""
        step = self._run.step if self._run else None
        observations = [self.look]
        if step is not None:
            observations += [step.look, *(action.look for action in step.actions), step.after]
        known = [observation for observation in observations if observation is not None]
        return max(known, key=lambda observation: observation.at, default=None)

    async def park(self) -> None:
        """Wait while a person has paused the agent or holds a lease."""
        while not self._open.is_set():
            with self.idle():
                await self._open.wait()

    @contextmanager
    def idle(self) -> Iterator[None]:
        """Marks that the agent does nothing: it is parked, or waits for a person's answer."""
        self._idle_count += 1
        self._idle.set()
        try:
            yield
        finally:
            self._idle_count -= 1
            if not self._idle_count:
                self._idle.clear()

    def pause(self, owner: object) -> bool:
        """Park the agent at its next safe point; returns whether this is the only pause."""
        self._check()
        self._open.clear()
        self._pauses.setdefault(owner, time.monotonic())
        return len(self._pauses) == 1

    def resume(self, *owners: object) -> float | None:
        """End the pauses of some owners, or of all.

        Returns:
            The seconds since the first pause; None if the agent was not paused or still is.
        """
        began = min(self._pauses.values(), default=None)
        for owner in owners or [*self._pauses]:
            self._pauses.pop(owner, None)
        self._reopen()
        return None if self._pauses or began is None else time.monotonic() - began

    async def take(self, viewer: str, owner: object) -> Lease:
        """Returns a lease, not ready yet, once the agent is parked; ends a plan in progress."""
        self._check()
        if self.lease is not None:
            raise Refused(f"{self.lease.viewer} holds the machine")
        lease = self.lease = Lease(viewer, owner)
        self._open.clear()
        self._interrupt()
        try:
            await self._idle.wait()
            self._check()
        except BaseException:
            self.drop(lease)
            raise
        return lease

    def require_lease(self, token: str) -> Lease:
        """Returns the lease of a token; raises `Refused` if it is not valid."""
        shown, lease = token.encode("utf-8", "replace"), self.lease
        if lease and lease.ready and secrets.compare_digest(lease.token.encode(), shown):
            return lease
        raise Refused("this lease is not valid: take the machine over first")

    def drop(self, lease: Lease, *line: tuple[int, str]) -> None:
        """End a lease; the agent reads the line, if there is one."""
        if self.lease is lease:
            self.lines += line
            self.lease = None
            self._reopen()

    def stop(self) -> None:
        """End the run as Ctrl-C does: cancel the agent's task, at once."""
        self._check()
        if self._task is None:
            raise Refused("the run has not begun yet")
        self.over = self._task.cancel()

    def close(self) -> None:
        """Let everybody go: the run has ended."""
        self.over, self.lease = True, None
        self._open.set()
        self._idle.set()

    def _interrupt(self) -> None:
        step = self._run.step if self._run else None
        if step and step.planning and step.planning.cancel(_INTERRUPTED):
            step.interrupted = _INTERRUPTED

    def _check(self) -> None:
        if self.over:
            raise Refused("the run has ended, or is about to")

    def _reopen(self) -> None:
        if not self._pauses and self.lease is None:
            self._open.set()
