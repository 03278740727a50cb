"""Candidates: an effect's instruction, and apart from it the check from the effect's changes."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from hisa.machine.storage import replace_file
from hisa.plugins.synthesis.checks import check_of
from hisa.plugins.synthesis.exploration import Exploration
from hisa.plugins.synthesis.records import Act, Triple
from hisa.plugins.synthesis.task_records import Candidate, Effect, Instruction
from hisa.plugins.synthesis.ways import acts_of, way_to

__all__ = ["Refusal", "Ways", "make_candidates", "menu_of", "shortest_ways", "write_records"]

Ways = dict[str, list[tuple[Triple, ...]]]
"""Of each effect, by its id: the ways to its triples, the shortest first."""


class Refusal(BaseModel):
    """Why something became no instruction or no candidate: a line of ``refused.jsonl``."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    stage: Literal["instruction", "candidate"]
    writer: str
    triples: tuple[int, ...]
    effects: tuple[str, ...] = ()
    reason: str


def write_records(path: Path, records: Iterable[BaseModel]) -> None:
    """Write a file of JSON lines whole."""
    replace_file(
        path,
        b"".join(one.model_dump_json(exclude_defaults=True).encode() + b"\n" for one in records),
    )


def shortest_ways(exploration: Exploration, effects: Iterable[Effect]) -> Ways:
    """The ways to each effect; none where no triple of it can be reached."""
    by_number = {triple.number: triple for triple in exploration.triples}
    return {
        effect.id: sorted(
            filter(None, (way_to(exploration, by_number[one]) for one in effect.triples)), key=len
        )
        for effect in effects
    }


def menu_of(exploration: Exploration, acts: Sequence[Act]) -> str:
    """The menu or dialog that a task is from: the last dialog, else what holds its last control."""
    main = exploration.subject.main.casefold()
    real = [act for act in acts if act.role]
    if not real:
        return "keyboard"
    window = real[-1].window
    if window and main not in window.casefold():
        return f"window {window}"
    return real[-1].within[0] if real[-1].within else real[-1].role


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
    by_number = {triple.number: triple for triple in exploration.triples}
    of_triple = {number: effect for effect in effects for number in effect.triples}
    seen: set[tuple[str, ...]] = set()
    for one in instructions:
        own = [of_triple[number] for number in one.triples if number in of_triple]
        ids = tuple(effect.id for effect in own)
        if not one.triples or len(own) < len(one.triples) or ids in seen:
            continue
        seen.add(ids)
        ways = [way_to(exploration, by_number[number]) for number in one.triples]
        made = _candidate(exploration, one, own, [way for way in ways if way])
        if isinstance(made, Candidate):
            candidates.append(made)
        else:
            refusals.append(_refusal(one, ids, made))
    candidates.sort(key=lambda one: (len(one.effects), len(one.acts), one.id))
    return _spread(exploration, candidates, refusals, share), refusals


def _refusal(one: Instruction, effects: tuple[str, ...], reason: str) -> Refusal:
    return Refusal(
        stage="candidate", writer=one.writer, triples=one.triples, effects=effects, reason=reason
    )


def _candidate(
    exploration: Exploration,
    one: Instruction,
    effects: Sequence[Effect],
    ways: Sequence[Sequence[Triple]],
) -> Candidate | str:
    if one.sort in ("question", "information"):
        return "a question: no change on the machine checks its answer"
    if len(ways) < len(one.triples):
        return "no way from a fresh start is known"
    whole = effects[0] if len(effects) == 1 else joined(effects)
    check = check_of(whole)
    if isinstance(check, str):
        return check
    name = "\n".join((one.writer, one.high, *(effect.id for effect in effects)))
    return Candidate(
        id=f"{exploration.subject.name}-{hashlib.sha256(name.encode()).hexdigest()[:10]}",
        subject=exploration.subject.name,
        effects=tuple(effect.id for effect in effects),
        triples=one.triples,
        instruction=one.high,
        writer=one.writer,
        acts=tuple(act for way in ways for act in acts_of(exploration, way)),
        check=check,
        changes=whole.changes,
        elements=whole.elements,
    )


def joined(effects: Sequence[Effect]) -> Effect:
    """Several effects as one, all of whose changes have to hold."""
    return Effect(
        id="+".join(effect.id for effect in effects),
        changes=tuple(change for effect in effects for change in effect.changes),
        triples=tuple(number for effect in effects for number in effect.triples[:1]),
    )


def _spread(
    exploration: Exploration,
    candidates: Sequence[Candidate],
    refusals: list[Refusal],
    share: float,
) -> list[Candidate]:
    """Keeps of each menu or dialog as many as its share allows, those with few acts first.

    Where there are too few menus for the share, each has about as many.
    """
    menus = [menu_of(exploration, one.acts) for one in candidates]
    sizes = Counter(menus)

    def fits(most: int) -> bool:
        return most <= math.ceil(share * sum(min(size, most) for size in sizes.values()))

    most = next((one for one in range(max(sizes.values(), default=1), 1, -1) if fits(one)), 1)
    kept: list[Candidate] = []
    taken: Counter[str] = Counter()
    for menu, one in zip(menus, candidates, strict=True):
        taken[menu] += 1
        if taken[menu] <= most:
            kept.append(one)
            continue
        reason = "enough tasks are from the same menu or dialog"
        refusals.append(
            Refusal(
                stage="candidate", writer=one.writer, triples=one.triples, effects=one.effects,
                reason=reason,
            )
        )  # fmt: skip
    return kept
