"""A Chromium without a window that shows one page, driven by DevTools through a pipe."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import weakref
from typing import Any

from hisa.errors import EnvironmentFailed, UsageError

__all__ = ["Chromium"]

_SECONDS = 60.0
_PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
_PIPE = '"$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1'
_FLAGS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--mute-audio",
    "--allow-file-access-from-files",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "about:blank",
)


class Chromium:
    """One page of a Chromium of its own; no address of the network can be reached.

    Raises:
        UsageError: no Chromium is installed.
        EnvironmentFailed: it does not start or answer.
    """

    def __init__(self) -> None:
        program = next((path for name in _PROGRAMS if (path := shutil.which(name))), None)
        if program is None:
            raise UsageError("Chromium is not installed", fix="sudo apt-get install chromium")
        profile = tempfile.mkdtemp(prefix="hisa-eyes-")
        self._socket, browser_end = socket.socketpair()
        self._socket.settimeout(_SECONDS)
        with browser_end:
            process = subprocess.Popen(
                ["sh", "-c", _PIPE, "sh", program, f"--user-data-dir={profile}", *_FLAGS],
                stdin=browser_end.fileno(),
                stdout=browser_end.fileno(),
                start_new_session=True,
            )
        self.close = weakref.finalize(self, _end, process, self._socket, profile)
        self._received, self._last, self._session = bytearray(), 0, ""
        self._session = self._attach()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Returns the result of a DevTools command.

        Raises:
            EnvironmentFailed: Chromium ended, does not answer, or refuses the command.
        """
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        try:
            self._socket.sendall(json.dumps(message).encode() + b"\0")
            while (answer := self._read()).get("id") != self._last:
                pass
        except OSError as error:
            raise EnvironmentFailed(f"Chromium does not answer {method}: {error}") from error
        if "error" in answer:
            raise EnvironmentFailed(f"Chromium refuses {method}: {answer['error']}")
        return dict(answer["result"])

    def evaluate(self, expression: str) -> Any:
        """Returns the value of a JavaScript expression in the page; a promise is awaited.

        Raises:
            EnvironmentFailed: the expression throws, or Chromium does not answer.
        """
        settings = {"expression": expression, "returnByValue": True, "awaitPromise": True}
        answer = self.call("Runtime.evaluate", **settings)
        if "exceptionDetails" in answer:
            raise EnvironmentFailed(f"the page fails: {json.dumps(answer)[:500]}")
        return answer["result"].get("value")

    def show(self, url: str) -> None:
        """Load an address, and wait until the page and its fonts are complete."""
        self.call("Page.navigate", url=url)
        loaded = f"location.href === {json.dumps(url)} && document.readyState === 'complete'"
        deadline = time.monotonic() + _SECONDS
        while not self.evaluate(loaded):
            if time.monotonic() > deadline:
                raise EnvironmentFailed(f"{url} is still loading after {_SECONDS:.0f} s")
            time.sleep(0.02)
        self.evaluate("document.fonts.ready.then(() => 0)")

    def _attach(self) -> str:
        pages = [
            target
            for target in self.call("Target.getTargets")["targetInfos"]
            if target["type"] == "page"
        ]
        target = pages[0]["targetId"] if pages else self._open_page()
        answer = self.call("Target.attachToTarget", targetId=target, flatten=True)
        return str(answer["sessionId"])

    def _open_page(self) -> str:
        return str(self.call("Target.createTarget", url="about:blank")["targetId"])

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._received:
            chunk = self._socket.recv(1 << 20)
            if not chunk:
                raise OSError("it ended")
            self._received += chunk
        message, _, self._received = self._received.partition(b"\0")
        return dict(json.loads(message))


def _end(process: subprocess.Popen[bytes], own_end: socket.socket, profile: str) -> None:
    """Kill Chromium, which has nothing to save, and remove its profile."""
    own_end.close()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    shutil.rmtree(profile, ignore_errors=True)
