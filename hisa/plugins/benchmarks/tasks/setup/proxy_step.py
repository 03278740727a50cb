"""A proxy for the pages of a task that wants one by OSWorld-Verified's ``"proxy": true``.

As in the published code, only a Chrome that a ``launch`` step starts uses it.
"""

from __future__ import annotations

import posixpath
import shlex
from urllib.parse import urlsplit

from hisa.config import TaskSettings
from hisa.environments.clean_commands import python
from hisa.errors import EnvironmentFailed
from hisa.machine.patience import patience
from hisa.plugins.benchmarks.tasks.benchmark import PROXY
from hisa.plugins.benchmarks.tasks.step_context import OTHER_NAMES, StepContext
from hisa.protocols import Task
from hisa.tasks.pieces import SETUP, Parameters

__all__ = ["add_proxy", "named_proxy"]

NO_PROXY = "none"
_CHROME = frozenset(("google-chrome", *OTHER_NAMES["google-chrome"]))
_SECONDS = 20.0
"""Longest run of `_CONNECT`, which gives up after 10 s."""
_CONNECT = """
import socket, sys
socket.create_connection((sys.argv[1], int(sys.argv[2])), 10).close()
"""
"""Runs in the machine: connects to the proxy once."""


def named_proxy(task: Task, settings: TaskSettings) -> str:
    """Returns the proxy of a task's pages; empty if the task wants none or none is set."""
    wants = any(step.get("type") == PROXY for step in task.setup)
    return settings.proxy if wants and settings.proxy != NO_PROXY else ""


def add_proxy(context: StepContext, line: str) -> str:
    """Returns a bash line, with the proxy if there is one and the line starts Chrome."""
    name = posixpath.basename((line.split() or [""])[0])
    if not context.proxy or name not in _CHROME:
        return line
    return f"{line} {shlex.quote(f'--proxy-server={context.proxy}')}"


@SETUP(PROXY, Parameters)
async def proxy(context: StepContext, params: Parameters) -> None:
    """Check that the machine reaches the proxy, if one is set.

    Raises:
        EnvironmentFailed: it does not, so every page of the task would be an error.
    """
    if not context.proxy:
        return
    place = urlsplit(context.proxy)
    line = python(_CONNECT, str(place.hostname), str(place.port))
    result = await context.environment.execute(line, timeout=patience(_SECONDS))
    if result.exit_code != 0 or result.timed_out:
        why = (result.error.strip().splitlines() or ["no answer"])[-1][:200]
        raise EnvironmentFailed(
            f"{context.environment.name} does not reach the proxy {context.proxy}: {why}",
            fix="--set tasks.proxy=http://HOST:PORT, an address that the machine reaches, or none",
        )
