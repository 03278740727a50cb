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
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hisa.errors import EnvironmentFailed, UsageError
from hisa.plugins.gym.miniwob.stage import BROWSERS

__all__ = ["BrowserDied", "Command", "PageBrowser"]

_ORIGIN = "https://pages.invalid"
Command = tuple[int, str, Mapping[str, Any]]
"""Number of the window, -1: none; method of the DevTools protocol; its parameters."""
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
    """Windows of one Chromium, all at the page ``start``; an answer may take a minute.

    ``file`` gives the bytes under a path of the pages, or None; ``close`` ends Chromium.

    Raises:
        UsageError: no Chromium is installed.
        BrowserDied: it does not start.
    """

    def __init__(self, file: Callable[[str], bytes | None], start: str, windows: int) -> None:
        program = next((path for name in BROWSERS if (path := shutil.which(name))), None)
        if program is None:
            message = f"no browser: none of {', '.join(BROWSERS)} is installed"
            raise UsageError(message, fix="sudo apt-get install chromium")
        self._file, self._sessions = file, [""]
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
            self._open(f"{_ORIGIN}{start}", windows)
        except BaseException:
            self.close()
            raise

    def send(self, commands: Sequence[Command]) -> list[dict[str, Any]]:
        """Send commands one after the other without waiting; return the answers in this order.

        Raises:
            BrowserDied: Chromium is gone, does not answer, or refuses a command.
        """
        deadline = time.monotonic() + _SECONDS
        # What is sent while waiting has numbers of its own, above these.
        numbers = range(self._last + 1, self._last + 1 + len(commands))
        answers: dict[int, dict[str, Any]] = {}
        try:
            for window, method, parameters in commands:
                self._write(self._sessions[window], method, parameters)
            while len(answers) < len(commands):
                if time.monotonic() > deadline:
                    raise TimeoutError("timed out")
                message = self._message()
                if message.get("id") in numbers:
                    answers[message["id"]] = message
                elif message.get("method") == "Fetch.requestPaused":
                    self._answer_request(message["sessionId"], message["params"])
                elif message.get("method") == "Inspector.targetCrashed":
                    raise BrowserDied("a page's process crashed")
        except OSError as error:
            raise BrowserDied(f"Chromium is gone, or took over {_SECONDS} s: {error}") from error
        if refused := [answer["error"] for answer in answers.values() if "error" in answer]:
            raise BrowserDied(f"Chromium refuses a command: {refused[0]}")
        return [answers[number]["result"] for number in numbers]

    def evaluate(self, expressions: Sequence[tuple[int, str]]) -> list[Any]:
        """Return the values of JavaScript expressions, each in a window; promises are awaited.

        Raises:
            BrowserDied: Chromium is gone, does not answer, or an expression throws.
        """
        method, settings = "Runtime.evaluate", {"returnByValue": True, "awaitPromise": True}
        answers = self.send([(w, method, {"expression": e, **settings}) for w, e in expressions])
        if thrown := [answer for answer in answers if "exceptionDetails" in answer]:
            raise BrowserDied(f"the stage failed: {json.dumps(thrown[0])[:300]}")
        return [answer["result"].get("value") for answer in answers]

    def _open(self, url: str, windows: int) -> None:
        """Open windows, all at once, and wait until they show a page with the stage."""
        blank = {"url": "about:blank", "newWindow": True}
        targets = self.send([(-1, "Target.createTarget", blank)] * windows)
        flat = [{"targetId": target["targetId"], "flatten": True} for target in targets]
        attached = self.send([(-1, "Target.attachToTarget", options) for options in flat])
        self._sessions = [*(str(answer["sessionId"]) for answer in attached), ""]
        settings: dict[str, dict[str, Any]] = {
            "Inspector.enable": {},
            "Emulation.setFocusEmulationEnabled": {"enabled": True},
            "Fetch.enable": {"patterns": [{"urlPattern": "*"}]},
            "Page.navigate": {"url": url},
        }
        for method, parameters in settings.items():
            self.send([(window, method, parameters) for window in range(windows)])
        ready = [(window, "document.readyState + typeof wave") for window in range(windows)]
        while set(self.evaluate(ready)) != {"completefunction"}:
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

    def _write(self, session: str, method: str, parameters: Any) -> None:
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters}
        named = {**message, "sessionId": session} if session else message
        self._socket.sendall(json.dumps(named).encode() + b"\0")

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
