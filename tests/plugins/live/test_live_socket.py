"""The hook that each run has: when it joins a run's steps, and what it leaves behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hisa.config import Settings
from hisa.plugins.live.watched.live_socket import LiveSocket
from hisa.protocols import Task
from hisa.runs.log import RunLog
from hisa.wiring.base import HookParts

TASK = Task("t", "Enter a name.")


@pytest.fixture
def log(tmp_path: Path) -> Iterator[RunLog]:
    """An open log of a run."""
    with RunLog.create(tmp_path, TASK, settings={}, seed=0) as log:
        yield log


async def test_socket_takes_questions_only_where_the_run_says_so(
    log: RunLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = HookParts(Settings(), log, log.emit)
    LiveSocket(parts)
    assert (parts.ask, parts.inquire) == (None, None)
    monkeypatch.setenv("HISA_LIVE_ASK", "1")
    LiveSocket(parts)
    assert parts.ask is not None
    assert parts.inquire is not None
