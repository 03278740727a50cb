"""Candidates: an effect's instruction, and apart from it the check from the effect's changes."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

import yaml

from hisa.plugins.synthesis.checks import check_of
from hisa.plugins.synthesis.exploration import Exploration
from hisa.plugins.synthesis.offers import LEAVES
from hisa.plugins.synthesis.records import Act, Candidate, Effect, Instruction, Refusal
from hisa.plugins.synthesis.ways_there import acts_of, way_of

__all__ = ["make_candidates", "names_of", "no_task"]


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
) -> tuple[list[Candidate], list[Refusal]]:
    """The candidates of instructions for distinct effects, and what became none."""
    candidates: list[Candidate] = []
    refusals: list[Refusal] = []
    of_triple = {number: effect for effect in effects for number in effect.triples}
    for instruction in instructions:
        if not of_triple.keys() & set(instruction.triples):
            continue
        made = _candidate(exploration, instruction, of_triple)
        if isinstance(made, Candidate):
            candidates.append(made)
        else:
            refusals.append(Refusal(triples=instruction.triples, reason=made))
    candidates.sort(key=lambda one: (len(one.acts), one.id))
    checks: dict[str, Candidate] = {}
    for candidate in candidates:
        if checks.setdefault(_asked(candidate), candidate) is not candidate:
            reason = "another task has the same check"
            refusals.append(Refusal(triples=candidate.triples, reason=reason))
    return list(checks.values()), refusals


def _asked(candidate: Candidate) -> str:
    """Returns the conditions of its check, in an order of its own."""
    return json.dumps(sorted(json.dumps(check, sort_keys=True) for check in candidate.check))


def _candidate(
    exploration: Exploration, one: Instruction, of_triple: Mapping[int, Effect]
) -> Candidate | str:
    """The candidate of an instruction, or the reason why there is none."""
    effect = of_triple[one.triples[0]]
    check = check_of(effect)
    if isinstance(check, str):
        return check
    on_the_way = [of_triple[number] for number in one.steps if number in of_triple]
    changed = {change.fact for passed in on_the_way for change in passed.changes}
    filled = {
        (e.role, e.name) for passed in on_the_way for e in passed.elements if e.what == "value"
    }
    unasked = () if effect.changes else filled - {(e.role, e.name) for e in effect.elements}
    if changed - {change.fact for change in effect.changes} or unasked:
        return "a step on the way changes what the check does not ask for"
    acts = acts_of(exploration, way_of(exploration, one.steps))
    if reasons := no_task(one.high, names_of(exploration, acts)):
        return f"no task: {reasons[0].partition(':')[0]}"
    name = hashlib.sha256("\n".join((one.writer, one.high, effect.id)).encode()).hexdigest()[:10]
    return Candidate(
        id=f"{exploration.subject.name}-{name}",
        subject=exploration.subject.name,
        effects=(effect.id,),
        triples=one.triples,
        instruction=one.high,
        check=check,
        acts=acts,
        changes=effect.changes,
        elements=effect.elements,
    )


_RULES: dict[str, str] = yaml.safe_load(
    Path(__file__).with_name("lint_rules.yaml").read_text("utf-8")
)
_QUOTED = re.compile(r"\"[^\"]{1,300}\"|“[^”]{1,300}”|(?<!\w)'[^']{1,300}'(?!\w)|`[^`]{1,300}`")


def no_task(instruction: str, names: Collection[str] = ()) -> list[str]:
    """Reasons why an instruction is no task at all, such as an end that passes by itself.

    ``names`` are those of things that it is about: their words are none of its own.
    """
    own = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True) if name)
    bare = _QUOTED.sub(lambda name: "n" * len(name[0]), instruction[:5000])  # of any words
    if own:
        bare = re.sub(rf"(?<!\w)({own})(?!\w)", lambda name: "n" * len(name[0]), bare)
    reasons = []
    for reason, rule in _RULES.items():
        if match := re.search(rule, bare, re.I | re.S):
            reasons.append(f"{reason}: {instruction[slice(*match.span())][:60]!r}")
    return reasons
