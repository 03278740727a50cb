"""Explores a subject with several workers, each with its own desktop, that share one frontier.

The workers live in one process because of the frontier: no worker tries what another one tries or
is on the way to, and a way that one found serves them all. Desktops are processes of their own, so
a worker only waits for them.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from hisa.config import EnvironmentSettings, TaskSettings
from hisa.environments.open_environment import open_environment
from hisa.errors import (
    ActionRefused,
    EnvironmentFailed,
    HisaError,
    UsageError,
)
from hisa.machine.patience import patience
from hisa.plugins.synthesis import offers as screens
from hisa.plugins.synthesis.exploration import Exploration
from hisa.plugins.synthesis.exploration_acts import SETTLE, ActFailed, find, perform
from hisa.plugins.synthesis.frontier import Choice, restore_frontier, screen_id, state_id
from hisa.plugins.synthesis.machine_facts import Noise, compare_facts, element_changes, read_facts
from hisa.plugins.synthesis.records import Act, Differences, Facts, State, Triple
from hisa.protocols import Environment
from hisa.screen.observation import Observation
from hisa.tasks.scorer import TaskScorer

__all__ = ["Session"]

_DEEP = 12  # most acts from a fresh start: longer tasks are tedious to prove
_LATE, _LATEST = 1.0, 4.0
"""Seconds to wait for a late dialog before an act counts as without effect, and their limit."""
_FAILURES = 3  # desktops lost in a row before exploring ends
_LOST = 3
"""Acts in a row that led back or astray before a fresh desktop is started: they leave a list, its
dialog, and the dialog under that."""
_CLOSE = Act(kind="press", keys=("alt", "f4"))
"""Closes the window of another program that was opened."""
_FILLED = frozenset({"check box", "radio button", "list item", "option", "switch"})
"""Roles besides fields with which a form is filled in."""


class Session:
    """The state that the workers share, and their counts since the command began.

    Args:
        exploration: from `Exploration.create`; it builds on what is known already.
        machine: settings of the environment to explore in.
        tasks: settings of the setup.
        minutes: of wall time; a desktop that is starting is not cut short.
        most: new transitions after which to end; None: it ends by time, or when nothing is left.
    """

    def __init__(
        self,
        exploration: Exploration,
        machine: EnvironmentSettings,
        tasks: TaskSettings,
        minutes: float,
        most: int | None = None,
    ) -> None:
        triples = exploration.triples
        self.exploration, self.machine, self.tasks = exploration, machine, tasks
        self.frontier, self.noise = restore_frontier(exploration), Noise()
        self.transitions = self.desktops = self._repeated = self._idle = 0
        self._began, self._minutes, self._most = time.monotonic(), minutes, most
        self.earlier_desktops = max((triple.desktop for triple in triples), default=-1)
        for triple in triples:
            self.noise.learn(triple.act, triple.differences.facts)

    async def explore(self, workers: int) -> None:
        """Explores on several desktops at once; each triple is stored at once.

        Raises:
            UsageError: the environment is not thrown away, or the subject cannot be set up.
            EnvironmentFailed: several desktops were lost in a row.
        """
        try:
            async with asyncio.TaskGroup() as group:
                for worker in range(workers):
                    group.create_task(self._work(worker))
        except* HisaError as errors:
            raise errors.exceptions[0] from None

    @property
    def over(self) -> bool:
        """Whether time is up, there are enough transitions, or nothing is left to try."""
        enough = self._most is not None and self.transitions >= self._most
        return enough or self.nothing_left or time.monotonic() >= self._began + 60 * self._minutes

    @property
    def nothing_left(self) -> bool:
        """Whether more acts in a row brought nothing new than there are known acts."""
        return self._idle > max(_DEEP, len(self.frontier.counts))

    def numbers(self) -> dict[str, float]:
        """Returns counts of this command; ``repeated`` acts were on the way to something new."""
        per_minute = 60 * self.transitions / max(1.0, time.monotonic() - self._began)
        rate = {"new_transitions": self.transitions, "per_minute": round(per_minute, 1)}
        return rate | {"repeated": self._repeated, "nothing_left": self.nothing_left}

    def add(self, triple: Triple) -> None:
        """Stores a triple, unless it repeats one."""
        self.noise.learn(triple.act, triple.differences.facts)
        edge = triple.before, triple.act.key, triple.after
        known = ((other.before, other.act.key, other.after) for other in self.exploration.triples)
        repeats = edge in known
        self._idle = self._idle + 1 if repeats or triple.failed else 0
        if repeats and not triple.failed:
            self._repeated += 1
        else:
            self.transitions += 1
            self.exploration.add(triple)

    async def _work(self, worker: int) -> None:
        """Explore on one desktop after the other."""
        failures = 0
        while not self.over:
            count_before = self.transitions
            try:
                async with open_environment(self.machine) as environment:
                    if "throw_away" not in environment.capabilities:
                        raise UsageError(
                            f"{environment.name} keeps what exploring does to the machine"
                        )
                    while not self.over:
                        await _Desktop(self, worker, environment).explore()
                        if not self.over:
                            await environment.reset()
            except EnvironmentFailed:
                failures = failures + 1 if self.transitions == count_before else 1
                if failures >= _FAILURES:
                    raise


class _Desktop:
    """One desktop with the subject, from a fresh start on.

    ``look``, ``facts`` and ``state`` are the newest ones; ``baseline`` the facts at the start.
    """

    look: Observation
    baseline: Facts
    facts: Facts
    state: State

    def __init__(self, session: Session, worker: int, environment: Environment) -> None:
        self._session, self._worker = session, worker
        self._environment, self._exploration = environment, session.exploration
        self._frontier, self._subject = session.frontier, session.exploration.subject
        session.desktops += 1
        self._number = session.earlier_desktops + session.desktops
        self._filled = False  # whether the last act filled something in

    async def explore(self) -> None:
        """Sets the subject up, and explores until only a fresh desktop helps."""
        await self._start()
        lost = 0
        while not self._session.over and lost <= _LOST and (choice := self._choose()):
            await self._step(choice.act)
            astray = choice.then is not None and choice.then not in self._list_offered_keys()
            if choice.then and astray:
                self._frontier.forget(choice.act.key, choice.then)
            lost = lost + 1 if astray or choice.act in (screens.ESCAPE, _CLOSE) else 0

    async def _start(self) -> None:
        """Sets the subject up, and waits until its window is complete."""
        scorer = TaskScorer(settings=self._session.tasks)
        await scorer.prepare(self._subject.task(), self._environment)
        screen = ""
        for _ in range(7):
            self.look = await self._observe()
            if self.look.complete and screen_id(self.look) == screen:
                break
            screen = screen_id(self.look)
            await asyncio.sleep(patience(0.5))
        self.baseline = self.facts = await read_facts(self._environment)
        await self._keep_state()
        offered = frozenset(self._list_offered_keys())
        root = self._frontier.root = self._frontier.root or offered
        if 2 * len(root & offered) >= len(root):  # otherwise a late dialog is in front
            self.state = self._exploration.states[self._exploration.root]

    def _choose(self) -> Choice | None:
        """Returns the frontier's choice, or an act that leads back; None if only a reset helps."""
        deep = len(self._exploration.route(self.state.id) or ()) > _DEEP
        if deep and not self._filled:
            return None
        acts, resting = screens.offers(self.look, self._subject), screens.at_rest(self.look)
        form = self._filled and (not resting or self._subject.domain == "browser")
        offered = acts if resting or not acts else [*acts, screens.ESCAPE]
        choice = self._frontier.choose(self._worker, self.state.screen, offered, filled=form)
        if choice and (not choice.tries or not self._frontier.untried_from_root()):
            return choice
        if (acts and resting) or not self.look.windows:
            return None
        own = screens.in_front(self.look) and not resting
        return Choice(screens.ESCAPE if own else _CLOSE, None, 0)

    async def _step(self, act: Act) -> None:
        """Does an act, finds what it changed, and stores both."""
        self._frontier.begin(self.state.screen, act.key)
        began, before = time.monotonic(), self.state.id
        element = find(act, self.look) if act.role else None
        lost: EnvironmentFailed | None = None
        try:
            await perform(self._environment, act, element)
            outcome = await self._see()
        except (ActFailed, ActionRefused, EnvironmentFailed) as error:
            outcome = {"after": "", "differences": Differences(), "failed": str(error)[:500]}
            lost = error if isinstance(error, EnvironmentFailed) else None
        box = element.box if element else None
        sides = tuple(map(round, (box.left, box.top, box.right, box.bottom))) if box else None
        triple = Triple.model_validate(
            {"number": len(self._exploration.triples), "desktop": self._number, "before": before}
            | {"act": act, "box": sides, "seconds": round(time.monotonic() - began, 2), **outcome}
        )
        self._session.add(triple)
        if lost:
            raise lost
        effect = bool(triple.differences)
        self._filled = effect and (act.kind == "type" or act.role in _FILLED)
        if not triple.failed:
            self._frontier.learn(act.key, self._list_offered_keys(), idle=not effect)

    async def _see(self) -> dict[str, Any]:
        """Looks, saves and reads facts after an act; does so twice if nothing changed at first."""
        observation, facts, saved = self.look, self.facts, False
        for looks in (1, 2):
            self.look = await self._observe(looks)
            if not saved and self._to_be_saved() and not self.look.shows(observation):
                save = Act(kind="press", keys=self._subject.save)
                await perform(self._environment, save, None)
                self.look, saved = await self._observe(), True
            self.facts = await read_facts(self._environment)
            changes = compare_facts(facts, self.facts)
            differences = Differences(
                facts=changes, elements=element_changes(observation, self.look)
            )
            if differences.elements or self._session.noise.without(changes):
                break
            if looks == 1:
                await asyncio.sleep(min(patience(_LATE), _LATEST))
        await self._keep_state()
        outcome = {"after": self.state.id, "differences": differences}
        return {**outcome, "saved": saved, "looks": looks}

    async def _observe(self, stretch: int = 1) -> Observation:
        return await self._environment.observe(elements=True, settle=SETTLE * stretch)

    def _list_offered_keys(self) -> list[tuple[str, ...]]:
        return screens.offered_keys(self.look, self._subject)

    def _to_be_saved(self) -> bool:
        """Whether keys would save the main document without a dialog."""
        if not (self._subject.save and self._subject.documents and self.look.active):
            return False
        name = self._subject.documents[0].rpartition("/")[2]
        return name in self.look.active.title and screens.at_rest(self.look)

    async def _keep_state(self) -> None:
        """Makes the look the current state, and stores it if it is new."""
        changes = self._session.noise.without(compare_facts(self.baseline, self.facts))
        screen = screen_id(self.look)
        name = state_id(screen, changes)
        if name not in self._exploration.states:
            image, elements = await self._exploration.keep(self.look)
            windows = tuple(window.title for window in self.look.windows)
            size = self.look.screen.width, self.look.screen.height
            fields = {"image": image, "elements": elements, "windows": windows, "size": size}
            state = State.model_validate(
                {"id": name, "screen": screen, "changed": changes} | fields
            )
            self._exploration.add_state(state)
        self.state = self._exploration.states[name]
