"""Serves the published routes on a unix socket, inside a desktop.

python3 -m stock.stock_server SOCKET [--seconds N] [--without xclip,wmctrl]
"""

from __future__ import annotations

import argparse
import os
import socketserver
import tempfile
from collections.abc import Collection
from http.server import BaseHTTPRequestHandler
from typing import Any

from .stock_commands import CommandRoutes
from .stock_files import FileRoutes
from .stock_messages import Request, Routes, page, routed
from .stock_screen import ScreenRoutes

__all__ = ["main"]


class _Server(socketserver.ThreadingUnixStreamServer):
    """One thread for each request, as Flask has it."""

    daemon_threads = True
    request_queue_size = 128
    routes: Routes


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    wbufsize = -1

    def do_GET(self) -> None:
        self._answer("GET")

    def do_POST(self) -> None:
        self._answer("POST")

    def address_string(self) -> str:
        """A unix socket's other end has no address."""
        return "client"

    def _answer(self, method: str) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.partition("?")[0]
        try:
            reply = routed(self.server.routes, Request(method, path, self.headers, body))
        except Exception as error:  # noqa: BLE001 - Flask answers whatever happens
            self.log_error("%r", error)
            reply = page(500, "Internal Server Error")
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.kind)
        self.send_header("Content-Length", str(len(reply.body)))
        for name, value in reply.more.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply.body)


def _path_without(missing: Collection[str]) -> str:
    """A search path with all programs of the present one but these."""
    folder = tempfile.mkdtemp(prefix="stock-path-")
    for place in os.environ["PATH"].split(os.pathsep):
        for name in os.listdir(place) if os.path.isdir(place) else ():
            link = os.path.join(folder, name)
            if name not in missing and not os.path.lexists(link):
                os.symlink(os.path.join(place, name), link)
    return folder


def main() -> None:
    """Serve for ever."""
    parser = argparse.ArgumentParser(prog="stock_server", description=__doc__)
    parser.add_argument("socket")
    parser.add_argument("--seconds", type=float, default=120.0, help="limit of a command")
    parser.add_argument("--without", default="", help="programs this machine does not have")
    options = parser.parse_args()
    if options.without:
        os.environ["PATH"] = _path_without(options.without.split(","))
    os.chdir(os.path.expanduser("~"))
    every: tuple[Any, ...] = (CommandRoutes(options.seconds), FileRoutes(), ScreenRoutes())
    with _Server(options.socket, _Handler) as server:
        server.routes = {key: route for part in every for key, route in part.routes().items()}
        server.serve_forever()


if __name__ == "__main__":
    main()
