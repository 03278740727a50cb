"""A headless Chromium that shows pages which we hold in memory, spoken to over a pipe.

Nothing listens on a port and no page reaches a network: every request is answered here or fails.
Chromium ends when its pipe does, so it ends with us however we end, and the shell around it then
removes its profile.
"""

from __future__ import annotations

import base64
import contextlib
import json
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
"""Number of the window, method of the DevTools protocol, and its parameters."""
_MAX_ANSWER_BYTES = 32 << 20
"""A hundred pages with the most elements that the stage reports answer with about one million."""
_SHELL = '"$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1; rm -rf "$0"'
_FLAGS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-breakpad",
    "--disable-component-update",
    "--disable-background-networking",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--disable-sync",
    "--mute-audio",
    "--process-per-site",
    "--disable-features=Translate,OptimizationGuideOnDeviceModel,CalculateNativeWinOcclusion",
)
_BEFORE_EACH_PAGE = "window.alert = window.prompt = window.confirm = () => true;"
"""A dialog box would hold up every page of the process."""


class BrowserDied(EnvironmentFailed):
    """Chromium crashed, did not answer in time, or answered with too much."""


class PageBrowser:
    """Windows of one Chromium, all at the same page.

    Args:
        file: returns the bytes under a path of `ORIGIN`, or None: there are none.
        start: path of the page that the windows show.
        windows: how many.
        timeout: seconds that an answer may take.

    Raises:
        UsageError: no Chromium is installed.
        BrowserDied: it does not start.
    """

    def __init__(
        self, file: Callable[[str], bytes | None], start: str, windows: int, *, timeout: float = 60
    ) -> None:
        program = next((path for name in BROWSERS if (path := shutil.which(name))), None)
        if program is None:
            raise UsageError(
                f"no browser: none of {', '.join(BROWSERS)} is installed",
                fix="sudo apt-get install chromium",
            )
        self._file, self._timeout = file, timeout
        self._last, self._received, self._sessions = 0, bytearray(), list[str]()
        profile = tempfile.mkdtemp(prefix="hisa-pages-")
        flags = [*_FLAGS, f"--user-data-dir={profile}", "about:blank"]
        self.process = subprocess.Popen(
            ["sh", "-c", _SHELL, profile, program, *flags],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
        )
        assert self.process.stdin is not None
        os.set_blocking(self.process.stdin.fileno(), False)
        self._finalizer = weakref.finalize(self, _end, self.process, profile)
        try:
            for _ in range(windows):
                self._window(f"{ORIGIN}{start}")
        except BaseException:
            self.close()
            raise

    def send(self, commands: Sequence[Command]) -> list[dict[str, Any]]:
        """Send commands one after the other without waiting; return the answers in this order.

        Raises:
            BrowserDied: Chromium is gone, does not answer, or refuses a command.
        """
        return self._send([(self._sessions[window], *rest) for window, *rest in commands])

    def evaluate(self, expressions: Sequence[tuple[int, str]]) -> list[Any]:
        """Return the values of JavaScript expressions, each in a window; promises are awaited.

        Raises:
            BrowserDied: Chromium is gone, does not answer, or an expression throws.
        """
        settings = {"returnByValue": True, "awaitPromise": True}
        answers = self.send(
            [(w, "Runtime.evaluate", {"expression": e, **settings}) for w, e in expressions]
        )
        for answer in answers:
            if "exceptionDetails" in answer:
                raise BrowserDied(f"the stage failed: {json.dumps(answer)[:300]}")
        return [answer["result"].get("value") for answer in answers]

    def close(self) -> None:
        """End Chromium and remove its profile."""
        self._finalizer()

    def _send(self, commands: Sequence[tuple[str, str, Mapping[str, Any]]]) -> list[dict[str, Any]]:
        """See `send`; with the names of sessions, an empty one for Chromium itself."""
        deadline = time.monotonic() + self._timeout
        first = self._last + 1
        for command in commands:
            self._write(*command, deadline)
        # What is sent while waiting has numbers of its own, above these.
        numbers = range(first, first + len(commands))
        answers: dict[int, dict[str, Any]] = {}
        while len(answers) < len(commands):
            message = self._message(deadline)
            if message.get("id") in numbers:
                answers[message["id"]] = message
            elif message.get("method") == "Fetch.requestPaused":
                self._answer_request(message, deadline)
            elif message.get("method") == "Inspector.targetCrashed":
                raise BrowserDied("a page's process crashed")
        for number, (_, method, _) in zip(numbers, commands, strict=True):
            if "result" not in answers[number]:
                raise BrowserDied(f"Chromium refuses {method}: {answers[number].get('error')}")
        return [answers[number]["result"] for number in numbers]

    def _window(self, url: str) -> None:
        """Open one more window."""
        blank = {"url": "about:blank", "newWindow": True}
        target = self._send([("", "Target.createTarget", blank)])[0]["targetId"]
        flat = {"targetId": target, "flatten": True}
        session = str(self._send([("", "Target.attachToTarget", flat)])[0]["sessionId"])
        self._sessions.append(session)
        for method, parameters in (
            ("Inspector.enable", {}),
            ("Page.enable", {}),
            ("Page.addScriptToEvaluateOnNewDocument", {"source": _BEFORE_EACH_PAGE}),
            ("Emulation.setFocusEmulationEnabled", {"enabled": True}),
            ("Fetch.enable", {"patterns": [{"urlPattern": "*"}]}),
            ("Page.navigate", {"url": url}),
        ):
            self._send([(session, method, parameters)])
        window = len(self._sessions) - 1
        while self.evaluate([(window, "document.readyState + typeof wave")]) != ["completefunction"]:
            time.sleep(0.01)

    def _answer_request(self, message: dict[str, Any], deadline: float) -> None:
        parameters = message["params"]
        url, request = parameters["request"]["url"], {"requestId": parameters["requestId"]}
        path = url.removeprefix(ORIGIN).partition("?")[0].partition("#")[0]
        content = self._file(path) if url.startswith(ORIGIN + "/") else None
        session = message["sessionId"]
        if content is None:
            failure = {"errorReason": "AddressUnreachable", **request}
            self._write(session, "Fetch.failRequest", failure, deadline)
            return
        kind = "text/html" if path.endswith(".html") else "text/css" if ".css" in path else ""
        header = [{"name": "Content-Type", "value": f"{kind}; charset=utf-8"}] if kind else []
        body = base64.b64encode(content).decode()
        answer = {"responseCode": 200, "responseHeaders": header, "body": body, **request}
        self._write(session, "Fetch.fulfillRequest", answer, deadline)

    def _write(
        self, session: str, method: str, parameters: Mapping[str, Any], deadline: float
    ) -> None:
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        left = memoryview(json.dumps(message).encode() + b"\0")
        assert self.process.stdin is not None
        pipe = self.process.stdin.fileno()
        while left:
            if not select.select([], [pipe], [], max(0.0, deadline - time.monotonic()))[1]:
                raise BrowserDied(f"Chromium took nothing more for {self._timeout:g} s")
            try:
                left = left[os.write(pipe, left) :]
            except BlockingIOError:
                continue
            except OSError as error:
                raise BrowserDied(f"Chromium is gone: {error}") from error

    def _message(self, deadline: float) -> dict[str, Any]:
        """The next message of Chromium."""
        assert self.process.stdout is not None
        pipe = self.process.stdout.fileno()
        searched = 0
        while (end := self._received.find(b"\0", searched)) < 0:
            searched = len(self._received)
            if searched > _MAX_ANSWER_BYTES:
                raise BrowserDied(f"an answer is longer than {_MAX_ANSWER_BYTES} bytes")
            if not select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise BrowserDied(f"Chromium did not answer for {self._timeout:g} s")
            chunk = os.read(pipe, 1 << 20)
            if not chunk:
                raise BrowserDied("Chromium is gone")
            self._received += chunk
        message = json.loads(self._received[:end])
        del self._received[: end + 1]
        return message if isinstance(message, dict) else {}


def _end(process: subprocess.Popen[bytes], profile: str) -> None:
    """End Chromium by the end of its pipe, by force where that does not help."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    try:
        process.wait(3)  # chosen by hand; it takes some tenths of a second
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    shutil.rmtree(profile, ignore_errors=True)
