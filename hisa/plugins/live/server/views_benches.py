"""Routes of the view "benches", by the functions of ``hisa bench report``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hisa.errors import LibraryLacking, UsageError
from hisa.machine.storage import is_locked
from hisa.plugins.live.server.json_answers import answer_with
from hisa.plugins.live.server.server_context import ServerContext

if TYPE_CHECKING:
    from starlette.routing import Route

__all__ = ["routes", "waiting_attempts"]

_PLAN = "bench.json"
_MOST = 200
"""Newest bench folders of a folder that are shown."""
Age = tuple[int, ...]


def routes(context: ServerContext) -> list[Route]:
    """Returns the routes of benches: all, one, and two side by side in pairs."""
    from starlette.routing import Route

    def every() -> dict[str, Any]:
        rows = [_row(folder) for folder in _folders(context)]
        return {"benches": sorted(rows, key=lambda r: (not r["running"], -r["started"]))}

    def report(name: str, against: str = "") -> dict[str, Any]:
        folder = _find(context, name)
        other = _find(context, against) if against else None
        found = _report(folder, other, _age(folder), _age(other or folder))
        running = is_locked(folder / "lock")
        return {**found, "running": running, "at_work": _at_work(folder) if running else []}

    return [
        Route("/api/benches", answer_with(every)),
        Route("/api/benches/compare", answer_with(report, "a", "b")),
        Route("/api/benches/{name}", answer_with(report, "name")),
    ]


def waiting_attempts(context: ServerContext) -> int:
    """Returns how many attempts the benches at work have still to make, those in flight too."""
    with suppress(LibraryLacking):
        return sum(_row(f).get("missing", 0) for f in _folders(context) if is_locked(f / "lock"))
    return 0


def _folders(context: ServerContext) -> Iterator[Path]:
    for place in context.benches:
        plans = [place / _PLAN] if (place / _PLAN).is_file() else list(place.glob(f"*/{_PLAN}"))
        newest = sorted((plan.parent for plan in plans), key=_age, reverse=True)
        yield from newest[:_MOST]


def _find(context: ServerContext, name: str) -> Path:
    if found := next((f for f in _folders(context) if f.name == name), None):
        return found
    raise UsageError(f"no bench is called {name[:80]!r}", fix="see the list of benches")


def _row(folder: Path) -> dict[str, Any]:
    row = {"id": folder.name, "running": is_locked(folder / "lock"), "started": 0.0}
    try:
        return {**row, **_summed(folder, _age(folder))}
    except LibraryLacking:
        raise
    except UsageError as error:
        return {**row, "error": str(error)}


@lru_cache(_MOST)
def _summed(folder: Path, _: Age) -> dict[str, Any]:
    """The sums of a bench, and each variant's success rate over tasks with its 95% interval."""
    _require_benchmarks()
    from hisa.outcomes.endings import is_success
    from hisa.plugins.benchmarks.bench.ledger import SlotState, read_attempts, read_plan
    from hisa.plugins.benchmarks.bench.stats import rate_over_tasks
    from hisa.plugins.benchmarks.bench.summary import summarise

    plan, found = read_plan(folder), read_attempts(folder)
    states = [found.get(slot) or SlotState(slot) for slot in plan.slots]
    scores: dict[str, dict[str, list[bool]]] = {name: {} for name in plan.variants}
    for state in states:
        ended = state.result.finished if state.result else None
        if ended is not None and ended.score_state == "scored":
            success = is_success(ended.status, ended.score_state, ended.score)
            scores[state.slot.variant].setdefault(state.slot.task, []).append(success)
    rates = {
        name: rate_over_tasks([sum(made) / len(made) for made in by_task.values()]).model_dump()
        for name, by_task in scores.items()
    }
    about = {"suite": plan.suite, "started": plan.started_at, "tasks": len(plan.tasks)}
    return {**summarise(states).as_dict(), **about, "rates": rates}


@lru_cache(16)
def _report(folder: Path, against: Path | None, *_: Age) -> dict[str, Any]:
    _require_benchmarks()
    from hisa.plugins.benchmarks.bench.bench_report import build_report

    return build_report(folder, against).model_dump(mode="json")


def _at_work(folder: Path) -> list[dict[str, Any]]:
    from hisa.plugins.benchmarks.bench.ledger import read_attempts

    return [
        {**attempt.slot._asdict(), "run": attempt.run, "started": attempt.started_at}
        for state in read_attempts(folder).values()
        for attempt in state.attempts
        if attempt.open
    ]


def _age(folder: Path) -> Age:
    """Changes whenever the bench did."""
    files = [folder / "attempts.jsonl", folder / _PLAN]
    return tuple(file.stat().st_mtime_ns if file.is_file() else 0 for file in files)


def _require_benchmarks() -> None:
    try:
        import hisa.plugins.benchmarks.bench.bench_report  # noqa: F401
    except ImportError as error:
        raise LibraryLacking(
            f"benches need HiSA's plugin benchmarks: {error}", fix="hisa doctor"
        ) from error
