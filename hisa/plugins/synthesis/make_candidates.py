"""Candidates: an effect's instruction, and apart from it the check from the effect's changes."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from hisa.plugins.synthesis.checks import check_of
from hisa.plugins.synthesis.exploration import Exploration
from hisa.plugins.synthesis.lint import no_task
from hisa.plugins.synthesis.records import Act, Triple
from hisa.plugins.synthesis.task_records import Candidate, Effect, Instruction
from hisa.plugins.synthesis.ways_there import acts_of, way_of, ways_to

__all__ = ["Refusal", "make_candidates", "menu_of", "shortest_ways"]

_LONGEST = 10
"""Acts of the longest way to an effect: beyond, a task is a walk. Chosen by hand."""


class Refusal(BaseModel):
    """Why something became no instruction or no candidate: a line of ``refused.jsonl``."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    stage: Literal["instruction", "candidate"]
    writer: str
    triples: tuple[int, ...]
    effects: tuple[str, ...] = ()
    reason: str


def shortest_ways(
    exploration: Exploration, effects: Iterable[Effect]
) -> dict[str, list[tuple[Triple, ...]]]:
    """The ways to each effect by its id, the shortest first; none where all are long."""
    of = {triple.number: triple for triple in exploration.triples}
    ways = {
        e.id: [way for one in e.triples for way in ways_to(exploration, of[one])] for e in effects
    }
    return {
        effect: sorted((way for way in some if len(way) <= _LONGEST), key=len)
        for effect, some in ways.items()
    }


def menu_of(exploration: Exploration, acts: Sequence[Act]) -> str:
    """The menu or dialog of a task's last control; on a page, what led there."""
    controls = [act for act in acts if act.role]
    if not controls:
        return "keyboard"
    act = controls[-1]
    if act.window and exploration.subject.main.casefold() not in act.window.casefold():
        return f"window {act.window}"
    before = "".join(f" after {leading.name}" for leading in controls[-2:-1])
    return act.within[0] if act.within else act.role + before


def make_candidates(
    exploration: Exploration,
    effects: Sequence[Effect],
    instructions: Iterable[Instruction],
    *,
    share: float,
) -> tuple[list[Candidate], list[Refusal]]:
    """The candidates of one writer's instructions, and what became none.

    Args:
        exploration: with their triples.
        effects: distinct ones; a chain's are made of two of them.
        instructions: of one writer.
        share: the most of the tasks that may be from one menu or dialog, above 0, at most 1.
    """
    candidates: list[Candidate] = []
    refusals: list[Refusal] = []
    of_triple = {number: effect for effect in effects for number in effect.triples}
    for one in instructions:
        own = [of_triple[number] for number in one.triples if number in of_triple]
        if one.triples and len(own) == len(one.triples):
            on_the_way = [of_triple[number] for number in one.steps if number in of_triple]
            made = _candidate(exploration, one, own, on_the_way)
            if isinstance(made, Candidate):
                candidates.append(made)
            else:
                refusals.append(_refusal(one, tuple(effect.id for effect in own), made))
    candidates.sort(key=lambda one: (len(one.effects), len(one.acts), one.id))
    kept = _spread(exploration, candidates, share)
    reason = "enough tasks are from the same menu or dialog"
    refusals += [_refusal(one, one.effects, reason) for one in candidates if one not in kept]
    return kept, refusals


def _refusal(one: Instruction | Candidate, effects: tuple[str, ...], reason: str) -> Refusal:
    return Refusal(
        stage="candidate", writer=one.writer, triples=one.triples, effects=effects, reason=reason
    )


def _candidate(
    exploration: Exploration,
    one: Instruction,
    effects: Sequence[Effect],
    on_the_way: Iterable[Effect],
) -> Candidate | str:
    if one.sort in ("question", "information"):
        return "a question: no change on the machine checks its answer"
    way, ids = way_of(exploration, one.steps), tuple(effect.id for effect in effects)
    whole = Effect(
        id="+".join(ids), triples=one.triples,
        changes=tuple(change for effect in effects for change in effect.changes),
        elements=effects[0].elements if len(effects) == 1 else (),
    )  # fmt: skip
    check = check_of(whole)
    if isinstance(check, str):
        return check
    changed = {change.fact for effect in on_the_way for change in effect.changes}
    if changed - {change.fact for change in whole.changes}:
        return "a step on the way changes what the check does not ask for"
    if reasons := no_task(one.high):
        return f"no task: {reasons[0].partition(':')[0]}"
    name = hashlib.sha256("\n".join((one.writer, one.high, *ids)).encode()).hexdigest()[:10]
    return Candidate(
        id=f"{exploration.subject.name}-{name}", subject=exploration.subject.name, effects=ids,
        triples=one.triples, instruction=one.high, writer=one.writer, check=check,
        acts=acts_of(exploration, way), changes=whole.changes, elements=whole.elements,
    )  # fmt: skip


def _spread(
    exploration: Exploration, candidates: Sequence[Candidate], share: float
) -> list[Candidate]:
    """Keeps of each menu or dialog as many as its share allows, the first ones.

    Where there are too few menus for the share, each has about as many.
    """
    menus = [menu_of(exploration, one.acts) for one in candidates]
    sizes = Counter(menus).values()

    def fits(most: int) -> bool:
        return most <= math.ceil(share * sum(min(size, most) for size in sizes))

    most = next((one for one in range(max(sizes, default=1), 1, -1) if fits(one)), 1)
    return [one for at, one in enumerate(candidates) if menus[:at].count(menus[at]) < most]
