"""Proves a candidate by doing it: on real desktops, in parts that a good task must pass.

The start fails; the end passes; undone, it fails again; near misses fail; a fresh desktop agrees;
another right way passes. The first part that comes out otherwise refuses the candidate. A desktop
is used again only where everything on it is as it was at the start.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Literal

from hisa.config import Settings
from hisa.environments.open_environment import open_environment
from hisa.errors import LimitPassed, ModelFacingError, ToolFailed, UsageError
from hisa.plugins.synthesis.distinct_effects import essential
from hisa.plugins.synthesis.doing import replay
from hisa.plugins.synthesis.exploration import Exploration
from hisa.plugins.synthesis.mutants import Draft, mutants, tail, unsaved
from hisa.plugins.synthesis.other_ways import other_ways
from hisa.plugins.synthesis.proof_desktop import NoScore, ProofDesktop
from hisa.plugins.synthesis.records import Act
from hisa.plugins.synthesis.task_files import task_of
from hisa.plugins.synthesis.task_records import Candidate, Mutant, OtherWay, Proof, Stage
from hisa.tasks.scorer import check_possible

__all__ = ["NO_OP", "WANTED_MUTANTS", "Reason", "prove"]

Reason = Literal[
    "the check has no score", "too few mutants", "no other way passes", "the start passes",
    "the acts cannot be repeated", "the end fails", "it cannot be undone", "undone, it passes",
    "a mutant passes", "a fresh desktop differs", "it changes more than the check asks for",
]  # fmt: skip
WANTED_MUTANTS = 3
NO_OP = "; changed nothing"
"""Ends the detail of a mutant that left everything as it was; of such, one counts."""
_DRAFTS = 9
"""Mutants that are begun at most: some cannot be done, some turn out to be right."""
_BINARY = frozenset({"true", "false", "0", "1", "on", "off", "yes", "no"})
_LEAVE = (("esc",), ("esc",), ("alt", "left"), ("f5",))
"""Keys that leave a menu, one inside another, a page, what a page holds."""
_CLOSE = (("ctrl", "w"), ("ctrl", "z"), ("alt", "f4"))
"""Keys that close a tab, take back a change, close a window."""
_StageName = Literal["start", "end", "undone", "fresh"]


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
    reason: Reason | Literal[""] = ""
    try:
        check_possible(task_of(exploration, candidate), settings.tasks)
        if len(mutants(candidate, exploration)) < _wanted(candidate, exploration):
            reason, detail = "too few mutants", "exploration saw nothing to make them of"
        elif not list(other_ways(candidate, exploration)):
            reason, detail = "no other way passes", "exploration saw none"
    except UsageError as error:
        reason, detail = "the check has no score", str(error)[:1000]
    if reason:  # no desktop need be started
        stage = Stage(name="start", held=False, score=None, detail=detail)
        return Proof(candidate=candidate.id, proved=False, reason=reason, stages=(stage,))
    async with open_environment(settings.environment) as environment:
        desktop = ProofDesktop(environment, candidate, exploration, settings)
        proof = await _Trial(desktop, exploration).run()
    seconds = round(time.monotonic() - began, 1)
    return proof.model_copy(update={"seconds": seconds, "desktops": desktop.started})


def _wanted(candidate: Candidate, exploration: Exploration) -> int:
    """Number of mutants to do besides the one that is not saved."""
    return WANTED_MUTANTS - bool(unsaved(candidate, exploration))


class _Trial:
    """The parts of one proof, and what came out."""

    def __init__(self, desktop: ProofDesktop, exploration: Exploration) -> None:
        self._desktop = desktop
        self._exploration = exploration
        self._candidate = desktop.candidate
        self._stages: list[Stage] = []
        self._mutants: list[Mutant] = []
        self._ways: list[OtherWay] = []
        self._equivalent = self._not_done = 0
        self._undone_by = ""
        self._undoing: tuple[Act, ...] = ()
        self._clean = False
        """Whether the desktop is as at the start."""
        self._part: _StageName = "start"

    async def run(self) -> Proof:
        """All parts in order, up to the first that refuses."""
        reason: Reason | Literal[""] = ""
        try:
            await self._first_desktop()
            await self._near_misses()
            await self._second_desktop()
            await self._otherwise()
        except _Refused as refused:
            reason = refused.reason
        except NoScore as error:
            reason = "the check has no score"
            self._note(None, False, str(error))
        return Proof(
            candidate=self._candidate.id,
            proved=not reason,
            reason=reason,
            stages=tuple(self._stages),
            mutants=tuple(self._mutants),
            other_ways=tuple(self._ways),
            undone_by=self._undone_by,
            equivalent=self._equivalent,
            not_done=self._not_done,
        )

    def _note(self, score: float | None, held: bool, detail: str) -> None:
        self._stages.append(Stage(name=self._part, held=held, score=score, detail=detail[:1000]))

    async def _expect(self, name: _StageName, wanted: Literal[0, 1], reason: Reason) -> None:
        self._part = name
        score = await self._desktop.score(wanted, acted=name != "start")
        self._note(score, score == wanted, self._desktop.detail)
        if score != wanted:
            raise _Refused(reason)

    async def _replay(self, acts: tuple[Act, ...], name: _StageName) -> None:
        self._part = name
        try:
            await replay(self._desktop.environment, acts)
        except ModelFacingError as error:
            self._note(None, False, str(error))
            raise _Refused("the acts cannot be repeated") from error

    async def _ready(self) -> None:
        """A desktop as at the start."""
        if not self._clean:
            await self._desktop.fresh()
        self._clean = False

    async def _first_desktop(self) -> None:
        """Start, end, undone."""
        await self._ready()
        await self._desktop.require_no_network()
        await self._expect("start", 0, "the start passes")
        await self._desktop.keep_start()
        await self._replay(self._candidate.acts, "end")
        await self._expect("end", 1, "the end fails")
        await self._all_is_asked()
        self._part = "undone"
        self._undone_by = await self._undo()
        if not self._undone_by:
            self._note(None, False, "neither by hand nor from a shell")
            raise _Refused("it cannot be undone")
        await self._expect("undone", 0, "undone, it passes")
        await self._look_clean()

    async def _all_is_asked(self) -> None:
        """A task that leaves more behind than its check asks for would pass half done."""
        differences, _ = await self._desktop.since_start()
        asked = {change.fact for change in self._candidate.changes}
        more = [one.fact for one in essential(differences.facts) if one.fact not in asked]
        if more:
            self._note(1, False, "; ".join(" ".join(fact) for fact in more))
            raise _Refused("it changes more than the check asks for")

    async def _look_clean(self) -> None:
        """Whether all is as at the start; a document that was saved has a history, so it is not."""
        save = Act(kind="press", keys=self._exploration.subject.save)
        if save not in self._candidate.acts:
            self._clean = not (await self._desktop.since_start())[0]

    async def _undo(self) -> str:
        """The first way that brings the facts back; empty: none does."""
        for name, acts in self._ways_back():
            self._undoing = acts if name == "the same act" else (*self._undoing, *acts)
            if await self._desktop.undo(acts):
                return name
        with suppress(ToolFailed):
            for _ in range(2):  # a save that was asked for by hand may come after the first
                await self._desktop.write("before")
                if await self._desktop.undone():
                    return "shell"
        return ""

    def _ways_back(self) -> Iterator[tuple[str, tuple[Act, ...]]]:
        candidate, save = self._candidate, self._exploration.subject.save
        changes, elements = candidate.changes, candidate.elements
        values = [value or "0" for one in changes for value in (one.before, one.after)]
        if changes and all(value.strip("'\"").lower() in _BINARY for value in values):
            yield "the same act", tail(candidate.acts, self._exploration)
        if changes:
            if save and (last := Act(kind="press", keys=save)) in candidate.acts:
                back = Act(kind="press", keys=("ctrl", "z"))
                yield "ctrl z", (back, last)
                yield "ctrl z", (back, back, back, last)
            return
        if len(elements) == 1 and elements[0].what == "states":
            yield "the same act", tail(candidate.acts, self._exploration)
        for one in elements:  # of several, another one was chosen before
            if {"selected", "checked"} & (set(one.before.split()) - set(one.after.split())):
                yield "the former choice", (Act(kind="click", role=one.role, name=one.name),)
        leave = [("+".join(keys), (Act(kind="press", keys=keys),)) for keys in _LEAVE + _CLOSE]
        yield from leave[: len(_LEAVE)]
        for draft in mutants(candidate, self._exploration)[:2]:
            if draft.kind.startswith("other") or draft.acts[-1].role == "page tab":
                yield "another choice", draft.acts[-1:]
        yield from leave[len(_LEAVE) :]

    async def _near_misses(self) -> None:
        """All of the mutants are done, though one that passes is enough to refuse."""
        wanted = _wanted(self._candidate, self._exploration)
        for draft in mutants(self._candidate, self._exploration)[:_DRAFTS]:
            if self._counted >= wanted:
                break
            await self._ready()
            try:
                await replay(self._desktop.environment, draft.acts)
                made = await self._desktop.environment.execute(draft.done_if or "true")
                done = not made.exit_code
            except (ModelFacingError, LimitPassed):
                done = False
            self._not_done += not done
            if done:
                await self._take(draft)
        self._judge_mutants(wanted)

    @property
    def _counted(self) -> int:
        left = sum(one.detail.endswith(NO_OP) for one in self._mutants)
        return len(self._mutants) - max(left - 1, 0)

    def _judge_mutants(self, wanted: int) -> None:
        if not all(one.killed for one in self._mutants):
            raise _Refused("a mutant passes")
        if self._counted < wanted:
            raise _Refused("too few mutants")

    async def _take(self, draft: Draft) -> None:
        """Score a mutant that was done; one whose end is right is none."""
        score = await self._desktop.score(0)
        differences, right = await self._desktop.since_start()
        self._clean = not differences
        if right:
            self._equivalent += 1
            return
        facts, elements = len(differences.facts), len(differences.elements)
        detail = draft.detail + (
            f"; changed {facts} facts, {elements} elements" if differences else NO_OP
        )
        mutant = Mutant(kind=draft.kind, acts=draft.acts, killed=score == 0, detail=detail)
        self._mutants.append(mutant)
        if differences and draft.kind != "nothing saved":
            toggles = self._undone_by == "the same act" or facts
            await self._put_back(tail(draft.acts, self._exploration) if toggles else self._undoing)

    async def _put_back(self, acts: tuple[Act, ...]) -> None:
        """Undo acts where the candidate was undone by hand, which is quicker than a fresh start."""
        if self._undone_by not in ("ctrl z", "shell"):
            with suppress(ModelFacingError):
                await replay(self._desktop.environment, acts, wait=0.5)
                await self._look_clean()

    async def _second_desktop(self) -> None:
        """A fresh desktop agrees; on the way there, nothing is saved yet."""
        await self._desktop.fresh()
        acts = self._candidate.acts
        if draft := unsaved(self._candidate, self._exploration):
            await self._replay(draft.acts, "fresh")
            await self._take(draft)
            self._judge_mutants(WANTED_MUTANTS)
            acts = acts[len(draft.acts) :]
        await self._replay(acts, "fresh")
        await self._expect("fresh", 1, "a fresh desktop differs")
        self._clean = False
        await self._put_back(self._undoing)

    async def _otherwise(self) -> None:
        for kind, way in other_ways(self._candidate, self._exploration):
            await self._ready()
            try:
                detail = await way(self._desktop)
                passed = await self._desktop.score(1) == 1
            except (ModelFacingError, LimitPassed) as error:
                detail, passed = f"not done: {error}"[:500], False
            self._ways.append(OtherWay(kind=kind, passed=passed, detail=detail))
            if passed:
                return
        raise _Refused("no other way passes")
