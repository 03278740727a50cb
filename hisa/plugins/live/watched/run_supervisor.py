"""The supervisor that each run has: a socket by which a person steers it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any

from hisa.agent import Agent
from hisa.config import Settings
from hisa.events import Decided, Event, Noted
from hisa.plugins.live.watched.gate import Gate
from hisa.plugins.live.watched.parked_parts import (
    ParkedEnvironment,
    ParkedPlanner,
    ParkedScorer,
    ParkedState,
)
from hisa.plugins.live.watched.person_acts import PersonActs
from hisa.plugins.live.watched.questions import Questions
from hisa.plugins.live.watched.run_socket import serving, socket_path
from hisa.plugins.live.watched.steering import Steering
from hisa.plugins.live.watched.typed_secrets import TypedSecrets
from hisa.protocols import Emit, Environment
from hisa.runs.log import RunLog
from hisa.tools.policy.deciding import Policy
from hisa.wiring import RunContext
from hisa.wiring.decision_parts import open_policy

__all__ = ["RunSupervisor"]

ASK = "HISA_LIVE_ASK"
"""The variable by which whoever starts a run says that questions are answered at its socket."""


class RunSupervisor:
    """Watches over one run; see `hisa.wiring.base.Supervisor`.

    Args:
        log: the run's.
        emit: takes the events of what a person does.
    """

    def __init__(self, log: RunLog, emit: Emit) -> None:
        self._log, self._emit = log, emit
        self._gate = Gate()
        self._secrets = TypedSecrets(log, emit)
        self._questions = Questions(self._gate)
        self._can_ask = False
        self._events: list[Event] = []
        self._decisions: list[Decided] = []

    def context(self, run_context: RunContext, /) -> RunContext:
        """Returns the parts of the run, with a machine that can be masked and a person to ask."""
        ask, inquire, questions = run_context.ask, run_context.inquire, self._questions
        self._can_ask = os.environ.get(ASK) == "1" and (ask is None or inquire is None)
        here = os.environ.get(ASK) == "1"
        self._events, self._decisions = [*run_context.events], [*run_context.decisions]
        return replace(
            run_context,
            around=self._secrets.around,
            listeners=[*run_context.listeners, self._hear],
            ask=questions.watched(ask) if ask else questions.ask if here else None,
            inquire=questions.watched(inquire) if inquire else questions.inquire if here else None,
        )

    @asynccontextmanager
    async def over(self, agent: Agent, /) -> AsyncIterator[Agent]:
        """Watches over an agent."""
        plain, gate = agent.environment, self._gate
        machine: Any = plain
        machine = machine.unasked() if hasattr(plain, "unasked") else plain
        acts = PersonActs(machine, self._secrets, partial(self._policy, machine), self._emit)
        watch = Steering(self._log, gate, self._questions, acts, self._emit)
        watch.can_ask, watch.max_steps = self._can_ask, agent.max_steps
        agent.scorer = ParkedScorer(agent.scorer, gate, plain)
        agent.environment = ParkedEnvironment.around(plain, gate, watch.newest)
        agent.planner = ParkedPlanner(agent.planner, gate, watch.newest)
        agent.state = ParkedState(agent.state, gate, lambda: watch.returned, self._events)
        gate.stale = agent.stale
        socket = serving(socket_path(self._log.id), watch.handle, watch.left)
        try:
            await socket.__aenter__()
        except OSError as error:
            self._emit(Noted(where="live", text=f"the run has no socket for a page: {error}"))
            yield agent
            return
        try:
            yield agent
        finally:
            gate.close()
            with suppress(Exception):
                await socket.__aexit__(None, None, None)

    def _hear(self, event: Event) -> None:
        if isinstance(event, Decided):
            self._decisions.append(event)

    async def _policy(self, machine: Environment) -> Policy:
        settings = Settings.model_validate(self._log.manifest.settings)
        return await open_policy(settings, machine, self._decisions)
