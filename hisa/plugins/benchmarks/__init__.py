"""Task files of OSWorld and Spider2-V, benches of many attempts, and the best of several runs."""

from __future__ import annotations

from hisa.machine.plugins import Command

__all__ = ["BENCH"]

BENCH = Command(
    "hisa.plugins.benchmarks.cli.bench:bench",
    "Run suites of tasks in parallel and report on them.",
    after="run",
)
