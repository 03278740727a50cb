"""Answers the requests of a run's socket: tells a person its state, and does what they ask for."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from hisa.errors import HisaError
from hisa.events import PersonActed
from hisa.hooks import Run
from hisa.plugins.live.watched.gate import Gate, Lease, Refused
from hisa.plugins.live.watched.person_acts import PersonActs
from hisa.plugins.live.watched.questions import Questions
from hisa.plugins.live.watched.run_socket import Answer, Request
from hisa.plugins.live.watched.take_over import TakeOver
from hisa.screen.observation import Observation
from hisa.state.changes import describe_changes
from hisa.state.roi import full_pair
from hisa.state.token_limits import cut_at_sentence
from hisa.text.prompt_text import clean, field_text
from hisa.wiring.base import HookParts

__all__ = ["Steering"]

_SETTLE, _APART = 1.0, 0.2
"""Seconds: longest wait for the screen to come to rest; least time between looks for watchers."""


class Steering:
    """Steers one run; each request has a method, which raises `Refused` if it cannot be done."""

    can_ask = False
    _taken: Observation | None = None
    _looked = 0.0

    def __init__(
        self, run: Run, parts: HookParts, gate: Gate, questions: Questions, acts: PersonActs
    ) -> None:
        self._run, self._log, self._emit = run, parts.log, parts.emit
        self._gate, self._questions, self._acts = gate, questions, acts
        self._machine, self._take_over = asyncio.Lock(), TakeOver(gate)

    def join(self) -> None:
        """Take part in the run from now on, after its other hooks."""
        if self._take_over not in self._run.hooks:
            self._run.hooks.add(self._take_over)

    async def handle(self, request: Request, owner: object) -> Answer:
        """Answer a request of a connection."""
        if request.do == "frame":
            return await self._frame(request.since)
        reply = await getattr(self, f"_{request.do}")(request, owner)
        return {"state": self._gate.state} if reply is None else reply, b""

    async def release_owner(self, owner: object) -> None:
        """End the pause and the lease of a connection that is gone."""
        lease = self._gate.lease
        if lease is not None and lease.owner is owner:
            await self._end_lease(lease)
        await self._resume(None, owner)

    async def _status(self, *_: object) -> dict[str, Any]:
        gate, spent = self._gate, self._log.manifest.totals
        return {
            "state": gate.state,
            "holder": gate.lease.viewer if gate.lease else "",
            "step": self._log.step,
            "max_steps": self._run.max_steps,
            "question": self._questions.pending,
            "can_ask": self.can_ask,
            "usd": None if spent.unpriced else round(spent.usd, 6),
            "tokens": spent.tokens,
        }

    async def _pause(self, _: Request, owner: object) -> None:
        self.join()
        if self._gate.pause(owner):
            self._tell("paused")

    async def _resume(self, request: Request | None, *owners: object) -> None:
        seconds = self._gate.resume(*(() if request else owners))
        if seconds is not None and not self._gate.over:
            self._tell("resumed", seconds=seconds)

    async def _stop(self, *_: object) -> None:
        self._gate.stop()
        self._acts.flush()
        self._tell("stopped")

    async def _answer(self, request: Request, _: object) -> None:
        self._questions.answer(request.question, request.kind, request.text)

    async def _take(self, request: Request, owner: object) -> dict[str, Any]:
        self.join()
        lease = await self._gate.take(request.viewer, owner)
        try:
            self._taken = observation = await self._look(_SETTLE)
        except BaseException:
            self._gate.drop(lease)
            raise
        lease.since, lease.ready = time.monotonic(), True
        self._tell("took_over", request.viewer)
        return {
            "lease": lease.token,
            "width": observation.screen.width,
            "height": observation.screen.height,
        }

    async def _input(self, request: Request, _: object) -> dict[str, Any]:
        async with self._machine:
            self._gate.require_lease(request.lease)
            assert self._taken is not None, "a lease is ready once there was a look"
            await self._acts.do(request.acts, self._taken.screen)
        return {}

    async def _give(self, request: Request, _: object) -> dict[str, Any]:
        return {"line": await self._end_lease(self._gate.require_lease(request.lease))}

    async def _end_lease(self, lease: Lease) -> str:
        """End a lease; returns a line on what changed since the machine was taken over."""
        if not lease.ready:
            self._gate.drop(lease)
            return ""
        lease.ready, seconds = False, time.monotonic() - lease.since
        line = f"a person had the machine for {seconds:.0f} s and gave it back. "
        try:
            self._acts.flush()
            self._gate.returned = observation = await self._look(_SETTLE)
            line += _change_line(self._taken or observation, observation)
        except HisaError:
            line += "What changed could not be seen."
        finally:
            self._gate.drop(lease, (self._log.step, line))
            self._questions.answer_hand_over()
            self._tell("gave_back", line, seconds)
        return line

    async def _look(self, settle: float = 0.0) -> Observation:
        async with self._machine:
            self._gate.look = observation = await self._acts.look(settle=settle)
            self._looked = time.monotonic()
            return observation

    async def _frame(self, known: str) -> Answer:
        """Returns the picture of the newest look; of a new look while the machine is held."""
        fresh = self._gate.state == "held" and time.monotonic() - self._looked >= _APART
        observation = await self._look() if fresh else self._gate.newest
        if observation is None:
            raise Refused("the run has not looked at its machine yet")
        digest = await asyncio.to_thread(lambda: observation.screenshot.sha256)
        if digest == known:
            return {"same": True}, b""
        data = await asyncio.to_thread(lambda: observation.screenshot.png)
        return {"same": False, "hash": digest, "bytes": len(data)}, data

    def _tell(self, did: Any, text: str = "", seconds: float = 0.0) -> None:
        self._emit(PersonActed(did=did, text=text, seconds=seconds))


def _change_line(before: Observation, after: Observation) -> str:
    """Returns what changed between two looks, by the elements, else by the pictures."""
    pair = full_pair(before, after)
    box = pair.box if pair else None
    changes = " ".join((describe_changes(before, after, box) or ())[:4])
    text = cut_at_sentence(field_text(clean(changes)), 120)  # sentences and tokens: chosen by hand
    if text or box is None:
        return text or "Nothing on the screen has changed."
    (left, top), (right, bottom) = (box.left, box.top), (box.right, box.bottom)
    return f"The screen changed between ({left:.0f}, {top:.0f}) and ({right:.0f}, {bottom:.0f})."
