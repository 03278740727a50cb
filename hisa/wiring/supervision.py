"""Opens the supervisors that installed packages announce."""

from __future__ import annotations

from collections.abc import Sequence

from hisa.errors import PluginFailed
from hisa.events import Noted
from hisa.machine import plugins
from hisa.protocols import Emit
from hisa.runs.log import RunLog
from hisa.wiring.base import Supervisor

__all__ = ["open_supervisors"]


def open_supervisors(log: RunLog, emit: Emit) -> Sequence[Supervisor]:
    """The supervisors of one run, HiSA's own first; one that cannot be made is a note."""
    supervisors = []
    for point in plugins.points("supervisors"):
        if not plugins.is_left_out(point):
            try:
                supervisors.append(plugins.make("supervisors", point.name, log, emit))
            except PluginFailed as error:
                emit(Noted(where="supervisors", text=str(error)))
    return supervisors
