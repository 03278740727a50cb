"""Runs steered from the page's server, and what its end leaves."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import websocket

from hisa.runs.run_reader import list_runs
from hisa.testing import ReceivedRequest
from tests.cli.command import Command
from tests.plugins.live.serving import Served, serving, wait_for
from tests.plugins.live.watching import DONE, WAIT, WatchedRun, watch_run

pytestmark = pytest.mark.process


def go_on(request: ReceivedRequest, count: int) -> str:
    """A planner that waits until a person has typed something."""
    return DONE if "Grace" in request.text.partition("a person had")[2] else WAIT


async def run_id(run: WatchedRun) -> str:
    """The run's id, once it listens and has begun a step."""
    client = await run.client()
    await client.step(1)
    return list_runs(run.runs)[0].name


def read_next_message(viewer: websocket.WebSocket) -> tuple[dict[str, Any], int]:
    """The next message that is no picture, and how many pictures came before it."""
    pictures = 0
    while True:
        code, data = viewer.recv_data()
        if code == websocket.ABNF.OPCODE_TEXT:
            return json.loads(data), pictures
        assert code == websocket.ABNF.OPCODE_BINARY
        assert data[:4] in (b"\x89PNG", b"RIFF")
        pictures += 1


def say(viewer: websocket.WebSocket, **message: Any) -> dict[str, Any]:
    """What the server answers a message."""
    viewer.send(json.dumps(message))
    return read_next_message(viewer)[0]


async def test_a_run_is_paused_and_goes_on_from_the_page(tmp_path: Path) -> None:
    async with watch_run(tmp_path, go_on) as run:
        name = await run_id(run)
        with serving(tmp_path) as served:
            await asyncio.to_thread(pause_and_go_on, served, name)
        assert run.did() == ["paused", "resumed", "paused", "resumed", "stopped"]
        assert (await run.result()).status == "stopped"


def pause_and_go_on(served: Served, name: str) -> None:
    record = served.get("/runs")["runs"][0]
    assert (record["state"], record["socket"]) == ("running", True)
    for _ in range(2):
        assert served.post(f"/runs/{name}/pause")["ok"]
        with closing(served.stream(f"/runs/{name}/events", str(10**9))) as stream:
            next(status for _, _, status in stream if status.get("state") == "paused")
        assert served.post(f"/runs/{name}/resume_agent")["state"] == "running"
    wrong = served.post(f"/runs/{name}/answer", {"question": "q9", "text": "x"}, code=409)
    assert "error" in wrong
    served.post(f"/runs/{name}/answer", {"question": "q1", "more": 1}, code=400)
    assert served.post(f"/runs/{name}/stop")["ok"]


async def test_machine_obeys_only_its_current_viewer(tmp_path: Path) -> None:
    async with watch_run(tmp_path, go_on) as run:
        name = await run_id(run)
        with serving(tmp_path) as served:
            line = await asyncio.to_thread(two_viewers, served, name, run)
        assert (await run.result()).status == "succeeded"
        assert line in run.prompts()[-1]
        assert "Mallory" not in run.prompts()[-1]
    assert run.did() == ["took_over", "acted", "acted", "gave_back"]


def two_viewers(served: Served, name: str, run: WatchedRun) -> str:
    holder, other = (served.socket(f"/runs/{name}/input") for _ in range(2))
    evil = {"kind": "type", "text": "Mallory"}
    assert say(other, acts=[evil, evil])["error"] == "you do not hold the machine"
    taken = say(holder, take="Ruth")
    assert taken == {"ok": True, "lease": True, "width": 1280, "height": 720}
    assert say(other, take="Eve") == {"ok": False, "error": "Ruth holds the machine"}
    for wish in ({"acts": [evil]}, {"give": True}):
        assert "error" in say(other, **wish)
    acts = [{"kind": "click", "x": 300, "y": 136, "button": "left", "count": 1}]
    assert say(holder, acts=acts)["ok"]
    assert say(holder, acts=[{"kind": "type", "text": "Grace"}])["ok"]
    for wrong in ({"acts": [{"kind": "boom"}]}, {"acts": [evil] * 51}, {"more": 1}):
        assert "error" in say(holder, **wrong)
    assert run.form.text == "Grace"
    holder.send(json.dumps({"give": True}))
    last, pictures = read_next_message(holder)
    assert "Grace" in last["line"]
    assert pictures >= 0
    assert "error" in say(holder, acts=[evil])
    for viewer in (holder, other):
        viewer.close()
    return str(last["line"])


async def test_disconnected_viewer_gives_the_machine_back(tmp_path: Path) -> None:
    async with watch_run(tmp_path, go_on) as run:
        name = await run_id(run)
        with serving(tmp_path) as served:

            def take_and_go() -> None:
                viewer = served.socket(f"/runs/{name}/input")
                assert say(viewer, take="Ruth")["lease"] is True
                first = viewer.recv_data()
                assert first[0] == websocket.ABNF.OPCODE_BINARY
                assert viewer.sock is not None
                viewer.sock.close()
                wait_for(lambda: run.did() == ["took_over", "gave_back"])
                holder = served.socket(f"/runs/{name}/input")
                assert say(holder, take="Ruth")["lease"] is True
                served.process.kill()
                wait_for(lambda: run.did() == ["took_over", "gave_back"] * 2)
                holder.shutdown()  # type: ignore[no-untyped-call]

            await asyncio.to_thread(take_and_go)
        assert not run.work.done() if run.work else False, "it goes on without the server"


def test_taken_port_is_an_error_with_its_fix(tmp_path: Path) -> None:
    command = Command(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        error = command.run_refused("serve", "--port", port)
        assert f"cannot listen on port {port} of 127.0.0.1" in error
        assert "--port 0" in error


def test_without_runs_the_list_is_empty_and_a_message_says_so(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        assert served.get("/runs") == {"runs": []}
        os.kill(served.process.pid, signal.SIGINT)
        _, output = served.process.communicate(timeout=60)
    assert served.process.returncode == 0
    assert "no runs yet" in output
    assert "Traceback" not in output
