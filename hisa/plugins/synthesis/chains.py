"""Chains: two effects of one subject, one after the other, as one task."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import permutations

from hisa.plugins.synthesis.exploration import Exploration
from hisa.plugins.synthesis.records import Triple
from hisa.plugins.synthesis.rule_instructions import clauses, sentence
from hisa.plugins.synthesis.task_records import Effect, Instruction
from hisa.plugins.synthesis.ways_there import on_look, way_of

__all__ = ["chains"]


def chains(
    exploration: Exploration,
    effects: Iterable[Effect],
    instructions: Iterable[Instruction],
    count: int,
    seed: int,
) -> list[Instruction]:
    """Instructions for two effects each, no effect oftener than others as far as they go.

    Joined are lasting effects whose second way can begin where the first one ended, and whose
    changes stay.

    Args:
        exploration: whose triples they are of.
        effects: of which lasting ones are joined.
        instructions: of one writer, for one triple each.
        count: at most so many.
        seed: of the order in which pairs are tried.
    """
    part_of = {number: part for part in instructions for number in part.triples}
    lasting = [effect for effect in effects if effect.lasting]
    parts = [(effect, part_of[n]) for effect in lasting for n in effect.triples if n in part_of]
    pairs = list(permutations(parts, 2))
    random.Random(seed).shuffle(pairs)
    used: Counter[str] = Counter()
    chosen: dict[frozenset[str], Instruction] = {}
    while pairs and len(chosen) < count:
        pairs.sort(key=lambda pair: sum(used[effect.id] for effect, _ in pair))
        (one, first), (two, second) = pairs.pop(0)
        both = frozenset((one.id, two.id))
        apart = {c.fact for c in one.changes}.isdisjoint(c.fact for c in two.changes)
        ways = [way_of(exploration, part.steps) for part in (first, second)]
        if both not in chosen and apart and _compose(exploration, *ways):
            used.update(both)
            chosen[both] = _joined(exploration, first, second, ways)
    return list(chosen.values())


def _compose(exploration: Exploration, one: Sequence[Triple], two: Sequence[Triple]) -> bool:
    """Whether a way can begin where another one ended, and ends with a control of its own."""
    ended = exploration.states[one[-1].after]
    alike = len(ended.windows) == len(exploration.states[exploration.root].windows)
    own = two[-1].act.key not in {step.act.key for step in one}
    return alike and own and on_look(exploration, two[0].act, ended.id)


def _joined(
    exploration: Exploration, one: Instruction, two: Instruction, ways: Iterable[Sequence[Triple]]
) -> Instruction:
    """Both instructions as one; those by rules are told anew, so that they are one sentence."""
    high = f"{one.high} Then: {two.high}"
    if one.writer == "rules":
        words = [clause for way in ways for clause in clauses(exploration, way)]
        high = sentence(words, exploration.subject.title)
    return Instruction(
        triples=one.triples + two.triples,
        writer=one.writer,
        way="chain",
        high=high,
        sub=f"{one.sub} {two.sub}",
        steps=one.steps + two.steps,
        sort=one.sort,
    )
