"""Chains: two effects of one subject, one after the other, as one task."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations

from hisa.plugins.synthesis.exploration import Exploration
from hisa.plugins.synthesis.records import Change, Triple
from hisa.plugins.synthesis.rule_instructions import Untold, clauses, sentence
from hisa.plugins.synthesis.task_records import Effect, Instruction
from hisa.plugins.synthesis.ways import on_look

__all__ = ["chains"]


def chains(
    exploration: Exploration,
    effects: Sequence[Effect],
    instructions: Mapping[str, Instruction],
    ways: Mapping[str, Sequence[Triple]],
    *,
    count: int,
    seed: int,
) -> list[Instruction]:
    """Instructions for two effects each, no effect oftener than others as far as they go.

    Args:
        exploration: whose triples they are of.
        effects: of which lasting ones are joined.
        instructions: of one writer, by the effect's id; an effect without one is left out.
        ways: to the triple of each instruction, likewise.
        count: at most so many.
        seed: of the order in which pairs are tried.

    Returns:
        those whose second way can begin where the first one ended, and whose changes stay.
    """
    usable = [one for one in effects if one.lasting and one.id in instructions and one.id in ways]
    pairs = list(permutations(usable, 2))
    random.Random(seed).shuffle(pairs)
    used = dict.fromkeys((one.id for one in usable), 0)
    chosen: list[Instruction] = []
    joined: set[frozenset[str]] = set()
    while pairs and len(chosen) < count:
        pairs.sort(key=lambda pair: used[pair[0].id] + used[pair[1].id])
        first, second = pairs.pop(0)
        both = frozenset((first.id, second.id))
        if both in joined or not _compose(exploration, first, second, ways):
            continue
        high = _joined(exploration, [(instructions[e.id], ways[e.id]) for e in (first, second)])
        if high:
            joined.add(both)
            used[first.id], used[second.id] = used[first.id] + 1, used[second.id] + 1
            one, two = instructions[first.id], instructions[second.id]
            chosen.append(
                one.model_copy(
                    update={"triples": one.triples + two.triples, "way": "chain", "high": high}
                    | {"sub": f"{one.sub} {two.sub}", "analysis": "", "turn": ""}
                )
            )
    return chosen


def _compose(
    exploration: Exploration, first: Effect, second: Effect, ways: Mapping[str, Sequence[Triple]]
) -> bool:
    """Whether two effects stay apart, and the second's way can begin where the first one ended."""
    taken = set(_places(first.changes))
    if taken & set(_places(second.changes)):
        return False
    one, two = ways[first.id], ways[second.id]
    if {step.act.key for step in one if step.differences} & {step.act.key for step in two[-1:]}:
        return False
    ended = exploration.states[one[-1].after]
    rest = exploration.states[exploration.root]
    return len(ended.windows) == len(rest.windows) and on_look(exploration, two[0].act, ended.id)


def _places(changes: Sequence[Change]) -> Iterator[tuple[str, str, str]]:
    for change in changes:
        yield change.fact.kind, change.fact.place, change.fact.item


def _joined(exploration: Exploration, parts: Sequence[tuple[Instruction, Sequence[Triple]]]) -> str:
    """Both instructions as one; those by rules are told anew, so that they are one sentence."""
    if parts[0][0].writer != "rules":
        return " Then: ".join(one.high for one, _ in parts)
    try:
        words = [part for _, way in parts for part in clauses(exploration, way)]
    except Untold:
        return ""
    return sentence(words, exploration.subject.title)
