"""Plays of a run on fresh machines: atom by atom, or merged, and how each of them ends.

The places of all actions of a sequence are found on the look before the first of them, because a
planner that emits the sequence sees no other; see OS-Catalyst, 3.1.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Literal, Self, cast

from hisa.actions import Action, map_points, points
from hisa.config import Settings
from hisa.environments.open_environment import open_environment
from hisa.errors import ActionRefused, UsageError
from hisa.machine.patience import Deadline
from hisa.plugins.synthesis.data.atoms import Atom
from hisa.plugins.synthesis.data.trajectories import Look
from hisa.plugins.synthesis.machine_facts import Noise, changed, element_changes, read_facts
from hisa.plugins.synthesis.records import Facts
from hisa.protocols import Environment, ExitStatus
from hisa.runs.read import Run
from hisa.runs.resume import replay
from hisa.screen.geometry import Point, Size
from hisa.screen.observation import Element, Observation
from hisa.tasks.scorer import TaskScorer

__all__ = ["Ending", "Player", "Replayed"]

Replayed = Literal["same", "other", "halted", "not tried"]
_LATE, _POLL = 6.0, 0.7
"""Seconds that a program may take to write, and between two scores; as in a proof."""
_Parts = Sequence[tuple[Atom, ...]]


@dataclass(frozen=True)
class Ending:
    """The state in which a play ended; with ``halted``, it could not be played to its end."""

    look: Observation
    looks: tuple[Observation, ...]
    """Before each sequence."""
    facts: Facts
    score: float | None
    halted: str = ""
    moved: int = 0
    """Targets that were found at another place than the recorded one."""


class _NotThere(Exception):
    """A target that is not on the look."""


class Player:
    """Plays the run of one task; its environment starts with the first play.

    Args:
        run: ended, and made on an environment that can be made anew.
        final: the run's own last look, to tell what differs between two plays of the same acts.

    Raises:
        UsageError: its environment keeps what is done to it.
    """

    def __init__(self, run: Run, final: Look | None) -> None:
        self._run, self._final = run, final
        self._settings = Settings.model_validate(dict(run.manifest.settings))
        if not self._settings.environment.throw_away:
            raise UsageError("its environment keeps what is done to it", fix="hisa runs ls")
        self._scorer = TaskScorer(settings=self._settings.tasks)
        self._stack = AsyncExitStack()
        self._environment: Environment | None = None
        self._played: dict[tuple[int, ...], Ending] = {}
        self._alone: Ending | None = None
        self._noise: set[tuple[str, str]] = set()
        self.plays = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._stack.aclose()

    async def alone(self, atoms: Sequence[Atom]) -> Ending:
        """Play atom by atom, each found on a fresh look: what merged plays are held against.

        Raises:
            EnvironmentFailed: the machine does not come up or answer.
        """
        self._alone = ending = await self.play([(atom,) for atom in atoms])
        if self._final is not None and self._final.elements:
            past = Observation(
                self._final.screenshot, self._final.size, elements=self._final.elements
            )
            self._noise = {(one.role, one.name) for one in element_changes(past, ending.look)}
        return ending

    @property
    def reproduced(self) -> bool | None:
        """Whether the run, atom by atom, ended with its score again; None: not played yet."""
        return None if self._alone is None else self._alone.score == self._run.score

    async def verdict(self, parts: _Parts) -> tuple[Replayed, str]:
        """Play merged; whether it ends as atom by atom, and in what it differs.

        Raises:
            EnvironmentFailed: the machine does not come up or answer.
        """
        alone = await self.alone([atom for part in parts for atom in part])
        if not self.reproduced:
            return "not tried", f"its own acts end with {alone.score} now, not {self._run.score}"
        ending = await self.play(parts)
        if ending.halted:
            return "halted", ending.halted
        if ending.score != alone.score:
            return "other", f"score {ending.score}, not {alone.score}"
        for change in element_changes(alone.look, ending.look):
            if (change.role, change.name) not in self._noise:
                return "other", f"{change.role} {change.name[:80]!r}: {change.what}"
        for fact in Noise().without(changed(alone.facts, ending.facts)):
            return "other", " ".join(fact.fact)[:200]
        return "same", ""

    async def play(self, parts: _Parts) -> Ending:
        """Play from the start state on a fresh machine; the same parts only once.

        Raises:
            EnvironmentFailed: the machine does not come up or answer.
        """
        key = tuple(map(len, parts))
        if key not in self._played:
            self._played[key] = await self._play(parts)
        return self._played[key]

    async def _play(self, parts: _Parts) -> Ending:
        environment = await self._fresh()
        looks: list[Observation] = []
        halted, moved = "", 0
        settle = self._settings.environment.settle
        for number, part in enumerate(parts, 1):
            look = await environment.observe(elements=True, settle=settle)
            looks.append(look)
            try:
                ready = [_placed(atom, look, strict=len(part) > 1) for atom in part]
                moved += sum(shifted for _, shifted in ready)
                for atom, (actions, _) in zip(part, ready, strict=True):
                    if atom.tool is not None:
                        await replay([atom.tool], environment, settle=settle)
                    else:
                        await environment.act(actions)
                        await environment.observe(settle=settle)
            except (_NotThere, ActionRefused) as error:
                halted = f"sequence {number}: {error}"
                break
        return await self._ending(environment, looks, halted, moved)

    async def _fresh(self) -> Environment:
        settings = self._settings
        if self._environment is None:
            limit = Size(settings.run.image_width, settings.run.image_height)
            opened = open_environment(settings.environment, limit)
            self._environment = await self._stack.enter_async_context(opened)
        else:
            await self._environment.reset()
        self.plays += 1
        await self._scorer.prepare(self._run.manifest.task.task(), self._environment)
        return self._environment

    async def _ending(
        self, environment: Environment, looks: list[Observation], halted: str, moved: int
    ) -> Ending:
        """Look, read facts, and score; a score unlike the run's is asked for again for a while."""
        look = await environment.observe(elements=True, settle=self._settings.environment.settle)
        facts = await read_facts(environment) if "execute" in environment.capabilities else {}
        task, limit = self._run.manifest.task.task(), Deadline(0.0 if halted else _LATE)
        status = cast(ExitStatus, self._run.status)  # it ended
        while True:
            scoring = await self._scorer.score(task, environment, status)
            if scoring.value == self._run.score or limit.passed:
                break
            await asyncio.sleep(_POLL)
        return Ending(look, tuple(looks), facts, scoring.value, halted, moved)


def _placed(atom: Atom, look: Observation, *, strict: bool) -> tuple[tuple[Action, ...], int]:
    """An atom's actions with their points on this look, and how many are elsewhere now.

    A point keeps its place within its element. Where that is not there a single atom has the point
    that was recorded, and an atom of a sequence, none.

    Raises:
        _NotThere: the target is not on the look.
    """
    moved = 0

    def place(point: Point) -> Point:
        nonlocal moved
        target = atom.before.element_at(point) if atom.before is not None else None
        if target is None:
            return point
        element = _nearest(target, look)
        if element is None:
            if strict:
                raise _NotThere(f"the {target.role} {target.name[:80]!r} is not there")
            return point
        moved += not element.box.contains(point)
        across = (point.x - target.box.left) / max(1.0, target.box.width)
        down = (point.y - target.box.top) / max(1.0, target.box.height)
        box = element.box
        return Point(box.left + across * box.width, box.top + down * box.height, "screen")

    return (map_points(atom.actions, place) if points(atom.actions) else atom.actions), moved


def _nearest(target: Element, look: Observation) -> Element | None:
    """The element of the same role and name, without a name of the same text, that is nearest."""
    alike = [
        one
        for one in look.elements or ()
        if (one.role, one.name) == (target.role, target.name)
        and (one.name or one.text == target.text)
        and (not one.states or {"showing", "visible"} & one.states)
    ]
    at = target.box.centre

    def distance(one: Element) -> float:
        return abs(one.box.centre.x - at.x) + abs(one.box.centre.y - at.y)

    return min(alike, key=distance, default=None)
