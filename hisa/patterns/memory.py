"""Level 3 of the state: recalls advice before a run and learns after it (HiSA, 3.3.3)."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from math import ceil
from typing import ParamSpec, TypeVar

from hisa.config import PatternSettings, StateSettings
from hisa.errors import ConfigError, InvalidReply, LogFailed, with_fix
from hisa.events import Failed, Guidance, Induced, PatternUse
from hisa.models.tokens import estimate_tokens
from hisa.patterns.dedup import StoredPattern, remember
from hisa.patterns.embedders import open_embedder, thresholds_of
from hisa.patterns.induction import induce
from hisa.patterns.pattern_text import clauses, generalise, query_texts, retrieval_texts
from hisa.patterns.retrieval import retrieve
from hisa.patterns.sops import Sop, conditions, load_sops, render_rules, rules_for
from hisa.patterns.stores.vector_store import VectorStore
from hisa.patterns.synthesis import CitedAdvice, is_cited, synthesise
from hisa.patterns.vectors import cosine
from hisa.protocols import Advice, Embedder, Emit, Model, Pattern, PatternHit, StepSummary, Task
from hisa.text.prompt_text import speaks_of
from hisa.text.prompts import data_folder

__all__ = ["PatternMemory", "open_memory", "open_sops", "open_store"]

_MARGIN = 0.1
"""Added to the threshold, as another task of the family is further from a condition than the task
that it was learned from."""


_worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="patterns")
"""One thread for all runs of a process: the heap of each further thread would never be freed."""

_P = ParamSpec("_P")
_R = TypeVar("_R")


async def _apart(call: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
    """Call a blocking function in the worker thread and return its result."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_worker, partial(call, *args, **kwargs))


class PatternMemory:
    """Recalls advice and learns patterns; everything that blocks runs in a thread.

    Args:
        store: the patterns.
        embedder: the embedder that filled the store.
        model: the state role's model.
        settings: how many patterns are recalled, and from which similarity on.
        state: its ``advice_tokens`` limits the rules, its ``lesson_tokens`` the lessons.
        emit: records events.
        sops: the rules of all domains.
    """

    def __init__(
        self,
        store: VectorStore,
        embedder: Embedder,
        *,
        model: Model,
        settings: PatternSettings,
        state: StateSettings,
        emit: Emit,
        sops: Sequence[Sop] = (),
    ) -> None:
        self.store = store
        self.embedder = embedder
        self._model = model
        self._patterns = settings
        self._thresholds = thresholds_of(embedder.name, settings)
        self._advice_tokens = state.advice_tokens
        self._lesson_tokens = state.lesson_tokens
        self._emit = emit
        self._sops = tuple(sops)

    def close(self) -> None:
        """Release the store."""
        self.store.close()

    # ------------------------------------------------------------ before a run

    async def recall(self, task: Task) -> Advice:
        """Returns advice made of the nearest patterns and the rules of the task's domain.

        A rule with ``when:`` words that the task does not mention waits until one of them is on
        the screen. If recalling fails, the run goes on without, and an event says why.
        """
        nothing: tuple[PatternHit, ...] = ()
        hits = await self._unless_it_fails("retrieval", _apart(self._retrieve, task), nothing)
        needed = conditions(self._sops, task.domain)
        words = task.instruction.casefold()
        binding = rules_for(self._sops, task.domain)
        rules = [rule for rule in binding if rule not in needed or speaks_of(words, needed[rule])]
        waiting = {rule: needed[rule] for rule in binding if rule not in rules}
        rules_section = render_rules(rules, domain=task.domain, limit=self._advice_tokens)
        lessons = await self._unless_it_fails(
            "synthesis",
            synthesise(
                self._model, task.instruction, hits=hits, rules=rules, limit=self._lesson_tokens
            ),
            CitedAdvice(),
        )
        text = "\n".join(part for part in (rules_section.text, lessons.text) if part)
        ids = {hit.pattern.id for hit in lessons.hits}
        rest = tuple(hit for hit in hits if hit.pattern.id not in ids)
        uses = [_use(hit, shown=True) for hit in lessons.hits]
        uses += [_use(hit, shown=False) for hit in rest]
        shown = tuple(rule for rule in rules if rule not in rules_section.left_out)
        self._emit(
            Guidance(
                patterns=tuple(uses),
                sops=shown,
                advice=text,
                left_out=rules_section.left_out,
                waiting=waiting,
            )
        )
        return Advice(text=text, patterns=lessons.hits, sops=shown, waiting=waiting)

    async def _unless_it_fails(self, part: str, work: Awaitable[_R], otherwise: _R) -> _R:
        try:
            return await work
        except LogFailed:
            raise
        except Exception as error:  # noqa: BLE001 - a store, an embedder or a model of anybody's
            self._emit(
                Failed(
                    where=f"pattern {part} (the run goes on without)",
                    kind=type(error).__name__,
                    message=with_fix(error),
                    traceback="".join(traceback.format_exception(error)),
                )
            )
            return otherwise

    def _retrieve(self, task: Task) -> tuple[PatternHit, ...]:
        return retrieve(self.store, self.embedder, task, settings=self._patterns)

    # ------------------------------------------------------------ after a run

    async def induct(
        self, task: Task, run_id: str, *, lines: tuple[str, ...]
    ) -> tuple[Pattern, ...]:
        """Learn patterns from the steps of a run, store and return them.

        If the model gives no usable reply in time, nothing is learned and an event says so.

        Args:
            task: what the agent had to do.
            run_id: the run that the patterns are learned from.
            lines: the line of each step, in order.

        Raises:
            StoreError: the store cannot be written.
            ModelUnavailable, BudgetExceeded: from the model.
        """
        try:
            async with asyncio.timeout(self._patterns.learning_seconds):
                induced = await induce(self._model, task, run_id=run_id, lines=lines)
        except TimeoutError:
            seconds = self._patterns.learning_seconds
            message = f"no answer within {seconds:g} s (patterns.learning_seconds)"
            self._emit(Failed(where="pattern induction", kind="TimeoutError", message=message))
            return ()
        except InvalidReply as error:
            self._emit(Failed(where="pattern induction", kind="InvalidReply", message=str(error)))
            return ()
        stored = await _apart(self._remember, task, induced)
        for item in stored:
            self._emit(_event(item))
        return tuple(item.pattern for item in stored)

    def _remember(self, task: Task, induced: Sequence[Pattern]) -> tuple[StoredPattern, ...]:
        patterns = [self._findable(pattern, task) for pattern in induced]
        return remember(
            self.store, patterns, embedder=self.embedder, threshold=self._thresholds.same
        )

    def _findable(self, pattern: Pattern, task: Task) -> Pattern:
        """Returns the pattern with a condition by which its own task, or a similar one, finds it.

        If not even the task that it was learned from is near its conditions, one more is added:
        the clause of the task that is nearest to the lesson. That clause names the skill that the
        lesson is about, without the rest of the task.
        """
        wide = pattern.scope == "application"
        least = self._thresholds.application if wide else self._thresholds.recalled
        queries = self.embedder.embed(query_texts(task.instruction))
        places = self.embedder.embed(retrieval_texts(pattern))
        nearest = max(cosine(query, place) for query in queries for place in places)
        if pattern.conditions and nearest >= least + _MARGIN:
            return pattern
        parts = clauses(task.instruction) or [generalise(task.instruction)]
        lesson, *vectors = self.embedder.embed([pattern.lesson, *parts])
        skill = max(zip(parts, vectors, strict=True), key=lambda pair: cosine(lesson, pair[1]))[0]
        if not pattern.condition:
            return replace(pattern, condition=skill)
        return replace(pattern, other_conditions=(*pattern.other_conditions, skill))

    async def credit(
        self, ids: Sequence[str], *, steps: Sequence[StepSummary], won: bool | None
    ) -> None:
        """Count a use of each pattern that a step cites, and whether the run was won.

        If the pattern has been superseded since, its successor is credited.

        Args:
            ids: the patterns of the advice, in its order.
            steps: the steps of the run.
            won: whether the run was a success; None if it has no score.

        Raises:
            StoreError: the store cannot be written.
        """
        if ids:
            await _apart(self._credit, ids, steps, won)

    def _credit(self, ids: Sequence[str], steps: Sequence[StepSummary], won: bool | None) -> None:
        with self.store.session():
            for number, pattern_id in enumerate(ids, start=1):
                counted = self._successor(pattern_id) if is_cited(number, steps) else None
                if counted is not None:
                    self.store.amend(
                        replace(
                            counted,
                            uses=counted.uses + 1,
                            scored=counted.scored + (won is not None),
                            wins=counted.wins + bool(won),
                        )
                    )

    def _successor(self, pattern_id: str) -> Pattern | None:
        """Returns the pattern, or the active one that superseded it."""
        visited_ids = set()
        pattern = self.store.get(pattern_id)
        while pattern and pattern.superseded_by and pattern.id not in visited_ids:
            visited_ids.add(pattern.id)
            pattern = self.store.get(pattern.superseded_by)
        return pattern


def _use(hit: PatternHit, *, shown: bool) -> PatternUse:
    return PatternUse(
        id=hit.pattern.id,
        kind=hit.pattern.kind,
        lesson=hit.pattern.lesson,
        score=round(hit.score, 4),
        source_run=hit.pattern.source_run,
        shown=shown,
    )


def _event(item: StoredPattern) -> Induced:
    return Induced(
        pattern=item.pattern.id,
        kind=item.pattern.kind,
        lesson=item.pattern.lesson,
        superseded=",".join(old.id for old in item.superseded) or None,
        confirmed=item.confirmed,
    )


def open_store(settings: PatternSettings, embedder: Embedder | None = None) -> VectorStore:
    """Open the store of the settings; nothing is created or checked before its first operation.

    Raises:
        ConfigError: unknown embedder.
        StoreError: a package is missing, or ``patterns.url`` is not an address.
    """
    chosen = embedder or open_embedder(settings.embedder)
    if settings.engine == "server":
        from hisa.patterns.stores.qdrant_server import ServerStore

        return ServerStore.connect(settings.url, settings.collection, embedder=chosen)
    from hisa.patterns.stores.edge import EdgeStore

    return EdgeStore(settings.path, chosen)


def open_sops(settings: PatternSettings) -> tuple[Sop, ...]:
    """Returns the rules that ship with HiSA and those of ``patterns.sops``.

    Raises:
        ConfigError: a file is wrong; the text names file and line.
    """
    own = settings.sops
    shipped = load_sops(data_folder("patterns_db"))
    return shipped + (load_sops(own.expanduser(), own=True) if own else ())


def open_memory(
    settings: PatternSettings, state: StateSettings, model: Model, emit: Emit
) -> PatternMemory:
    """Open the memory with the store, embedder and rules of the settings.

    Args:
        settings: the store, the embedder and the user's rules.
        state: the token limits of advice and lessons.
        model: the state role's model, which writes advice and lessons.
        emit: records events.

    Raises:
        ConfigError: an unknown embedder, a wrong file of rules, or rules marked MUST that do not
            fit into ``state.advice_tokens``.
        StoreError: see `open_store`.
    """
    embedder = open_embedder(settings.embedder)
    store = open_store(settings, embedder)
    sops = open_sops(settings)
    _check_binding(sops, state.advice_tokens)
    return PatternMemory(
        store, embedder, model=model, settings=settings, state=state, emit=emit, sops=sops
    )


def _check_binding(sops: Sequence[Sop], limit: int) -> None:
    """Refuse rules marked MUST that do not fit: they are always shown whole."""
    for domain in {domain for sop in sops if sop.own for domain in sop.domains}:
        own = [sop for sop in sops if sop.own]
        binding = [rule for rule in rules_for(own, domain) if rule.startswith("MUST")]
        if render_rules(binding, domain=domain, limit=limit).left_out:
            needed = estimate_tokens("\n".join(f"- {rule}" for rule in binding))
            raise ConfigError(
                f"state.advice_tokens = {limit}: the rules of patterns.sops that are marked MUST "
                f"take {needed} in the domain {domain!r}; allowed is {needed} or more",
                fix=f"--set state.advice_tokens={ceil(needed / 100) * 100}",
            )
