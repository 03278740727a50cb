"""Stock guests as they are: without tools, and with pipes held open."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest
import pytest_asyncio

from hisa.actions import Click, Hotkey, Press, Write
from hisa.environments.transport import GuestClient
from hisa.errors import ActionRefused, EnvironmentFailed
from hisa.plugins.machines.guests.osworld_client import OSWorldTransport
from hisa.screen.geometry import Point
from tests.stock.stock_guest import StockGuest
from tests.stock.stock_machine import StockMachine

pytestmark = [pytest.mark.desktop, pytest.mark.asyncio(loop_scope="module")]

LIMIT = 3.0
NOTE = "/home/user/note.txt"
FULL = """
from Xlib.display import Display
display = Display()
first, last = display.display.info.min_keycode, display.display.info.max_keycode
for code, row in enumerate(display.get_keyboard_mapping(first, last - first + 1), first):
    if not any(row):
        display.change_keyboard_mapping(code, [(0x1008FF2F, 0x1008FF2F)])
display.sync()
"""
"""Leaves no key free."""


@pytest.fixture(scope="module")
def machine() -> Iterator[StockMachine]:
    with StockMachine(seconds=LIMIT, without=("xclip", "wmctrl")) as machine:
        machine.execute(f"touch {NOTE}; mousepad {NOTE} >/dev/null 2>&1 &")
        yield machine


@pytest.fixture(scope="module")
def guest(machine: StockMachine) -> Iterator[StockGuest]:
    with StockGuest(answers=machine) as guest:
        yield guest


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def transport(guest: StockGuest) -> AsyncIterator[OSWorldTransport]:
    client = GuestClient("guest", url=guest.url)
    transport = OSWorldTransport(client)
    while not (await transport.look(elements=False, settle=2.0)).windows:
        pass
    yield transport
    await client.close()


async def typed(transport: OSWorldTransport, *texts: str) -> str:
    """What is in the saved note after these are typed into it, which was empty."""
    seen = await transport.look(elements=True, settle=2.0)
    field = next(e for e in seen.elements or () if e.role == "text" and "editable" in e.states)
    await transport.act([Click(field.box.centre), Hotkey(("ctrl", "a")), Press("delete")])
    await transport.act([*map(Write, texts), Hotkey(("ctrl", "s"))])
    await transport.look(elements=False, settle=2.0)
    return (await transport.read_file(NOTE, limit=1 << 16)).decode()


@pytest.mark.parametrize("texts", [("a < b", "<" * 40), ("ü < ß 漢字 🙂\n\tß", "a", "é")])
async def test_text_gets_in_without_a_clipboard(
    transport: OSWorldTransport, texts: tuple[str, ...]
) -> None:
    assert await typed(transport, *texts) == "".join(texts)


async def test_windows_are_told_without_wmctrl(transport: OSWorldTransport) -> None:
    seen = await transport.look(elements=False, settle=0.0)
    (window,) = seen.windows
    assert seen.windows_known
    assert (window.app, window.active) == ("Mousepad", True)
    assert "note.txt" in window.title
    assert window.size is not None


async def test_a_pipe_left_open_holds_the_published_server_and_not_ours(
    guest: StockGuest, transport: OSWorldTransport
) -> None:
    line = "sleep 60 >/dev/null & echo on"  # it keeps standard error, as xclip does
    started = time.monotonic()
    asked = {"command": line, "shell": True}
    async with httpx.AsyncClient(timeout=60.0, trust_env=False) as client:
        done = await client.post(f"{guest.url}/execute", json=asked)
    assert (done.status_code, done.json()["status"]) == (500, "error")
    assert "timed out" in done.json()["message"]
    assert time.monotonic() - started >= LIMIT
    assert (await transport.execute(line, timeout=60.0, limit=99)).exit_code == 0


async def test_words_and_output_come_as_they_are(transport: OSWorldTransport) -> None:
    told = await transport.execute(["printf", "%s|", "~/a b", "$HOME"], timeout=9.0, limit=99)
    assert told.output == "~/a b|$HOME|"
    many = await transport.execute("yes | head -c 1000000", timeout=9.0, limit=1 << 20)
    assert (len(many.output), many.exit_code) == (1_000_000, 0)
    late = await transport.execute("echo begun; sleep 60", timeout=1.0, limit=99)
    assert (late.timed_out, late.output, late.error) == (True, "begun\n", "")
    binary = await transport.execute(["printf", r"\377\n"], timeout=9.0, limit=99)
    assert (binary.exit_code, binary.output) == (0, "\n")


async def test_without_a_free_key_nothing_is_typed_at_all(
    machine: StockMachine, transport: OSWorldTransport
) -> None:
    assert await typed(transport, "kept") == "kept"
    with pytest.raises(ActionRefused, match="cannot be typed as a key"):
        await transport.act([Write("lost"), Write("ü\x1b"), Hotkey(("ctrl", "s"))])
    machine.execute(f"python3 - <<'EOF'\n{FULL}\nEOF")
    with pytest.raises(ActionRefused, match="no xclip and no key to spare"):
        await transport.act([Write("lost"), Write("ü"), Hotkey(("ctrl", "s"))])
    await transport.act([Hotkey(("ctrl", "s"))])
    await transport.look(elements=False, settle=2.0)
    assert await transport.read_file(NOTE, limit=99) == b"kept"


async def test_what_nobody_can_tell_is_unknown() -> None:
    bare = StockMachine(seconds=LIMIT, without=("wmctrl", "python"))
    with bare as machine, StockGuest(answers=machine) as guest:
        client = GuestClient("guest", url=guest.url)
        transport = OSWorldTransport(client)
        seen = await transport.look(elements=True, settle=0.0)
        assert (seen.windows, seen.windows_known, seen.complete) == ((), False, False)
        with pytest.raises(EnvironmentFailed, match="'python'"):
            await transport.act([Click(Point(5, 5, "screen"))])
        await client.close()
