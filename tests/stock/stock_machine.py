"""A private desktop on which the published OSWorld server is stood in for: real commands, real X.

In a test, behind a guest that can also misbehave::

    with StockMachine() as machine, StockGuest(answers=machine) as guest:
        ...  # guest.url
"""

from __future__ import annotations

import asyncio
import http.client
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Coroutine, Sequence
from pathlib import Path
from shlex import join, quote
from typing import Any, TypeVar

import tests.stock.served
from hisa.config import EnvironmentSettings
from hisa.environments.open_environment import open_environment
from hisa.environments.share import Share
from hisa.errors import EnvironmentFailed
from hisa.machine.patience import patience
from hisa.protocols import Environment
from hisa.screen.geometry import Size
from hisa.screen.observation import DEFAULT_IMAGE_LIMIT
from tests.stock.served.stock_messages import Answers, Reply, Request

__all__ = ["StockMachine"]

_START_SECONDS, _POLL_SECONDS = 30.0, 0.05  # chosen by hand
_T = TypeVar("_T")
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
        self._desktop: Environment | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> StockMachine:
        """Start the desktop, and the server in it."""
        self._thread.start()
        self._folder = Path(tempfile.mkdtemp(prefix="hisa-stock-"))
        shutil.copytree(Path(tests.stock.served.__path__[0]), self._folder / "stock")
        try:
            self.restore()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        """End the desktop; nothing of it is left."""
        self._end_desktop()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def restore(self) -> None:
        """Start afresh."""
        self._end_desktop()
        (self._folder / "socket").unlink(missing_ok=True)
        share = Share(str(self._folder), writable=True)
        settings = EnvironmentSettings(
            width=self._size.width, height=self._size.height, share=(f"{self._folder}:rw",)
        )
        self._desktop = self._run(open_environment(settings).__aenter__())
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
        if self._desktop is None:
            raise EnvironmentFailed("the stock machine is not running", fix="start it first")
        done = self._run(self._desktop.execute(line, timeout=60.0, limit=1 << 20))
        if done.exit_code != 0:
            raise EnvironmentFailed(f"{line[:200]}: {done}", fix="hisa doctor")
        return done.output

    def _run(self, work: Coroutine[Any, Any, _T]) -> _T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _end_desktop(self) -> None:
        desktop, self._desktop = self._desktop, None
        if desktop is not None:
            self._run(desktop.__aexit__(None, None, None))

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
