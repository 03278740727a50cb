"""Finds the browser that runs on this machine, and controls it through its DevTools port.

Nothing of a page is evaluated: the only script is ours, ``browser_page.js``, run in a world that
the page's scripts do not reach, and all texts go to it as arguments.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import socket
import struct
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .files_common import Refused

if TYPE_CHECKING:
    from typing import Self  # newer than the Python of some machines

__all__ = [
    "OWN_PORT",
    "Devtools",
    "Process",
    "Tab",
    "ask",
    "connect_browser",
    "find_port",
    "front",
    "list_browsers",
    "port_of",
    "select_tab",
    "targets",
]

_NAMES = ("chromium", "chromium-browser", "chrome", "google-chrome", "brave", "msedge")
OWN_PORT = 1336
"""The port that ``desktop/guest/chromium.sh`` sets."""
_PORTS = (1337, 9222, OWN_PORT)
"""Ports to try if no browser's command line names one: those of OSWorld's machines, and ours."""
_SCRIPT = Path(__file__).with_name("browser_page.js")
_MOST = 64 << 20
"""Bytes of one message; a picture of a long page is the largest."""
_ANSWER = 20.0
"""Seconds for one call; a page that shows a dialog does not answer at all."""
_LOAD = 20.0
"""Seconds that a page may load before its state is returned as it is."""
_POLL = 0.1


class _Closed(Refused):
    """The tab no longer exists."""


class Process(NamedTuple):
    """A browser that runs.

    Chromium rewrites its command line with spaces between the words, so that they look like spaces
    inside a word.
    """

    number: int
    name: str
    words: list[str]

    def flag(self, name: str) -> str:
        """Returns the last value of a switch; empty if it is not set."""
        start = f"--{name}="
        return next((w[len(start) :] for w in reversed(self.words) if w.startswith(start)), "")

    @property
    def own_profile(self) -> str:
        """The folder of profiles that it was started with; empty: the usual one."""
        folder = self.flag("user-data-dir")
        while " " in folder and not Path(folder).is_dir():
            folder = folder.rpartition(" ")[0]
        return folder

    @property
    def profile(self) -> Path:
        """The folder of its profiles."""
        usual = "google-chrome" if self.name in ("chrome", "google-chrome") else "chromium"
        return Path(self.own_profile or Path.home() / ".config" / usual)


def list_browsers() -> list[Process]:
    """Returns the browsers that run, the latest first; their helpers are left out."""
    browsers = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            text = (folder / "cmdline").read_bytes().decode("utf-8", "replace")
        except OSError:
            continue
        program, *words = re.split(r"[\0 ](?=--)", text.rstrip("\0"))
        name = re.split(r"[\0 ]", program)[0].rpartition("/")[2]
        if name in _NAMES and not any(word.startswith("--type=") for word in words):
            browsers.append(Process(int(folder.name), name, words))
    return sorted(browsers, reverse=True)


def port_of(process: Process) -> int:
    """Returns the DevTools port of a browser; 0 if it has none."""
    text = process.flag("remote-debugging-port")
    if text == "0":
        try:
            text = (process.profile / "DevToolsActivePort").read_text().split("\n", 1)[0]
        except OSError:
            return 0
    return int(text) if text.isdigit() else 0


def ask(port: int, path: str, *, method: str = "GET") -> Any:
    """Sends a request to the DevTools port, and returns the JSON of its answer.

    Args:
        port: the DevTools port, on this machine.
        path: with its query, as "/json/list".
        method: the HTTP method.
    """
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method)
    with urllib.request.urlopen(request, timeout=_ANSWER) as answer:
        return json.loads(answer.read(_MOST))


def find_port() -> int:
    """Returns the port by which the browser answers.

    Raises:
        Refused: no browser runs, or it has no port.
    """
    running = list_browsers()
    stated = [port for port in map(port_of, running) if port]
    for port in (*stated, *_PORTS):
        try:
            if isinstance(ask(port, "/json/version"), dict):
                return port
        except (OSError, ValueError):
            continue
    if not running:
        raise Refused("no browser runs")
    raise Refused(
        f"the browser (process {running[0].number}) has no DevTools port; browser_restart starts"
        " it again with one and with the tabs it had"
    )


class Devtools:
    """A connection to one target of the browser.

    Args:
        address: ``ws://HOST:PORT/PATH``, as the browser lists it.
    """

    def __init__(self, address: str) -> None:
        parts = urllib.parse.urlsplit(address)
        self._number = 0
        self.events: list[dict[str, Any]] = []
        self._socket = socket.create_connection((parts.hostname, parts.port), timeout=_ANSWER)
        key = base64.b64encode(os.urandom(16)).decode()
        self._socket.sendall(
            f"GET {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
            "Sec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        self._stream = self._socket.makefile("rb")
        status = self._stream.readline(1000)
        if b" 101 " not in status:
            gone = not status or b" 500 " in status  # "No such target id"
            raise (_Closed if gone else Refused)("the browser takes no connection to this tab")
        while self._stream.readline(10_000).strip():
            pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._socket.close()

    def call(self, method: str, *, seconds: float = _ANSWER, **params: Any) -> dict[str, Any]:
        """Calls a method of the DevTools protocol, and returns its result.

        Raises:
            Refused: the browser refuses it, or does not answer in time.
        """
        self._number += 1
        number, deadline = self._number, time.monotonic() + seconds
        self._send(1, json.dumps({"id": number, "method": method, "params": params}).encode())
        while True:
            answer = self.next_message(deadline - time.monotonic())
            if answer is None:
                raise Refused(
                    f"the page does not answer ({method}, {seconds:g} s): it is busy, or shows a"
                    " dialog that waits for a person; look at the screen"
                )
            if answer.get("id") != number:
                self.events.append(answer)
            elif "error" in answer:
                raise Refused(f"{method}: {answer['error'].get('message')}")
            else:
                result: dict[str, Any] = answer["result"]
                return result

    def next_message(self, seconds: float) -> dict[str, Any] | None:
        """Returns the next message, which may be an event; None if none arrives in time."""
        if seconds <= 0:
            return None
        self._socket.settimeout(seconds)
        try:
            message = json.loads(self._read_message())
        except TimeoutError:
            return None
        return message if isinstance(message, dict) else {}

    def _send(self, kind: int, data: bytes) -> None:
        size = len(data)
        if size < 126:
            head = struct.pack("!BB", 0x80 | kind, 0x80 | size)
        elif size < 2**16:
            head = struct.pack("!BBH", 0x80 | kind, 0xFE, size)
        else:
            head = struct.pack("!BBQ", 0x80 | kind, 0xFF, size)
        self._socket.settimeout(_ANSWER)
        self._socket.sendall(head + bytes(4) + data)  # a mask of zeros changes nothing

    def _read(self, count: int) -> bytes:
        data = self._stream.read(count)
        if len(data) < count:
            raise _Closed("the tab was closed")
        return data

    def _read_message(self) -> bytes:
        payload = b""
        while True:
            first, second = self._read(2)
            size = second & 0x7F
            if size >= 126:
                (size,) = struct.unpack(
                    "!H" if size == 126 else "!Q", self._read(2 * 4 ** (size - 126))
                )
            if first & 0x0F == 8:
                raise _Closed("the tab was closed")
            if size + len(payload) > _MOST:
                raise Refused(f"an answer of more than {_MOST >> 20} MiB")
            data = self._read(size)
            if first & 0x0F == 9:
                self._send(10, data)
            elif first & 0x0F < 3:
                payload += data
                if first & 0x80:
                    return payload


class Tab(Devtools):
    """A connection to a page, with our script in a world of its own.

    Args:
        target: one of ``/json/list``.
    """

    def __init__(self, target: dict[str, Any]) -> None:
        super().__init__(str(target["webSocketDebuggerUrl"]))
        self.id = str(target["id"])
        self._page = ""

    def call_page(self, function: str, /, *, seconds: float = _ANSWER, **arguments: Any) -> Any:
        """Calls a function of our script, and returns its answer.

        Raises:
            Refused: the script names a problem, or the page does not answer.
        """
        if not self._page:
            frame = self.call("Page.getFrameTree")["frameTree"]["frame"]["id"]
            world = self.call("Page.createIsolatedWorld", frameId=frame, worldName="hisa")
            script_result = self.call(
                "Runtime.evaluate",
                expression=_SCRIPT.read_text("utf-8"),
                contextId=world["executionContextId"],
            )
            self._page = script_result["result"]["objectId"]
        call_result = self.call(
            "Runtime.callFunctionOn",
            functionDeclaration="function (name, given) { return this.call(name, given); }",
            objectId=self._page,
            arguments=[{"value": function}, {"value": arguments}],
            returnByValue=True,
            seconds=seconds,
        )
        if wrong := call_result.get("exceptionDetails"):
            thrown = wrong.get("exception", {}).get("description") or wrong.get("text")
            raise Refused(str(thrown)[:300])
        answer = call_result["result"].get("value")
        if isinstance(answer, dict) and "problem" in answer:
            raise Refused(str(answer["problem"]))
        return answer

    def forget_page(self) -> None:
        """Forget the page's world: each document has its own."""
        self._page = ""

    def wait_until_loaded(self, *, seconds: float = _LOAD) -> dict[str, Any]:
        """Returns `info` once the page is loaded, or as it is after some seconds."""
        deadline = time.monotonic() + seconds
        while True:
            self.forget_page()
            try:
                page_info: dict[str, Any] = self.call_page("info", seconds=max(2.0, seconds))
            except Refused as error:
                if "does not answer" in str(error) or time.monotonic() > deadline:
                    raise
                page_info = {}  # the document changes just now
            if page_info.get("state") == "complete" or time.monotonic() > deadline:
                return page_info
            time.sleep(_POLL)


def targets(port: int) -> list[dict[str, Any]]:
    """Returns the tabs, the one most recently in front first."""
    return [target for target in ask(port, "/json/list") if target.get("type") == "page"]


def select_tab(port: int, tab: str) -> dict[str, Any]:
    """Returns the tab that a text means: by id, or a part of its title or address.

    Raises:
        Refused: no tab fits, or several do.
    """
    listed = targets(port)
    if not listed:
        raise Refused("the browser has no tab")
    sought = tab.strip().lower()
    by_id = [target for target in listed if sought and target["id"].lower().startswith(sought)]
    by_text = [e for e in listed if sought in f"{e['title']}\n{e['url']}".lower()]
    matches = by_id if len(by_id) == 1 else by_text
    if len(matches) == 1:
        return matches[0]
    labels = "; ".join(
        f"{target['id'][:6]} {target['title']!r}" for target in (matches or listed)[:10]
    )
    raise Refused(
        f"{len(matches)} tabs fit {tab!r}: {labels}" if matches else f"no tab {tab!r}: {labels}"
    )


@contextlib.contextmanager
def front(*, acts: bool = False) -> Iterator[Tab]:
    """Connects to the tab in front.

    Args:
        acts: keys and clicks will follow, which only a page with the focus takes.
    """
    port = find_port()
    listed = targets(port)
    if not listed:
        raise Refused("the browser has no tab")
    for target in listed:
        with contextlib.ExitStack() as connection:
            try:
                tab = connection.enter_context(Tab(target))
                visibility = tab.call("Runtime.evaluate", expression="document.visibilityState")
            except (_Closed, ConnectionError):
                continue  # since they were listed
            if visibility["result"].get("value") == "visible" or len(listed) == 1:
                if acts:
                    tab.call("Page.bringToFront")
                    tab.call("Emulation.setFocusEmulationEnabled", enabled=True)
                yield tab
                return
    raise Refused("no tab of the browser is seen: its windows are minimised or covered")


def connect_browser() -> Devtools:
    """Connects to the browser itself."""
    return Devtools(str(ask(find_port(), "/json/version")["webSocketDebuggerUrl"]))
