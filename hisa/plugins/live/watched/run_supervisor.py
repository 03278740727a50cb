"""The supervisor that each run has: a socket by which a person steers it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any

from hisa.agent import Agent
from hisa.config import Settings
from hisa.events import Decided, Event, Noted
from hisa.plugins.live.watched import parked_parts as parked
from hisa.plugins.live.watched.gate import Gate
from hisa.plugins.live.watched.person_acts import PersonActs
from hisa.plugins.live.watched.questions import Questions
from hisa.plugins.live.watched.run_socket import serving, socket_path
from hisa.plugins.live.watched.steering import Steering
from hisa.plugins.live.watched.typed_secrets import TypedSecrets
from hisa.protocols import Emit
from hisa.runs.log import RunLog
from hisa.tools.policy.deciding import Policy
from hisa.wiring import RunContext
from hisa.wiring.decision_parts import open_policy

__all__ = ["RunSupervisor"]

_ASK = "HISA_LIVE_ASK"
"""The variable by which whoever starts a run says that questions are answered at its socket."""


class RunSupervisor:
    """Watches over one run; see `hisa.wiring.base.Supervisor`."""

    def __init__(self, log: RunLog, emit: Emit) -> None:
        self._log, self._emit, self._gate = log, emit, Gate()
        self._secrets, self._questions = TypedSecrets(log, emit), Questions(self._gate)
        self._events: list[Event] = []
        self._decisions: list[Decided] = []
        self._can_ask = False

    def context(self, run_context: RunContext, /) -> RunContext:
        """Returns the parts of the run, with a machine that can be masked and a person to ask."""
        own, ask, inquire = self._questions, run_context.ask, run_context.inquire
        if os.environ.get(_ASK) == "1":
            self._can_ask = ask is None or inquire is None
            ask, inquire = ask or own.ask, inquire or own.inquire
        self._events, self._decisions = [*run_context.events], [*run_context.decisions]
        return replace(
            run_context,
            around=self._secrets.around,
            listeners=[*run_context.listeners, self._hear],
            ask=None if ask is None else own.watched(ask),
            inquire=None if inquire is None else own.watched(inquire),
        )

    @asynccontextmanager
    async def over(self, agent: Agent, /) -> AsyncIterator[Agent]:
        """Watches over an agent."""
        gate, plain = self._gate, agent.environment
        machine: Any = getattr(plain, "unasked", lambda: plain)()
        acts = PersonActs(machine, self._secrets, partial(self._policy, machine), self._emit)
        steering = Steering(self._log, gate, self._questions, acts, self._emit)
        steering.max_steps, steering.can_ask = agent.max_steps, self._can_ask
        seen, gate.stale = steering.seen, agent.stale
        agent.scorer = parked.ParkedScorer.around(agent.scorer, gate, seen)
        vars(agent.scorer)["environment"] = plain
        agent.environment = parked.ParkedEnvironment.around(plain, gate, seen)
        agent.planner = parked.ParkedPlanner.around(agent.planner, gate, seen)
        agent.state = parked.ParkedState.around(agent.state, gate, seen, self._events)
        async with AsyncExitStack() as stack:
            try:
                path = socket_path(self._log.id)
                await stack.enter_async_context(serving(path, steering.handle, steering.left))
            except OSError as error:
                with suppress(Exception):
                    self._emit(Noted(where="live", text=f"this run has no live page: {error}"))
            stack.callback(gate.close)
            yield agent

    def _hear(self, event: Event) -> None:
        if isinstance(event, Decided):
            self._decisions.append(event)

    async def _policy(self, machine: Any) -> Policy:
        settings = Settings.model_validate(self._log.manifest.settings)
        return await open_policy(settings, machine, self._decisions)
