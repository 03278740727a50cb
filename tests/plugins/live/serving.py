"""`hisa serve` as a process of its own, and a viewer of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import websocket

import hisa
from hisa.config import load
from hisa.testing import FakeEnvironment

ROOT = Path(__file__).parents[3]
SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(2)>"


def finished_run(runs: Path, text: str = "Ada") -> str:
    """A run of the offline model on the form; its id."""
    settings = load(
        environ={}, overrides={"patterns": {"enabled": False}, "run": {"folder": str(runs)}}
    )
    task = f'Click the "Name" field. Type "{text}". Click the "Save" button.'
    return hisa.run_sync(task, settings=settings, environment=FakeEnvironment()).folder.name


def wait_for(holds: Callable[[], Any], seconds: float = 60.0) -> Any:
    """What a condition gives once it holds."""
    end = time.monotonic() + seconds
    while not (value := holds()):
        assert time.monotonic() < end, "it never came to hold"
        time.sleep(0.02)
    return value


@dataclass
class Served:
    """A server and its address."""

    process: subprocess.Popen[str]
    url: str
    token: str

    @property
    def http(self) -> httpx.Client:
        """A client with the token."""
        headers = {"Authorization": f"Bearer {self.token}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=600, trust_env=False)

    def get(self, path: str, **more: Any) -> Any:
        """The JSON at a path below ``/api``."""
        with self.http as http:
            answer = http.get(f"/api{path}", **more)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, body: object = None, code: int = 200) -> Any:
        """The JSON that a body gets."""
        with self.http as http:
            answer = http.post(f"/api{path}", json=body if body is not None else {})
        assert answer.status_code == code, answer.text
        return answer.json()

    def stream(self, path: str, last: str = "") -> Generator[tuple[str, str, Any], None, None]:
        """The events of a stream: name, id and data."""
        headers = {"Last-Event-ID": last} if last else {}
        with self.http as http, http.stream("GET", f"/api{path}", headers=headers) as answer:
            fields: dict[str, str] = {}
            for line in answer.iter_lines():
                name, _, value = line.partition(": ")
                fields[name] = value
                if not line and "data" in fields:
                    yield fields.get("event", ""), fields.get("id", ""), json.loads(fields["data"])
                    fields = {}

    def socket(self, path: str, token: str | None = None, **more: Any) -> websocket.WebSocket:
        """A WebSocket, its first message sent."""
        connection = websocket.create_connection(f"ws{self.url[4:]}/api{path}", timeout=60, **more)
        connection.send(json.dumps({"token": self.token if token is None else token}))
        return connection


@contextmanager
def serving(folder: Path, *options: str, **environ: str) -> Iterator[Served]:
    """`hisa serve` in a folder; killed where it still goes on."""
    process = subprocess.Popen(
        [sys.executable, "-m", "hisa", "serve", *options],
        cwd=folder,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    with process:
        try:
            address = urlsplit(process.stdout.readline().split()[-1])
            token = address.fragment.removeprefix("token=")
            yield Served(process, f"{address.scheme}://{address.netloc}", token)
        finally:
            process.kill()
