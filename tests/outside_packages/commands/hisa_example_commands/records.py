"""Commands of an outside package that are imported when they are called."""

from __future__ import annotations

from hisa.machine.plugins import Command

KEPT = Command("hisa_example_commands:count_runs", "Print how many are kept.", after="runs")
ABSENT = Command("hisa_example_commands.absent:count_runs", "Print nothing: it is not there.")
