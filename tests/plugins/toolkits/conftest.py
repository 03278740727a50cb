"""A private desktop on which tests start the application that they need."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
import pytest_asyncio

from hisa.machine.patience import patience
from hisa.plugins.desktop.private_desktop import DesktopEnvironment

Start = Callable[[str, str], Awaitable[None]]
"""Starts a program by its command, and waits for a window of that class with that in its title."""
_IDLE_SECONDS = 60.0
"""Until a window is missed; LibreOffice's takes 3 to 6 s on an idle machine."""


@pytest.fixture(autouse=True)
def skip_coverage_of_a_part(request: pytest.FixtureRequest) -> None:
    """A check over all tests of a file has no answer where only some of them run."""
    is_part = any("::" in argument for argument in request.config.args)
    if is_part and request.node.name == "test_every_function_was_called":
        pytest.skip("only a part of this file's tests runs")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def machine() -> AsyncIterator[DesktopEnvironment]:
    """One for the whole module."""
    async with DesktopEnvironment() as environment:
        yield environment


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def start(machine: DesktopEnvironment) -> Start:
    """Starts applications on the module's desktop."""

    async def start_program(command: str, title: str) -> None:
        await machine.execute(f"{command} >/dev/null 2>&1 &")
        limit = time.monotonic() + patience(_IDLE_SECONDS)
        while not await window(machine, title):
            assert time.monotonic() < limit, f"no window with {title!r} after {command!r}"
            await asyncio.sleep(0.2)

    return start_program


async def window(machine: DesktopEnvironment, title: str) -> bool:
    """Whether a window with that in its title has the focus."""
    active = (await machine.observe()).active
    return active is not None and title in active.title
