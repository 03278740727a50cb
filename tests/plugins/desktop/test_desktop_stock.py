"""The same desktop driven by the stock OSWorld routes alone."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from pathlib import PurePosixPath

import pytest
import pytest_asyncio

from hisa.actions import Hotkey, Write
from hisa.errors import ActionRefused
from hisa.machine.patience import patience
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.machines.guests.any_guest import connect_stock
from tests.environments.conformance import (
    CommandConformance,
    Conformance,
    EditorConformance,
    observe_until,
)

pytestmark = [pytest.mark.desktop, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def environment() -> AsyncIterator[DesktopEnvironment]:
    async with DesktopEnvironment(connect=connect_stock) as desktop:
        yield desktop


@pytest.fixture
def folder() -> PurePosixPath:
    return PurePosixPath("/home/user", uuid.uuid4().hex)


class TestStock(Conformance, CommandConformance, EditorConformance):
    documented = "the private desktop, by stock routes"

    async def test_binary_output_does_not_break_the_machine(
        self, environment: DesktopEnvironment
    ) -> None:
        result = await environment.execute(r"printf 'a\377\376b'; printf '\303\274'")
        assert (result.exit_code, result.output) == (0, "abü")

    async def test_a_slow_editor_gets_each_text_before_the_next_is_offered(
        self, environment: DesktopEnvironment, editor: PurePosixPath
    ) -> None:
        await pause_editor(environment, seconds=2.0)
        await environment.act([Write("ü1"), Write("ü2"), Hotkey(("ctrl", "s"))])
        await observe_until(environment, lambda look: "*" not in look.windows[0].title)
        assert "ü1ü2" in (await environment.read_file(str(editor))).decode()

    async def test_text_that_no_window_takes_is_refused(
        self, environment: DesktopEnvironment, editor: PurePosixPath
    ) -> None:
        await pause_editor(environment, seconds=patience(10.0))
        with pytest.raises(ActionRefused, match="no window asked for the text"):
            await environment.act([Write("ü")])


async def pause_editor(environment: DesktopEnvironment, *, seconds: float) -> None:
    """Stop the editor for that long."""
    line = f"pkill -STOP mousepad; (sleep {seconds}; pkill -CONT mousepad) >/dev/null 2>&1 &"
    await environment.execute(line)
