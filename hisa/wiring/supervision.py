"""Opens the supervisors that installed packages announce."""

from __future__ import annotations

from collections.abc import Sequence

from hisa.machine import plugins
from hisa.protocols import Emit
from hisa.runs.log import RunLog
from hisa.wiring.base import Supervisor

__all__ = ["open_supervisors"]


def open_supervisors(log: RunLog, emit: Emit) -> Sequence[Supervisor]:
    """The supervisors of one run, HiSA's own first.

    Raises:
        PluginFailed: one cannot be made; names the package.
    """
    return [
        plugins.make("supervisors", point.name, log, emit)
        for point in plugins.points("supervisors")
        if not plugins.is_left_out(point)
    ]
