"""Replays a run on fresh machines, atom by atom or merged, and compares how the replays end.

The places of all actions of a sequence are found on the look before the first one, since a planner
that emits the sequence sees no other look (OS-Catalyst, 3.1).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Literal, cast

from hisa.actions import Action, map_points
from hisa.config import read_stored
from hisa.environments.open_environment import open_environment
from hisa.errors import ActionRefused, EnvironmentFailed, UsageError
from hisa.machine.patience import Deadline
from hisa.plugins.synthesis.data.atoms import Atom, find_similar
from hisa.plugins.synthesis.data.trajectories import Look
from hisa.plugins.synthesis.machine_facts import Noise, compare_facts, element_changes, read_facts
from hisa.plugins.synthesis.records import Facts
from hisa.protocols import Environment, ExitStatus
from hisa.runs.resume import replay
from hisa.runs.run_reader import Run
from hisa.screen.geometry import Point, Size
from hisa.screen.observation import Element, Observation
from hisa.tasks.scorer import TaskScorer

__all__ = ["Ending", "Player", "Replayed", "Verdict", "nearest"]

Parts = Sequence[tuple[Atom, ...]]
Replayed = Literal["same", "other", "halted", "not tried"]
Verdict = tuple[Replayed, str]  # the result of a merged replay, and why if it is not "same"
_LATE, _POLL = 6.0, 0.7
"""Seconds that a program may take to write its files, and between two scores; as in a proof."""


@dataclass(frozen=True)
class Ending:
    """The state in which a replay ended; ``halted`` says why it stopped early, if it did."""

    look: Observation
    looks: tuple[Observation, ...]  # before each part
    facts: Facts
    score: float | None
    halted: str = ""


class Player(AsyncExitStack):
    """Replays the run of one task; the environment starts with the first replay.

    A replay raises `UsageError` if the run cannot be repeated: its environment is not thrown away,
    or an act fails although the machine answers. It raises `EnvironmentFailed` if the machine
    broke.

    Args:
        run: the run.
        final: its last look; what differs from it after an equal replay is taken as noise.
        environment: a started one, which is left open; None: one by the run's settings.
    """

    def __init__(
        self, run: Run, final: Look | None, environment: Environment | None = None
    ) -> None:
        super().__init__()
        self._run, self._final, self._task = run, final, run.manifest.task.task()
        self._settings = read_stored(run.manifest.settings)
        if not self._settings.environment.throw_away:
            raise UsageError("its environment keeps what is done to it")
        self._environment = environment
        self._scorer = TaskScorer(settings=self._settings.tasks)
        self.played: dict[tuple[int, ...], Ending] = {}
        """The replays so far, by the lengths of their parts."""
        self.reproduced: bool | None = None
        """Whether the replay atom by atom ended with the run's score; None: not replayed yet."""

    async def play_singly(self, parts: Parts) -> Ending:
        """Replays atom by atom, each on a fresh look; merged replays are compared with this one."""
        ending = await self.play(_split_parts(parts))
        self.reproduced = not ending.halted and ending.score == self._run.score
        return ending

    async def verdicts(self, parts: Parts) -> list[Verdict]:
        """Returns a verdict for each part: with all merged, or with it alone if that differs."""
        verdicts: list[Verdict] = [("not tried", "")] * len(parts)
        for number, part in enumerate(parts):
            if len(part) > 1:
                verdicts[number] = await self.verdict(parts)
            if verdicts[number][0] in ("other", "halted"):
                before, after = parts[:number], parts[number + 1 :]
                verdicts[number] = await self.verdict(
                    [*_split_parts(before), part, *_split_parts(after)]
                )
        return verdicts

    async def verdict(self, parts: Parts) -> Verdict:
        """Replays merged; returns whether it ends in the same state as the atoms one by one."""
        alone = await self.play_singly(parts)
        if not self.reproduced:
            return "not tried", f"not merged, it ends with score {alone.score}: {alone.halted!r}"
        ending = await self.play(parts)
        if ending.halted:
            return "halted", ending.halted
        if ending.score != alone.score:
            return "other", f"score {ending.score}, not {alone.score}"
        past, noise = self._final, set()
        if past is not None and past.elements:
            observation = Observation(past.screenshot, past.size, elements=past.elements)
            noise = {
                (change.role, change.name) for change in element_changes(observation, alone.look)
            }
        for change in element_changes(alone.look, ending.look):
            if (change.role, change.name) not in noise:
                return "other", f"{change.role} {change.name[:80]!r}: {change.what}"
        for fact in Noise().without(compare_facts(alone.facts, ending.facts)):
            return "other", " ".join(fact.fact)[:200]
        return "same", ""

    async def play(self, parts: Parts) -> Ending:
        """Replays from the start state on a fresh machine; the same parts only once."""
        key, failures = tuple(map(len, parts)), 0
        while key not in self.played:
            try:
                self.played[key] = await self._play(parts, await self._open_fresh())
            except EnvironmentFailed as error:
                if self._environment is None:
                    raise
                await self._environment.observe()  # fails if the machine broke
                failures += 1
                if failures == 2:
                    raise UsageError(str(error)) from error
        return self.played[key]

    async def _play(self, parts: Parts, environment: Environment) -> Ending:
        observations: list[Observation] = []
        halted, settle = "", self._settings.environment.settle
        for number, part in enumerate(parts, 1):
            observations.append(await environment.observe(elements=True, settle=settle))
            try:
                placed = [
                    _place_actions(atom, observations[-1], strict=len(part) > 1) for atom in part
                ]
                for atom, actions in zip(part, placed, strict=True):
                    if atom.tool is not None:
                        await replay([atom.tool], environment, settle=settle)
                    else:
                        await environment.act(actions)
                        await environment.observe(settle=settle)
            except (LookupError, ActionRefused) as error:
                halted = f"part {number}: {error.args[0]}"
                break
        observation = await environment.observe(elements=True, settle=settle)
        facts = await read_facts(environment) if "execute" in environment.capabilities else {}
        limit = Deadline(0.0 if halted else _LATE)
        while True:
            status = cast(ExitStatus, self._run.status)
            score = (await self._scorer.score(self._task, environment, status)).value
            if score == self._run.score or limit.passed:
                return Ending(observation, tuple(observations), facts, score, halted)
            await asyncio.sleep(_POLL)

    async def _open_fresh(self) -> Environment:
        if self._environment is None:
            limit = Size(self._settings.run.image_width, self._settings.run.image_height)
            opened = open_environment(self._settings.environment, limit)
            self._environment = await self.enter_async_context(opened)
        else:
            await self._environment.reset()
        await self._scorer.prepare(self._task, self._environment)
        return self._environment


def _split_parts(parts: Parts) -> list[tuple[Atom, ...]]:
    return [(atom,) for part in parts for atom in part]


def _place_actions(atom: Atom, observation: Observation, *, strict: bool) -> tuple[Action, ...]:
    """Returns an atom's actions, with each point moved to where its element is on this look.

    With ``strict`` raises LookupError if the element is missing.
    """

    def place(point: Point) -> Point:
        target = atom.before.element_at(point) if atom.before is not None else None
        element = nearest(target, observation) if target is not None else None
        if strict and target is not None and element is None:
            raise LookupError(f"the {target.role} {target.name[:80]!r} is not on the screen")
        if target is None or element is None:
            return point
        old, new = target.box, element.box
        across, down = new.width / max(1.0, old.width), new.height / max(1.0, old.height)
        left, top = new.left + (point.x - old.left) * across, new.top + (point.y - old.top) * down
        return Point(left, top, "screen")

    return map_points(atom.actions, place)


def nearest(target: Element, observation: Observation) -> Element | None:
    """Returns the nearest element of the same role and name, or of the same text if unnamed."""
    at, same = target.box, find_similar(target, observation.elements or ())
    near = [element for element in same if element.name or element.text == target.text]
    return min(
        near, key=lambda e: abs(e.box.left - at.left) + abs(e.box.top - at.top), default=None
    )
