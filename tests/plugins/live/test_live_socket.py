"""The hook that each run has: when it joins a run's steps, and what it leaves behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hisa.config import Settings
from hisa.events import Event, PersonActed
from hisa.hooks import Hooks, Run
from hisa.plugins.live.watched.live_socket import LiveSocket
from hisa.plugins.live.watched.run_socket import socket_path
from hisa.protocols import Task
from hisa.runs.log import RunLog
from hisa.testing import FakeEnvironment
from hisa.wiring.base import HookParts

TASK = Task("t", "Enter a name.")


@pytest.fixture
def log(tmp_path: Path) -> Iterator[RunLog]:
    """An open log of a run."""
    with RunLog.create(tmp_path, TASK, settings={}, seed=0) as log:
        yield log


def run_with(log: RunLog, hook: LiveSocket) -> Run:
    """A run that has the hook alone."""
    parts: dict[str, Any] = {"tools": None, "state": None}
    return Run(TASK, FakeEnvironment(), log=log, hooks=Hooks([hook]), **parts)


@pytest.mark.parametrize(
    ("events", "names"),
    [
        ((), ("live",)),
        ((PersonActed(did="paused"),), ("live",)),
        ((PersonActed(did="gave_back", text="A box is ticked."),), ("live", "take-over")),
    ],
)
async def test_only_a_run_that_a_person_changed_before_has_the_steps_hook_at_once(
    log: RunLog, events: tuple[Event, ...], names: tuple[str, ...]
) -> None:
    hook = LiveSocket(HookParts(Settings(), log, log.emit, events=events))
    run = run_with(log, hook)
    await run.hooks.call("on_start", run)
    assert run.hooks.names == names
    assert socket_path(log.id).exists()
    await run.hooks.call("on_end", run)
    assert not socket_path(log.id).exists()


async def test_nobody_is_asked_at_the_socket_unless_whoever_began_the_run_says_so(
    log: RunLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = HookParts(Settings(), log, log.emit)
    LiveSocket(parts)
    assert (parts.ask, parts.inquire) == (None, None)
    monkeypatch.setenv("HISA_LIVE_ASK", "1")
    LiveSocket(parts)
    assert parts.ask is not None
    assert parts.inquire is not None
