"""A headless Chromium that shows pages which we hold in memory, spoken to over a pipe.

Nothing listens on a port and no page reaches a network: every request is answered here or fails.
Chromium ends when its pipe does, so with us even where we are killed; then the shell around it
removes its profile.
"""

from __future__ import annotations

import base64
import contextlib
import json
import mimetypes
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hisa.errors import EnvironmentFailed, UsageError
from hisa.plugins.gym.miniwob.stage import BROWSERS

__all__ = ["ORIGIN", "BrowserDied", "Command", "PageBrowser"]

ORIGIN = "https://pages.invalid"
Command = tuple[int, str, Mapping[str, Any]]
"""Number of the window, -1: none; method of the DevTools protocol; its parameters."""
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
    """Windows of one Chromium, all at the page ``start``; an answer may take ``timeout`` seconds.

    ``file`` gives the bytes under a path of `ORIGIN`, or None; ``close`` ends Chromium.

    Raises:
        UsageError: no Chromium is installed.
        BrowserDied: it does not start.
    """

    def __init__(
        self, file: Callable[[str], bytes | None], start: str, windows: int, *, timeout: float = 60
    ) -> None:
        program = next((path for name in BROWSERS if (path := shutil.which(name))), None)
        if program is None:
            message = f"no browser: none of {', '.join(BROWSERS)} is installed"
            raise UsageError(message, fix="sudo apt-get install chromium")
        self._file, self._timeout = file, timeout
        self._last, self._received, self._sessions = 0, bytearray(), [""]
        profile = tempfile.mkdtemp(prefix="hisa-pages-")
        flags = [*_FLAGS.split(), f"--user-data-dir={profile}"]
        self.process = subprocess.Popen(["sh", "-c", _SHELL, profile, program, *flags], bufsize=0,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)  # fmt: skip
        pipes = (self.process.stdin, self.process.stdout)
        self._to, self._from = (pipe.fileno() for pipe in pipes if pipe is not None)
        os.set_blocking(self._to, False)
        self.close = weakref.finalize(self, _end, self.process, profile)
        try:
            self._open(f"{ORIGIN}{start}", windows)
        except BaseException:
            self.close()
            raise

    def send(self, commands: Sequence[Command]) -> list[dict[str, Any]]:
        """Send commands one after the other without waiting; return the answers in this order.

        Raises:
            BrowserDied: Chromium is gone, does not answer, or refuses a command.
        """
        deadline = time.monotonic() + self._timeout
        # What is sent while waiting has numbers of its own, above these.
        numbers = range(self._last + 1, self._last + 1 + len(commands))
        for window, method, parameters in commands:
            self._write(self._sessions[window], method, parameters, deadline)
        answers: dict[int, dict[str, Any]] = {}
        while len(answers) < len(commands):
            message = self._message(deadline)
            if message.get("id") in numbers:
                answers[message["id"]] = message
            elif message.get("method") == "Fetch.requestPaused":
                self._answer_request(message["sessionId"], message["params"], deadline)
            elif message.get("method") == "Inspector.targetCrashed":
                raise BrowserDied("a page's process crashed")
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

    def _answer_request(self, session: str, paused: dict[str, Any], deadline: float) -> None:
        url = paused["request"]["url"].partition("?")[0].partition("#")[0]
        content = self._file(url.removeprefix(ORIGIN)) if url.startswith(ORIGIN) else None
        method = "Fetch.failRequest"
        answer: dict[str, Any] = {"errorReason": "AddressUnreachable"}
        if content is not None:
            kind = f"{mimetypes.guess_type(url)[0] or 'application/octet-stream'}; charset=utf-8"
            headers = [{"name": "Content-Type", "value": kind}]
            answer = {"responseHeaders": headers, "body": base64.b64encode(content).decode()}
            method, answer["responseCode"] = "Fetch.fulfillRequest", 200
        self._write(session, method, {"requestId": paused["requestId"], **answer}, deadline)

    def _write(self, session: str, method: str, parameters: Any, deadline: float) -> None:
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters}
        named = {**message, "sessionId": session} if session else message
        left = json.dumps(named).encode() + b"\0"
        while left:
            if not select.select([], [self._to], [], max(0.0, deadline - time.monotonic()))[1]:
                raise BrowserDied(f"Chromium took nothing more for {self._timeout:g} s")
            try:
                left = left[os.write(self._to, left) :]
            except OSError as error:
                raise BrowserDied(f"Chromium is gone: {error}") from error

    def _message(self, deadline: float) -> dict[str, Any]:
        searched = 0
        while (end := self._received.find(b"\0", searched)) < 0:
            searched = len(self._received)
            if searched > _MAX_ANSWER_BYTES:
                raise BrowserDied(f"an answer is longer than {_MAX_ANSWER_BYTES} bytes")
            if not select.select([self._from], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise BrowserDied(f"Chromium did not answer for {self._timeout:g} s")
            self._received += (chunk := os.read(self._from, 1 << 20))
            if not chunk:
                raise BrowserDied("Chromium is gone")
        answer, self._received = self._received[:end], self._received[end + 1 :]
        return dict(json.loads(answer))


def _end(process: subprocess.Popen[bytes], profile: str) -> None:
    """End Chromium, which has nothing to keep, and remove its profile."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for _ in range(100):  # its processes end one after the other, and may write until then
        shutil.rmtree(profile, ignore_errors=True)
        if not os.path.exists(profile):
            break
        time.sleep(0.02)
