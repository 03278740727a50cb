"""Explores a subject: workers, each with a desktop of its own, share one frontier.

They live in one process because of the frontier: what one worker tries, or is on the way to, the
others leave alone at once, and a way that one found serves them all. Desktops are processes of
their own already, and a worker only waits for them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hisa.config import Settings
from hisa.environments.open_environment import open_environment
from hisa.errors import ActionRefused, EnvironmentFailed, HisaError, UsageError
from hisa.machine.patience import patience
from hisa.plugins.synthesis.doing import SETTLE, ActFailed, find, perform
from hisa.plugins.synthesis.exploration import Exploration
from hisa.plugins.synthesis.frontier import Choice, Key, restored, screen_id, state_id
from hisa.plugins.synthesis.machine_facts import Noise, changed, element_changes, read_facts
from hisa.plugins.synthesis.offers import (
    ESCAPE,
    at_rest,
    confirms,
    in_front,
    offered_keys,
    offers,
    program_of,
)
from hisa.plugins.synthesis.records import Act, Differences, Facts, State, Triple
from hisa.protocols import Environment
from hisa.screen.observation import Observation
from hisa.tasks.scorer import TaskScorer

__all__ = ["Session"]

_DEEP = 12
"""Acts from a fresh start: what is further off gives tasks that are tedious to prove."""
_LATE = 1.0
"""Seconds that a late dialog gets before an act is said to change nothing."""
_LATEST = 4.0
"""However busy the machine: most acts that changed nothing at first change nothing at all."""
_FAILURES = 3
"""Desktops lost one after the other before exploring ends."""
_ESCAPES = 3
"""A list, the dialog that it is in, and the dialog under that."""
_ASTRAY = 3
"""Known ways that led elsewhere, one after the other, before a fresh desktop."""
_CLOSE = Act(kind="press", keys=("alt", "f4"))
"""Closes the window of another program that was opened."""
_FILLED = frozenset({"check box", "radio button", "list item", "option", "switch"})
"""Roles of what a form is filled with, besides fields."""


class Session:
    """What the workers share, and what they did since the command began.

    Args:
        exploration: made by `Exploration.create`; what it knows already is built on.
        settings: name the environment, and how tasks are set up.
        minutes: of wall time; a desktop that is being brought up is not cut short.
        most: new transitions to end after; None: only time ends it.
        on_progress: called after each act.
    """

    def __init__(
        self, exploration: Exploration, settings: Settings, minutes: float, most: int | None,
        on_progress: Callable[[Session], object],
    ) -> None:  # fmt: skip
        triples = exploration.triples
        self.exploration, self.settings = exploration, settings
        self.frontier, self.noise = restored(exploration), Noise()
        self.transitions = self.desktops = self._repeated = 0
        self._began, self._minutes, self._most = time.monotonic(), minutes, most
        self._on_progress = on_progress
        self._edges = {(triple.before, triple.act.key, triple.after) for triple in triples}
        self._first_desktop = max((triple.desktop for triple in triples), default=-1) + 1
        for triple in triples:
            self.noise.learn(triple.act, triple.differences.facts)

    async def explore(self, workers: int) -> None:
        """Explore on several desktops at once; each triple is written when it is known.

        Raises:
            UsageError: the environment keeps what is done to it, or the subject cannot be set up.
            EnvironmentFailed: several desktops were lost one after the other.
        """
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(workers):
                    group.create_task(_Worker(self, number).work())
        except* HisaError as errors:
            raise errors.exceptions[0] from None

    @property
    def over(self) -> bool:
        """Whether time is up, or as many transitions were made as were asked for."""
        enough = self._most is not None and self.transitions >= self._most
        return enough or time.monotonic() >= self._began + 60 * self._minutes

    def numbers(self) -> dict[str, float]:
        """Counts; ``repeated`` acts were on the way to something new."""
        per_minute = 60 * self.transitions / max(1.0, time.monotonic() - self._began)
        rate = {"transitions": self.transitions, "per_minute": round(per_minute, 1)}
        return rate | {"repeated": self._repeated, "desktops": self.desktops}

    def fresh_number(self) -> int:
        """The number of the next fresh desktop."""
        self.desktops += 1
        return self._first_desktop + self.desktops - 1

    def add(self, triple: Triple) -> None:
        """Write a triple down, unless it repeats one."""
        self.noise.learn(triple.act, triple.differences.facts)
        edge = triple.before, triple.act.key, triple.after
        if edge in self._edges and not triple.failed:
            self._repeated += 1
        else:
            self._edges.add(edge)
            self.transitions += 1
            number = len(self.exploration.triples)
            self.exploration.add(triple.model_copy(update={"number": number}))
        self._on_progress(self)


@dataclass
class _Here:
    """Where a worker is: what it saw last, and as which state that counts."""

    desktop: int
    baseline: Facts
    look: Observation
    facts: Facts
    state: State
    escapes: int = 0
    """Of the last acts, those that led back."""
    astray: int = 0
    filled: bool = False
    """Whether the act before filled something in."""


class _Worker:
    def __init__(self, session: Session, number: int) -> None:
        self._session, self._number = session, number
        self._exploration, self._frontier = session.exploration, session.frontier
        self._subject = session.exploration.subject

    async def work(self) -> None:
        """Explore on one desktop after the other."""
        failures = 0
        while not self._session.over:
            done = self._session.transitions
            try:
                async with open_environment(self._session.settings.environment) as environment:
                    if "throw_away" not in environment.capabilities:
                        raise UsageError(f"{environment.name} keeps what exploring does to it")
                    await self._on_fresh_desktop(environment)
                    while not self._session.over:
                        await environment.reset()
                        await self._on_fresh_desktop(environment)
            except EnvironmentFailed:
                failures = failures + 1 if self._session.transitions == done else 1
                if failures >= _FAILURES:
                    raise
            finally:
                self._frontier.release(self._number)

    async def _on_fresh_desktop(self, environment: Environment) -> None:
        """Set the subject up and go on until only another fresh desktop helps."""
        here = await self._start(environment)
        while not self._session.over and here.astray < _ASTRAY:
            choice = self._choose(here)
            if choice is None:
                return
            await self._step(environment, here, choice.act)
            here.escapes = here.escapes + 1 if choice.act in (ESCAPE, _CLOSE) else 0
            astray = choice.then and choice.then not in self._offered(here.look)
            here.astray = here.astray + 1 if astray and choice.act != ESCAPE else 0
            if choice.then and astray:
                self._frontier.forget(choice.act.key, choice.then)

    def _choose(self, here: _Here) -> Choice | None:
        """The frontier's choice, else an act that leads back; None: only a fresh desktop helps."""
        program, look = self._frontier.program, here.look
        resting, acts = at_rest(look, program), offers(look, self._subject, program)
        deep = len(self._exploration.route(here.state.id) or ()) > _DEEP
        if here.escapes > _ESCAPES or (deep and not here.filled):
            return None
        form = here.filled and (not resting or self._subject.domain == "browser")
        offered = acts if resting or not acts else [*acts, ESCAPE]
        choice = self._frontier.choose(self._number, here.state.screen, offered, filled=form)
        if choice and (not choice.tries or not self._frontier.untried_from_root()):
            return choice
        if (acts and resting) or not look.windows:
            return None
        own = in_front(look, program) and not resting
        return Choice(ESCAPE if own else _CLOSE, None, 0)

    def _offered(self, look: Observation) -> list[Key]:
        return offered_keys(look, self._subject, self._frontier.program)

    async def _start(self, environment: Environment) -> _Here:
        scorer = TaskScorer(settings=self._session.settings.tasks)
        await scorer.prepare(self._subject.task(), environment)
        look = await self._settled_start(environment)
        facts = await read_facts(environment)
        state = await self._state(look, facts, facts)
        self._frontier.program = self._frontier.program or program_of(look, self._subject)
        offered = frozenset(self._offered(look))
        root = self._frontier.root = self._frontier.root or offered
        if 2 * len(root & offered) >= len(root):  # else a late dialog or the like is in front
            state = self._exploration.states[self._exploration.root]
        return _Here(self._session.fresh_number(), facts, look, facts, state)

    async def _settled_start(self, environment: Environment) -> Observation:
        """The first look that stays: a window that has come may still be filled."""
        before = await environment.observe(elements=True, settle=SETTLE)
        for _ in range(6):
            await asyncio.sleep(patience(0.5))
            look = await environment.observe(elements=True, settle=SETTLE)
            if look.complete and screen_id(look) == screen_id(before):
                break
            before = look
        return look

    async def _step(self, environment: Environment, here: _Here, act: Act) -> None:
        """Do an act, see what it changed, and write both down."""
        self._frontier.begin(here.state.screen, act.key)
        began, before = time.monotonic(), here.state.id
        element = find(act, here.look) if act.role else None
        seen: dict[str, Any] = {"after": "", "differences": Differences()}
        lost: EnvironmentFailed | None = None
        try:
            await perform(environment, act, element)
            seen = await self._see(environment, here)
        except (ActFailed, ActionRefused, EnvironmentFailed) as error:
            seen["failed"] = str(error)[:500]
            lost = error if isinstance(error, EnvironmentFailed) else None
        box = element.box if element else None
        sides = tuple(map(round, (box.left, box.top, box.right, box.bottom))) if box else None
        triple = Triple.model_validate(
            {"number": 0, "desktop": here.desktop, "before": before, "act": act, "box": sides}
            | {"seconds": round(time.monotonic() - began, 2), **seen}
        )
        self._session.add(triple)
        if lost:
            raise lost
        effect = bool(triple.differences)
        here.filled = effect and not confirms(act) and (act.kind == "type" or act.role in _FILLED)
        if not triple.failed:
            self._frontier.learn(act.key, self._offered(here.look), idle=not effect)

    async def _see(self, environment: Environment, here: _Here) -> dict[str, Any]:
        """Look at what an act left, save and read facts; twice where nothing changed at first."""
        before, facts, saved = here.look, here.facts, False
        for looks in (1, 2):
            look = await environment.observe(elements=True, settle=SETTLE * looks)
            if not saved and self._to_be_saved(look) and not look.shows(before):
                await perform(environment, Act(kind="press", keys=self._subject.save), None)
                look = await environment.observe(elements=True, settle=SETTLE)
                saved = True
            here.look, here.facts = look, await read_facts(environment)
            facts_changed = changed(facts, here.facts)
            differences = Differences(facts=facts_changed, elements=element_changes(before, look))
            if differences.elements or self._session.noise.without(facts_changed):
                break
            if looks == 1:
                await asyncio.sleep(min(patience(_LATE), _LATEST))
        here.state = await self._state(look, here.baseline, here.facts)
        kept = {"after": here.state.id, "differences": differences}
        return {**kept, "saved": saved, "looks": looks}

    def _to_be_saved(self, look: Observation) -> bool:
        """Whether keys would save the main document, without a question."""
        if not (self._subject.save and self._subject.documents and look.active):
            return False
        name = self._subject.documents[0].rpartition("/")[2]
        return name in look.active.title and at_rest(look, self._frontier.program)

    async def _state(self, look: Observation, baseline: Facts, facts: Facts) -> State:
        """The state of a look, kept when it is new."""
        changes = self._session.noise.without(changed(baseline, facts))
        screen = screen_id(look)
        name = state_id(screen, changes)
        if name not in self._exploration.states:
            windows, size = tuple(one.title for one in look.windows), look.screen
            image, elements = await self._exploration.keep(look)
            self._exploration.add_state(
                State(id=name, screen=screen, windows=windows, image=image, elements=elements,
                      changed=changes, size=(size.width, size.height))
            )  # fmt: skip
        return self._exploration.states[name]
