"""Goes through what was explored: instructions first, each written down at once, then candidates."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hisa.errors import BudgetExceeded, InvalidReply, ModelUnavailable, UsageError
from hisa.machine.storage import AppendOnlyFile, Lock
from hisa.plugins.synthesis.chains import chains
from hisa.plugins.synthesis.effects import distinct_effects
from hisa.plugins.synthesis.exploration import Exploration, append_record, read_records
from hisa.plugins.synthesis.make_candidates import (
    Refusal,
    make_candidates,
    menu_of,
    shortest_ways,
    write_records,
)
from hisa.plugins.synthesis.records import Triple
from hisa.plugins.synthesis.rule_instructions import rule_instruction
from hisa.plugins.synthesis.task_records import Candidate, Effect, Instruction
from hisa.text.redact import redact

if TYPE_CHECKING:
    from hisa.config import Settings
    from hisa.plugins.synthesis.model_instructions import Writer

__all__ = ["Wish", "Written", "write_all"]

_Way = Sequence[Triple]


@dataclass(frozen=True)
class Wish:
    """What is to be written; see ``hisa synth write --help``."""

    limit: int | None = None
    chains: int = 0
    references: int = 0
    most_per_menu: float = 15.0
    seed: int = 0
    at_once: int = 1


@dataclass
class Written:
    """What one writer's instructions came to."""

    writer: str
    effects: int = 0
    instructions: list[Instruction] = field(default_factory=list)
    candidates: list[Candidate] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    largest_menu: tuple[str, float] = ("", 0.0)
    """The menu or dialog that most candidates are from, and their share."""
    stopped: str = ""
    spent: Mapping[str, int | float] = field(default_factory=dict)


async def write_all(
    settings: Settings | None, folder: Path, wish: Wish, tell: Callable[[str], object]
) -> Written:
    """Write instructions and candidates into the folder of an exploration.

    Args:
        settings: whose planner's model writes; None: the rules do.
        folder: of the exploration. What is there of the same writer is gone on with.
        wish: how much.
        tell: gets a line of progress now and then.

    Raises:
        UsageError: nothing was explored there, or somebody else writes.
        ConfigError, ModelUnavailable: the model cannot be opened.
    """
    exploration = Exploration.open(folder)
    if wish.references and settings is None:
        raise UsageError("the references are written by a model", fix="--model NAME")
    lock = Lock.take(folder / ".write.lock")
    if lock is None:
        holder = Lock.holder(folder / ".write.lock")
        raise UsageError(f"{folder}: process {holder} writes there", fix="wait for it, or end it")
    try:
        return await _Writing(exploration, wish, tell).run(settings)
    finally:
        lock.release()


class _Writing:
    def __init__(self, exploration: Exploration, wish: Wish, tell: Callable[[str], object]) -> None:
        self.exploration, self.wish, self.tell = exploration, wish, tell
        self.folder = exploration.folder
        self.effects = distinct_effects(exploration)
        self.ways = shortest_ways(exploration, self.effects)
        self.there = read_records(self.folder / "instructions.jsonl", Instruction)
        self.refused = read_records(self.folder / "refused.jsonl", Refusal)
        self.written = Written("rules", len(self.effects))

    async def run(self, settings: Settings | None) -> Written:
        """Write, and make candidates of what there is, also where a model or a budget ends."""
        files = (self.folder / name for name in ("instructions.jsonl", "refused.jsonl"))
        async with AsyncExitStack() as stack:
            self.file, self.refusals = (
                stack.enter_context(closing(AppendOnlyFile(path))) for path in files
            )
            if settings is None:
                self._by_rules()
            else:
                await self._by_model(settings, stack)
            self._add_chains()
        self._candidates()
        return self.written

    def _own(self, way: str = "reverse") -> list[Instruction]:
        name = self.written.writer
        return [one for one in self.there if one.writer == name and one.way == way]

    def _left(self) -> list[Effect]:
        """The effects that have neither an instruction nor a refusal of this writer."""
        done = {number for one in self._own() for number in one.triples}
        done |= {n for one in self.refused if self._is_final(one) for n in one.triples}
        return [one for one in self.effects if done.isdisjoint(one.triples)][: self.wish.limit]

    def _is_final(self, one: Refusal) -> bool:
        return one.stage == "instruction" and one.writer == self.written.writer != "rules"

    def _keep(self, one: Instruction) -> None:
        append_record(self.file, one)
        self.there.append(one)

    def _refuse(self, effect: Effect, way: _Way, reason: str) -> None:
        numbers = tuple(one.number for one in way[-1:]) or effect.triples[:1]
        refusal = Refusal(
            stage="instruction", writer=self.written.writer, triples=numbers,
            effects=(effect.id,), reason=redact(reason)[:500],
        )  # fmt: skip
        append_record(self.refusals, refusal)
        self.refused.append(refusal)

    def _by_rules(self) -> None:
        self.refused = [one for one in self.refused if one.writer != "rules"]
        for effect in self._left():
            reason = "no way from a fresh start is known"
            for way in self.ways[effect.id]:
                made = rule_instruction(self.exploration, way)
                if isinstance(made, Instruction):
                    self._keep(made)
                    break
                reason = made
            else:
                self._refuse(
                    effect, self.ways[effect.id][0] if self.ways[effect.id] else (), reason
                )

    async def _by_model(self, settings: Settings, stack: AsyncExitStack) -> None:
        from hisa.events import Event
        from hisa.models.budget import Budget
        from hisa.models.open_models import open_models, require_models
        from hisa.models.spending import Ledger
        from hisa.plugins.synthesis.model_instructions import Writer

        calls = stack.enter_context(closing(AppendOnlyFile(self.folder / "calls.jsonl")))

        def emit(event: Event, /) -> None:
            append_record(calls, event)

        require_models(settings)
        ledger, run = Ledger(), settings.run
        budget = Budget(run.budget_usd, run.budget_tokens, seconds=run.budget_seconds)
        models = await stack.enter_async_context(open_models(settings, emit, budget, ledger))
        sees = models.profiles["planner"].sees_pictures and "planner" not in models.picture_changes
        writer = Writer(models["planner"], sees)
        self.written.writer = writer.model.name
        try:
            await self._ask_all(writer)
            for way in ("task_driven", "self_instruct") if self.wish.references else ():
                await self._refer(writer, way)
        except (BudgetExceeded, ModelUnavailable) as error:
            self.written.stopped = redact(str(error))
        self.written.spent = ledger.total.as_dict()

    async def _ask_all(self, writer: Writer) -> None:
        from hisa.plugins.synthesis.model_instructions import model_instruction

        left = self._left()
        queue = iter(left)

        async def work() -> None:
            for effect in queue:
                ways = self.ways[effect.id]
                if not ways:
                    self._refuse(effect, (), "no way from a fresh start is known")
                    continue
                try:
                    self._keep(await model_instruction(writer, self.exploration, ways[0]))
                except InvalidReply as error:
                    self._refuse(effect, ways[0], f"no usable reply: {error}")
                self.tell(f"instructions: {len(self._own())} of {len(self.effects)} effects")

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self.wish.at_once):
                    group.create_task(work())
        except* (BudgetExceeded, ModelUnavailable) as failures:
            raise failures.exceptions[0] from None

    async def _refer(self, writer: Writer, way: Literal["task_driven", "self_instruct"]) -> None:
        from hisa.plugins.synthesis.references import reference_batch

        while (left := self.wish.references - len(self._own(way))) > 0:
            written = [*self._own("task_driven"), *self._own("self_instruct")]
            try:
                batch = await reference_batch(
                    writer, self.exploration, way, written, seed=self.wish.seed
                )
            except InvalidReply as error:
                self.written.stopped = f"{way}: no usable reply: {redact(str(error))[:300]}"
                return
            for one in batch[:left]:
                self._keep(one)
            self.tell(f"{way.replace('_', '-')}: {len(self._own(way))} of {self.wish.references}")

    def _add_chains(self) -> None:
        of = {number: effect.id for effect in self.effects for number in effect.triples}
        own = {of[one.triples[0]]: one for one in self._own() if one.triples[0] in of}
        ways = {
            effect: way for effect, one in own.items() for way in self.ways[effect]
            if way[-1].number == one.triples[0]
        }  # fmt: skip
        known = {one.triples for one in self._own("chain")}
        for one in chains(
            self.exploration, self.effects, own, ways, count=self.wish.chains, seed=self.wish.seed
        ):
            if one.triples not in known:
                self._keep(one)

    def _candidates(self) -> None:
        written, name = self.written, self.written.writer
        written.instructions = [one for one in self.there if one.writer == name]
        written.candidates, refusals = make_candidates(
            self.exploration, self.effects, written.instructions,
            share=self.wish.most_per_menu / 100,
        )  # fmt: skip
        earlier = [one for one in self.refused if one.writer != name or one.stage == "instruction"]
        written.refusals = [one for one in [*earlier, *refusals] if one.writer == name]
        write_records(self.folder / "refused.jsonl", [*earlier, *refusals])
        path = self.folder / "candidates.jsonl"
        others = [one for one in read_records(path, Candidate) if one.writer != name]
        write_records(path, [*others, *written.candidates])
        menus = Counter(menu_of(self.exploration, one.acts) for one in written.candidates)
        for menu, count in menus.most_common(1):
            written.largest_menu = menu, count / menus.total()
