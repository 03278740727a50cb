"""A private desktop on which the published OSWorld server is stood in for: real commands, real X.

In a test, behind a guest that can also misbehave::

    with StockMachine() as machine, StockGuest(answers=machine) as guest:
        ...  # guest.url
"""

from __future__ import annotations

import http.client
import json
import shutil
import socket
import tempfile
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from shlex import join, quote
from typing import Any

import hisa.testing.stock
from hisa.errors import EnvironmentFailed
from hisa.machine.patience import patience
from hisa.plugins.desktop.runtime import DesktopRuntime
from hisa.plugins.desktop.share import Share
from hisa.screen.geometry import Size
from hisa.screen.observation import DEFAULT_IMAGE_LIMIT
from hisa.testing.stock.stock_messages import Answers, Reply, Request

__all__ = ["StockMachine"]

_START_SECONDS, _POLL_SECONDS = 30.0, 0.05  # chosen by hand
_ANSWER_SECONDS = 300.0
"""Longer than any command of a stock guest may take."""


class StockMachine(Answers):
    """Answers as a stock guest does; a context manager.

    Args:
        size: its screen, in pixels.
        seconds: the longest that a command may take; 120 where the published server runs.
        without: names of programs that its commands do not find.
        environment: variables of the server, on top of the desktop's.
    """

    def __init__(
        self,
        size: Size = DEFAULT_IMAGE_LIMIT,
        *,
        seconds: float = 120.0,
        without: Sequence[str] = (),
        environment: Sequence[tuple[str, str]] = (),
    ) -> None:
        self._size = size
        self._options = ["--seconds", f"{seconds:g}", "--without", ",".join(without)]
        self._environment = [f"{name}={value}" for name, value in environment]
        self._folder = Path()
        self._runtime: DesktopRuntime | None = None

    def __enter__(self) -> StockMachine:
        """Start the desktop, and the server in it."""
        self._folder = Path(tempfile.mkdtemp(prefix="hisa-stock-"))
        shutil.copytree(Path(hisa.testing.stock.__path__[0]), self._folder / "stock")
        try:
            self.restore()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        """End the desktop; nothing of it is left."""
        if self._runtime is not None:
            self._runtime.stop()
            self._runtime = None
        shutil.rmtree(self._folder, ignore_errors=True)

    def restore(self) -> None:
        """Start afresh."""
        if self._runtime is not None:
            self._runtime.stop()
        (self._folder / "socket").unlink(missing_ok=True)
        share = Share(str(self._folder), writable=True)
        self._runtime = DesktopRuntime(self._size, shares=[share])
        self._runtime.start()
        inside = quote(share.place)
        words = ["env", *self._environment, "python3", "-m", "stock.stock_server"]
        line = join([*words, f"{share.place}/socket", *self._options])
        self.execute(f"PYTHONPATH={inside}:$PYTHONPATH {line} </dev/null >{inside}/log 2>&1 &")
        self._await_server()

    def execute(self, line: str) -> str:
        """Run a line of bash in the desktop, past the server; returns its output.

        Raises:
            EnvironmentFailed: it failed.
        """
        if self._runtime is None:
            raise EnvironmentFailed("the stock machine is not running", fix="start it first")
        handle = self._runtime.handle
        token = Path(handle.token_file).read_text("ascii")
        asked = {"id": uuid.uuid4().hex, "command": line, "timeout": 60.0, "limit": 1 << 20}
        head = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        reply = _exchange(handle.socket, "POST", "/hisa/execute", json.dumps(asked).encode(), head)
        done: dict[str, Any] = json.loads(reply.body)
        if reply.status != 200 or done["exit_code"] != 0:
            raise EnvironmentFailed(f"{line[:200]}: {done}", fix="hisa doctor")
        return str(done["output"])

    def answer(self, asked: Request) -> Reply:
        """Pass it on to the server inside."""
        path = str(self._folder / "socket")
        return _exchange(path, asked.method, asked.path, asked.body, dict(asked.headers.items()))

    def _await_server(self) -> None:
        deadline = time.monotonic() + patience(_START_SECONDS)
        while time.monotonic() < deadline:
            try:
                if _exchange(str(self._folder / "socket"), "GET", "/platform", b"", {}).body:
                    return
            except OSError:
                time.sleep(_POLL_SECONDS)
        log = (self._folder / "log").read_text("utf-8", "replace")
        raise EnvironmentFailed(f"the stock server did not come up: {log[-500:]}", fix="see above")


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("guest", timeout=_ANSWER_SECONDS)
        self._path = path

    def connect(self) -> None:
        """Connect to the path instead of a host."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _exchange(path: str, method: str, route: str, body: bytes, headers: dict[str, str]) -> Reply:
    connection = _UnixConnection(path)
    try:
        connection.request(method, route, body, headers)
        response = connection.getresponse()
        told = dict(response.getheaders())
        disposition = "Content-Disposition"
        more = {disposition: told[disposition]} if disposition in told else {}
        return Reply(response.read(), told.get("Content-Type", ""), response.status, more)
    finally:
        connection.close()
