"""Chains: two effects of one subject, one after the other, as one task."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import permutations

from hisa.plugins.synthesis.exploration import Exploration
from hisa.plugins.synthesis.records import Triple
from hisa.plugins.synthesis.rule_instructions import Untold, clauses, sentence
from hisa.plugins.synthesis.task_records import Effect, Instruction
from hisa.plugins.synthesis.ways_there import on_look

__all__ = ["chains"]

Part = tuple[Instruction, Sequence[Triple]]


def chains(
    exploration: Exploration,
    effects: Sequence[Effect],
    parts: Mapping[str, Part],
    count: int,
    seed: int,
) -> list[Instruction]:
    """Instructions for two effects each, no effect oftener than others as far as they go.

    Args:
        exploration: whose triples they are of.
        effects: of which lasting ones are joined.
        parts: an instruction of one writer and the way to its triple, by the effect's id.
        count: at most so many.
        seed: of the order in which pairs are tried.

    Returns:
        those whose second way can begin where the first one ended, and whose changes stay.
    """
    lasting = [one for one in effects if one.lasting and one.id in parts]
    pairs = list(permutations(lasting, 2))
    random.Random(seed).shuffle(pairs)
    used: Counter[str] = Counter()
    chosen: dict[frozenset[str], Instruction] = {}
    while pairs and len(chosen) < count:
        pairs.sort(key=lambda pair: used[pair[0].id] + used[pair[1].id])
        first, second = pairs.pop(0)
        both = frozenset((first.id, second.id))
        one, two = parts[first.id], parts[second.id]
        apart = {c.fact for c in first.changes}.isdisjoint(c.fact for c in second.changes)
        if both in chosen or not apart or not _compose(exploration, one[1], two[1]):
            continue
        if high := _joined(exploration, one, two):
            used.update(both)
            chosen[both] = one[0].model_copy(
                update={
                    "triples": one[0].triples + two[0].triples, "way": "chain", "high": high,
                    "sub": f"{one[0].sub} {two[0].sub}", "analysis": "", "turn": "",
                    "steps": one[0].steps + two[0].steps,
                }
            )  # fmt: skip
    return list(chosen.values())


def _compose(exploration: Exploration, one: Sequence[Triple], two: Sequence[Triple]) -> bool:
    """Whether a way can begin where another one ended, and ends with a control of its own."""
    ended = exploration.states[one[-1].after]
    alike = len(ended.windows) == len(exploration.states[exploration.root].windows)
    own = two[-1].act.key not in {step.act.key for step in one}
    return alike and own and on_look(exploration, two[0].act, ended.id)


def _joined(exploration: Exploration, one: Part, two: Part) -> str:
    """Both instructions as one; those by rules are told anew, so that they are one sentence."""
    if one[0].writer != "rules":
        return f"{one[0].high} Then: {two[0].high}"
    try:
        words = [part for _, way in (one, two) for part in clauses(exploration, way)]
    except Untold:
        return ""
    return sentence(words, exploration.subject.title)
