"""``hisa desktop``: what is left over is listed and ended."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.desktop.runtime.state import process_start
from tests.cli.command import ROOT, Command

pytestmark = pytest.mark.desktop

_LEAVER = """
import sys
from hisa.plugins.desktop.runtime import DesktopRuntime
from hisa.plugins.desktop.runtime.state import write_owner
from hisa.screen.geometry import Size
runtime = DesktopRuntime(Size(640, 480))
runtime.start()
write_owner(runtime.handle, "run-of-the-test")
print(runtime.handle.id, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def hisa(tmp_path: Path) -> Iterator[Command]:
    """With desktops of its own: others may have theirs up on this machine."""
    place = tempfile.mkdtemp(prefix="hisa-", dir="/tmp")  # short, as the path of a socket must be
    command = Command(tmp_path)
    command.environ["XDG_RUNTIME_DIR"] = place
    yield command
    command.run("desktop", "stop", "--all")
    shutil.rmtree(place)


def start_desktop(hisa: Command) -> tuple[subprocess.Popen[str], str]:
    """A process with a desktop, and the desktop's id."""
    process = subprocess.Popen(
        [sys.executable, "-c", _LEAVER],
        env=hisa.environ,
        cwd=ROOT,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def test_leftover_desktop_is_listed_and_ended(hisa: Command) -> None:
    assert hisa.json("desktop", "ls") == []
    process, ident = start_desktop(hisa)
    with process:
        (row,) = hisa.json("desktop", "ls")
        assert (row["id"], row["run"]) == (ident, "run-of-the-test")
        assert row["hisa_alive"]
        assert row["hisa_pid"] == process.pid
        assert row["processes"] >= 4
        assert row["memory_bytes"] > 10_000_000
        assert f"used by process {process.pid}" in hisa.run("desktop", "ls")
        process.kill()
    (row,) = hisa.json("desktop", "ls")
    assert not row["hisa_alive"]
    assert "left over" in hisa.run("desktop", "ls")
    assert hisa.run("desktop", "stop", ident[:3]) == f"{ident}: ended\n"
    assert process_start(row["pid"]) is None
    assert hisa.json("desktop", "ls") == []


def test_stop_needs_an_id_or_all(hisa: Command) -> None:
    assert "give an ID, or --all" in hisa.run_refused("desktop", "stop")
    assert "hisa desktop ls" in hisa.run_refused("desktop", "stop", "zz")
    assert hisa.run("desktop", "stop", "--all") == "none was running\n"


async def test_a_desktop_that_is_left_up_says_its_memory_its_end_and_how_to_end_it() -> None:
    environment = DesktopEnvironment(idle=300.0)
    async with environment:
        handle = environment.belongs_to("run-of-the-test")
        runtime = environment._runtime
        assert runtime is not None
        text = await environment.detach()
        until = re.search(r"(\d+) MB of memory until (\d\d):(\d\d)", text)
        assert until is not None, text
        assert int(until[1]) > 10
        now = time.localtime()
        minutes = (int(until[2]) * 60 + int(until[3]) - now.tm_hour * 60 - now.tm_min) % 1440
        assert minutes in range(6)
        assert f"hisa desktop stop {handle['id']}" in text
    attached = DesktopEnvironment.attach(handle)
    async with attached:
        assert (await attached.execute("echo here")).output == "here\n"
    runtime.stop()
