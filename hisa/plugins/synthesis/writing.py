"""Writes for what was explored: instructions first, each kept at once, then candidates."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from hisa.config import ModelsSettings, PlannerSettings, RunSettings
from hisa.errors import BudgetExceeded, InvalidReply, ModelUnavailable, UsageError
from hisa.machine.storage import AppendOnlyFile, replace_file
from hisa.models.budget import Budget
from hisa.models.open_models import open_models, require_models
from hisa.models.spending import Ledger
from hisa.plugins.synthesis.distinct_effects import distinct_effects
from hisa.plugins.synthesis.exploration import Exploration, append_record, read_records, working_in
from hisa.plugins.synthesis.make_candidates import make_candidates
from hisa.plugins.synthesis.model_instructions import (
    REFERENCES,
    Writer,
    model_instruction,
    reference_batch,
)
from hisa.plugins.synthesis.records import Act, Triple
from hisa.plugins.synthesis.rule_instructions import rule_instruction
from hisa.plugins.synthesis.task_files import write_goal
from hisa.plugins.synthesis.task_records import Candidate, Effect, Instruction, Proof, Refusal
from hisa.plugins.synthesis.ways_there import acts_of, way_of, ways_to
from hisa.protocols import Role
from hisa.text.redact import redact

__all__ = ["ELSEWHERE", "Wish", "WriterSettings", "Written", "write_all"]

ELSEWHERE = frozenset({"the acts cannot be repeated", "the end fails"})
"""Reasons of proofs that say that a way does not lead to its end."""
_NO_WAY = "no short way from a fresh start is known"
_Left = Iterator[tuple[Effect, list[tuple[Triple, ...]]]]  # effects and the ways to each


@dataclass(frozen=True)
class Wish:
    """How much is to be written; see ``hisa synth write --help``."""

    limit: int | None = None
    goal: Literal["effect", "broad"] = "effect"
    references: int = 0
    seed: int = 0


async def write_all(
    settings: WriterSettings | None, folder: Path, wish: Wish, tell: Callable[[str], object]
) -> Written:
    """Write instructions and candidates into the folder of an exploration.

    Args:
        settings: whose planner's model writes; None: the rules do.
        folder: of the exploration. Instructions of the same writer are kept.
        wish: how much.
        tell: gets a line of progress after each reply of a model.

    Raises:
        UsageError: nothing was explored there, or somebody else writes.
        ConfigError, ModelUnavailable: the model cannot be opened.
    """
    exploration = Exploration.open(folder)
    if wish.references and settings is None:
        raise UsageError("the references are written by a model", fix="--model NAME")
    if wish.goal == "broad" and settings is None:
        raise UsageError("broader goals are thought of by a model", fix="--model NAME")
    with working_in(folder / ".write.lock"):
        if settings is None:
            written = _by_rules(exploration, wish)
        else:
            written = await _by_model(settings, exploration, wish, tell)
        if wish.goal == "effect":
            written.make_candidates()
        return written


class Written:
    """All that there is of one writer: earlier instructions of the folder, and new ones."""

    def __init__(self, exploration: Exploration, writer: str, wish: Wish) -> None:
        self.exploration, self.writer, self.wish = exploration, writer, wish
        self._effects = distinct_effects(exploration)
        self.effects = len(self._effects)
        folder = exploration.folder
        instructions = read_records(folder / "instructions.jsonl", Instruction)
        self.instructions = [entry for entry in instructions if entry.writer == writer]
        refusals = read_records(folder / "refused.jsonl", Refusal) if writer != "rules" else []
        own = [refusal for refusal in refusals if refusal.writer == writer]
        self.refusals = [refusal for refusal in own if refusal.stage == "instruction"]
        self._goals_refused = [refusal for refusal in own if refusal.stage == "goal"]
        self.candidates: list[Candidate] = []
        self.stopped = ""
        self.spent: Mapping[str, int | float] = {}
        self._failed = _failed(folder)

    def of_way(self, way: str) -> list[Instruction]:
        """The instructions of one kind: "reverse" are those for an effect each."""
        return [entry for entry in self.instructions if entry.way == way]

    def _leads_elsewhere(self, way: Iterable[Triple]) -> bool:
        """Whether a proof refused a way."""
        return acts_of(self.exploration, way) in self._failed

    def _valid(self) -> list[Instruction]:
        """The instructions for an effect each, but for those whose way leads elsewhere."""
        ways = [(entry, way_of(self.exploration, entry.steps)) for entry in self.of_way("reverse")]
        return [entry for entry, way in ways if not self._leads_elsewhere(way)]

    def left(self) -> _Left:
        """The effects without an instruction or refusal, lasting ones first, and ways to each."""
        done = {number for entry in self._valid() for number in entry.triples}
        done |= {number for refusal in self.refusals for number in refusal.triples}
        left = [effect for effect in self._effects if done.isdisjoint(effect.triples)]
        left.sort(key=lambda effect: not effect.lasting)
        of = {triple.number: triple for triple in self.exploration.triples}
        for effect in left[: self.wish.limit]:
            ways = ways_to(self.exploration, *[of[number] for number in effect.triples])
            yield effect, [way for way in ways if not self._leads_elsewhere(way)]

    def goals_left(self) -> _Left:
        """The acts that changed something, of the same one the first, without a broader goal."""
        tried = {number for entry in self.of_way("broad") for number in entry.triples}
        tried |= {number for refusal in self._goals_refused for number in refusal.triples}
        acted = [step for step in self.exploration.triples if step.differences and not step.failed]
        acted.sort(key=lambda step: not step.differences.facts)
        known = {step.act.key for step in acted if step.number in tried}
        first = {step.act.key: step for step in reversed(acted) if step.act.key not in known}
        left = [step for step in acted if first.get(step.act.key) is step]
        for step in left[: self.wish.limit]:
            yield Effect(id="", triples=(step.number,)), [*ways_to(self.exploration, step), (step,)]

    def add(self, instruction: Instruction) -> None:
        """Write an instruction down."""
        _append(self.exploration.folder / "instructions.jsonl", instruction)
        self.instructions.append(instruction)
        if instruction.way == "broad":
            write_goal(self.exploration.folder / "goals", self.exploration, instruction)

    def refuse(self, effect: Effect, reason: str) -> None:
        """Write down why there is no instruction for an effect."""
        refusal = Refusal(
            stage="goal" if self.wish.goal == "broad" else "instruction",
            writer=self.writer,
            triples=effect.triples,
            effects=(effect.id,),
            reason=redact(reason)[:500],
        )
        _append(self.exploration.folder / "refused.jsonl", refusal)
        self.refusals.append(refusal)

    def make_candidates(self) -> None:
        """Make candidates; those of other writers stay."""
        self.candidates, refusals = make_candidates(self.exploration, self._effects, self._valid())
        known = {entry.id for entry in self.candidates}
        before = read_records(self.exploration.folder / "candidates.jsonl", Candidate)
        own = [entry for entry in before if entry.writer == self.writer and entry.id not in known]
        elsewhere = [entry for entry in own if entry.acts in self._failed]  # a proof speaks of them
        self.refusals += refusals
        self._replace("refused.jsonl", Refusal, [*self.refusals, *self._goals_refused])
        self._replace("candidates.jsonl", Candidate, [*elsewhere, *self.candidates])

    def _replace(
        self, name: str, kind: type[Refusal | Candidate], own: Iterable[Refusal | Candidate]
    ) -> None:
        path = self.exploration.folder / name
        others = [record for record in read_records(path, kind) if record.writer != self.writer]
        lines = [record.model_dump_json(exclude_defaults=True) + "\n" for record in (*others, *own)]
        replace_file(path, "".join(lines).encode())


def _by_rules(exploration: Exploration, wish: Wish) -> Written:
    written = Written(exploration, "rules", wish)
    for effect, ways in written.left():
        tries = [rule_instruction(exploration, way) for way in ways]
        good = [attempt for attempt in tries if isinstance(attempt, Instruction)]
        if good:
            written.add(good[0])
        else:
            written.refuse(effect, str(tries[0]) if tries else _NO_WAY)
    return written


@dataclass(frozen=True)
class WriterSettings:
    """The settings of a model that writes: which it is, and how much it may cost."""

    models: ModelsSettings
    planner: PlannerSettings
    run: RunSettings


@asynccontextmanager
async def open_writer(
    settings: WriterSettings, folder: Path, ledger: Ledger, role: Role = "planner"
) -> AsyncIterator[Writer]:
    """The model of a role as a writer, within the budget; its calls go to ``calls.jsonl``.

    Raises: ConfigError, ModelUnavailable, PluginFailed where it cannot be opened.
    """
    require_models(settings.models, settings.planner)
    run, calls = settings.run, folder / "calls.jsonl"
    budget = Budget(run.budget_usd, run.budget_tokens, seconds=run.budget_seconds)
    async with open_models(
        settings.models, settings.planner, lambda call: _append(calls, call), budget, ledger
    ) as models:
        sees = models.profiles[role].sees_pictures
        yield Writer(models[role], sees, role)


async def _by_model(
    settings: WriterSettings, exploration: Exploration, wish: Wish, tell: Callable[[str], object]
) -> Written:
    """Ask for what is left until it is there, or a model or a budget ends."""
    ledger = Ledger()
    async with open_writer(settings, exploration.folder, ledger) as writer:
        written = Written(exploration, writer.model.name, wish)
        left = written.goals_left() if wish.goal == "broad" else written.left()
        try:
            await _ask(writer, written, left, tell)
            await _refer(writer, written)
        except (BudgetExceeded, ModelUnavailable) as failure:
            written.stopped = redact(str(failure))
        written.spent = ledger.total.as_dict()
    return written


async def _ask(
    writer: Writer, written: Written, left: _Left, tell: Callable[[str], object]
) -> None:
    broad = written.wish.goal == "broad"
    for effect, ways in left:
        try:
            if ways:
                made = await model_instruction(writer, written.exploration, ways[0], broad=broad)
                written.add(made)
            else:
                written.refuse(effect, _NO_WAY)
        except InvalidReply as error:
            written.refuse(effect, f"no usable reply: {error}")
        count = len(written.of_way("broad" if broad else "reverse"))
        tell(
            f"{count} {'broader goals' if broad else f'instructions for {written.effects} effects'}"
        )


async def _refer(writer: Writer, written: Written) -> None:
    """Ask for the paper's two references, as many of each as are wished."""
    wish = written.wish
    for way in REFERENCES:
        while (left := wish.references - len(written.of_way(way))) > 0:
            there = [entry for entry in written.instructions if entry.way in REFERENCES]
            try:
                batch = await reference_batch(
                    writer, written.exploration, way, there, seed=wish.seed
                )
            except InvalidReply as error:
                written.stopped += f"{way}: no usable reply: {redact(str(error))[:300]}; "
                break
            for instruction in batch[:left]:
                written.add(instruction)


def _failed(folder: Path) -> set[tuple[Act, ...]]:
    """Ways that a proof found to lead elsewhere."""
    proofs = read_records(folder / "proofs.jsonl", Proof)
    refused = {proof.candidate for proof in proofs if proof.reason in ELSEWHERE}
    candidates = read_records(folder / "candidates.jsonl", Candidate)
    return {entry.acts for entry in candidates if entry.id in refused}


def _append(path: Path, record: BaseModel) -> None:
    with closing(AppendOnlyFile(path)) as file:
        append_record(file, record)
