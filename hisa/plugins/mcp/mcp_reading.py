"""What MCP clients can read: runs, and what was learned from them."""

from __future__ import annotations

import asyncio
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from pydantic import Field

from hisa.config import PatternSettings
from hisa.errors import UsageError
from hisa.patterns.embedders import open_embedder
from hisa.patterns.open_memory import open_store
from hisa.patterns.retrieval import search
from hisa.plugins.mcp.mcp_allowed import said, to_client
from hisa.protocols import PatternHit
from hisa.runs.read import Run, list_runs, load_run
from hisa.runs.terminal_view import step_text

__all__ = ["FoundPattern", "ReadRun", "Records", "RunLine", "StepLine"]

_SHOWN = 400
"""Characters of a text in a list."""
_STEP = 20_000
"""Characters of one step in full."""

Limit = Annotated[int, Field(ge=1, le=100)]


@dataclass(frozen=True)
class RunLine:
    """One run of a list."""

    run: str
    status: str
    score: float | None
    steps: int
    started: str
    instruction: str


@dataclass(frozen=True)
class StepLine:
    """One step of a run: what was called, and what was seen to come of it."""

    step: int
    tool: str
    input: str
    result: str
    verdict: str | None


@dataclass(frozen=True)
class ReadRun:
    """A run: how it ended, and its steps."""

    run: str
    status: str
    success: bool
    score: float | None
    score_state: str
    message: str
    instruction: str
    environment: str
    models: dict[str, str]
    folder: str
    steps: list[StepLine]
    whole_step: str
    """The step that was asked for, in full; its pictures are files of the run's folder."""


@dataclass(frozen=True)
class FoundPattern:
    """A lesson of an earlier run."""

    pattern: str
    similarity: float
    domain: str
    kind: str
    lesson: str
    source_run: str


class Records:
    """Reads runs and patterns of the settings' folders.

    Args:
        folder: of the runs.
        patterns: where they are stored.
    """

    def __init__(self, folder: Path, patterns: PatternSettings) -> None:
        self._root, self._patterns = folder, patterns

    async def list_runs(self, limit: Limit = 20) -> list[RunLine]:
        """List the newest runs, those under way included."""
        return await asyncio.to_thread(self._lines, limit)

    async def read_run(
        self,
        run: Annotated[str, Field(description="Its name, the beginning of it, or latest.")],
        step: Annotated[int, Field(ge=0, description="One step in full; 0: none.")] = 0,
    ) -> ReadRun:
        """Read a run: how it ended, and a line for each step."""
        with to_client():
            return await asyncio.to_thread(self._read, run, step)

    async def search_patterns(
        self,
        text: Annotated[str, Field(description="A task in words.")],
        domain: Annotated[str, Field(description="Only of this one; empty: of all.")] = "",
        limit: Limit = 5,
    ) -> list[FoundPattern]:
        """Find what earlier runs have taught about tasks like this one."""
        with to_client():
            return await asyncio.to_thread(self._found, text, domain or None, limit)

    def _lines(self, limit: int) -> list[RunLine]:
        lines: list[RunLine] = []
        for folder in list_runs(self._root):
            try:
                lines.append(_line(load_run(folder)))
            except UsageError:  # damaged
                continue
            if len(lines) == limit:
                break
        return lines

    def _read(self, name: str, step: int) -> ReadRun:
        return _whole(load_run(name, self._root), step)

    def _found(self, text: str, domain: str | None, limit: int) -> list[FoundPattern]:
        embedder = open_embedder(self._patterns.embedder)
        with closing(open_store(self._patterns, embedder)) as store:
            hits = search(store, embedder, text, domain=domain, limit=limit, threshold=-1.0)
        return [_pattern(hit) for hit in hits]


def _line(run: Run) -> RunLine:
    return RunLine(
        run=run.id,
        status=run.status,
        score=run.score,
        steps=run.totals.steps,
        started=datetime.fromtimestamp(run.manifest.started_at, UTC).isoformat(),
        instruction=_cut(run.manifest.task.instruction),
    )


def _whole(run: Run, step: int) -> ReadRun:
    return ReadRun(
        run=run.id,
        status=run.status,
        success=run.success,
        score=run.score,
        score_state=run.score_state,
        message=said(run.message),
        instruction=said(run.manifest.task.instruction),
        environment=run.manifest.environment,
        models=dict(run.manifest.models),
        folder=str(run.folder),
        steps=[
            StepLine(
                step=each.number,
                tool=each.tool or (each.acted.tool if each.acted else ""),
                input=_cut(each.source),
                result=_cut(each.abstracted.result if each.abstracted else ""),
                verdict=each.verdict,
            )
            for each in run.steps
        ],
        whole_step=said(step_text(run, step))[:_STEP] if step else "",
    )


def _pattern(hit: PatternHit) -> FoundPattern:
    return FoundPattern(
        pattern=hit.pattern.id,
        similarity=round(hit.score, 3),
        domain=hit.pattern.domain,
        kind=hit.pattern.kind,
        lesson=said(hit.pattern.lesson),
        source_run=hit.pattern.source_run,
    )


def _cut(text: str) -> str:
    shown = said(text)
    return shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 1]}…"
