"""The desktop of a proof: reset when needed, and scored by the candidate's check."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterable
from typing import Literal

from hisa.config import TaskSettings
from hisa.errors import ToolFailed, UsageError
from hisa.machine.patience import Deadline, patience
from hisa.plugins.synthesis.exploration import Exploration
from hisa.plugins.synthesis.exploration_acts import SETTLE, find_candidates
from hisa.plugins.synthesis.machine_facts import Noise, compare_facts, element_changes, read_facts
from hisa.plugins.synthesis.records import Candidate, Change, Differences, ElementChange, Facts
from hisa.plugins.synthesis.task_files import task_of
from hisa.protocols import Environment
from hisa.screen.observation import Observation
from hisa.tasks.scorer import TaskScorer

__all__ = ["ProofDesktop", "ProofFailure", "select_content_changes"]

_LATE = 6.0
"""Seconds that a program may take to write its files; LibreOffice's settings take 5."""
_POLL = 0.7
_ROUTES = "cat /proc/net/route; cat /proc/net/ipv6_route 2>/dev/null | grep -v ' lo$'"
_TAR = "/tmp/.kept-at-start.tar"
Side = Literal["before", "after"]


class ProofFailure(Exception):
    """A stage failed; with a detail, it has no score and is not among the stages yet."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason, detail)
        self.reason, self.detail = reason, detail


class ProofDesktop:
    """An open environment for one candidate; what is done on it is thrown away.

    ``detail`` explains the last score.
    """

    def __init__(
        self, environment: Environment, candidate: Candidate, past: Exploration, tasks: TaskSettings
    ) -> None:
        self.environment, self._past = environment, past
        self.detail = ""
        self.take_candidate(candidate)
        self._late = 0.0  # longest time that the right end took to show so far, in seconds
        self._scorer = TaskScorer(settings=tasks)
        self._start: tuple[Facts, Observation]
        self._noise = Noise()
        for triple in past.triples:
            self._noise.learn(triple.act, triple.differences.facts)

    def take_candidate(self, candidate: Candidate) -> None:
        """Continues with another check."""
        self.candidate, self._task = candidate, task_of(self._past, candidate)

    async def start_afresh(self) -> None:
        """Resets the machine, and sets the subject up.

        Raises: EnvironmentFailed if the machine or the subject does not start.
        """
        await self.environment.reset()
        await self._scorer.prepare(self._task, self.environment)

    async def keep_start(self) -> None:
        """Stores the state, and a copy of the files that will change."""
        self._start = await self._state()
        if paths := dict.fromkeys(filter(None, map(_path, self.candidate.changes))):
            keep = f"tar cf {_TAR} -P --ignore-failed-read -- {' '.join(paths)}"
            await self.environment.execute(keep)

    async def require_no_network(self) -> None:
        """Refuses a machine that can reach others: a proof may depend only on the machine itself.

        Raises: UsageError if it has a route to a network.
        """
        routes = (await self.environment.execute(_ROUTES)).output.splitlines()[1:]
        if any(line.split()[1:2] for line in routes):
            name = self.environment.name
            raise UsageError(
                f"{name} has a network: proofs need a machine without one",
                fix="--set environment.kind=desktop",
            )

    async def score(self, expected: Literal[0, 1]) -> float:
        """Returns the score, 0 or 1, once programs are at rest.

        If it is not the expected one, scores again for some seconds, since programs write late.
        Before it expects 0, waits longer than the right end has ever taken to show.

        Raises:
            ProofFailure: the check could not be carried out.
        """
        if not expected:
            await asyncio.sleep(self._late + patience(_POLL))
        limit = Deadline(_LATE)
        while True:
            began = limit.waited
            scoring = await self._scorer.score(self._task, self.environment, "succeeded")
            self.detail = scoring.detail
            if scoring.value is None:
                raise ProofFailure("the check has no score", scoring.detail)
            if scoring.value == expected or limit.passed:
                break
            await asyncio.sleep(_POLL)
        if expected:
            self._late = max(self._late, began)
        return scoring.value

    async def _state(self) -> tuple[Facts, Observation]:
        observation = await self.environment.observe(elements=True, settle=SETTLE)
        return await read_facts(self.environment), observation

    async def since_start(self) -> tuple[Differences, bool]:
        """Returns the differences from the start, and whether the candidate's end is reached.

        This does not use the check.
        """
        facts, observation = await self._state()
        differences = Differences(
            facts=self._noise.without(compare_facts(self._start[0], facts)),
            elements=element_changes(self._start[1], observation),
        )
        return differences, self._is_at("after", facts, observation)

    async def is_undone(self) -> bool:
        """Whether the candidate's facts are as at the start; without facts, its elements."""
        await asyncio.sleep(max(self._late, patience(_POLL)))
        return self._is_at("before", *await self._state())

    def _is_at(self, side: Side, facts: Facts, observation: Observation) -> bool:
        """Whether the facts or elements that the candidate changes are as before or after it."""
        if changes := select_content_changes(self.candidate.changes):
            start = self._start[0]
            return all(
                facts.get(change.fact)
                == (change.after if side == "after" else start.get(change.fact))
                for change in changes
            )
        return all(_element_is(change, observation, side) for change in self.candidate.elements)

    async def put_back(self) -> None:
        """Sets the facts from a shell as they were at the start, files from the copy.

        Raises: ToolFailed if a command failed, or no command can set them.
        """
        lines: dict[str, None] = {}
        for change in select_content_changes(self.candidate.changes):
            if path := _path(change):
                line = f"rm -rf -- {path}; ! tar tf {_TAR} -P {path} || tar xf {_TAR} -P {path}"
            else:
                value = self._start[0].get(change.fact)
                words = ["gsettings", "reset" if value is None else "set"]
                words += [change.fact.place, change.fact.item, *([] if value is None else [value])]
                line = shlex.join(words)
            lines[line] = None
        if not lines:
            raise ToolFailed("no shell command can undo it")
        for line in lines:
            result = await self.environment.execute(line)
            if result.exit_code or result.timed_out:
                raise ToolFailed(f"{line}: {(result.error or result.output).strip()[-200:]}")


def _path(change: Change) -> str:
    """Returns the path of a change's file, quoted for bash; empty if it is in no file."""
    place = change.fact.place
    return f"~/{shlex.quote(place[2:])}" if place.startswith("~/") else ""


def select_content_changes(changes: Iterable[Change]) -> list[Change]:
    """Returns the changes of content; changes of files as a whole only if there are no others."""
    listed = list(changes)
    return [change for change in listed if change.fact.kind != "file"] or listed


def _element_is(change: ElementChange, observation: Observation, side: Side) -> bool:
    """Whether an element is as before or after a change; states that stayed are ignored."""
    same = find_candidates(change.role, change.name, None, observation)
    if change.what in ("came", "went"):
        return bool(same) == ((change.what == "came") == (side == "after"))
    own, other = change.before, change.after
    if side == "after":
        own, other = other, own
    if change.what == "value":
        return any(element.text == own for element in same)
    has, lacks = set(own.split()) - set(other.split()), set(other.split()) - set(own.split())
    return any(has <= element.states and not lacks & element.states for element in same)
