"""`hisa mcp`, driven by the reference client of the protocol."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp
import pytest

from hisa.runs.run_reader import load_run
from tests.cli.command import ROOT, Command

pytestmark = pytest.mark.process

TASK = 'Open the text editor. Type "hello". Save the file as "hi.txt".'
LONG = "Open the text editor. " + " ".join(f'Type "line {n}" and press Enter.' for n in range(40))


class Client:
    """A client's session, with what it heard of progress."""

    def __init__(self, session: mcp.ClientSession) -> None:
        self.session = session
        self.progress: list[tuple[float, float | None, str]] = []
        self.stepped = asyncio.Event()

    async def _heard(self, progress: float, total: float | None, message: str | None) -> None:
        self.progress.append((progress, total, message or ""))
        if progress >= 2:
            self.stepped.set()

    async def call(self, name: str, **arguments: Any) -> Any:
        """The data that a tool answers."""
        result = await self.session.call_tool(name, arguments, progress_callback=self._heard)
        assert not result.is_error, result.content
        data = result.structured_content
        return data["result"] if data is not None and set(data) == {"result"} else data

    async def read_refusal(self, name: str, **arguments: Any) -> str:
        """The words with which a call fails."""
        result = await self.session.call_tool(name, arguments)
        assert result.is_error
        return str(getattr(result.content[0], "text", ""))


@asynccontextmanager
async def client(folder: Path, *options: str, config: Path | None = None) -> AsyncIterator[Client]:
    command = Command(folder)
    first = ["--config", str(config)] if config else []
    server = mcp.StdioServerParameters(
        command=sys.executable,
        args=["-m", "hisa", *first, "mcp", "serve", *options],
        env=command.environ,
        cwd=ROOT,
    )
    async with (
        mcp.stdio_client(server) as (read, write),
        mcp.ClientSession(read, write) as session,
    ):
        await session.initialize()
        yield Client(session)


@pytest.mark.desktop
async def test_task_reports_each_step_and_a_cancelled_one_stays(tmp_path: Path) -> None:
    async with client(tmp_path) as used:
        result = await used.call("run_task", instruction=TASK, max_steps=20)
        assert (result["status"], result["success"]) == ("succeeded", True)
        steps = [round(step) for step, total, _ in used.progress if step]
        assert steps == list(range(1, result["steps"] + 1))
        assert {total for _, total, _ in used.progress} == {20.0}
        assert any("pyautogui.write('hello')" in line for _, _, line in used.progress)
        run = load_run(Path(result["folder"]))
        assert (run.status, run.last_step) == ("succeeded", result["steps"])
        used.stepped.clear()
        work = asyncio.create_task(used.call("run_task", instruction=LONG))
        await used.stepped.wait()
        work.cancel()
        await asyncio.wait([work])
        while load_run("latest", tmp_path / "runs").status == "running":  # noqa: ASYNC110
            await asyncio.sleep(0.2)
        assert await used.read_refusal("run_task", instruction=" "), "the server serves on"
    run = load_run("latest", tmp_path / "runs")
    assert run.status == "stopped"
    assert run.last_step >= 2
    assert run.steps[0].verdict == "succeeded"


@pytest.mark.desktop
@pytest.mark.parametrize("end", ["gone", "signal"])
def test_run_stays_when_the_client_or_the_server_ends(end: str, tmp_path: Path) -> None:
    server = subprocess.Popen(
        [sys.executable, "-m", "hisa", "mcp", "serve"],
        env=Command(tmp_path).environ,
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    with server, server.stdin, server.stdout:
        about = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        }
        run = {
            "name": "run_task",
            "arguments": {"instruction": LONG},
            "_meta": {"progressToken": 1},
        }
        for message in (
            {"id": 1, "method": "initialize", "params": about},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/call", "params": run},
        ):
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            server.stdin.flush()
        heard = (json.loads(line) for line in iter(server.stdout.readline, ""))
        assert next(message for message in heard if _steps(message) >= 2)
        if end == "gone":
            server.stdin.close()
        else:
            server.send_signal(signal.SIGTERM)
        rest = server.stdout.read()
        status = server.wait()
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in rest.splitlines())
    assert status == (0 if end == "gone" else 128 + signal.SIGTERM)
    stopped_run = load_run("latest", tmp_path / "runs")
    assert stopped_run.status == "stopped"
    assert stopped_run.last_step >= 2


def _steps(message: dict[str, Any]) -> float:
    return float(message.get("params", {}).get("progress", 0))


async def test_clients_get_nothing_but_private_desktops_unasked(tmp_path: Path) -> None:
    message = Command(tmp_path).run_refused("--set", "environment.kind=display=:0", "mcp", "serve")
    assert "is offered to clients only by --env" in message
    async with client(tmp_path, "--env", "display=:0") as used:
        listed = await used.session.list_tools()
        assert [tool.name for tool in listed.tools] == ["run_task"]
        message = await used.read_refusal("run_task", instruction="Go.")
        assert "nobody can be asked" in message or "display" in message
