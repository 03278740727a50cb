"""A private desktop for the tests of a file, each of which finds it without windows."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from hisa.actions import Move
from hisa.machine.patience import Deadline
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.screen.geometry import Point
from tests.plugins.guard.kept_desktop import PersistentDesktop

_END = (
    "pkill -TERM -x chromium; pkill -KILL -x 'mousepad|featherpad'; "
    "pkill -KILL -f 'python3 /(home/user|tmp)/[a-z]+[.]py'; "
    "find ~ -maxdepth 1 -type f ! -name '.*' -delete; rm -f /tmp/*.py"
)
"""Ends what tests start; a browser that is killed would offer to open its pages again."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_desktop() -> AsyncIterator[DesktopEnvironment]:
    """One for the whole module."""
    async with PersistentDesktop() as environment:
        yield environment


@pytest_asyncio.fixture(loop_scope="module")
async def desktop(shared_desktop: DesktopEnvironment) -> AsyncIterator[DesktopEnvironment]:
    """The module's desktop; what a test opened on it is gone after it."""
    yield shared_desktop
    await shared_desktop.execute(_END)
    deadline = Deadline(10.0)
    while (await shared_desktop.observe(settle=0.3)).windows:
        if deadline.passed:
            await shared_desktop.execute("pkill -KILL -x chromium")
    await shared_desktop.act([Move(Point(640, 360, "screen"))])
