"""The hook that opens a socket for each run, by which a person steers it from start to end."""

from __future__ import annotations

import os
from contextlib import AsyncExitStack

from hisa.events import Noted, PersonActed
from hisa.hooks import Hook, Run
from hisa.plugins.live.watched.gate import Gate
from hisa.plugins.live.watched.person_acts import PersonActs
from hisa.plugins.live.watched.questions import Questions
from hisa.plugins.live.watched.run_socket import serving, socket_path
from hisa.plugins.live.watched.steering import Steering
from hisa.plugins.live.watched.typed_secrets import TypedSecrets
from hisa.wiring.base import HookParts

__all__ = ["LiveSocket"]

_ASK = "HISA_LIVE_ASK"
"""The variable that says, when a run is started, that questions are answered at its socket."""


class LiveSocket(Hook):
    """Opens the socket of one run; `TakeOver` joins the run's hooks once a person steers it.

    Args:
        parts: the parts of the run; its ways to ask a person are wrapped, so that the machine can
            be taken over while a question waits.
    """

    name = "live"
    watches = True

    def __init__(self, parts: HookParts) -> None:
        self._parts, self._gate, self._stack = parts, Gate(), AsyncExitStack()
        self._secrets = TypedSecrets(parts.log, parts.emit)
        self._questions = own = Questions(self._gate)
        ask, inquire = parts.ask, parts.inquire
        self._can_ask = os.environ.get(_ASK) == "1" and (ask is None or inquire is None)
        if self._can_ask:
            ask, inquire = ask or own.ask, inquire or own.inquire
        parts.ask = None if ask is None else own.wrap_asking(ask)
        parts.inquire = None if inquire is None else own.wrap_asking(inquire)
        self._gate.lines += [
            (event.step, event.text)
            for event in parts.events
            if isinstance(event, PersonActed) and event.did == "gave_back"
        ]

    async def on_start(self, run: Run) -> None:
        """Listen at the socket; if that fails, the run says so in a note and goes on."""
        self._gate.begin(run)
        self._secrets.watch(run)
        acts = PersonActs(run, self._secrets, self._parts.emit)
        steering = Steering(run, self._parts, self._gate, self._questions, acts)
        steering.can_ask = self._can_ask
        if self._gate.lines:  # the planner of a resumed run reads them
            steering.join()
        try:
            path = socket_path(self._parts.log.id)
            await self._stack.enter_async_context(
                serving(path, steering.handle, steering.release_owner)
            )
        except OSError as error:
            text = f"this run has no live page: {error}"
            self._parts.emit(Noted(where="live", text=text))

    async def on_end(self, run: Run) -> None:
        """Close the socket and let all connections go."""
        self._gate.close()
        try:
            await self._stack.aclose()
        finally:
            self._secrets.close()
