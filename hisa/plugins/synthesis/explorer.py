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
from hisa.plugins.synthesis import offers as screens
from hisa.plugins.synthesis.doing import SETTLE, ActFailed, find, perform
from hisa.plugins.synthesis.exploration import Exploration
from hisa.plugins.synthesis.frontier import Key, restored, screen_id, state_id
from hisa.plugins.synthesis.machine_facts import Noise, changed, element_changes, read_facts
from hisa.plugins.synthesis.records import Act, Differences, Facts, State, Triple
from hisa.protocols import Environment
from hisa.screen.observation import Observation
from hisa.tasks.scorer import TaskScorer

__all__ = ["Session"]

_ACTS = 40
"""On one desktop: settings pile up, and ways from a fresh start get long. Chosen by hand."""
_DEEP = 12
"""Acts from a fresh start: what is found further off gives tasks that are tedious to prove."""
_DEAD = 4
"""Acts without effect in a dialog, one after the other, before it is left."""
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
_FILLED = frozenset({"check box", "radio button", "menu item", "list item", "option", "switch"})
"""Roles of what a form is filled with, besides fields."""


class Session:
    """What the workers share, and what they did since the command began.

    Args:
        exploration: made by `Exploration.create`; what it knows already is built on.
        settings: name the environment, and how tasks are set up.
        minutes: of wall time; a desktop that is being brought up is not cut short.
        most: new transitions to end after; None: only time ends it.
    """

    def __init__(
        self, exploration: Exploration, settings: Settings, minutes: float, most: int | None = None
    ) -> None:
        triples = exploration.triples
        self.exploration, self.settings = exploration, settings
        self.frontier, self.noise = restored(exploration), Noise()
        self.transitions = self.desktops = self._repeated = 0
        self._began, self._minutes, self._most = time.monotonic(), minutes, most
        self._on_progress: Callable[[Session], object] = lambda _: None
        self._edges = {(one.before, one.act.key, one.after) for one in triples}
        self._number = max((one.number for one in triples), default=-1)
        self._desktop = max((one.desktop for one in triples), default=-1)
        for one in triples:
            self.noise.learn(one.act, one.differences.facts)

    async def explore(self, workers: int, on_progress: Callable[[Session], object]) -> None:
        """Explore on several desktops at once; each triple is written when it is known.

        Raises:
            UsageError: the environment keeps what is done to it, or the subject cannot be set up.
            EnvironmentFailed: several desktops were lost one after the other.
        """
        self._on_progress = on_progress
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

    @property
    def per_minute(self) -> float:
        """New transitions a minute, of all desktops together."""
        return 60 * self.transitions / max(1.0, time.monotonic() - self._began)

    def numbers(self) -> dict[str, float]:
        """Counts; ``repeated`` acts were on the way to something new."""
        rate = {"transitions": self.transitions, "per_minute": round(self.per_minute, 1)}
        return rate | {"repeated": self._repeated, "desktops": self.desktops}

    def fresh_number(self) -> int:
        """The number of the next fresh desktop."""
        self.desktops += 1
        self._desktop += 1
        return self._desktop

    def add(self, triple: Triple) -> None:
        """Write a triple down, unless it repeats one."""
        self.noise.learn(triple.act, triple.differences.facts)
        edge = triple.before, triple.act.key, triple.after
        if edge in self._edges and not triple.failed:
            self._repeated += 1
        else:
            self._edges.add(edge)
            self._number += 1
            self.transitions += 1
            self.exploration.add(triple.model_copy(update={"number": self._number}))
        self._on_progress(self)


@dataclass
class _Here:
    """Where a worker is: what it saw last, and as which state that counts."""

    desktop: int
    baseline: Facts
    look: Observation
    facts: Facts
    state: State
    acts: int = 0
    dead: int = 0
    """Acts without effect, one after the other."""
    escapes: int = 0
    astray: int = 0
    filled: bool = False
    """Whether the act before filled something in."""


class _Worker:
    def __init__(self, session: Session, number: int) -> None:
        self._session = session
        self._number = number
        self._subject = session.exploration.subject
        self._frontier = session.frontier

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
        while not self._session.over and here.acts < _ACTS and here.astray < _ASTRAY:
            route = self._session.exploration.route(here.state.id) or ()
            if len(route) > _DEEP and not here.filled:
                return
            acts = screens.offers(here.look, self._subject, self._frontier.program)
            resting = screens.at_rest(here.look, self._frontier.program)
            form = here.filled and (not resting or self._subject.domain == "browser")
            back = acts and not resting and here.escapes < _ESCAPES
            offered = [*acts, screens.ESCAPE] if back else acts
            choice = self._frontier.choose(self._number, here.state.screen, offered, filled=form)
            stuck = here.dead >= _DEAD and not resting  # something covers what is offered
            worth = choice and (not choice.tries or not self._frontier.untried_from_root())
            if choice and worth and not stuck:
                here.escapes = 0 if choice.act != screens.ESCAPE else here.escapes + 1
                await self._step(environment, here, choice.act)
                astray = choice.then and choice.then not in self._offered(here.look)
                here.astray = here.astray + 1 if astray and choice.act != screens.ESCAPE else 0
                if choice.then and astray:
                    self._frontier.forget(choice.act.key, choice.then)
                continue
            own = screens.in_front(here.look, self._frontier.program)
            if here.escapes >= _ESCAPES or (acts and resting) or not here.look.windows:
                return
            here.escapes += 1
            await self._step(environment, here, screens.ESCAPE if own and not resting else _CLOSE)

    async def _start(self, environment: Environment) -> _Here:
        desktop, exploration = self._session.fresh_number(), self._session.exploration
        scorer = TaskScorer(settings=self._session.settings.tasks)
        await scorer.prepare(self._subject.task(), environment)
        look = await self._settled_start(environment)
        facts = await read_facts(environment)
        state = await self._state(look, facts, facts)
        self._frontier.program = self._frontier.program or screens.program_of(look, self._subject)
        offered = frozenset(self._offered(look))
        root = self._frontier.root = self._frontier.root or offered
        if 2 * len(root & offered) >= len(root):  # else a late dialog or the like is in front
            state = exploration.states[exploration.root]
        return _Here(desktop, facts, look, facts, state)

    def _offered(self, look: Observation) -> list[Key]:
        return screens.offered_keys(look, self._subject, self._frontier.program)

    async def _settled_start(self, environment: Environment) -> Observation:
        """The first look that stays: a window that has come may still be filled."""
        before = await environment.observe(elements=True, settle=SETTLE)
        for _ in range(6):
            await asyncio.sleep(patience(0.5))
            look = await environment.observe(elements=True, settle=SETTLE)
            if look.complete and screen_id(look) == screen_id(before):
                return look
            before = look
        return before

    async def _step(self, environment: Environment, here: _Here, act: Act) -> None:
        """Do an act, see what it changed, and write both down."""
        self._frontier.begin(here.state.screen, act.key)
        began, here.acts = time.monotonic(), here.acts + 1
        element, before = find(act, here.look) if act.role else None, here.state.id
        seen: dict[str, Any] = {"after": "", "differences": Differences()}
        lost: HisaError | None = None
        try:
            await perform(environment, act, element)
            seen = await self._see(environment, here)
        except (ActFailed, ActionRefused, EnvironmentFailed) as error:
            seen["failed"] = str(error)[:500]
            lost = error if isinstance(error, EnvironmentFailed) else None
        box = element.box if element else None
        sides = (box.left, box.top, box.right, box.bottom) if box else ()
        triple = Triple.model_validate(
            {"number": 0, "desktop": here.desktop, "before": before, "act": act, **seen}
            | {"box": tuple(map(round, sides)) or None}
            | {"seconds": round(time.monotonic() - began, 2)}
        )
        self._session.add(triple)
        here.dead = 0 if triple.differences else here.dead + 1
        came = {one.role for one in triple.differences.elements if one.what == "came"}
        fills = (act.kind == "type" or act.role in _FILLED) and not came & screens.DIALOGS
        here.filled = bool(triple.differences) and fills and not screens.confirms(act)
        if lost:
            raise lost
        if not triple.failed:
            idle = not triple.differences
            self._frontier.learn(act.key, self._offered(here.look), idle=idle)

    async def _see(self, environment: Environment, here: _Here) -> dict[str, Any]:
        """Look at what an act left, save and read facts; twice where nothing changed at first."""
        before, facts, saved, looks = here.look, here.facts, False, 0
        differences = Differences()
        while not differences and looks < 2:
            if looks:
                await asyncio.sleep(min(patience(_LATE), _LATEST))
            looks += 1
            look = await environment.observe(elements=True, settle=SETTLE * looks)
            if not saved and self._to_be_saved(look) and not look.shows(before):
                await perform(environment, Act(kind="press", keys=self._subject.save), None)
                look = await environment.observe(elements=True, settle=SETTLE)
                saved = True
            here.look, here.facts = look, await read_facts(environment)
            differences = Differences(
                facts=self._session.noise.without(changed(facts, here.facts)),
                elements=element_changes(before, look),
            )
        here.state = await self._state(here.look, here.baseline, here.facts)
        kept = differences.model_copy(update={"facts": changed(facts, here.facts)})
        return {"after": here.state.id, "differences": kept, "saved": saved, "looks": looks}

    def _to_be_saved(self, look: Observation) -> bool:
        """Whether keys would save the main document, without a question."""
        if not (self._subject.save and self._subject.documents and look.active):
            return False
        name = self._subject.documents[0].rpartition("/")[2]
        return name in look.active.title and screens.at_rest(look, self._frontier.program)

    async def _state(self, look: Observation, baseline: Facts, facts: Facts) -> State:
        """The state of a look, kept when it is new."""
        exploration = self._session.exploration
        changes = tuple(self._session.noise.without(changed(baseline, facts)))
        screen = screen_id(look)
        name = state_id(screen, changes)
        if name not in exploration.states:
            windows = tuple(window.title for window in look.windows)
            image, elements = await exploration.keep(look)
            exploration.add_state(
                State(id=name, screen=screen, windows=windows, image=image, elements=elements,
                      changed=changes, size=(look.screen.width, look.screen.height))
            )  # fmt: skip
        return exploration.states[name]
