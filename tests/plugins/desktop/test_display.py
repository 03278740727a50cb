"""A display that exists already: here a bare one that the test starts."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
import pytest_asyncio

from hisa.actions import Write
from hisa.environments.transport.base import GuestClient
from hisa.errors import EnvironmentFailed, UsageError
from hisa.machine.patience import patience
from hisa.plugins.desktop.display import DisplayEnvironment
from hisa.plugins.machines.guests.osworld_client import OSWorldTransport
from tests.environments.conformance import CommandConformance, Conformance
from tests.plugins.desktop.bare_display import bare_display

pytestmark = [pytest.mark.desktop, pytest.mark.asyncio(loop_scope="module")]


@pytest.fixture(scope="module")
def display() -> Iterator[str]:
    with bare_display() as name:
        yield name


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def environment(
    display: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[DisplayEnvironment]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        async with DisplayEnvironment(display) as environment:
            yield environment


@pytest.fixture
def folder(environment: DisplayEnvironment) -> Path:
    assert environment.folder
    return environment.folder


class TestDisplay(Conformance, CommandConformance):
    documented = "an existing display"

    async def test_is_not_thrown_away(self, environment: DisplayEnvironment) -> None:
        assert "throw_away" not in environment.capabilities

    async def test_commands_write_in_the_folder_alone(
        self, environment: DisplayEnvironment, folder: Path
    ) -> None:
        result = await environment.execute("echo in > inside; pwd; touch /usr/local/hisa-was-here")
        assert result.exit_code != 0
        assert result.output == f"{folder}\n"
        assert (folder / "inside").read_text() == "in\n"


async def test_command_opens_a_window_that_stays(
    environment: DisplayEnvironment, display: str
) -> None:
    before = await environment.observe()
    started = await environment.execute("mousepad >/dev/null 2>&1 & echo started")
    assert started.output == "started\n"
    for _ in range(600):
        after = await environment.observe()
        if after.screenshot.sha256 != before.screenshot.sha256:
            break
        await asyncio.sleep(0.1)
    assert after.screenshot.sha256 != before.screenshot.sha256
    tree = subprocess.check_output(["xwininfo", "-display", display, "-root", "-tree"], text=True)  # noqa: ASYNC221
    assert "Mousepad" in tree


async def test_no_key_and_no_session_bus_reach_a_command(
    display: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bus = tmp_path / "bus"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(bus))
        listening.listen(1)
        for name in ("OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "MY_TOKEN", "HISA_GUEST_TOKEN"):
            monkeypatch.setenv(name, "planted-secret")
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={bus}")
        async with DisplayEnvironment(display) as environment:
            result = await environment.execute("env; cat /proc/*/environ | tr '\\0' '\\n'; ls /run")
            guest = Path(f"/proc/{environment.guest_pid}/environ").read_bytes()  # noqa: ASYNC240
    assert b"planted-secret" not in guest
    assert "DISPLAY=" in result.output
    assert "planted-secret" not in result.output
    assert str(bus) not in result.output


class _Recording:
    """A guest that keeps what it is asked to run."""

    where = "here"

    def __init__(self) -> None:
        self.words: list[str] = []

    async def request(self, method: str, path: str, **more: Any) -> httpx.Response:
        self.words = more["json"]["command"]
        return httpx.Response(200, json={"output": "", "error": "", "returncode": 0})


def _run(words: list[str], environment: dict[str, str]) -> tuple[int, str]:
    result = subprocess.run(
        words, capture_output=True, env=environment, text=True, timeout=patience(30.0), check=False
    )
    return result.returncode, result.stdout


PASTES = """
import subprocess
def hotkey(*keys):
    read = ["xclip", "-selection", "clipboard", "-o"]
    print(*keys, subprocess.run(read, capture_output=True, encoding="utf-8").stdout)
"""
"""A window that takes the text as soon as the keys come."""


async def test_pasting_leaves_no_pipe_of_the_command_open(display: str, tmp_path: Path) -> None:
    """The published server reads both pipes of a command to their end, as `communicate` does."""
    guest = _Recording()
    await OSWorldTransport(cast(GuestClient, guest)).act([Write("Grüße, 漢字")])
    (tmp_path / "pyautogui.py").write_text(PASTES)
    environment = {**os.environ, "DISPLAY": display, "PYTHONPATH": str(tmp_path)}
    program = [sys.executable, *guest.words[1:]]
    pasted = await asyncio.to_thread(_run, program, environment)
    assert pasted == (0, "ctrl v Grüße, 漢字\n")
    read = ["xclip", "-selection", "clipboard", "-o"]
    assert await asyncio.to_thread(_run, read, environment) == (0, "Grüße, 漢字")


async def test_missing_display_is_a_broken_machine() -> None:
    with pytest.raises(EnvironmentFailed):
        await DisplayEnvironment(":9876").__aenter__()


async def test_without_bubblewrap_nothing_begins(
    display: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentFailed, match="bubblewrap") as caught:
        await DisplayEnvironment(display).__aenter__()
    assert caught.value.fix == "hisa install system"


async def test_name_of_a_display_is_checked() -> None:
    with pytest.raises(UsageError, match="local display"):
        DisplayEnvironment("host:0; rm")
