"""The bench folders that the page shows, read by the functions of ``hisa bench``."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hisa.errors import LibraryLacking, UsageError
from hisa.machine.storage import is_locked
from hisa.plugins.live.server.server_context import ServerContext

if TYPE_CHECKING:
    from hisa.plugins.benchmarks.bench.bench_report import Report

__all__ = ["BenchShelf"]

_PLAN, _ATTEMPTS = "bench.json", "attempts.jsonl"
_MOST = 200
"""Bench folders of a folder that are shown."""
_KEPT = 16
"""Reports that are kept: one of a large bench takes seconds to make."""


class BenchShelf:
    """Reads benches; what did not change is not read again. Its functions may be called by threads.

    Args:
        context: of the server.
    """

    def __init__(self, context: ServerContext) -> None:
        self._context = context
        self._lock = threading.Lock()
        self._rows: dict[Path, tuple[object, dict[str, Any]]] = {}
        self._reports: OrderedDict[object, Report] = OrderedDict()

    def rows(self) -> list[dict[str, Any]]:
        """Returns a row a bench, those at work first, then the newest.

        Raises:
            LibraryLacking: the plugin "benchmarks" is not there.
        """
        with self._lock:
            rows = [row for folder in self._folders() if (row := self._row(folder))]
        return sorted(rows, key=lambda row: (not row["running"], -row["started"]))

    def queue(self) -> int:
        """Returns how many attempts the running benches have still to make."""
        if not any(is_locked(folder / "lock") for folder in self._folders()):
            return 0
        try:
            return sum(row["missing"] for row in self.rows() if row["running"])
        except UsageError:
            return 0

    def report(self, name: str, against: str = "") -> dict[str, Any]:
        """Returns the report of ``hisa bench report``, and what is being made now as "at_work".

        Raises:
            UsageError: there is no such bench, or the two cannot be compared.
            LibraryLacking: the plugin "benchmarks" is not there.
        """
        _require_benchmarks()
        from hisa.plugins.benchmarks.bench.bench_report import build_report

        folder = self._find(name)
        other = self._find(against) if against else None
        key = (folder, _age(folder), other, other and _age(other))
        with self._lock:
            if key not in self._reports:
                self._reports[key] = build_report(folder, other)
                while len(self._reports) > _KEPT:
                    self._reports.popitem(last=False)
            found = self._reports[key].model_dump(mode="json")
        running = is_locked(folder / "lock")
        return {**found, "running": running, "at_work": _at_work(folder) if running else []}

    def _folders(self) -> Iterator[Path]:
        for place in self._context.benches:
            if (place / _PLAN).is_file():
                yield place
                continue
            with suppress(OSError):
                inside = sorted(place.glob(f"*/{_PLAN}"), key=_changed, reverse=True)
                yield from (plan.parent for plan in inside[:_MOST])

    def _find(self, name: str) -> Path:
        for folder in self._folders():
            if folder.name == name:
                return folder
        raise UsageError(f"no bench is called {name[:80]!r}", fix="see the list of benches")

    def _row(self, folder: Path) -> dict[str, Any] | None:
        _require_benchmarks()
        age = _age(folder)
        if folder not in self._rows or self._rows[folder][0] != age:
            try:
                self._rows[folder] = age, _summed(folder)
            except UsageError as error:
                self._rows[folder] = age, {"error": str(error)}
        row = self._rows[folder][1]
        base = {"id": folder.name, "running": is_locked(folder / "lock"), "started": 0.0}
        return {**base, "missing": 0, **row}


def _summed(folder: Path) -> dict[str, Any]:
    """Returns the sums of a bench with its success rate; Raises UsageError where it is damaged."""
    from hisa.outcomes.endings import is_success
    from hisa.plugins.benchmarks.bench.ledger import SlotState, read_attempts, read_plan
    from hisa.plugins.benchmarks.bench.stats import wilson
    from hisa.plugins.benchmarks.bench.summary import summarise

    plan, found = read_plan(folder), read_attempts(folder)
    states = [found.get(slot) or SlotState(slot) for slot in plan.slots]
    by_task: dict[str, list[bool]] = {}
    for state in states:
        ended = state.result.finished if state.result else None
        if ended is not None and ended.score_state == "scored":
            success = is_success(ended.status, ended.score_state, ended.score)
            by_task.setdefault(state.slot.task, []).append(success)
    rates = [sum(made) / len(made) for made in by_task.values()]
    low, high = wilson(sum(rates), len(rates))
    return {
        **summarise(states).as_dict(),
        "suite": plan.suite,
        "started": plan.started_at,
        "variants": list(plan.variants),
        "tasks": len(plan.tasks),
        "rated": len(rates),
        "rate": sum(rates) / len(rates) if rates else None,
        "low": low,
        "high": high,
    }


def _at_work(folder: Path) -> list[dict[str, Any]]:
    from hisa.plugins.benchmarks.bench.ledger import read_attempts

    open_tries = [t for state in read_attempts(folder).values() for t in state.attempts if t.open]
    return [
        {**t.slot._asdict(), "number": t.number, "run": t.run, "worker": t.worker,
         "started": t.started_at}
        for t in open_tries
    ]  # fmt: skip


def _age(folder: Path) -> tuple[float, ...]:
    """Changes whenever the bench did."""
    return tuple(_changed(folder / name) for name in (_PLAN, _ATTEMPTS))


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0.0


def _require_benchmarks() -> None:
    try:
        import hisa.plugins.benchmarks.bench.bench_report  # noqa: F401
    except ImportError as error:
        raise LibraryLacking(
            f"the plugin benchmarks is not there: {error}", fix="pip install hisa-agent"
        ) from error
