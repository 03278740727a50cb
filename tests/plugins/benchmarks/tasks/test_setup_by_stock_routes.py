"""Setup is verified on machines that are reached by the stock routes of a benchmark alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from hisa.errors import EnvironmentFailed
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.machines.guests.any_guest import connect_stock
from hisa.protocols import Task
from hisa.tasks.scorer import TaskScorer

pytestmark = [pytest.mark.desktop, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def machine() -> AsyncIterator[DesktopEnvironment]:
    async with DesktopEnvironment(connect=connect_stock) as desktop:
        yield desktop


def build_launch(*words: str) -> dict[str, Any]:
    return {"type": "launch", "parameters": {"command": list(words)}}


def script(name: str) -> dict[str, Any]:
    parameters = {"src": name, "dest": f"/home/user/{name}"}
    return {"type": "script_and_execute", "parameters": parameters}


async def prepare(folder: Path, machine: DesktopEnvironment, *setup: Any, **more: Any) -> None:
    (folder / "a.txt").write_text("hello", "utf-8")
    quiet = "exec 1>/dev/null\nexec 2>/dev/null\n"
    (folder / "hides.sh").write_text(f"{quiet}no-such-tool --now\ntrue\n", "utf-8")
    (folder / "looks.sh").write_text(f"{quiet}grep -q nothing /etc/passwd\ncp ~/a* /tmp\n", "utf-8")
    task = Task(id="t", instruction="x", setup=setup, folder=str(folder), **more)
    await TaskScorer().prepare(task, machine)


@pytest.mark.parametrize(
    ("setup", "message"),
    [
        (
            build_launch("sh", "-c", "echo no display >&2; exit 1"),
            "ended at once with 1: no display",
        ),
        (build_launch("no-such-program"), "no program 'no-such-program'"),
        (script("hides.sh"), "line 3: no-such-tool: command not found"),
        ({"type": "open", "parameters": {"path": "/home/user/none.txt"}}, "no such file to open"),
    ],
    ids=["dies", "absent", "script", "open"],
)
async def test_failing_setup_step_prevents_the_start(
    tmp_path: Path, machine: DesktopEnvironment, setup: Any, message: str
) -> None:
    with pytest.raises(EnvironmentFailed, match=message):
        await prepare(tmp_path, machine, setup)
    left = await machine.execute("ls -d /tmp/.hisa-* 2>/dev/null")
    assert left.output == ""


async def test_setup_steps_are_carried_out(tmp_path: Path, machine: DesktopEnvironment) -> None:
    file_name = "~/ü b.txt"
    await prepare(
        tmp_path,
        machine,
        {"copy": {"source": "a.txt", "path": "~/a.txt"}},
        {"write": {"path": file_name, "text": "häll\no"}},
        {"write": {"path": "~/empty", "text": ""}},
        script("looks.sh"),
        {"launch": "sleep 77"},
        {"run": "test -f ~/empty -a -f /tmp/a.txt && pgrep -fx 'sleep 77'"},
    )
    assert await machine.read_file(file_name) == "häll\no".encode()
    await machine.execute("pkill -fx 'sleep 77'")
