"""Task files of OSWorld and Spider2-V, benches of many attempts, and the best of several runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hisa.machine.plugins import Command

if TYPE_CHECKING:
    from hisa.hooks import Hook
    from hisa.wiring.base import HookParts

__all__ = ["BENCH", "open_fingerprint"]

BENCH = Command(
    "hisa.plugins.benchmarks.cli.bench:bench",
    "Run suites of tasks with many workers, and report.",
    after="run",
)


def open_fingerprint(parts: HookParts) -> Hook | None:
    """Returns the hook that writes down what a run begins from, where ``run.fingerprint`` is on."""
    if not parts.settings.run.fingerprint:
        return None
    from hisa.plugins.benchmarks.bench.fingerprint import Fingerprint  # benches alone need it

    return Fingerprint()
