"""Candidates: an effect's instruction, and apart from it the check from the effect's changes."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from hisa.plugins.synthesis.checks import check_of
from hisa.plugins.synthesis.exploration import Exploration
from hisa.plugins.synthesis.lint import no_task
from hisa.plugins.synthesis.offers import LEAVES
from hisa.plugins.synthesis.records import Act
from hisa.plugins.synthesis.task_records import Candidate, Effect, Instruction, Refusal
from hisa.plugins.synthesis.ways_there import acts_of, way_of

__all__ = ["make_candidates", "menu_of", "names_of"]


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


def names_of(exploration: Exploration, acts: Iterable[Act]) -> set[str]:
    """The names that an instruction for some acts may hold, whatever their words mean.

    A button that leaves a dialog stays a word: a click on it is no task.
    """
    controls = {act.name for act in acts if not LEAVES.fullmatch(act.name)}
    return {*exploration.subject.names, *controls, *(act.text for act in acts)}


def make_candidates(
    exploration: Exploration,
    effects: Iterable[Effect],
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
            Where there are too few menus for it, each has about as many.
    """
    candidates: list[Candidate] = []
    refusals: list[Refusal] = []
    of_triple = {number: effect for effect in effects for number in effect.triples}
    for instruction in instructions:
        if not instruction.triples or not of_triple.keys() >= set(instruction.triples):
            continue
        made = _candidate(exploration, instruction, of_triple)
        if isinstance(made, Candidate):
            candidates.append(made)
        else:
            ids = tuple(of_triple[number].id for number in instruction.triples)
            refusals.append(_refusal(instruction, ids, made))
    candidates.sort(key=lambda one: (len(one.effects), len(one.acts), one.id))
    checks: dict[str, Candidate] = {}
    for candidate in candidates:
        if checks.setdefault(_asked(candidate), candidate) is not candidate:
            reason = "another task has the same check"
            refusals.append(_refusal(candidate, candidate.effects, reason))
    candidates = list(checks.values())
    menus = [menu_of(exploration, one.acts) for one in candidates]
    most, kept = _most_per_menu(Counter(menus).values(), share), []
    for at, candidate in enumerate(candidates):
        if menus[:at].count(menus[at]) < most:
            kept.append(candidate)
        else:
            reason = "enough tasks are from the same menu or dialog"
            refusals.append(_refusal(candidate, candidate.effects, reason))
    return kept, refusals


def _asked(candidate: Candidate) -> str:
    """Returns the conditions of its check, in an order of its own."""
    return json.dumps(sorted(json.dumps(check, sort_keys=True) for check in candidate.check))


def _most_per_menu(sizes: Collection[int], share: float) -> int:
    for most in range(max(sizes, default=1), 1, -1):
        if most <= math.ceil(share * sum(min(size, most) for size in sizes)):
            return most
    return 1


def _refusal(one: Instruction | Candidate, effects: tuple[str, ...], reason: str) -> Refusal:
    return Refusal(
        stage="candidate", writer=one.writer, triples=one.triples, effects=effects, reason=reason
    )


def _candidate(
    exploration: Exploration, one: Instruction, of_triple: Mapping[int, Effect]
) -> Candidate | str:
    """The candidate of an instruction, or the reason why there is none."""
    if one.sort in ("question", "information"):
        return "a question: no change on the machine checks its answer"
    effects = [of_triple[number] for number in one.triples]
    ids = tuple(effect.id for effect in effects)
    whole = Effect(
        id="+".join(ids),
        triples=one.triples,
        changes=tuple(change for effect in effects for change in effect.changes),
        elements=effects[0].elements if len(effects) == 1 else (),
    )
    check = check_of(whole)
    if isinstance(check, str):
        return check
    on_the_way = [of_triple[number] for number in one.steps if number in of_triple]
    changed = {change.fact for effect in on_the_way for change in effect.changes}
    filled = {
        (e.role, e.name) for effect in on_the_way for e in effect.elements if e.what == "value"
    }
    unasked = () if whole.changes else filled - {(e.role, e.name) for e in whole.elements}
    if changed - {change.fact for change in whole.changes} or unasked:
        return "a step on the way changes what the check does not ask for"
    acts = acts_of(exploration, way_of(exploration, one.steps))
    if reasons := no_task(one.high, names_of(exploration, acts)):
        return f"no task: {reasons[0].partition(':')[0]}"
    parts = [one.writer, one.high, *ids]
    parts += [str(number) for number in one.steps if one.writer != "rules"]  # rules tell each step
    name = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:10]
    return Candidate(
        id=f"{exploration.subject.name}-{name}",
        subject=exploration.subject.name,
        effects=ids,
        triples=one.triples,
        instruction=one.high,
        writer=one.writer,
        check=check,
        acts=acts,
        changes=whole.changes,
        elements=whole.elements,
    )
