"""A run of the form in memory with a model on loopback, and a client of the run's socket."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hisa
from hisa.events import Event
from hisa.plugins.live.watched.run_socket import socket_path
from hisa.protocols import Environment
from hisa.testing import FakeEnvironment, FakeServer, ReceivedRequest, tool_call

DONE = tool_call("termination", "The name is entered.")
WAIT = tool_call("wait", 0.05)
TYPE_ADA = tool_call(
    "gui_action", "pyautogui.click(X_COORD, Y_COORD); pyautogui.write('Ada')", "Name"
)

_TRIES, _PAUSE = 6_000, 0.01


async def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so."""
    for _ in range(_TRIES):
        if is_so():
            return
        await asyncio.sleep(_PAUSE)
    raise AssertionError("it never came to that")


class Client:
    """A person's side of the socket: one request after the other."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.received = b""

    @classmethod
    async def at(cls, run_id: str) -> Client:
        """Connect, once the run listens."""
        path = socket_path(run_id)
        await until(path.exists)
        return cls(*await asyncio.open_unix_connection(str(path)))

    async def send(self, line: bytes) -> dict[str, Any]:
        """The answer to a line."""
        self.writer.write(line + b"\n")
        text = await self.reader.readline()
        self.received += text
        answer: dict[str, Any] = json.loads(text)
        if answer.get("bytes"):
            answer["data"] = await self.reader.readexactly(answer["bytes"])
            self.received += answer["data"]
        return answer

    async def ask(self, do: str, **more: Any) -> dict[str, Any]:
        """The answer to a request."""
        return await self.send(json.dumps({"do": do, **more}).encode())

    async def state(self, *states: str) -> dict[str, Any]:
        """The status, once its state is one of those."""
        return await self._once(lambda status: status["state"] in states)

    async def step(self, least: int) -> dict[str, Any]:
        """The status, once a step was begun."""
        return await self._once(lambda status: status["step"] >= least)

    async def question(self, kind: str) -> dict[str, Any]:
        """The question that waits, once one of a kind does."""
        status = await self._once(lambda status: (status["question"] or {}).get("kind") == kind)
        question: dict[str, Any] = status["question"]
        return question

    async def _once(self, is_so: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        for _ in range(_TRIES):
            if is_so(status := await self.ask("status")):
                return status
            await asyncio.sleep(_PAUSE)
        raise AssertionError(f"the run never came to that: {status}")

    async def close(self) -> None:
        """Hang up, as a process that dies does."""
        self.writer.close()
        with suppress(OSError):
            await self.writer.wait_closed()


@dataclass
class WatchedRun:
    """A run that goes on beside the test."""

    server: FakeServer
    form: Any
    events: list[Event] = field(default_factory=list)
    work: asyncio.Task[hisa.RunResult] | None = None
    runs: Path = Path()
    clients: list[Client] = field(default_factory=list)
    go: threading.Event = field(default_factory=threading.Event)

    async def client(self) -> Client:
        """A new connection to the run."""
        await until(lambda: any(self.runs.glob("*/run.json")))
        client = await Client.at(next(self.runs.glob("*/run.json")).parent.name)
        self.clients.append(client)
        return client

    async def result(self) -> hisa.RunResult:
        """The run's result."""
        assert self.work is not None
        return await self.work

    def prompts(self) -> list[str]:
        """What the planner was sent, in order."""
        return [r.text for r in self.server.requests if r.role == "planner"]

    def did(self) -> list[str]:
        """What persons did, by the events."""
        return [event.did for event in self.events if event.type == "person_acted"]


@asynccontextmanager
async def watch_run(
    folder: Path,
    plan: Callable[[ReceivedRequest, int], str],
    *,
    form: Environment | str | None = None,
    task: Any = 'Enter "Ada".',
    settings: dict[str, Any] | None = None,
    **run: Any,
) -> AsyncIterator[WatchedRun]:
    """A run whose planner is a function of the request and its number, counted from 1."""
    count = 0

    def answer(request: ReceivedRequest) -> str:
        nonlocal count
        if request.role != "planner":
            return "Succeeded. It did."
        count += 1
        return plan(request, count)

    with FakeServer(then=answer) as server:
        tree: dict[str, Any] = {
            "patterns": {"enabled": False},
            "models": {"planner": {"base_url": server.url}},
            **(settings or {}),
        }
        tree["run"] = {"folder": folder / "runs", "max_steps": 400, **tree.get("run", {})}
        watched_run = WatchedRun(
            server, FakeEnvironment() if form is None else form, runs=folder / "runs"
        )
        work = hisa.run(
            task,
            settings=hisa.Settings.model_validate(tree),
            model="my-model",
            environment=watched_run.form,
            on_event=watched_run.events.append,
            **run,
        )
        watched_run.work = asyncio.create_task(work)
        try:
            yield watched_run
        finally:
            watched_run.go.set()
            watched_run.work.cancel()
            await asyncio.wait([watched_run.work])
            for client in watched_run.clients:
                await client.close()
