"""A script: does steps on a page of the machine's browser, and prints the result as JSON.

Its argument is a JSON object: ``url``, how the page's address begins; ``seconds``, how long the
browser and the page are waited for; ``steps``, each with ``kind`` (see, click, check, uncheck,
fill, run), ``css``, ``text`` (a part of the element's text, in any case), ``value``, ``count``,
``seconds`` and ``optional``. The answer is ``{"done": count}``, or ``{"failed": step, "why": …}``;
step -1 is the browser, -2 the page.
"""

import base64
import json
import os
import socket
import struct
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

__all__ = ["Broken", "Page", "ask", "do", "do_all", "find", "main", "show"]

_PORTS = (1337, 9222)
_POLL_SECONDS = 0.2
_MAX_FRAME = 64 * 2**20
_LOADED = "location.href !== 'about:blank' && document.readyState === 'complete'"
_STEP = """
(step => {
  const plain = text => (text || "").replace(/\\s+/g, " ").trim().toLowerCase();
  const shown = element => element.getClientRects().length > 0;
  const all = [...document.querySelectorAll(step.css)]
    .filter(element => plain(element.textContent).includes(plain(step.text)));
  const element = all.find(shown) || (/^(un)?check$/.test(step.kind) ? all[0] : undefined);
  if (step.kind === "see") {
    if (step.count === null) return element ? "" : "not there";
    return all.length === step.count ? "" : `${all.length} of ${step.count} are there`;
  }
  if (!element) return all.length ? "not shown" : "not there";
  if (element.disabled || element.getAttribute("aria-disabled") === "true") return "disabled";
  element.scrollIntoView({block: "center"});
  const box = element.control || element;
  if (step.kind === "fill") {
    if (element.readOnly) return "read-only";
    const kind = element.tagName === "TEXTAREA" ? HTMLTextAreaElement : HTMLInputElement;
    element.focus();
    Object.getOwnPropertyDescriptor(kind.prototype, "value").set.call(element, step.value);
    for (const name of ["input", "change", "blur"])
      element.dispatchEvent(new Event(name, {bubbles: true}));
    return element.value === step.value ? "" : "does not take the text";
  }
  if (step.kind === "click" || box.checked === (step.kind === "uncheck")) element.click();
  if (step.kind === "click" || box.checked === (step.kind === "check")) return "";
  return "does not change";
})(%s)
"""
"""Runs in the page; returns why the step is not done yet, or "" once it is."""


class Broken(Exception):
    """The browser does not do what it was asked to do."""


class Page:
    """A connection to one page's debugging address.

    Args:
        address: ``ws://HOST:PORT/PATH``.
    """

    def __init__(self, address: str) -> None:
        parts = urllib.parse.urlsplit(address)
        self._number = 0
        self._socket = socket.create_connection((parts.hostname, parts.port), timeout=60.0)
        key = base64.b64encode(os.urandom(16)).decode()
        self._socket.sendall(
            f"GET {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
            "Sec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        self._stream = self._socket.makefile("rb")
        if b" 101 " not in self._stream.readline():
            raise Broken("the page's debugging address accepts no connection")
        while self._stream.readline().strip():
            pass

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Returns the result of a method of the DevTools protocol."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        self._send(1, json.dumps(message).encode())
        while True:
            answer = json.loads(self._message())
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise Broken(f"{method}: {answer['error'].get('message')}")
                result: dict[str, Any] = answer["result"]
                return result

    def evaluate(self, source: str) -> object:
        """Returns the value of an expression; a function is called, a promise awaited.

        Raises:
            Broken: the expression throws.
        """
        reply = self.call("Runtime.evaluate", expression=source)
        if reply.get("result", {}).get("type") == "function":
            source = f"({source}\n)()"
        elif not reply.get("exceptionDetails") and reply["result"].get("subtype") != "promise":
            return reply["result"].get("value")
        if "exceptionDetails" not in reply:
            reply = self.call("Runtime.evaluate", expression=source, awaitPromise=True)
        if wrong := reply.get("exceptionDetails"):
            thrown = wrong.get("exception", {}).get("description") or wrong.get("text")
            raise Broken(str(thrown)[:300])
        return reply["result"].get("value")

    def _send(self, kind: int, data: bytes) -> None:
        size = len(data)
        head = struct.pack("!BBH", 0x80 | kind, 0xFE, size)
        if size < 126:
            head = struct.pack("!BB", 0x80 | kind, 0x80 | size)
        elif size >= 2**16:
            head = struct.pack("!BBQ", 0x80 | kind, 0xFF, size)
        self._socket.sendall(head + bytes(4) + data)  # a mask of zeros changes nothing

    def _message(self) -> bytes:
        payload = b""
        while True:
            first, second = self._stream.read(2) or (0x88, 0)
            size = second & 0x7F
            if size >= 126:
                kind, count = ("!H", 2) if size == 126 else ("!Q", 8)
                (size,) = struct.unpack(kind, self._stream.read(count))
            if size > _MAX_FRAME or first & 0x0F == 8:
                raise Broken("the page was closed")
            data = self._stream.read(size)
            if first & 0x0F == 9:
                self._send(10, data)
                continue
            payload += data
            if first & 0x80 and first & 0x0F < 8:
                return payload


def ask(path: str, method: str = "GET") -> Any:
    """Returns what the browser's debugging port answers, as JSON.

    Raises:
        OSError: neither port answers.
    """
    problem = OSError("no port")
    for port in _PORTS:
        request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method)
        try:
            with urllib.request.urlopen(request, timeout=20.0) as answer:
                return json.load(answer)
        except OSError as error:
            problem = error
    raise problem


def find(url: str, deadline: float) -> tuple[dict[str, Any], bool]:
    """Returns the tab whose address begins with ``url``, or a new one, and whether it is new.

    Raises:
        Broken: the browser does not answer in time.
    """
    while True:
        try:
            for tab in ask("/json/list"):
                if tab.get("type") == "page" and str(tab.get("url")).startswith(url):
                    return tab, False
            return ask("/json/new?about:blank", "PUT"), True
        except (OSError, ValueError) as error:
            if time.monotonic() > deadline:
                raise Broken(f"the browser does not answer: {error}") from error
        time.sleep(_POLL_SECONDS)


def show(page: Page, url: str, deadline: float) -> None:
    """Load an address, repeatedly while nothing serves it, and wait until it is complete.

    Args:
        page: the tab to load it in.
        url: the address.
        deadline: time by `time.monotonic`, in seconds.

    Raises:
        Broken: it is not complete in time.
    """
    while why := page.call("Page.navigate", url=url).get("errorText"):
        if time.monotonic() > deadline:
            raise Broken(f"{url}: {why}")
        time.sleep(1.0)
    while True:
        try:
            if page.evaluate(_LOADED):
                return
        except Broken:
            pass  # the page is changing right now
        if time.monotonic() > deadline:
            raise Broken(f"{url}: is still loading")
        time.sleep(_POLL_SECONDS)


def do(page: Page, step: dict[str, Any]) -> None:
    """Do a step as soon as the page allows it.

    Raises:
        Broken: the page does not allow it in time.
    """
    if step["kind"] == "run":
        page.evaluate(step["value"])
        return
    deadline = time.monotonic() + step["seconds"]
    why: object = ""
    while True:
        try:
            why = page.evaluate(_STEP % json.dumps(step))
        except Broken as error:
            why = str(error)
        if why == "":
            return
        if time.monotonic() > deadline:
            text = f" with {step['text']!r}" if step["text"] else ""
            raise Broken(f"{step['kind']} {step['css']}{text}: {why}")
        time.sleep(_POLL_SECONDS)


def do_all(page: Page, steps: list[dict[str, Any]]) -> tuple[int, str]:
    """Do the steps in turn; returns the number of those done, and why the next was not."""
    for number, step in enumerate(steps):
        try:
            do(page, step)
        except Broken as error:
            if not step["optional"]:
                return number, str(error)
    return len(steps), ""


def main() -> dict[str, Any]:
    """Do what the argument asks for, and return the answer."""
    request = json.loads(sys.argv[1])
    deadline = time.monotonic() + request["seconds"]
    at, why = -1, ""
    try:
        tab, is_new = find(request["url"], deadline)
        page = Page(tab["webSocketDebuggerUrl"])
        at = -2
        if is_new:
            show(page, request["url"], deadline)
        at = 0
        at, why = do_all(page, request["steps"])
    except (Broken, OSError, ValueError, KeyError, struct.error) as error:
        why = str(error)
    return {"failed": at, "why": why} if why or at < 0 else {"done": at}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main()))
