"""Holds the agent at safe points while a person wants it to: the states of a run that is watched.

running -> pausing -> paused -> running         pause … the agent's next safe point … resume
running -> pausing -> held   -> running         take  … the agent's next safe point … give
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Gate", "Lease", "Refused", "State", "Stay"]

State = Literal["running", "pausing", "paused", "held"]


class Refused(Exception):
    """A person's request that is not done; its text is a sentence for that person."""


@dataclass(frozen=True)
class Stay:
    """A time for which the agent was parked; ``line`` is what a person did, empty for a pause."""

    seconds: float
    line: str = ""


@dataclass(eq=False)
class Lease:
    """The right of one person to act on the machine; ``owner`` is the connection that asked."""

    viewer: str
    owner: object
    token: str = field(default_factory=lambda: secrets.token_urlsafe(16), repr=False)
    ready: bool = False
    """Whether the agent is parked, and the first look was taken."""
    since: float = field(default_factory=time.monotonic)


class Gate:
    """Parks the task of the agent, and knows who wants it parked.

    Args:
        stale: seconds after which the agent looks again before it plans; see `Agent`. After a
            person had the machine it stays parked for at least so long.
    """

    def __init__(self, stale: float = 1.0) -> None:
        self.phase = ""
        self.stale = stale
        self.over = False
        self.lease: Lease | None = None
        self.stays: list[Stay] = []
        """Those in which a person had the machine."""
        self.interrupt: Callable[[], object] | None = None
        """Ends what is not worth waiting for once a person takes over: a plan."""
        self._pauses: dict[object, float] = {}
        self._parked = 0
        self._open, self._sat = asyncio.Event(), asyncio.Event()
        self._open.set()
        self._run: asyncio.Task[object] | None = None
        self._stop = False

    @property
    def state(self) -> State:
        """The run's state, as a person is shown it."""
        if self._open.is_set():
            return "running"
        if self.lease is not None:
            return "held" if self.lease.ready else "pausing"
        return "paused" if self._sat.is_set() else "pausing"

    # ---------------------------------------------------------------- the agent's side

    def enter(self, phase: str) -> None:
        """Note what the agent does now, and which task it is."""
        self.phase, self._run = phase, asyncio.current_task()
        if self._stop and self._run is not None:
            self._stop = False
            self._run.cancel()

    async def park(self) -> Stay | None:
        """Wait while a person wants it; returns what happened, None where nobody did."""
        if self._open.is_set():
            return None
        began, known = time.monotonic(), len(self.stays)
        with self.sitting():
            while not self._open.is_set():
                await self._open.wait()
                if len(self.stays) > known:
                    await asyncio.sleep(max(0.0, began + self.stale - time.monotonic()))
        seconds, stays = time.monotonic() - began, self.stays[known:]
        return Stay(seconds, " Then ".join(stay.line for stay in stays))

    @contextmanager
    def sitting(self) -> Iterator[None]:
        """Inside, the agent does nothing: it is parked, or waits for a person's answer."""
        self._parked += 1
        self._sat.set()
        try:
            yield
        finally:
            self._parked -= 1
            if not self._parked:
                self._sat.clear()

    # ---------------------------------------------------------------- the person's side

    def pause(self, owner: object) -> bool:
        """Ask the agent to stop at its next safe point; returns whether it was not asked before.

        Raises:
            Refused: the run has ended.
        """
        self._check()
        first = not self._pauses
        self._pauses.setdefault(owner, time.monotonic())
        self._open.clear()
        return first

    def resume(self, owner: object | None = None) -> float | None:
        """Let go of the pause of one owner, or of all; returns the seconds, None: still paused."""
        began = min(self._pauses.values(), default=None)
        if owner is None:
            self._pauses.clear()
        else:
            self._pauses.pop(owner, None)
        self._reopen()
        return None if self._pauses or began is None else time.monotonic() - began

    async def take(self, viewer: str, owner: object) -> Lease:
        """A lease, once the agent is parked.

        Raises:
            Refused: somebody has one, or the run has ended.
        """
        self._check()
        if self.lease is not None:
            raise Refused(f"{self.lease.viewer} holds it")
        lease = self.lease = Lease(viewer, owner)
        self._open.clear()
        if self.interrupt is not None:
            self.interrupt()
        try:
            await self._sat.wait()
            self._check()
        except BaseException:
            self.drop(lease)
            raise
        return lease

    def leased(self, token: str) -> Lease:
        """The lease of a token.

        Raises:
            Refused: it is not, or no longer, the one that holds.
        """
        lease = self.lease
        if (
            lease is None
            or not lease.ready
            or not secrets.compare_digest(lease.token.encode(), token.encode("utf-8", "replace"))
        ):
            raise Refused("this lease does not hold: take over first")
        return lease

    def give(self, lease: Lease, line: str) -> None:
        """End a lease after which the agent reads ``line``."""
        self.stays.append(Stay(time.monotonic() - lease.since, line))
        self.drop(lease)

    def drop(self, lease: Lease) -> None:
        """End a lease under which nothing was done."""
        if self.lease is lease:
            self.lease = None
            self._reopen()

    def stop(self) -> None:
        """End the run as Ctrl-C does: by cancelling the agent's task, at once.

        Raises:
            Refused: it has ended, or is being stopped already.
        """
        self._check()
        if self._run is None:
            self._stop = True
        else:
            self._run.cancel()
        self.over = True

    def close(self) -> None:
        """Let everybody go: the run has ended."""
        self.over = True
        self._pauses.clear()
        self.lease = None
        self._open.set()
        self._sat.set()

    def _check(self) -> None:
        if self.over:
            raise Refused("the run has ended, or is about to")

    def _reopen(self) -> None:
        if not self._pauses and self.lease is None:
            self._open.set()
