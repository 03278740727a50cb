"""Routes of the view "benches", by the functions of ``hisa bench report``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from hisa.errors import UsageError
from hisa.machine.storage import is_locked
from hisa.plugins.live.server.json_answers import Routes, route
from hisa.plugins.live.server.server_context import ServerContext

__all__ = ["routes", "running_benches"]

_PLAN = "bench.json"
_MOST = 200  # newest bench folders of a folder
Age = tuple[int, ...]


def routes(context: ServerContext) -> Routes:
    """Returns the routes of benches: all, and one."""

    def every() -> dict[str, Any]:
        rows = [_row(folder) for folder in _folders(context)]
        return {"benches": sorted(rows, key=lambda r: (not r["running"], -r["started"]))}

    def report(name: str) -> dict[str, Any]:
        folder = _find(context, name)
        return {**_report(folder, _age(folder)), "progress": _row(folder)}

    return [
        route("/api/benches", every),
        route("/api/benches/{name}", report, "name"),
    ]


def running_benches(context: ServerContext) -> list[Path]:
    """Returns the folders of the benches that are at work."""
    return [folder for folder in _folders(context) if is_locked(folder / "lock")]


def _folders(context: ServerContext) -> Iterator[Path]:
    for place in context.benches:
        plans = [place / _PLAN] if (place / _PLAN).is_file() else list(place.glob(f"*/{_PLAN}"))
        newest = sorted((plan.parent for plan in plans), key=_age, reverse=True)
        yield from newest[:_MOST]


def _find(context: ServerContext, name: str) -> Path:
    if folder := next((f for f in _folders(context) if f.name == name), None):
        return folder
    raise UsageError(f"no bench is called {name[:80]!r}", fix="see the list of benches")


def _row(folder: Path) -> dict[str, Any]:
    row = {"id": folder.name, "running": is_locked(folder / "lock"), "started": 0.0}
    try:
        return {**row, **_summed(folder, _age(folder))}
    except UsageError as error:
        return {**row, "error": str(error)}


@lru_cache(_MOST)
def _summed(folder: Path, _: Age) -> dict[str, Any]:
    """Plan and sums of a bench, its first variant's rate over tasks, and what is at work."""
    from hisa.outcomes.endings import is_success
    from hisa.plugins.benchmarks.bench.ledger import SlotState, read_attempts, read_plan
    from hisa.plugins.benchmarks.bench.stats import rate_over_tasks
    from hisa.plugins.benchmarks.bench.summary import summarise

    plan, attempts = read_plan(folder), read_attempts(folder)
    states = [attempts.get(slot) or SlotState(slot) for slot in plan.slots]
    tries = [attempt for state in states for attempt in state.attempts if attempt.open]
    work = [{**t.slot._asdict(), "run": t.run, "started": t.started_at} for t in tries]
    done: dict[str, list[bool]] = {}
    for slot, state in zip(plan.slots, states, strict=True):
        end = state.result.finished if state.result else None
        if end and end.score_state == "scored" and slot.variant == next(iter(plan.variants)):
            won = is_success(end.status, end.score_state, end.score)
            done.setdefault(slot.task, []).append(won)
    rate = rate_over_tasks([sum(won) / len(won) for won in done.values()])
    about = {"suite": plan.suite, "started": plan.started_at, "variants": list(plan.variants)}
    rates = {"rate": rate.value, "low": rate.low, "high": rate.high, "rated": rate.n}
    return {**summarise(states).as_dict(), **about, **rates, "at_work": work}


@lru_cache(16)
def _report(folder: Path, _: Age) -> dict[str, Any]:
    from hisa.plugins.benchmarks.bench.bench_report import build_report

    report = build_report(folder).model_dump(mode="json")
    for group in report["variants"]:
        success = {"value": group["rate"], "low": group["low"], "high": group["high"]}
        group["success"] = {**success, "n": group["rated"]}
    return report


def _age(folder: Path) -> Age:
    """Changes whenever the bench did."""
    files = [file for name in ("attempts.jsonl", _PLAN) if (file := folder / name).is_file()]
    return tuple(file.stat().st_mtime_ns for file in files)
