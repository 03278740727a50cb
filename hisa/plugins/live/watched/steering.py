"""Answers the requests of a run's socket: what a person is told, and what a person may do."""

from __future__ import annotations

import time
from typing import Any, assert_never

from hisa.errors import HisaError
from hisa.events import PersonActed
from hisa.plugins.live.watched.change_line import change_line
from hisa.plugins.live.watched.gate import Gate, Lease, Refused
from hisa.plugins.live.watched.newest_look import NewestLook
from hisa.plugins.live.watched.person_acts import PersonActs
from hisa.plugins.live.watched.questions import Questions
from hisa.plugins.live.watched.socket_requests import (
    Give,
    Input,
    Picture,
    Plain,
    Reply,
    Request,
    Take,
)
from hisa.protocols import Emit
from hisa.runs.log import RunLog
from hisa.screen.observation import Observation

__all__ = ["Steering"]

_SETTLE = 1.0
"""Longest wait, in seconds, for the screen to come to rest before a person is done."""
Answered = tuple[dict[str, Any], bytes]


class Steering:
    """Steers one run.

    Args:
        log: the run's, for what was spent.
        gate: parks the agent.
        questions: those that wait.
        acts: does what a person wants done.
        emit: gets a `PersonActed` for each thing that a person did.
    """

    def __init__(
        self, log: RunLog, gate: Gate, questions: Questions, acts: PersonActs, emit: Emit
    ) -> None:
        self._log, self._gate, self._questions = log, gate, questions
        self._acts, self._emit = acts, emit
        self._taken: Observation | None = None
        self.newest = NewestLook(lambda: acts.look(elements=False))
        self.returned: Observation | None = None
        """The look at which a person gave the machine back last."""
        self.can_ask, self.max_steps = False, 0

    async def handle(self, request: Request, owner: object) -> Answered:
        """Answer a request of the connection ``owner``.

        Raises:
            Refused: it is not done.
        """
        match request:
            case Plain():
                return self._plain(request.do, owner), b""
            case Take():
                return await self._take(request.viewer, owner), b""
            case Give():
                return {"line": await self._give(self._gate.leased(request.lease))}, b""
            case Input():
                self._gate.leased(request.lease)
                async with self.newest.machine:
                    self._gate.leased(request.lease)
                    assert self._taken is not None
                    await self._acts.do(request.acts, self._taken.screen)
                return {}, b""
            case Reply():
                self._questions.answer(request.question, request.kind, request.text)
                return {}, b""
            case Picture():
                return await self._frame(request)
            case _:
                assert_never(request)

    async def left(self, owner: object) -> None:
        """Let go of what a connection that is gone had asked for."""
        lease = self._gate.lease
        if lease is not None and lease.owner is owner:
            await self._give(lease)
        seconds = self._gate.resume(owner)
        if seconds is not None and not self._gate.over:
            self._tell("resumed", seconds=seconds)

    # ---------------------------------------------------------------- each request

    def _plain(self, do: str, owner: object) -> dict[str, Any]:
        gate = self._gate
        if do == "status":
            return self._status()
        if do == "pause":
            if gate.pause(owner):
                self._tell("paused")
        elif do == "resume":
            seconds = gate.resume()
            if seconds is not None:
                self._tell("resumed", seconds=seconds)
        else:
            gate.stop()
            self._acts.flush()
            self._tell("stopped")
        return {"state": gate.state}

    def _status(self) -> dict[str, Any]:
        gate, totals = self._gate, self._log.manifest.totals
        return {
            "state": gate.state,
            "holder": gate.lease.viewer if gate.lease else "",
            "step": self._log.step,
            "max_steps": self.max_steps,
            "phase": gate.phase,
            "question": self._questions.pending if self.can_ask else None,
            "usd": None if totals.unpriced else round(totals.usd, 6),
            "tokens": totals.tokens,
            "can_ask": self.can_ask,
        }

    async def _take(self, viewer: str, owner: object) -> dict[str, Any]:
        lease = await self._gate.take(viewer, owner)
        try:
            async with self.newest.machine:
                look = self._taken = await self._acts.look(settle=_SETTLE)
                self.newest.take(look)
        except BaseException as error:
            self._gate.drop(lease)
            if isinstance(error, HisaError):
                raise Refused(f"the machine cannot be looked at: {error}") from None
            raise
        lease.since, lease.ready = time.monotonic(), True
        self._tell("took_over", text=viewer)
        size = look.screen
        return {"lease": lease.token, "width": size.width, "height": size.height}

    async def _give(self, lease: Lease) -> str:
        """End a lease; the line says what is other than when the machine was taken over."""
        if not lease.ready:
            self._gate.drop(lease)
            return ""
        lease.ready = False
        seconds = time.monotonic() - lease.since
        line = f"a person had the machine for {seconds:.0f} s and gave it back."
        try:
            async with self.newest.machine:
                self._acts.flush()
                look = await self._acts.look(settle=_SETTLE)
            self.newest.take(look)
            self.returned = look
            if self._taken is not None:
                line = change_line(self._taken, look, seconds)
        except HisaError:
            line += " Nobody could look at it."
        finally:
            self._gate.give(lease, line)
            self._questions.given_back()
        self._tell("gave_back", text=line, seconds=seconds)
        return line

    async def _frame(self, request: Picture) -> Answered:
        lease = self._gate.lease
        fresh = lease is not None and lease.ready
        try:
            shown = await self.newest.frame(request.width, request.since, fresh=fresh)
        except HisaError as error:
            raise Refused(f"the machine cannot be looked at: {error}") from None
        digest, look, kind, data = shown
        if not data:
            return {"same": True}, b""
        height = round(look.image.height * (request.width / look.image.width or 1))
        return {
            "same": False, "hash": digest, "type": kind, "bytes": len(data),
            "width": request.width or look.image.width, "height": height,
            "screen": [look.screen.width, look.screen.height],
        }, data  # fmt: skip

    def _tell(self, did: Any, *, text: str = "", seconds: float = 0.0) -> None:
        self._emit(PersonActed(did=did, text=text, seconds=seconds))
