"""An HTTP server on a socket: routes, bearer token, size limits; survives a route's failure."""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import re
import socket
import socketserver
import stat
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from email.message import Message
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from io import BufferedIOBase
from typing import IO, Any
from urllib.parse import parse_qs, unquote, urlsplit

__all__ = [
    "GuestServer",
    "HttpError",
    "Request",
    "Response",
    "Routes",
    "answer_text",
    "file_response",
    "json_response",
]

IDLE = "/hisa/idle"
"""The route of the seconds since the last request; needs no token, and counts as no request."""
MAX_JSON = 8 << 20  # chosen by hand
MAX_BODY = 4 << 30  # chosen by hand
_CHUNK = 1 << 20  # chosen by hand


class HttpError(Exception):
    """A request that gets an error response.

    Args:
        status: the HTTP status.
        message: the reason, for the client.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Response:
    """A route's response: ``body``, or ``stream`` with its ``length``."""

    body: bytes = b""
    kind: str = "application/json"
    status: int = 200
    stream: IO[bytes] | None = None
    length: int = 0


def file_response(
    path: str, query: Mapping[str, str], kind: str = "application/octet-stream"
) -> Response:
    """Returns a response with the bytes of a regular file.

    Args:
        path: the file.
        query: the request's query; its ``limit`` is the most bytes that the client accepts.
        kind: the content type of the response.

    Raises:
        HttpError: 404: no such file; 413: larger than the limit; 403: not a regular file, or not
            readable.
    """
    try:
        # Not blocking: opening a pipe would wait for a writer.
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise HttpError(404, f"{path}: no such file") from error
    except (OSError, ValueError) as error:
        raise HttpError(403, f"{path}: {error}") from error
    status = os.fstat(number)
    try:
        if not stat.S_ISREG(status.st_mode):
            raise HttpError(403, f"{path}: not a regular file")
        most = query.get("limit", "")
        if most.isdecimal() and status.st_size > int(most):
            raise HttpError(413, f"{path}: {status.st_size} bytes; at most {most}")
    except HttpError:
        os.close(number)
        raise
    stream = os.fdopen(number, "rb")
    return Response(kind=kind, stream=stream, length=status.st_size)


def answer_text(text: str) -> Response:
    """Makes a plain text response."""
    return Response(text.encode(), "text/plain; charset=utf-8")


def json_response(value: Any, status: int = 200) -> Response:
    """Makes a JSON response."""
    return Response(json.dumps(value).encode(), status=status)


@dataclass
class Request:
    """A request as a route gets it."""

    path: str
    query: Mapping[str, str]
    headers: Message
    length: int
    stream: BufferedIOBase
    _left: int = field(init=False)

    def __post_init__(self) -> None:
        self._left = self.length

    def chunks(self) -> Iterator[bytes]:
        """Yields the body, piece by piece.

        Raises:
            HttpError: the body ended early.
        """
        while self._left:
            chunk = self.stream.read(min(self._left, _CHUNK))
            if not chunk:
                raise HttpError(400, f"the body ended {self._left} bytes early")
            self._left -= len(chunk)
            yield chunk

    def body(self, limit: int = MAX_JSON) -> bytes:
        """Returns the whole body.

        Raises:
            HttpError: the body is longer than ``limit`` bytes.
        """
        if self._left > limit:
            raise HttpError(413, f"a body of {self._left} bytes; at most {limit}")
        return b"".join(self.chunks())

    def json(self) -> dict[str, Any]:
        """Returns the body as a JSON object.

        Raises:
            HttpError: the body is not a JSON object.
        """
        raw = self.body()
        try:
            value = json.loads(raw or b"{}")
        except (ValueError, RecursionError) as error:
            raise HttpError(400, f"bad JSON: {error}") from error
        if not isinstance(value, dict):
            raise HttpError(400, "bad JSON: must be an object")
        return value

    @property
    def unread(self) -> int:
        """Number of bytes of the body that are not read yet."""
        return self._left


Route = Callable[[Request], Response]
Routes = Mapping[tuple[str, str], Route]


class GuestServer(socketserver.ThreadingMixIn, socketserver.BaseServer):
    """Serves routes on a socket that already listens.

    Args:
        listening: the socket.
        routes: the function of each method and path.
        token: the bearer token that every request must have.
    """

    daemon_threads = True

    def __init__(self, listening: socket.socket, routes: Routes, token: str) -> None:
        super().__init__(listening.getsockname(), _Handler)
        self.socket = listening
        self.routes = routes
        self.token = token
        self.last_request = time.monotonic()
        self.busy = 0
        self.count_lock = threading.Lock()

    def fileno(self) -> int:
        """Returns the socket's descriptor, for the selector of `serve_forever`."""
        return self.socket.fileno()

    def get_request(self) -> tuple[socket.socket, Any]:
        """Accepts a connection."""
        connection, address = self.socket.accept()
        if connection.family in {socket.AF_INET, socket.AF_INET6}:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        """Closes a connection."""
        with contextlib.suppress(OSError):
            request.shutdown(socket.SHUT_WR)
        request.close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Logs an error, unless a client went away, which is none."""
        if not isinstance(sys.exc_info()[1], (ConnectionError, TimeoutError)):
            traceback.print_exc(file=sys.stderr)

    def idle_seconds(self) -> float:
        """Returns the seconds since the last request ended; 0 during a request."""
        return 0.0 if self.busy else time.monotonic() - self.last_request


class _Handler(BaseHTTPRequestHandler):
    server: GuestServer
    protocol_version = "HTTP/1.1"
    timeout = 3600
    rbufsize = 1 << 16
    wbufsize = 1 << 16
    server_version = "hisa-guest"
    sys_version = ""

    def log_message(self, *arguments: object) -> None:
        """Log nothing."""

    def do_GET(self) -> None:
        """Answer a GET request."""
        if self.path == IDLE:
            self._send(json_response(self.server.idle_seconds()))
            return
        self._handle("GET")

    def do_POST(self) -> None:
        """Answer a POST request."""
        self._handle("POST")

    def do_PUT(self) -> None:
        """Answer a PUT request."""
        self._handle("PUT")

    def _handle(self, method: str) -> None:
        with self.server.count_lock:
            self.server.busy += 1
        try:
            self._answer(method)
        finally:
            with self.server.count_lock:
                self.server.busy -= 1
            self.server.last_request = time.monotonic()

    def _answer(self, method: str) -> None:
        request: Request | None = None
        try:
            request = self._request()
            answer = self._route(method, request.path)(request)
        except HttpError as refusal:
            answer = _error(refusal.status, str(refusal))
        except ConnectionError:
            self.close_connection = True
            return
        except Exception as error:  # noqa: BLE001 - the server must survive a failed request
            traceback.print_exc(file=sys.stderr)
            answer = _error(500, f"{type(error).__name__}: {error}")
        if request is None or request.unread:
            self.close_connection = True
        self._send(answer)

    def _request(self) -> Request:
        length = self.headers.get("Content-Length") or "0"
        if not re.fullmatch(r"\d{1,15}", length) or "Transfer-Encoding" in self.headers:
            raise HttpError(411, "the request needs a valid Content-Length")
        if int(length) > MAX_BODY:
            raise HttpError(413, f"a body of {length} bytes; at most {MAX_BODY}")
        self._check_token()
        parts = urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        return Request(unquote(parts.path), query, self.headers, int(length), self.rfile)

    def _check_token(self) -> None:
        header = self.headers.get("Authorization") or ""
        expected = f"Bearer {self.server.token}"
        if not hmac.compare_digest(header.encode("utf-8", "replace"), expected.encode()):
            raise HttpError(401, "the request needs the bearer token")

    def _route(self, method: str, path: str) -> Route:
        route = self.server.routes.get((method, path))
        if route is None:
            known = any(path == other for _, other in self.server.routes)
            raise HttpError(405, f"{path}: no {method}") if known else HttpError(404, path)
        return route

    def _send(self, response: Response) -> None:
        length = response.length if response.stream else len(response.body)
        head = (
            f"HTTP/1.1 {response.status} {HTTPStatus(response.status).phrase}\r\n"
            f"Content-Type: {response.kind}\r\nContent-Length: {length}\r\n"
            f"Connection: {'close' if self.close_connection else 'keep-alive'}\r\n\r\n"
        )
        self.wfile.write(head.encode())
        if response.stream is None:
            self.wfile.write(response.body)
        else:
            self._copy(response.stream, length)
        self.wfile.flush()

    def _copy(self, stream: IO[bytes], length: int) -> None:
        with stream:
            while length:
                chunk = stream.read(min(length, _CHUNK))
                if not chunk:
                    raise ConnectionError("the file shrank while it was sent")
                self.wfile.write(chunk)
                length -= len(chunk)


def _error(status: int, message: str) -> Response:
    return json_response({"status": "error", "message": message, "error": message}, status)
