"""Level 3 of the state: what is recalled before a run and learned after it (HiSA, 3.3.3)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from hisa.config import Settings
from hisa.errors import InvalidReply
from hisa.events import Emit, Failed, Guidance, Induced, PatternUse
from hisa.patterns.dedup import Stored, remember
from hisa.patterns.induction import induce
from hisa.patterns.sops import Sop, rules_for
from hisa.patterns.stores.base import VectorStore
from hisa.patterns.synthesis import synthesise
from hisa.patterns.text import clean, generalised, query_texts, retrieval_text
from hisa.patterns.vectors import cosine
from hisa.protocols import Advice, Embedder, Model, Pattern, PatternHit, Task

__all__ = ["PatternMemory"]

_MARGIN = 0.1
"""The next task of a family is further from the condition than the one it was learned from."""


class PatternMemory:
    """Recalls advice and learns patterns; everything that blocks runs in a thread.

    Args:
        store: where patterns are.
        embedder: the one that filled it.
        model: the state role's.
        settings: its ``patterns`` and ``state.advice_tokens``.
        emit: takes events.
        sops: rules of all domains.
    """

    def __init__(
        self,
        store: VectorStore,
        embedder: Embedder,
        *,
        model: Model,
        settings: Settings,
        emit: Emit,
        sops: Sequence[Sop] = (),
    ) -> None:
        self.store = store
        self.embedder = embedder
        self._model = model
        self._patterns = settings.patterns
        self._advice_tokens = settings.state.advice_tokens
        self._emit = emit
        self._sops = tuple(sops)

    def close(self) -> None:
        """Release the store."""
        self.store.close()

    # ------------------------------------------------------------ before a run

    async def recall(self, task: Task) -> Advice:
        """The nearest patterns and the rules of the task's domain, made into advice.

        Raises:
            StoreError: the store cannot be read.
            ModelUnavailable, BudgetExceeded: from the model.
        """
        hits = await asyncio.to_thread(self._retrieve, task)
        rules = rules_for(self._sops, task.domain)
        text = await synthesise(
            self._model, task.instruction, hits=hits, rules=rules, limit=self._advice_tokens
        )
        uses = tuple(
            PatternUse(
                id=hit.pattern.id,
                kind=hit.pattern.kind,
                lesson=hit.pattern.lesson,
                score=round(hit.score, 4),
                source_run=hit.pattern.source_run,
            )
            for hit in hits
        )
        self._emit(Guidance(patterns=uses, sops=rules, advice=text))
        return Advice(text=text, patterns=hits, sops=rules)

    def _retrieve(self, task: Task) -> tuple[PatternHit, ...]:
        if self.store.meta() is None:
            return ()
        best: dict[str, PatternHit] = {}
        for vector in self.embedder.embed(query_texts(task.instruction)):
            for hit in self.store.search(
                vector,
                domain=task.domain,
                limit=self._patterns.top,
                threshold=self._patterns.threshold,
            ):
                known = best.get(hit.pattern.id)
                if known is None or known.score < hit.score:
                    best[hit.pattern.id] = hit
        ranked = sorted(best.values(), key=lambda hit: -hit.score)
        return tuple(ranked[: self._patterns.top])

    # ------------------------------------------------------------ after a run

    async def induct(
        self, task: Task, run_id: str, *, lines: tuple[str, ...]
    ) -> tuple[Pattern, ...]:
        """Patterns of the run's steps, stored; none where the model gives no usable answer.

        Raises:
            StoreError: the store cannot be written.
            ModelUnavailable, BudgetExceeded: from the model.
        """
        try:
            induced = await induce(self._model, task, run_id=run_id, lines=lines)
        except InvalidReply as error:
            self._emit(Failed(where="pattern induction", kind="InvalidReply", message=str(error)))
            return ()
        stored = await asyncio.to_thread(self._remember, task, induced)
        for item in stored:
            self._emit(_event(item))
        return tuple(item.pattern for item in stored)

    def _remember(self, task: Task, induced: Sequence[Pattern]) -> tuple[Stored, ...]:
        patterns = [self._findable(pattern, task) for pattern in induced]
        return remember(
            self.store, patterns, embedder=self.embedder, threshold=self._patterns.dedup
        )

    def _findable(self, pattern: Pattern, task: Task) -> Pattern:
        """The pattern with a condition that its own task, and so a similar one, retrieves.

        A condition that even the task it was learned from does not come near would never be
        retrieved; the instruction without its values then takes its place at the front.
        """
        texts = [task.instruction, retrieval_text(pattern)]
        instruction, condition = self.embedder.embed(texts)
        if cosine(instruction, condition) >= self._patterns.threshold + _MARGIN:
            return pattern
        named = f"{generalised(task.instruction)} {pattern.condition}"
        return replace(pattern, condition=clean(named))

    async def credit(self, ids: Sequence[str], *, won: bool) -> None:
        """Count a use of each pattern that a run was advised with, and a win if it was one.

        A pattern superseded since then passes it on to its successor.

        Raises:
            StoreError: the store cannot be written.
        """
        if ids:
            await asyncio.to_thread(self._credit, ids, won)

    def _credit(self, ids: Sequence[str], won: bool) -> None:
        with self.store.session():
            for pattern in filter(None, map(self._successor, ids)):
                counted = replace(pattern, uses=pattern.uses + 1, wins=pattern.wins + won)
                self.store.amend(counted)

    def _successor(self, pattern_id: str) -> Pattern | None:
        """The pattern, or the active one that came of it."""
        seen = set()
        pattern = self.store.get(pattern_id)
        while pattern and pattern.superseded_by and pattern.id not in seen:
            seen.add(pattern.id)
            pattern = self.store.get(pattern.superseded_by)
        return pattern


def _event(item: Stored) -> Induced:
    return Induced(
        pattern=item.pattern.id,
        kind=item.pattern.kind,
        lesson=item.pattern.lesson,
        superseded=",".join(old.id for old in item.superseded) or None,
    )
