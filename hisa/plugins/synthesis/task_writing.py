"""Writes for an exploration: candidates by rules; broader goals and references by a model."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from pydantic import BaseModel

from hisa.config import Settings
from hisa.errors import BudgetExceeded, InvalidReply, ModelUnavailable, UsageError
from hisa.machine.storage import AppendOnlyFile, replace_file
from hisa.models.spending import Ledger
from hisa.plugins.synthesis.checks import check_of
from hisa.plugins.synthesis.distinct_effects import distinct_effects
from hisa.plugins.synthesis.exploration import Exploration, append_record, read_records, working_in
from hisa.plugins.synthesis.model_instructions import (
    REFERENCES,
    Writer,
    model_goal,
    open_writer,
    reference_batch,
)
from hisa.plugins.synthesis.offers import LEAVES
from hisa.plugins.synthesis.records import Act, Candidate, Effect, Instruction, Proof, Refusal
from hisa.plugins.synthesis.routes import acts_of, way_of, ways_to
from hisa.plugins.synthesis.rule_instructions import rule_instruction
from hisa.plugins.synthesis.task_files import write_goal
from hisa.text.redact import redact

__all__ = [
    "ELSEWHERE",
    "Wish",
    "WritingResult",
    "make_candidates",
    "names_of",
    "no_task",
    "write_all",
]

ELSEWHERE = frozenset({"the acts cannot be repeated", "the end fails"})
"""Reasons of proofs that mean that a way does not lead to its end."""
_NO_WAY = "no short way from a fresh start is known"


@dataclass(frozen=True)
class Wish:
    """How much to write; see ``hisa synth write --help``."""

    limit: int | None = None
    references: int = 0
    seed: int = 0


@dataclass
class WritingResult:
    """All instructions of one writer, earlier ones of the folder included, and their candidates."""

    writer: str
    instructions: list[Instruction]
    refusals: list[Refusal] = field(default_factory=list)
    effects: int = 0
    candidates: list[Candidate] = field(default_factory=list)
    stopped: str = ""

    def of_way(self, way: str) -> list[Instruction]:
        """Returns the instructions of one kind."""
        return [entry for entry in self.instructions if entry.way == way]


async def write_all(
    settings: Settings | None, folder: Path, wish: Wish, tell: Callable[[str], object]
) -> WritingResult:
    """Writes instructions into the folder of an exploration; earlier ones are kept.

    Args:
        settings: their planner's model writes goals and references; None: rules write candidates.
        folder: of the exploration.
        wish: how much to write.
        tell: gets a line of progress after each reply of a model.

    Raises:
        UsageError: there is no exploration, or another process is writing there.
        ConfigError, ModelUnavailable: the model cannot be opened.
    """
    exploration = Exploration.open(folder)
    if wish.references and settings is None:
        raise UsageError("--references needs a model to write them", fix="--model NAME")
    with working_in(folder / ".write.lock"):
        if settings is None:
            return _by_rules(exploration, wish.limit)
        return await _by_model(settings, exploration, wish, tell)


def _by_rules(exploration: Exploration, limit: int | None) -> WritingResult:
    """Writes an instruction for each effect, and candidates; avoids ways that a proof refused."""
    folder, effects = exploration.folder, distinct_effects(exploration)
    failed = _read_failed_ways(folder)
    before = read_records(folder / "instructions.jsonl", Instruction)
    own = [(entry, way_of(exploration, entry.steps)) for entry in before if entry.way == "reverse"]
    instructions = [entry for entry, way in own if acts_of(exploration, way) not in failed]
    written = WritingResult("rules", instructions, effects=len(effects))
    covered_numbers = {number for entry in instructions for number in entry.triples}
    left = [effect for effect in effects if covered_numbers.isdisjoint(effect.triples)]
    left.sort(key=lambda effect: not effect.lasting)
    by_number = {triple.number: triple for triple in exploration.triples}
    for effect in left[:limit]:
        ways = ways_to(exploration, *[by_number[number] for number in effect.triples])
        ways = [way for way in ways if acts_of(exploration, way) not in failed]
        tries = [rule_instruction(exploration, way) for way in ways]
        good = [attempt for attempt in tries if isinstance(attempt, Instruction)]
        if good:
            _append(folder / "instructions.jsonl", good[0])
            instructions.append(good[0])
        else:
            reason = str(tries[0]) if tries else _NO_WAY
            written.refusals.append(Refusal(triples=effect.triples, reason=reason))
    written.candidates, refusals = make_candidates(exploration, effects, instructions)
    written.refusals += refusals
    known = {entry.id for entry in written.candidates}
    earlier = read_records(folder / "candidates.jsonl", Candidate)
    spoken_of = [
        candidate for candidate in earlier if candidate.acts in failed and candidate.id not in known
    ]  # by a proof
    _replace(folder / "candidates.jsonl", [*spoken_of, *written.candidates])
    _replace(folder / "refused.jsonl", written.refusals)
    return written


def _read_failed_ways(folder: Path) -> set[tuple[Act, ...]]:
    """Returns the acts of ways that do not lead to their end by a proof."""
    proofs = read_records(folder / "proofs.jsonl", Proof)
    refused = {proof.candidate for proof in proofs if proof.reason in ELSEWHERE}
    candidates = read_records(folder / "candidates.jsonl", Candidate)
    return {entry.acts for entry in candidates if entry.id in refused}


async def _by_model(
    settings: Settings, exploration: Exploration, wish: Wish, tell: Callable[[str], object]
) -> WritingResult:
    """Asks a model for all that is left, until it is written or the model or budget ends."""
    file = exploration.folder / "instructions.jsonl"
    async with open_writer(settings, exploration.folder, Ledger()) as writer:
        name = writer.model.name
        known = [entry for entry in read_records(file, Instruction) if entry.writer == name]
        written = WritingResult(name, known)
        try:
            await _goals(writer, exploration, written, wish.limit, tell)
            await _references(writer, exploration, written, wish)
        except (BudgetExceeded, ModelUnavailable) as failure:
            written.stopped = redact(str(failure))
    return written


async def _goals(
    writer: Writer,
    exploration: Exploration,
    written: WritingResult,
    limit: int | None,
    tell: Callable[[str], object],
) -> None:
    """Asks for a broader goal for each act that changed something, once per `Act.key`."""
    folder = exploration.folder
    refused = read_records(folder / "goals_refused.jsonl", Refusal)
    written.refusals = [refusal for refusal in refused if refusal.writer == written.writer]
    tried = {number for goal in written.of_way("broad") for number in goal.triples}
    tried |= {number for refusal in written.refusals for number in refusal.triples}
    acted = [step for step in exploration.triples if step.differences and not step.failed]
    acted.sort(key=lambda step: not step.differences.facts)
    known = {step.act.key for step in acted if step.number in tried}
    first = {step.act.key: step for step in reversed(acted) if step.act.key not in known}
    for step in [step for step in acted if first.get(step.act.key) is step][:limit]:
        way = next(iter(ways_to(exploration, step)), (step,))
        try:
            goal = await model_goal(writer, exploration, way)
            _append(folder / "instructions.jsonl", goal)
            written.instructions.append(goal)
            write_goal(folder / "goals", exploration, goal)
        except InvalidReply as error:
            reason = redact(f"no usable reply: {error}")[:500]
            refusal = Refusal(triples=(step.number,), reason=reason, writer=written.writer)
            _append(folder / "goals_refused.jsonl", refusal)
            written.refusals.append(refusal)
        tell(f"{len(written.of_way('broad'))} broader goals")


async def _references(
    writer: Writer, exploration: Exploration, written: WritingResult, wish: Wish
) -> None:
    """Asks for the paper's two references, ``wish.references`` of each."""
    for way in REFERENCES:
        while (left := wish.references - len(written.of_way(way))) > 0:
            references = [entry for entry in written.instructions if entry.way in REFERENCES]
            try:
                batch = await reference_batch(writer, exploration, way, references, seed=wish.seed)
            except InvalidReply as error:
                written.stopped += f"{way}: no usable reply: {redact(str(error))[:300]}; "
                break
            for instruction in batch[:left]:
                _append(exploration.folder / "instructions.jsonl", instruction)
                written.instructions.append(instruction)


def _append(path: Path, record: BaseModel) -> None:
    with closing(AppendOnlyFile(path)) as file:
        append_record(file, record)


def _replace(path: Path, records: Iterable[BaseModel]) -> None:
    lines = [record.model_dump_json(exclude_defaults=True) + "\n" for record in records]
    replace_file(path, "".join(lines).encode())


def names_of(exploration: Exploration, acts: Iterable[Act]) -> set[str]:
    """Returns names of controls and texts that an instruction may quote; `no_task` ignores them.

    Names of buttons that leave a dialog are not among them, since a click on one is not a task.
    """
    controls = {act.name for act in acts if not LEAVES.fullmatch(act.name)}
    return {*exploration.subject.names, *controls, *(act.text for act in acts)}


def make_candidates(
    exploration: Exploration,
    effects: Iterable[Effect],
    instructions: Iterable[Instruction],
) -> tuple[list[Candidate], list[Refusal]]:
    """Returns the candidates for instructions, and a refusal for each other instruction.

    Args:
        exploration: that the instructions are for.
        effects: distinct effects of its triples.
        instructions: those without an effect are skipped.
    """
    candidates: list[Candidate] = []
    refusals: list[Refusal] = []
    of_triple = {number: effect for effect in effects for number in effect.triples}
    for instruction in instructions:
        if not of_triple.keys() & set(instruction.triples):
            continue
        result = _candidate(exploration, instruction, of_triple)
        if isinstance(result, Candidate):
            candidates.append(result)
        else:
            refusals.append(Refusal(triples=instruction.triples, reason=result))
    candidates.sort(key=lambda candidate: (len(candidate.acts), candidate.id))
    checks: dict[str, Candidate] = {}
    for candidate in candidates:
        if checks.setdefault(_normalise_check(candidate), candidate) is not candidate:
            reason = "another task has the same check"
            refusals.append(Refusal(triples=candidate.triples, reason=reason))
    return list(checks.values()), refusals


def _normalise_check(candidate: Candidate) -> str:
    """Returns the conditions of its check as sorted JSON."""
    return json.dumps(sorted(json.dumps(check, sort_keys=True) for check in candidate.check))


def _candidate(
    exploration: Exploration, instruction: Instruction, of_triple: Mapping[int, Effect]
) -> Candidate | str:
    """Returns the candidate of an instruction, or the reason why there is none."""
    effect = of_triple[instruction.triples[0]]
    check = check_of(effect)
    if isinstance(check, str):
        return check
    on_the_way = [of_triple[number] for number in instruction.steps if number in of_triple]
    changed = {change.fact for passed in on_the_way for change in passed.changes}
    filled = {
        (e.role, e.name) for passed in on_the_way for e in passed.elements if e.what == "value"
    }
    unasked = () if effect.changes else filled - {(e.role, e.name) for e in effect.elements}
    if changed - {change.fact for change in effect.changes} or unasked:
        return "a step on the way changes something that the check does not test"
    acts = acts_of(exploration, way_of(exploration, instruction.steps))
    if reasons := no_task(instruction.high, names_of(exploration, acts)):
        return f"no task: {reasons[0].partition(':')[0]}"
    name = hashlib.sha256(
        "\n".join((instruction.writer, instruction.high, effect.id)).encode()
    ).hexdigest()[:10]
    return Candidate(
        id=f"{exploration.subject.name}-{name}",
        subject=exploration.subject.name,
        effects=(effect.id,),
        triples=instruction.triples,
        instruction=instruction.high,
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
    """Returns the reasons why an instruction is not a task, such as an end that passes by itself.

    ``names`` are names that it quotes, whose words are ignored; see `names_of`.
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
