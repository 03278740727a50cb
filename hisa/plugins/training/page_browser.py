"""A headless Chromium that shows pages which we hold in memory, spoken to over a pair of sockets.

Nothing listens on a port and no page reaches a network: every request is answered here or fails.
Chromium ends when its socket does, so with us even where we are killed; then the shell around it
removes its profile.
"""

from __future__ import annotations

import base64
import contextlib
import json
import mimetypes
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from hisa.errors import EnvironmentFailed, UsageError
from hisa.plugins.gym.miniwob.stage import BROWSERS

__all__ = ["BrowserDied", "PageBrowser"]

_ORIGIN = "https://pages.invalid"
_SECONDS = 60  # that an answer may take
_MAX_ANSWER_BYTES = 32 << 20  # a hundred full pages answer with about one million
_SHELL = '"$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1; rm -rf "$0"'
_FLAGS = """--headless=new --remote-debugging-pipe --no-sandbox --disable-gpu --no-first-run
    --no-startup-window --disable-dev-shm-usage --disable-extensions --disable-breakpad
    --disable-component-update --disable-background-networking --disable-background-timer-throttling
    --disable-backgrounding-occluded-windows --disable-renderer-backgrounding --disable-sync
    --mute-audio --process-per-site
    --disable-features=Translate,OptimizationGuideOnDeviceModel,CalculateNativeWinOcclusion"""


class BrowserDied(EnvironmentFailed):
    """Chromium crashed, did not answer in time, or answered with too much."""


class PageBrowser:
    """The one window of a Chromium, at the page ``start``; an answer may take a minute.

    ``file`` gives the bytes under a path of the pages, or None; ``close`` ends Chromium.

    Raises:
        UsageError: no Chromium is installed.
        BrowserDied: it does not start.
    """

    def __init__(self, file: Callable[[str], bytes | None], start: str) -> None:
        program = next((path for name in BROWSERS if (path := shutil.which(name))), None)
        if program is None:
            message = f"no browser: none of {', '.join(BROWSERS)} is installed"
            raise UsageError(message, fix="sudo apt-get install chromium")
        self._file, self._session = file, ""
        self._last, self._received = 0, bytearray()
        profile = tempfile.mkdtemp(prefix="hisa-pages-")
        flags = [*_FLAGS.split(), f"--user-data-dir={profile}"]
        self._socket, theirs = socket.socketpair()
        self._socket.settimeout(_SECONDS)
        with theirs:
            self.process = subprocess.Popen(
                ["sh", "-c", _SHELL, profile, program, *flags],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                start_new_session=True,
            )
        self.close = weakref.finalize(self, _end, self.process, self._socket, profile)
        try:
            self._open(f"{_ORIGIN}{start}")
        except BaseException:
            self.close()
            raise

    def evaluate(self, expression: str) -> Any:
        """Returns the value of a JavaScript expression in the window; promises are awaited.

        Raises:
            BrowserDied: Chromium is gone, does not answer, or the expression throws.
        """
        settings = {"expression": expression, "returnByValue": True, "awaitPromise": True}
        answer = self._send("Runtime.evaluate", settings)
        if "exceptionDetails" in answer:
            raise BrowserDied(f"the stage failed: {json.dumps(answer)[:300]}")
        return answer["result"].get("value")

    def _send(self, method: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Send a command; return its answer, and answer what pages ask for meanwhile."""
        deadline = time.monotonic() + _SECONDS
        try:
            number = self._write(self._session, method, parameters)
            while True:
                if time.monotonic() > deadline:
                    raise TimeoutError("timed out")
                message = self._message()
                if message.get("id") == number:
                    break
                if message.get("method") == "Fetch.requestPaused":
                    self._answer_request(message["sessionId"], message["params"])
                elif message.get("method") == "Inspector.targetCrashed":
                    raise BrowserDied("a page's process crashed")
        except OSError as error:
            raise BrowserDied(f"Chromium is gone, or took over {_SECONDS} s: {error}") from error
        if "error" in message:
            raise BrowserDied(f"Chromium refuses a command: {message['error']}")
        return dict(message["result"])

    def _open(self, url: str) -> None:
        """Open the window, and wait until it shows a page with the stage."""
        blank = {"url": "about:blank", "newWindow": True}
        target = self._send("Target.createTarget", blank)["targetId"]
        attached = self._send("Target.attachToTarget", {"targetId": target, "flatten": True})
        self._session = str(attached["sessionId"])
        self._send("Inspector.enable", {})
        self._send("Emulation.setFocusEmulationEnabled", {"enabled": True})
        self._send("Fetch.enable", {"patterns": [{"urlPattern": "*"}]})
        self._send("Page.navigate", {"url": url})
        while self.evaluate("document.readyState + typeof wave") != "completefunction":
            time.sleep(0.01)

    def _answer_request(self, session: str, paused: dict[str, Any]) -> None:
        url = paused["request"]["url"].partition("?")[0].partition("#")[0]
        content = self._file(url.removeprefix(_ORIGIN)) if url.startswith(_ORIGIN) else None
        method = "Fetch.failRequest"
        answer: dict[str, Any] = {"errorReason": "AddressUnreachable"}
        if content is not None:
            kind = f"{mimetypes.guess_type(url)[0] or 'application/octet-stream'}; charset=utf-8"
            headers = [{"name": "Content-Type", "value": kind}]
            body = base64.b64encode(content).decode()
            method = "Fetch.fulfillRequest"
            answer = {"responseCode": 200, "responseHeaders": headers, "body": body}
        self._write(session, method, {"requestId": paused["requestId"], **answer})

    def _write(self, session: str, method: str, parameters: Any) -> int:
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters}
        named = {**message, "sessionId": session} if session else message
        self._socket.sendall(json.dumps(named).encode() + b"\0")
        return self._last

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._received:
            if len(self._received) > _MAX_ANSWER_BYTES:
                raise BrowserDied(f"an answer is longer than {_MAX_ANSWER_BYTES} bytes")
            self._received += (chunk := self._socket.recv(1 << 20))
            if not chunk:
                raise BrowserDied("Chromium is gone")
        message, _, self._received = self._received.partition(b"\0")
        return dict(json.loads(message))


def _end(process: subprocess.Popen[bytes], ours: socket.socket, profile: str) -> None:
    """End Chromium, which has nothing to keep, and remove its profile."""
    ours.close()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for _ in range(100):  # its processes end one after the other, and may write until then
        shutil.rmtree(profile, ignore_errors=True)
        if not os.path.exists(profile):
            break
        time.sleep(0.02)
