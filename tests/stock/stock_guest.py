"""A stock OSWorld guest on a real loopback socket, with scripted faults.

In a test::

    with StockGuest({"/execute": [None, GuestFault("after")]}) as guest:
        ...  # guest.url, guest.asked, guest.desktop

As a process, which prints its address and serves until it is told to stop::

    python -m tests.stock.stock_guest --port 5000

``POST /fake/restore`` is what its provider can do: everything as at the start.
"""

from __future__ import annotations

import argparse
import signal
import socket
import struct
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, assert_never

from tests.stock.stock_desktop import Run, StockDesktop
from tests.stock.stock_messages import Reply, Request, page

__all__ = ["GuestFault", "GuestFaultKind", "StockGuest", "main"]

GuestFaultKind = Literal[
    "answer",  # ``answer`` instead of anything done
    "after",  # done, and then an error page with status 500
    "hang",  # done, and no answer
    "drip",  # done, and a head that comes a byte every 20 ms, for ever
    "cut_off",  # done; the first half of the good body, complete by its Content-Length
    "cut_connection",  # done; the first half of the good body, then the connection ends
    "html",  # done, and a web page with status 200
    "wrong_json",  # done, and JSON that is not what it should be
    "reset",  # done, and the connection is reset
]

_DRIP_SECONDS = 0.02  # chosen by hand
_RESTORE = "/fake/restore"


@dataclass(frozen=True)
class GuestFault:
    """One bad answer; with ``stays`` to everything from then on, until the guest is restored."""

    kind: GuestFaultKind
    answer: Reply | None = None
    stays: bool = False


class StockGuest(ThreadingHTTPServer):
    """Serves the stock routes from a thread; a context manager.

    Args:
        faults: by path, what befalls its requests in order; None and what comes after: nothing.
            Those of "act" befall commands that name PyAutoGUI, by whatever path they come.
        run: sees the commands of the form's machine first; see `StockDesktop`.
        port: 0: a free one.

    ``requests`` holds every path in the order it was asked for, ``restored`` how often it was
    restored.
    """

    daemon_threads = True

    def __init__(
        self,
        faults: Mapping[str, Sequence[GuestFault | None]] | None = None,
        *,
        run: Run | None = None,
        port: int = 0,
    ) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.desktop = StockDesktop(run)
        self.requests: list[str] = []
        self.restored = 0
        self.stopping = threading.Event()
        self._faults = {path: list(script) for path, script in (faults or {}).items()}
        self._staying: GuestFault | None = None
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def __enter__(self) -> StockGuest:
        """Serve from a thread."""
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        """Stop serving; hanging answers are let go."""
        self.stopping.set()
        self.shutdown()
        self.server_close()
        self.desktop.close()

    def shutdown_request(self, request: Any) -> None:
        """Close it without a farewell, so that a reset is one."""
        self.close_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is what the faults are for: nothing to report."""

    def answer_request(self, request: Request) -> tuple[Reply, GuestFault | None]:
        """The good answer, and what becomes of it."""
        with self._lock:
            if request.path == _RESTORE:
                self.restored += 1
                self._staying = None
                self.desktop.restore()
                return Reply(b"{}"), None
            self.requests.append(request.path)
            fault = self._next(request.path)
            if b"pyautogui" in request.body:
                fault = self._next("act") or fault
        if fault is not None and fault.answer is not None:
            return fault.answer, None
        return self.desktop.answer(request), fault

    def _next(self, kind: str) -> GuestFault | None:
        script = self._faults.get(kind, [])
        fault = script.pop(0) if script else None
        if fault is not None and fault.stays:
            self._staying = fault
        return self._staying or fault


class _Handler(BaseHTTPRequestHandler):
    server: StockGuest
    wbufsize = -1

    def do_GET(self) -> None:
        self._answer("GET")

    def do_POST(self) -> None:
        self._answer("POST")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Nothing on standard error; requests are kept by `StockGuest`."""

    def _answer(self, method: str) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.partition("?")[0]
        good, fault = self.server.answer_request(Request(method, path, self.headers, body))
        if fault is None:
            self._send(good)
            return
        half = good.body[: len(good.body) // 2]
        match fault.kind:
            case "answer":
                self._send(good)
            case "after":
                self._send(page(500, "Internal Server Error"))
            case "hang":
                self.server.stopping.wait()
            case "drip":
                self._drip()
            case "cut_off":
                self._send(Reply(half, good.kind, good.status, good.more))
            case "cut_connection":
                self._send(Reply(half, good.kind, good.status, good.more), len(good.body))
            case "html":
                self._send(page(200, "Welcome"))
            case "wrong_json":
                self._send(Reply(b'["something", "else"]'))
            case "reset":
                now = struct.pack("ii", 1, 0)
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, now)
            case _:
                assert_never(fault.kind)

    def _drip(self) -> None:
        with suppress(OSError):
            self.connection.sendall(b"HTTP/1.0 200 OK\r\nX-Slow: ")
            while not self.server.stopping.wait(_DRIP_SECONDS):
                self.connection.sendall(b"o")

    def _send(self, reply: Reply, length: int | None = None) -> None:
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.kind)
        self.send_header("Content-Length", str(len(reply.body) if length is None else length))
        for name, value in reply.more.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply.body)


def main(arguments: list[str] | None = None) -> None:
    """Serve until SIGTERM or Ctrl-C; the address is printed first."""
    parser = argparse.ArgumentParser(prog="python -m tests.stock.stock_guest")
    parser.add_argument("--port", type=int, default=0, help="0: a free one")
    options = parser.parse_args(arguments)
    # Blocked before any thread starts, so that sigwait alone gets them.
    signals = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    with StockGuest(port=options.port) as guest:
        sys.stdout.write(guest.url + "\n")
        sys.stdout.flush()
        signal.sigwait(signals)


if __name__ == "__main__":
    main()
