"""A managed display, and the screen on it as an environment."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from benchmarks.bare_display import managed_display
from hisa.environments import guest_environment
from hisa.plugins.screen.screen_environment import ScreenEnvironment


@pytest.fixture(scope="module")
def display() -> Iterator[str]:
    """The name of a managed display."""
    with managed_display() as name:
        yield name


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def environment(
    display: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[ScreenEnvironment]:
    """The screen of the module's display."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        patch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
        # The eyes have tests of their own.
        patch.setattr(guest_environment, "can_see", lambda: False)
        async with ScreenEnvironment(display=display, end_run=lambda: None) as environment:
            yield environment
