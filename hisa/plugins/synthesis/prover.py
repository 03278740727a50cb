"""Proves a candidate by doing it: on real desktops, in parts that a good task must pass.

The start fails; the end passes; undone, it fails again; a fresh desktop agrees; near misses fail;
another right way passes. The first part that comes out otherwise refuses the candidate.
"""

from __future__ import annotations

import time
from typing import Any, Literal, get_args

from hisa.config import Settings
from hisa.environments.open_environment import open_environment
from hisa.errors import LimitPassed, ModelFacingError, ToolFailed, UsageError
from hisa.plugins.synthesis.doing import replay
from hisa.plugins.synthesis.exploration import Exploration
from hisa.plugins.synthesis.mutants import Draft, mutants, tail, unsaved
from hisa.plugins.synthesis.other_ways import other_ways
from hisa.plugins.synthesis.proof_desktop import NoScore, ProofDesktop
from hisa.plugins.synthesis.records import Act
from hisa.plugins.synthesis.task_files import task_of
from hisa.plugins.synthesis.task_records import Candidate, Mutant, OtherWay, Proof, Stage
from hisa.tasks.scorer import check_possible

__all__ = ["REASONS", "WANTED_MUTANTS", "Reason", "prove"]

Reason = Literal[
    "the check has no score",
    "the acts cannot be repeated",
    "the start passes",
    "the end fails",
    "it cannot be undone",
    "undone, it passes",
    "a fresh desktop differs",
    "a mutant passes",
    "too few mutants",
    "no other way passes",
]
REASONS: tuple[str, ...] = get_args(Reason)
"""Why a candidate is refused, in the order in which they are come upon."""
WANTED_MUTANTS = 3
_DRAFTS = 9
"""Mutants that are begun at most: some cannot be done, some turn out to be right."""
_BINARY = frozenset({"true", "false", "0", "1", "on", "off", "yes", "no"})


class _Refused(Exception):
    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason: Reason = reason


async def prove(candidate: Candidate, exploration: Exploration, settings: Settings) -> Proof:
    """Try everything with a candidate, on desktops of its own.

    Raises:
        EnvironmentFailed: a desktop broke; nothing is known of the candidate.
        UsageError: the subject cannot be set up here, or the environment has a network.
    """
    check_possible(exploration.subject.task(), settings.tasks)
    began = time.monotonic()
    try:
        check_possible(task_of(exploration, candidate), settings.tasks)
    except UsageError as error:
        stage = Stage(name="start", held=False, score=None, detail=str(error)[:1000])
        reason: Reason = "the check has no score"
        return Proof(candidate=candidate.id, proved=False, reason=reason, stages=(stage,))
    async with open_environment(settings.environment) as environment:
        desktop = ProofDesktop(environment, candidate, exploration, settings)
        proof = await _Trial(desktop, exploration).run()
    seconds = round(time.monotonic() - began, 1)
    return proof.model_copy(update={"seconds": seconds, "desktops": desktop.started})


class _Trial:
    """The parts of one proof, and what came out."""

    def __init__(self, desktop: ProofDesktop, exploration: Exploration) -> None:
        self._desktop = desktop
        self._exploration = exploration
        self._candidate = desktop.candidate
        self._stages: list[Stage] = []
        self._mutants: list[Mutant] = []
        self._ways: list[OtherWay] = []
        self._counts: dict[str, Any] = {"equivalent": 0, "not_done": 0}
        self._undone_by = ""
        self._part = "start"

    async def run(self) -> Proof:
        """All parts in order, up to the first that refuses."""
        reason: Reason | Literal[""] = ""
        try:
            await self._first_desktop()
            await self._second_desktop()
            await self._near_misses()
            await self._otherwise()
        except _Refused as refused:
            reason = refused.reason
        except NoScore as error:
            reason = "the check has no score"
            self._note(self._part, None, False, str(error))
        return Proof(
            candidate=self._candidate.id,
            proved=not reason,
            reason=reason,
            stages=tuple(self._stages),
            mutants=tuple(self._mutants),
            other_ways=tuple(self._ways),
            undone_by=self._undone_by,
            **self._counts,
        )

    def _note(self, name: Any, score: float | None, held: bool, detail: str = "") -> None:
        stage = Stage(name=name, held=held, score=score, detail=detail[:1000])
        self._stages.append(stage)

    async def _expect(
        self, name: str, wanted: Literal[0, 1], reason: Reason, *, acted: bool = True
    ) -> None:
        self._part = name
        score = await self._desktop.score(wanted, acted=acted)
        self._note(name, score, score == wanted, self._desktop.detail)
        if score != wanted:
            raise _Refused(reason)

    async def _replay(self, acts: tuple[Act, ...], name: str) -> None:
        try:
            await replay(self._desktop.environment, acts)
        except ModelFacingError as error:
            self._note(name, None, False, str(error))
            raise _Refused("the acts cannot be repeated") from error

    async def _first_desktop(self) -> None:
        """Start, end, undone."""
        await self._desktop.fresh()
        await self._desktop.require_no_network()
        await self._expect("start", 0, "the start passes", acted=False)
        await self._replay(self._candidate.acts, "end")
        await self._expect("end", 1, "the end fails")
        self._undone_by = await self._undo()
        if not self._undone_by:
            self._note("undone", None, False, "neither by hand nor from a shell")
            raise _Refused("it cannot be undone")
        await self._expect("undone", 0, "undone, it passes")

    async def _undo(self) -> str:
        """The first way that brings the facts back; empty: none does."""
        acts, save = self._candidate.acts, self._exploration.subject.save
        if self._is_binary and await self._desktop.undo(tail(acts, save)):
            return "the same act"
        if not self._candidate.changes:
            leave = Act(kind="press", keys=("esc",))
            for times in (1, 2):  # a menu inside another one closes alone
                if await self._desktop.undo((leave,) * times):
                    return "escape"
            return ""
        last = (Act(kind="press", keys=save),) if save else ()
        back = Act(kind="press", keys=("ctrl", "z"))
        if save and Act(kind="press", keys=save) in acts:
            for times in (1, 4):
                if await self._desktop.undo((back,) * times + last):
                    return "ctrl z"
        try:
            await self._desktop.write("before")
        except ToolFailed:
            return ""
        return "shell" if await self._desktop.holds("before") else ""

    @property
    def _is_binary(self) -> bool:
        """Whether doing it once more would turn it back."""
        changes, elements = self._candidate.changes, self._candidate.elements
        values = [one for change in changes for one in (change.before, change.after)]
        if changes:
            return all(value is None or value.strip("'\"").lower() in _BINARY for value in values)
        return all(one.what == "states" for one in elements)

    async def _second_desktop(self) -> None:
        """A fresh desktop agrees; on the way there, nothing is saved yet."""
        await self._desktop.fresh()
        acts = self._candidate.acts
        if draft := unsaved(self._candidate, self._exploration):
            await self._replay(draft.acts, "fresh")
            await self._take(draft)
            acts = acts[len(draft.acts) :]
        await self._replay(acts, "fresh")
        await self._expect("fresh", 1, "a fresh desktop differs")

    async def _near_misses(self) -> None:
        """All of the mutants are done, though one that passes is enough to refuse."""
        drafts = mutants(self._candidate, self._exploration)
        for draft in drafts[:_DRAFTS]:
            if len(self._mutants) >= WANTED_MUTANTS:
                break
            await self._desktop.fresh()
            try:
                await replay(self._desktop.environment, draft.acts)
            except (ModelFacingError, LimitPassed):
                self._counts["not_done"] += 1
                continue
            if draft.done_if:
                result = await self._desktop.environment.execute(draft.done_if)
                if result.exit_code:
                    self._counts["not_done"] += 1
                    continue
            await self._take(draft)
        if not all(one.killed for one in self._mutants):
            raise _Refused("a mutant passes")
        if len(self._mutants) < WANTED_MUTANTS:
            raise _Refused("too few mutants")

    async def _take(self, draft: Draft) -> None:
        """Score a mutant that was done; one whose end is right is none."""
        score = await self._desktop.score(0)
        if await self._desktop.holds("after"):
            self._counts["equivalent"] += 1
            return
        mutant = Mutant(kind=draft.kind, acts=draft.acts, killed=score == 0, detail=draft.detail)
        self._mutants.append(mutant)

    async def _otherwise(self) -> None:
        for kind, way in other_ways(self._candidate, self._exploration):
            await self._desktop.fresh()
            try:
                detail = await way(self._desktop)
                passed = await self._desktop.score(1) == 1
            except (ModelFacingError, LimitPassed) as error:
                detail, passed = f"not done: {error}"[:500], False
            self._ways.append(OtherWay(kind=kind, passed=passed, detail=detail))
            if passed:
                return
        raise _Refused("no other way passes")
