"""Writes for what was explored: instructions first, each kept at once, then candidates."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel

from hisa.errors import BudgetExceeded, InvalidReply, ModelUnavailable, UsageError
from hisa.machine.storage import AppendOnlyFile, Lock, replace_file
from hisa.plugins.synthesis.chains import chains
from hisa.plugins.synthesis.distinct_effects import distinct_effects
from hisa.plugins.synthesis.exploration import Exploration, append_record, read_records
from hisa.plugins.synthesis.make_candidates import Refusal, make_candidates, menu_of, shortest_ways
from hisa.plugins.synthesis.records import Act, Triple
from hisa.plugins.synthesis.rule_instructions import rule_instruction
from hisa.plugins.synthesis.task_records import Candidate, Effect, Instruction, Proof
from hisa.plugins.synthesis.ways_there import acts_of, way_of
from hisa.text.redact import redact

if TYPE_CHECKING:
    from hisa.config import Settings
    from hisa.plugins.synthesis.model_instructions import Writer

__all__ = ["Wish", "Written", "write_all"]

_WAYS: Final = ("task_driven", "self_instruct")
_NO_WAY = "no short way from a fresh start is known"


@dataclass(frozen=True)
class Wish:
    """How much is to be written; see ``hisa synth write --help``."""

    limit: int | None = None
    chains: int = 0
    references: int = 0
    most_per_menu: float = 15.0
    seed: int = 0
    at_once: int = 1


@dataclass
class Written:
    """All that there is of one writer."""

    writer: str
    effects: int
    instructions: list[Instruction] = field(default_factory=list)
    candidates: list[Candidate] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    menus: Counter[str] = field(default_factory=Counter)
    """Candidates by the menu or dialog that they are from."""
    stopped: str = ""
    spent: Mapping[str, int | float] = field(default_factory=dict)


async def write_all(
    settings: Settings | None, folder: Path, wish: Wish, tell: Callable[[str], object]
) -> Written:
    """Write instructions and candidates into the folder of an exploration.

    Args:
        settings: whose planner's model writes; None: the rules do.
        folder: of the exploration. Instructions of the same writer are kept.
        wish: how much.
        tell: gets a line of progress now and then.

    Raises:
        UsageError: nothing was explored there, or somebody else writes.
        ConfigError, ModelUnavailable: the model cannot be opened.
    """
    exploration = Exploration.open(folder)
    if wish.references and settings is None:
        raise UsageError("the references are written by a model", fix="--model NAME")
    path = folder / ".write.lock"
    if (lock := Lock.take(path)) is None:
        raise UsageError(f"{folder}: process {Lock.holder(path)} writes there", fix="wait for it")
    try:
        async with AsyncExitStack() as stack:
            return await _Writing(exploration, wish, tell, stack).run(settings)
    finally:
        lock.release()


class _Writing:
    def __init__(
        self,
        exploration: Exploration,
        wish: Wish,
        tell: Callable[[str], object],
        stack: AsyncExitStack,
    ) -> None:
        self.exploration, self.wish, self.tell = exploration, wish, tell
        self.folder = exploration.folder
        self.effects = distinct_effects(exploration)
        self.ways = shortest_ways(exploration, self.effects)
        self.there = read_records(self.folder / "instructions.jsonl", Instruction)
        self.refused = read_records(self.folder / "refused.jsonl", Refusal)
        self.failed = _failed(self.folder)
        self.written = Written("rules", len(self.effects))
        self.stack = stack
        self.instructions = self._file("instructions.jsonl")
        self.refusals = self._file("refused.jsonl")

    def _file(self, name: str) -> AppendOnlyFile:
        return self.stack.enter_context(closing(AppendOnlyFile(self.folder / name)))

    async def run(self, settings: Settings | None) -> Written:
        """Write, and make candidates of what there is, also where a model or a budget ends."""
        if settings is None:
            self._by_rules()
        else:
            await self._by_model(settings)
        self._chains()
        self._candidates()
        return self.written

    def _own(self, way: str = "reverse") -> list[Instruction]:
        name = self.written.writer
        return [one for one in self.there if one.writer == name and one.way == way]

    def _left(self) -> list[Effect]:
        """The effects without an instruction or refusal of this writer; lasting ones first."""
        name = self.written.writer
        refused = [o for o in self.refused if o.stage == "instruction" and o.writer == name]
        done = {number for one in refused for number in one.triples}
        done |= {n for one in self._own() if not self._failed(one.steps) for n in one.triples}
        left = [one for one in self.effects if done.isdisjoint(one.triples)]
        return sorted(left, key=lambda one: not one.lasting)[: self.wish.limit]

    def _ways_left(self, effect: Effect) -> list[tuple[Triple, ...]]:
        ways = self.ways[effect.id]
        return [way for way in ways if not self._failed(step.number for step in way)]

    def _failed(self, steps: Iterable[int]) -> bool:
        return acts_of(self.exploration, way_of(self.exploration, steps)) in self.failed

    def _keep(self, made: Instruction | str, effect: Effect) -> None:
        """Write an instruction down, or the reason why there is none for an effect."""
        if isinstance(made, Instruction):
            append_record(self.instructions, made)
            self.there.append(made)
            return
        refusal = Refusal(
            stage="instruction", writer=self.written.writer, triples=effect.triples,
            effects=(effect.id,), reason=redact(made)[:500],
        )  # fmt: skip
        append_record(self.refusals, refusal)
        self.refused.append(refusal)

    def _by_rules(self) -> None:
        self.refused = [one for one in self.refused if one.writer != "rules"]
        for effect in self._left():
            tries = [rule_instruction(self.exploration, way) for way in self._ways_left(effect)]
            good = (one for one in tries if isinstance(one, Instruction))
            self._keep(next(good, tries[0] if tries else _NO_WAY), effect)

    async def _by_model(self, settings: Settings) -> None:
        from hisa.models.budget import Budget
        from hisa.models.open_models import open_models, require_models
        from hisa.models.spending import Ledger
        from hisa.plugins.synthesis.model_instructions import Writer

        require_models(settings)
        calls, run, ledger = self._file("calls.jsonl"), settings.run, Ledger()
        budget = Budget(run.budget_usd, run.budget_tokens, seconds=run.budget_seconds)
        models = await self.stack.enter_async_context(
            open_models(settings, lambda event: append_record(calls, event), budget, ledger)
        )
        sees = models.profiles["planner"].sees_pictures and "planner" not in models.picture_changes
        writer = Writer(models["planner"], sees)
        self.written.writer = writer.model.name
        try:
            queue = iter(self._left())
            async with asyncio.TaskGroup() as group:
                for _ in range(self.wish.at_once):
                    group.create_task(self._ask(writer, queue))
            await self._refer(writer)
        except* (BudgetExceeded, ModelUnavailable) as failures:
            self.written.stopped = redact(str(failures.exceptions[0]))
        self.written.spent = ledger.total.as_dict()

    async def _ask(self, writer: Writer, queue: Iterator[Effect]) -> None:
        from hisa.plugins.synthesis.model_instructions import model_instruction

        for effect in queue:
            made: Instruction | str = _NO_WAY
            if ways := self._ways_left(effect):
                try:
                    made = await model_instruction(writer, self.exploration, ways[0])
                except InvalidReply as error:
                    made = f"no usable reply: {error}"
            self._keep(made, effect)
            self.tell(f"{len(self._own())} instructions for {len(self.effects)} effects")

    async def _refer(self, writer: Writer) -> None:
        from hisa.plugins.synthesis.references import reference_batch

        for way in _WAYS if self.wish.references else ():
            while (left := self.wish.references - len(self._own(way))) > 0:
                there = [one for way in _WAYS for one in self._own(way)]
                try:
                    batch = await reference_batch(
                        writer, self.exploration, way, there, seed=self.wish.seed
                    )
                except InvalidReply as error:
                    self.written.stopped += f"{way}: no usable reply: {redact(str(error))[:300]}; "
                    break
                for one in batch[:left]:
                    append_record(self.instructions, one)
                    self.there.append(one)
                self.tell(f"{len(self._own(way))} of {self.wish.references} references, {way}")

    def _chains(self) -> None:
        own = {one.steps: one for one in self._own()}
        parts = {
            effect: (own[key], way)
            for effect, ways in self.ways.items()
            for way in ways
            if (key := tuple(step.number for step in way)) in own
        }
        known = {one.triples for one in self._own("chain")}
        wish = self.wish
        for one in chains(self.exploration, self.effects, parts, wish.chains, wish.seed):
            if one.triples not in known:
                append_record(self.instructions, one)
                self.there.append(one)

    def _candidates(self) -> None:
        """Make candidates; those of other writers stay."""
        written, name = self.written, self.written.writer
        written.instructions = [one for one in self.there if one.writer == name]
        written.candidates, refusals = make_candidates(
            self.exploration, self.effects, written.instructions,
            share=self.wish.most_per_menu / 100,
        )  # fmt: skip
        written.menus.update(menu_of(self.exploration, one.acts) for one in written.candidates)
        others = [one for one in self.refused if one.writer != name or one.stage == "instruction"]
        written.refusals = [one for one in (*others, *refusals) if one.writer == name]
        _write(self.folder / "refused.jsonl", [*others, *refusals])
        path = self.folder / "candidates.jsonl"
        kept = [one for one in read_records(path, Candidate) if one.writer != name]
        _write(path, [*kept, *written.candidates])


def _failed(folder: Path) -> set[tuple[Act, ...]]:
    """Ways that a proof found to lead elsewhere."""
    reasons = {"the acts cannot be repeated", "the end fails"}
    proofs = read_records(folder / "proofs.jsonl", Proof)
    refused = {proof.candidate for proof in proofs if proof.reason in reasons}
    candidates = read_records(folder / "candidates.jsonl", Candidate)
    return {candidate.acts for candidate in candidates if candidate.id in refused}


def _write(path: Path, records: Sequence[BaseModel]) -> None:
    lines = (one.model_dump_json(exclude_defaults=True).encode() + b"\n" for one in records)
    replace_file(path, lines)
