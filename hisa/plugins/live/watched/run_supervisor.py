"""The supervisor that each run has: a socket by which a person steers it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from hisa.agent import Agent
from hisa.config import Settings
from hisa.events import Decided, Event, Noted, PersonActed
from hisa.plugins.live.watched import parked_parts as parked
from hisa.plugins.live.watched.gate import Gate
from hisa.plugins.live.watched.person_acts import PersonActs
from hisa.plugins.live.watched.questions import Questions
from hisa.plugins.live.watched.run_socket import serving, socket_path
from hisa.plugins.live.watched.steering import Steering
from hisa.plugins.live.watched.typed_secrets import TypedSecrets
from hisa.protocols import Emit
from hisa.runs.log import RunLog
from hisa.wiring import RunContext
from hisa.wiring.decision_parts import open_policy

__all__ = ["RunSupervisor"]

_ASK = "HISA_LIVE_ASK"
"""The variable by which whoever starts a run says that questions are answered at its socket."""


class RunSupervisor:
    """Watches over one run; see `hisa.wiring.base.Supervisor`."""

    _can_ask = False

    def __init__(self, log: RunLog, emit: Emit) -> None:
        self._log, self._emit, self._gate = log, emit, Gate()
        self._secrets, self._questions = TypedSecrets(log, emit), Questions(self._gate)
        self._decisions: list[Decided] = []

    def context(self, run_context: RunContext, /) -> RunContext:
        """Returns the parts of the run, with a machine that can be masked and a person to ask."""
        own, ask, inquire = self._questions, run_context.ask, run_context.inquire
        if os.environ.get(_ASK) == "1":
            self._can_ask = ask is None or inquire is None
            ask, inquire = ask or own.ask, inquire or own.inquire
        self._decisions += run_context.decisions
        gave = [
            e for e in run_context.events if isinstance(e, PersonActed) and e.did == "gave_back"
        ]
        self._gate.lines += [(event.step, event.text) for event in gave]
        return replace(
            run_context,
            listeners=[*run_context.listeners, self._hear],
            ask=None if ask is None else own.watched(ask),
            inquire=None if inquire is None else own.watched(inquire),
        )

    @asynccontextmanager
    async def over(self, agent: Agent, /) -> AsyncIterator[Agent]:
        """Watches over an agent."""
        gate, machine = self._gate, agent.environment
        machine = getattr(machine, "unasked", lambda: agent.environment)()

        watched: Any = SimpleNamespace(environment=machine, hooks=())
        self._secrets.watch(watched)

        async def policy() -> Any:
            settings = Settings.model_validate(self._log.manifest.settings)
            return await open_policy(settings, machine, self._decisions)

        acts = PersonActs(machine, self._secrets, policy, self._emit, self._log)
        steering = Steering(self._log, gate, self._questions, acts, self._emit)
        steering.max_steps, steering.can_ask, gate.stale = (
            agent.max_steps,
            self._can_ask,
            agent.stale,
        )
        parts: Any = agent
        parts.scorer = parked.ParkedScorer(agent.scorer, gate)
        parts.environment = parked.ParkedEnvironment(agent.environment, gate)
        parts.planner = parked.ParkedPlanner(agent.planner, gate)
        parts.state = parked.ParkedState(agent.state, gate)
        async with AsyncExitStack() as stack:
            try:
                path = socket_path(self._log.id)
                await stack.enter_async_context(serving(path, steering.handle, steering.left))
            except OSError as error:
                with suppress(Exception):
                    self._emit(Noted(where="live", text=f"this run has no live page: {error}"))
            stack.callback(gate.close)
            stack.callback(self._secrets.close)
            yield agent

    def _hear(self, event: Event) -> None:
        if isinstance(event, Decided):
            self._decisions.append(event)
