"""Metrics of OSWorld's own package: found by name, run apart."""

from __future__ import annotations

from hisa.plugins.benchmarks.tasks.osworld_metrics.index import (
    PACKAGE,
    find_osworld_metric,
    install_commands,
    installed,
    known,
    missing_packages,
    python,
)
from hisa.plugins.benchmarks.tasks.osworld_metrics.sandboxed import run

__all__ = [
    "PACKAGE",
    "find_osworld_metric",
    "install_commands",
    "installed",
    "known",
    "missing_packages",
    "python",
    "run",
]
