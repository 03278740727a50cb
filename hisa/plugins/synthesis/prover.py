"""Proves a candidate by doing it on real desktops, in stages that a good task must pass.

The check fails at the start, passes at the end, fails again once undone, fails for near misses,
passes on a fresh desktop, and passes for another right way. The first stage that fails refuses the
candidate. A desktop is used again only if everything on it is as it was at the start.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, zip_longest
from typing import Literal, NamedTuple

from hisa.config import EnvironmentSettings, TaskSettings
from hisa.environments.open_environment import open_environment
from hisa.errors import LimitPassed, ModelFacingError, ToolFailed, UsageError
from hisa.plugins.synthesis.alternative_routes import other_ways
from hisa.plugins.synthesis.checks import check_of
from hisa.plugins.synthesis.distinct_effects import select_essential
from hisa.plugins.synthesis.exploration import Exploration
from hisa.plugins.synthesis.exploration_acts import (
    act_on,
    find_candidates,
    holders,
    read_name,
    replay,
)
from hisa.plugins.synthesis.offers import MENU_ITEMS
from hisa.plugins.synthesis.proof_desktop import ProofDesktop, ProofFailure
from hisa.plugins.synthesis.records import Act, Candidate, Effect, Mutant, OtherWay, Proof, Stage
from hisa.plugins.synthesis.task_files import act_in_words, task_of
from hisa.screen.observation import Observation, Screenshot
from hisa.tasks.scorer import check_possible

__all__ = ["NO_OP", "REQUIRED_MUTANTS", "Draft", "mutants", "prove"]

REQUIRED_MUTANTS = 3
NO_OP = "; changed nothing"
"""Ends the detail of a mutant that changed nothing; only one of these counts."""
_DRAFTS = 9  # most mutants to begin: some cannot be done, and some turn out to be right
_WAYS_OUT = (("esc",), ("esc",), ("alt", "left"), ("f5",), ("ctrl", "w"))
"""Keys that leave a menu, a submenu, a page, the state of a page, a tab."""
_PARTS: tuple[Literal["start", "end", "undone", "fresh"], ...] = ("start", "end", "undone", "fresh")


async def prove(
    candidate: Candidate,
    exploration: Exploration,
    machine: EnvironmentSettings,
    tasks: TaskSettings,
) -> Proof:
    """Runs all stages of a proof, on desktops of its own.

    Args:
        candidate: to prove.
        exploration: that it was made from.
        machine: settings of the environment.
        tasks: settings of setup and scoring.

    Raises:
        EnvironmentFailed: a desktop broke; nothing is known about the candidate.
        UsageError: the subject cannot be set up here, or the environment has a network.
    """
    check_possible(exploration.subject.task(), tasks)
    return await _Trial(candidate, exploration).run(machine, tasks)


class _Trial:
    """The stages of one proof, and their results."""

    _desktop: ProofDesktop

    def __init__(self, candidate: Candidate, exploration: Exploration) -> None:
        self._candidate = candidate
        self._exploration = exploration
        self._mutants = mutants(candidate, exploration)
        self._save = Act(kind="press", keys=exploration.subject.save)
        self._stages: list[Stage] = []
        self._executed_mutants: list[Mutant] = []
        self._ways: list[OtherWay] = []
        self._equivalent = self._not_done = self._desktops = 0
        self._undone_by = ""
        self._completed: Candidate | None = None
        self._clean = False  # whether the desktop is as at the start

    async def run(self, machine: EnvironmentSettings, tasks: TaskSettings) -> Proof:
        """Runs all stages up to the first that fails; a hopeless candidate starts no desktop."""
        began, reason, detail = time.monotonic(), "", ""
        try:
            self._require_hope(tasks)
            async with open_environment(machine) as environment:
                self._desktop = ProofDesktop(environment, self._candidate, self._exploration, tasks)
                await self._first_desktop()
                await self._without_each_act()
                await self._near_misses()
                await self._second_desktop()
                await self._try_other_ways()
        except ProofFailure as refused:
            reason, detail = refused.reason, refused.detail
        if detail:
            self._note(None, False, detail)
        return Proof(
            candidate=self._candidate.id,
            completed=self._completed,
            proved=not reason,
            reason=reason,
            stages=tuple(self._stages),
            mutants=tuple(self._executed_mutants),
            other_ways=tuple(self._ways),
            undone_by=self._undone_by,
            equivalent=self._equivalent,
            not_done=self._not_done,
            seconds=round(time.monotonic() - began, 1),
            desktops=self._desktops,
        )

    def _require_hope(self, tasks: TaskSettings) -> None:
        try:
            check_possible(task_of(self._exploration, self._candidate), tasks)
        except UsageError as error:
            raise ProofFailure("the check has no score", str(error)) from error
        if len(self._mutants) < REQUIRED_MUTANTS:
            raise ProofFailure("too few mutants", "exploration saw nothing to make them from")
        if not list(other_ways(self._candidate, self._exploration)):
            raise ProofFailure("no other way passes", "exploration saw no other way")

    def _note(self, score: float | None, held: bool, detail: str) -> None:
        name = _PARTS[min(len(self._stages), len(_PARTS) - 1)]
        self._stages.append(Stage(name=name, held=held, score=score, detail=detail[:1000]))

    async def _expect(self, expected: Literal[0, 1], reason: str) -> None:
        score = await self._desktop.score(expected)
        self._note(score, score == expected, self._desktop.detail)
        if score != expected:
            raise ProofFailure(reason)

    async def _replay(self, acts: tuple[Act, ...]) -> None:
        try:
            await replay(self._desktop.environment, acts)
        except ModelFacingError as error:
            raise ProofFailure("the acts cannot be repeated", str(error)) from error

    async def _ready(self) -> None:
        """Resets the desktop unless it is as at the start; the next act will change it."""
        if not self._clean:
            await self._desktop.start_afresh()
            self._desktops += 1
        self._clean = False

    async def _first_desktop(self) -> None:
        """Runs the stages start, end and undone.

        After a save the desktop is not as at the start, since the program keeps a history.
        """
        await self._ready()
        await self._desktop.require_no_network()
        await self._expect(0, "the start passes")
        await self._desktop.keep_start()
        await self._replay(self._candidate.acts)
        await self._expect(1, "the end fails")
        await self._complete_check()
        if not self._candidate.changes and await self._desktop.score(0) != 1:  # after some seconds
            raise ProofFailure("the end passes by itself")
        self._undone_by = await self._undo()
        if not self._undone_by:
            raise ProofFailure("it cannot be undone", "neither by hand nor by a shell command")
        await self._expect(0, "undone, it passes")
        if self._save not in self._candidate.acts:
            self._clean = not (await self._desktop.since_start())[0]

    async def _complete_check(self) -> None:
        """Extends the check to all that the end changed, or the task would pass when half done.

        Exploration saw only the last act; the acts before it had made some of the changes.
        """
        differences, _ = await self._desktop.since_start()
        checked_facts = {change.fact for change in self._candidate.changes}
        more = tuple(
            change
            for change in select_essential(differences.facts)
            if change.fact not in checked_facts
        )
        if not more:
            return
        checks = check_of(Effect(id="more", changes=more, triples=()))
        if isinstance(checks, str):
            raise ProofFailure("it changes more than a check can test", checks)
        known = self._candidate
        self._candidate = self._completed = known.model_copy(
            update={"check": (*known.check, *checks), "changes": (*known.changes, *more)}
        )
        self._desktop.take_candidate(self._candidate)
        if await self._desktop.score(1) != 1:
            raise ProofFailure("the end fails", self._desktop.detail)

    async def _undo(self) -> str:
        """Undoes the end; returns the name of the first way that does, empty if none does."""
        for name, acts in self._ways_back():
            with suppress(ModelFacingError):
                await replay(self._desktop.environment, acts)
                if await self._desktop.is_undone():
                    return name
        with suppress(ToolFailed):
            for _ in range(2):  # the program may save only after the first
                await self._desktop.put_back()
                if await self._desktop.is_undone():
                    return "shell"
        return ""

    def _ways_back(self) -> Iterator[tuple[str, tuple[Act, ...]]]:
        candidate = self._candidate
        if candidate.changes:  # from a shell
            return
        if [change.what for change in candidate.elements] == ["states"]:
            yield "the same act", _tail(candidate.acts, self._exploration)
        for change in candidate.elements:
            if change.what == "value" and (acts := _former_value(candidate.acts, change.before)):
                yield "the former value", acts
            # One of several was chosen: choose the one that was chosen before.
            if {"selected", "checked"} & (set(change.before.split()) - set(change.after.split())):
                yield "the former choice", (Act(kind="click", role=change.role, name=change.name),)
        for keys in _WAYS_OUT:
            yield "+".join(keys), (Act(kind="press", keys=keys),)

    async def _without_each_act(self) -> None:
        """Leaves out each act in turn: if the end still passes, the act is not needed.

        If the rest cannot be done without the act, or has no score, it does not pass.
        """
        acts = self._candidate.acts
        for at, act in enumerate(acts if len(acts) > 1 else ()):
            if _only_opens_menu(acts, at):
                continue
            await self._ready()
            try:
                await replay(self._desktop.environment, (*acts[:at], *acts[at + 1 :]))
                passes = await self._desktop.score(0) == 1
            except (ModelFacingError, LimitPassed, ProofFailure):
                continue
            if passes:
                detail = f"it passes without act {at + 1}: {act_in_words(act)}"
                raise ProofFailure("an act is not needed", detail)

    async def _near_misses(self) -> None:
        """Does the mutants; all are done, although one that passes is enough to refuse."""
        for draft in self._mutants[:_DRAFTS]:
            if self._counted >= REQUIRED_MUTANTS:
                break
            await self._ready()
            try:
                await replay(self._desktop.environment, draft.acts)
            except (ModelFacingError, LimitPassed):
                self._not_done += 1
                continue
            await self._take(draft)
        if not all(mutant.killed for mutant in self._executed_mutants):
            raise ProofFailure("a mutant passes")
        if self._counted < REQUIRED_MUTANTS:
            raise ProofFailure("too few mutants")

    @property
    def _counted(self) -> int:
        without_change = sum(mutant.detail.endswith(NO_OP) for mutant in self._executed_mutants)
        return len(self._executed_mutants) - max(without_change - 1, 0)

    async def _take(self, draft: Draft) -> None:
        """Scores a mutant that was done; one that reached the right end does not count."""
        score = await self._desktop.score(0)
        differences, right = await self._desktop.since_start()
        self._clean = not differences
        if right:
            self._equivalent += 1
            return
        counts = f"{len(differences.facts)} facts, {len(differences.elements)} elements"
        detail = draft.detail + (f"; changed {counts}" if differences else NO_OP)
        mutant = Mutant(kind=draft.kind, acts=draft.acts, killed=score == 0, detail=detail)
        self._executed_mutants.append(mutant)

    async def _second_desktop(self) -> None:
        self._clean = False
        await self._ready()
        await self._replay(self._candidate.acts)
        await self._expect(1, "a fresh desktop differs")

    async def _try_other_ways(self) -> None:
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
        raise ProofFailure("no other way passes")


_CHOICES = frozenset({"list item", "radio button", "radio menu item", "icon", "table cell", "link"})
"""Roles of elements of which one is chosen from several."""
_FAMILIES = (
    MENU_ITEMS,
    frozenset({"push button", "toggle button", "check box", "page tab", "combo box"}),
    frozenset({"menu"}),
)
"""Controls that a person mistakes for one another."""
_NEIGHBOURS = 5  # most neighbours tried for one control, the nearest first


class Draft(NamedTuple):
    """A mutant that has not been done yet."""

    kind: str
    acts: tuple[Act, ...]
    detail: str


def mutants(candidate: Candidate, exploration: Exploration) -> list[Draft]:
    """Returns near misses, of every kind in turn; the same ones for the same candidate.

    Those of the last acts come first, since the acts after them can still be done.
    """
    draw, known = random.Random(candidate.id), {candidate.acts}
    rows: dict[str, list[Draft]] = {}
    for draft in _drafts(candidate.acts, exploration, draw):
        if draft.acts not in known:
            known.add(draft.acts)
            rows.setdefault(draft.kind, []).append(draft)
    return [draft for draft in chain(*zip_longest(*rows.values())) if draft is not None]


def _tail(acts: tuple[Act, ...], exploration: Exploration) -> tuple[Act, ...]:
    """Returns the last act that is not a save, with the menus before it and the saves after it."""
    last = max((at for at, act in enumerate(acts) if not _is_save(act, exploration)), default=0)
    first = last
    while acts[last].role in MENU_ITEMS and first and acts[first - 1].role == "menu":
        first -= 1
    return acts[first:]


def _only_opens_menu(acts: tuple[Act, ...], at: int) -> bool:
    """Whether an act opens the menu that the next one needs."""
    after = acts[at + 1 : at + 2]
    return acts[at].role == "menu" and any(e.role in MENU_ITEMS | {"menu"} for e in after)


def _former_value(acts: tuple[Act, ...], value: str) -> tuple[Act, ...]:
    """Returns acts that restore a field's or list's value before the last act; empty if unknown."""
    last = acts[-1]
    if last.kind == "type" and last.role:
        if value.strip():
            return (last.model_copy(update={"text": value, "keys": ()}),)
        click = last.model_copy(update={"kind": "click", "text": "", "keys": ()})
        return (click, *(Act(kind="press", keys=keys) for keys in (("ctrl", "a"), ("delete",))))
    if last.kind == "click" and len(acts) > 1 and acts[-2].role == "combo box":
        return (acts[-2], last.model_copy(update={"name": value, "nth": 0}))
    return ()


def _is_save(act: Act, exploration: Exploration) -> bool:
    return act.kind == "press" and act.keys == exploration.subject.save != ()


def _drafts(
    acts: tuple[Act, ...], exploration: Exploration, draw: random.Random
) -> Iterator[Draft]:
    """Yields near misses: for each act but saves and menus, another act in its place, or none."""
    for at, act in reversed(list(enumerate(acts))):
        before, after = acts[:at], acts[at + 1 :]
        if _is_save(act, exploration):
            if before and not after:
                yield Draft("nothing saved", before, "the last save is left out")
            continue
        if _only_opens_menu(acts, at):
            continue
        for kind, other, detail in _others(act, exploration, draw):
            yield Draft(kind, (*before, other, *after), detail)
        tail_length = len(_tail(acts[: at + 1], exploration))
        rest = (*acts[: at + 1 - tail_length], *after)
        if not all(_is_save(other_act, exploration) for other_act in rest):
            yield Draft("left out", rest, f'no {act.kind} of "{act.name or act.text}"')


def _others(
    act: Act, exploration: Exploration, draw: random.Random
) -> Iterator[tuple[str, Act, str]]:
    """Yields the kind of a near miss of one act, the act instead, and its description."""
    if act.kind == "type":
        for kind, text in _texts(act.text, exploration.subject.words, draw):
            yield kind, act.model_copy(update={"text": text}), f"{text!r} for {act.text!r}"
    kind, family = (
        "neighbour control",
        next((group for group in _FAMILIES if act.role in group), None),
    )
    if act.role in _CHOICES:
        kind = "other cell" if act.role == "table cell" else "other value"
        family = frozenset({act.role})
    for other in _beside(act, exploration, family) if family else ():
        yield kind, other, f'"{other.name}" for "{act.name}"'


def _texts(text: str, words: tuple[str, ...], draw: random.Random) -> Iterator[tuple[str, str]]:
    """Yields the kind of near miss and another text of the same form, the most similar first."""
    number = re.fullmatch(r"-?[0-9]{1,15}", text)
    near = str(int(text) + 1) if number else text[:-1] or "x"
    others = [word for word in words if word != text]
    for other in (near, *draw.sample(others, min(2, len(others))), f"{text} x"):
        yield "other value", other


def _beside(act: Act, exploration: Exploration, family: frozenset[str]) -> list[Act]:
    """Returns the same act on elements beside its own, on the look before the act.

    Those in the same container come first, then the rest of the window; acts known to change
    nothing come last.
    """
    before = next(
        (triple.before for triple in exploration.triples if triple.act.key == act.key), ""
    )
    if before not in exploration.states:
        return []
    state = exploration.states[before]
    picture = Screenshot.from_png(exploration.picture(state).read_bytes())
    observation = Observation(picture, picture.size, (), exploration.elements(state))
    elements, same = (
        observation.elements or (),
        find_candidates(act.role, act.name, act.within, observation),
    )
    if not same:
        return []
    target = same[min(act.nth, len(same) - 1)]
    at, within = elements.index(target), holders(target, elements)
    dead = {
        triple.act.key
        for triple in exploration.triples
        if not triple.failed and not triple.differences
    }
    places = [
        place
        for place, element in enumerate(elements)
        if element.role in family
        and element.window == target.window
        and read_name(element) not in ("", act.name, *exploration.subject.leave)
        and {"showing", "visible"} & element.states
        and {"sensitive", "enabled"} & element.states
    ]
    places.sort(key=lambda place: (holders(elements[place], elements) != within, abs(place - at)))
    more = {"text": act.text, "keys": act.keys}
    acts = [act_on(elements[place], observation, act.kind, **more) for place in places]
    return sorted(acts, key=lambda other: other.key in dead)[:_NEIGHBOURS]
