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

from hisa.actions import Action, map_points
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

__all__ = ["Ending", "Player", "Replayed", "Verdict"]

Replayed = Literal["same", "other", "halted", "not tried"]
Verdict = tuple[Replayed, str]
"""What came of a merged play, and why where it is not the same."""
_LATE, _POLL = 6.0, 0.7
"""Seconds that a program may take to write, and between two scores; as in a proof."""
_Parts = Sequence[tuple[Atom, ...]]


@dataclass(frozen=True)
class Ending:
    """The state in which a play ended; with ``halted``, it could not be played to its end."""

    look: Observation
    looks: tuple[Observation, ...]
    """Before each part."""
    facts: Facts
    score: float | None
    halted: str = ""
    moved: int = 0
    """Targets that were found at another place than the recorded one."""


class Player:
    """Plays the run of one task; its environment starts with the first play.

    Args:
        run: ended, and made on an environment that can be made anew.
        final: its own last look, to tell what differs between two plays of the same acts.
        environment: a started one, which is left open; None: as the run's settings say.

    Raises:
        UsageError: its environment keeps what is done to it.
    """

    def __init__(
        self, run: Run, final: Look | None, environment: Environment | None = None
    ) -> None:
        self._run, self._final, self._task = run, final, run.manifest.task.task()
        self._settings = Settings.model_validate(dict(run.manifest.settings))
        if not self._settings.environment.throw_away:
            raise UsageError("its environment keeps what is done to it")
        self._scorer = TaskScorer(settings=self._settings.tasks)
        self._stack = AsyncExitStack()
        self._environment = environment
        self._played: dict[tuple[int, ...], Ending] = {}
        self.reproduced: bool | None = None
        """Whether the run, atom by atom, ended with its score again; None: not played yet."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._stack.aclose()

    @property
    def plays(self) -> int:
        """Plays so far, each on a fresh machine."""
        return len(self._played)

    async def alone(self, atoms: Sequence[Atom]) -> Ending:
        """Play atom by atom, each found on a fresh look: what merged plays are held against.

        Raises:
            EnvironmentFailed: the machine does not come up or answer.
        """
        ending = await self.play([(atom,) for atom in atoms])
        self.reproduced = not ending.halted and ending.score == self._run.score
        return ending

    async def verdict(self, parts: _Parts) -> Verdict:
        """Play merged; whether it ends in the state in which the atoms alone end.

        Raises:
            EnvironmentFailed: the machine does not come up or answer.
        """
        alone = await self.alone([atom for part in parts for atom in part])
        if not self.reproduced:
            return "not tried", f"alone, its acts end with {alone.score} and {alone.halted!r}"
        ending = await self.play(parts)
        if ending.halted:
            return "halted", ending.halted
        if ending.score != alone.score:
            return "other", f"score {ending.score}, not {alone.score}"
        past, noise = self._final, set()
        if past is not None and past.elements:
            look = Observation(past.screenshot, past.size, elements=past.elements)
            noise = {(one.role, one.name) for one in element_changes(look, alone.look)}
        for change in element_changes(alone.look, ending.look):
            if (change.role, change.name) not in noise:
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
            self._played[key] = await self._play(parts, await self._fresh())
        return self._played[key]

    async def _play(self, parts: _Parts, environment: Environment) -> Ending:
        looks: list[Observation] = []
        halted, moved, settle = "", 0, self._settings.environment.settle
        for number, part in enumerate(parts, 1):
            looks.append(await environment.observe(elements=True, settle=settle))
            try:
                ready = [_placed(atom, looks[-1], strict=len(part) > 1) for atom in part]
                for atom, (actions, shifted) in zip(part, ready, strict=True):
                    moved += shifted
                    if atom.tool is not None:
                        await replay([atom.tool], environment, settle=settle)
                    else:
                        await environment.act(actions)
                        await environment.observe(settle=settle)
            except (LookupError, ActionRefused) as error:
                halted = f"part {number}: {error.args[0]}"
                break
        look = await environment.observe(elements=True, settle=settle)
        facts = await read_facts(environment) if "execute" in environment.capabilities else {}
        score = await self._score(environment, Deadline(0.0 if halted else _LATE))
        return Ending(look, tuple(looks), facts, score, halted, moved)

    async def _fresh(self) -> Environment:
        if self._environment is None:
            limit = Size(self._settings.run.image_width, self._settings.run.image_height)
            opened = open_environment(self._settings.environment, limit)
            self._environment = await self._stack.enter_async_context(opened)
        else:
            await self._environment.reset()
        await self._scorer.prepare(self._task, self._environment)
        return self._environment

    async def _score(self, environment: Environment, limit: Deadline) -> float | None:
        """The score; one unlike the run's is asked for again for a while."""
        status = cast(ExitStatus, self._run.status)  # it ended
        while True:
            value = (await self._scorer.score(self._task, environment, status)).value
            if value == self._run.score or limit.passed:
                return value
            await asyncio.sleep(_POLL)


def _placed(atom: Atom, look: Observation, *, strict: bool) -> tuple[tuple[Action, ...], int]:
    """An atom's actions with their points on this look, and how many of them moved.

    A point keeps its place within its element. Where that is not there, the atom of a sequence has
    none, and a single atom the point that was recorded.

    Raises:
        LookupError: the target is not on the look.
    """
    moved = 0

    def place(point: Point) -> Point:
        nonlocal moved
        target = atom.before.element_at(point) if atom.before is not None else None
        element = _nearest(target, look) if target is not None else None
        if target is None or element is None:
            if target is not None and strict:
                raise LookupError(f"the {target.role} {target.name[:80]!r} is not there")
            return point
        box, moved = element.box, moved + (not element.box.contains(point))
        across = (point.x - target.box.left) / max(1.0, target.box.width)
        down = (point.y - target.box.top) / max(1.0, target.box.height)
        return Point(box.left + across * box.width, box.top + down * box.height, "screen")

    return map_points(atom.actions, place), moved


def _nearest(target: Element, look: Observation) -> Element | None:
    """The element of the same role and name, without a name of the same text, that is nearest."""
    at = target.box.centre
    alike = [
        (abs(one.box.centre.x - at.x) + abs(one.box.centre.y - at.y), number, one)
        for number, one in enumerate(look.elements or ())
        if (one.role, one.name) == (target.role, target.name)
        and (one.name or one.text == target.text)
        and (not one.states or {"showing", "visible"} & one.states)
    ]
    return min(alike)[2] if alike else None
