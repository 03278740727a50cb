"""The published server's semantics on a private desktop: real commands, a real display."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import PurePosixPath

import pytest
import pytest_asyncio

from hisa.actions import Hotkey, Write
from hisa.errors import ActionRefused
from hisa.plugins.machines.guests.remote import RemoteEnvironment
from tests.environments.conformance import (
    CommandConformance,
    Conformance,
    EditorConformance,
    seen_when,
)
from tests.stock.stock_guest import StockGuest
from tests.stock.stock_machine import StockMachine

pytestmark = [pytest.mark.desktop, pytest.mark.asyncio(loop_scope="module")]

RENAME = r"""
import sys
from Xlib.display import Display
display = Display()
window = display.create_resource_object("window", int(sys.argv[1], 16))
name, kind = map(display.intern_atom, ("_NET_WM_NAME", "UTF8_STRING"))
window.change_property(name, kind, 8, b"caf\xe9")
display.sync()
"""


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StockGuest]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        with StockMachine() as machine, StockGuest(answers=machine) as guest:
            yield guest


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def environment(guest: StockGuest) -> AsyncIterator[RemoteEnvironment]:
    async with RemoteEnvironment(guest.url) as environment:
        yield environment


@pytest.fixture
def folder() -> PurePosixPath:
    return PurePosixPath("/home/user", uuid.uuid4().hex)


class TestPublished(Conformance, CommandConformance, EditorConformance):
    documented = "a stock guest"

    async def test_output_that_is_no_text_is_no_broken_machine(
        self, environment: RemoteEnvironment
    ) -> None:
        done = await environment.execute(r"printf 'a\377\376b'; printf '\303\274'")
        assert (done.exit_code, done.output) == (0, "abü")

    async def test_a_title_that_is_no_text_spoils_no_look(
        self, environment: RemoteEnvironment, editor: PurePosixPath
    ) -> None:
        window = (await environment.observe()).active
        assert window is not None
        done = await environment.execute(["python3", "-c", RENAME, window.id])
        assert done.exit_code == 0
        renamed = (await environment.observe()).active
        assert renamed is not None
        assert renamed.title.startswith("caf")

    async def test_a_slow_editor_gets_each_text_before_the_next_is_offered(
        self, environment: RemoteEnvironment, editor: PurePosixPath
    ) -> None:
        await paused(environment, seconds=2.0)
        await environment.act([Write("ü1"), Write("ü2"), Hotkey(("ctrl", "s"))])
        await seen_when(environment, lambda seen: "*" not in seen.windows[0].title)
        assert "ü1ü2" in (await environment.read_file(str(editor))).decode()

    async def test_a_text_that_no_window_takes_is_told(
        self, environment: RemoteEnvironment, editor: PurePosixPath
    ) -> None:
        await paused(environment, seconds=7.0)
        with pytest.raises(ActionRefused, match="no window asked for the text"):
            await environment.act([Write("ü")])


async def paused(environment: RemoteEnvironment, *, seconds: float) -> None:
    """Stop the editor for that long."""
    line = f"pkill -STOP mousepad; (sleep {seconds}; pkill -CONT mousepad) >/dev/null 2>&1 &"
    await environment.execute(line)
