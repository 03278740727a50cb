"""Chrome of the machine: its tabs through the debugging port, its settings through its files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hisa.environments.clean_commands import python
from hisa.errors import EnvironmentFailed
from hisa.machine.patience import patience
from hisa.plugins.benchmarks.tasks.metric import Unreadable
from hisa.plugins.benchmarks.tasks.process_limits import MAX_PROFILE
from hisa.plugins.benchmarks.tasks.step_context import StepContext
from hisa.protocols import FileRefused

__all__ = ["ChromeSilent", "ask", "profile_file", "tabs"]

_FOLDERS = ("google-chrome", "chromium", "BraveSoftware/Brave-Browser")
_SECONDS = 60.0  # chosen by hand
_PATIENCE = {"prepare": 180.0, "score": 30.0}
"""Seconds to wait for Chrome: its first start takes minutes on an emulated, busy machine."""
_ASK = """
import json, sys, time, urllib.error, urllib.parse, urllib.request
method, path, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
deadline, problem = time.monotonic() + seconds, ""
while True:
    for port in (1337, 9222):
        request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method)
        try:
            left = max(5.0, deadline - time.monotonic())
            with urllib.request.urlopen(request, timeout=left) as answer:
                sys.stdout.write(answer.read().decode("utf-8", "replace"))
                sys.exit(0)
        except (urllib.error.URLError, OSError) as error:
            problem = str(error)
    if time.monotonic() > deadline:
        sys.exit(problem)
    time.sleep(0.5)
"""
"""Runs in the machine: one request to Chrome, repeated until it is accepted.

An accepted request has all of the remaining time: one for a new tab, if repeated, would open two.
"""


class ChromeSilent(EnvironmentFailed):
    """The machine answers but its Chrome does not: not started, or closed by the agent."""


async def ask(
    context: StepContext, path: str, *, method: str = "GET", seconds: float | None = None
) -> str:
    """Sends a request to the debugging port of the machine's Chrome, and returns the response.

    Args:
        context: the task and its machine.
        path: path and query of the request, such as ``/json/list``.
        method: the HTTP method.
        seconds: how long the request is repeated; by default 180 before a run, 30 when scoring.

    Raises:
        ChromeSilent: Chrome does not answer.
        EnvironmentFailed: the machine does not answer, or has no Python.
    """
    seconds = patience(_PATIENCE[context.phase] if seconds is None else seconds)
    line = python(_ASK, method, path, f"{seconds:g}")
    result = await context.environment.execute(line, timeout=patience(_SECONDS) + seconds)
    if result.exit_code in (126, 127) or result.timed_out:
        raise EnvironmentFailed(
            f"{context.environment.name}: python3: {result.error.strip()[:300]}"
        )
    if result.exit_code != 0:
        raise ChromeSilent(
            f"Chrome does not answer on its debugging port: {result.error.strip()[:300]}",
            fix="the task must start it with --remote-debugging-port=1337",
        )
    return result.output


async def tabs(context: StepContext, *, seconds: float | None = None) -> list[Mapping[str, Any]]:
    """Returns the open pages, the last shown first; each has id, title and url.

    Raises:
        ChromeSilent: Chrome does not answer.
        EnvironmentFailed: the machine does not answer, or Chrome's answer is no list.
    """
    text = await ask(context, "/json/list", seconds=seconds)
    try:
        entries = json.loads(text)
    except ValueError as error:
        raise EnvironmentFailed(f"Chrome's list of tabs is cut short: {text[:200]!r}") from error
    if not isinstance(entries, list):
        raise EnvironmentFailed(f"Chrome's list of tabs is no list: {text[:200]!r}")
    return [tab for tab in entries if isinstance(tab, dict) and tab.get("type") == "page"]


async def profile_file(context: StepContext, name: str) -> bytes | None:
    """Returns a file of Chrome's user folder, such as ``Default/Preferences``; None without one.

    Raises:
        Unreadable: it is not a plain file, or larger than any browser writes.
    """
    for folder in _FOLDERS:
        try:
            path = f"~/.config/{folder}/{name}"
            return await context.environment.read_file(path, limit=MAX_PROFILE)
        except FileNotFoundError:
            continue
        except FileRefused as error:
            raise Unreadable(str(error)) from error
    return None
