"""A guest that answers what a test tells it to, over real HTTP on a unix socket."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path


@dataclass
class Script:
    """Answers by path, each (status, content type, body); the last one is given again and again."""

    answers: dict[str, list[tuple[int, str, bytes]]]
    asked: list[str] = field(default_factory=list)


@contextmanager
def scripted(folder: Path, script: Script) -> Iterator[str]:
    """Serve it; the socket's path is given."""

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            path = self.path.partition("?")[0]
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            script.asked.append(path)
            lines = script.answers.get(path, [(404, "text/plain", b"none")])
            status, kind, body = lines.pop(0) if len(lines) > 1 else lines[0]
            if status == 0:
                self.close_connection = True
                return
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def log_message(self, *arguments: object) -> None:
            return

        def address_string(self) -> str:
            return "client"

    path = folder / "s"
    with socketserver.ThreadingUnixStreamServer(str(path), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield str(path)
        server.shutdown()
