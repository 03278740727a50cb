"""HiSA: agents that operate a computer through its screen.

::

    import hisa

    result = hisa.run_sync('Open the text editor. Type "hello".')
    print(result.status, result.score, result.folder)

The names below are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hisa.machine.lazy import lazy
from hisa.version import __version__

if TYPE_CHECKING:
    from hisa.agent import Agent, RunResult, run, run_sync
    from hisa.config import Settings
    from hisa.protocols import Task
    from hisa.runs.run_reader import load_run

__all__ = ["Agent", "RunResult", "Settings", "Task", "__version__", "load_run", "run", "run_sync"]

if not TYPE_CHECKING:  # a type checker sees only the imports above
    __getattr__ = lazy(
        __name__,
        {
            "Agent": "hisa.agent",
            "RunResult": "hisa.agent",
            "Settings": "hisa.config",
            "Task": "hisa.protocols",
            "load_run": "hisa.runs.run_reader",
            "run": "hisa.agent",
            "run_sync": "hisa.agent",
        },
    )
