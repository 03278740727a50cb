"""The stage, which runs on the machine: serves the pages, opens one, and records its reward.

It is the main program of a zip application that also holds the pages, and needs only Python:

    python3 miniwob.pyz --page miniwob/click-test.html --seed 1 --state FILE --scale 2

FILE has its whole state as JSON, and is replaced with every change: ``pid`` of the stage;
``instruction`` once the episode is ready; ``reward`` and ``reason`` of the first ending, once the
episode is over; ``left`` if the page was left or reloaded; ``lost`` if its connection ended without
notice; ``exit``, the browser's exit code; ``broken``, an error of the page before it was ready.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import mimetypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

__all__ = ["BROWSERS", "Stage", "main"]

BROWSERS = ("chromium", "google-chrome", "google-chrome-stable", "chromium-browser")
"""Programs that can show a page; the first that is installed is used."""
_FLAGS = (
    "--kiosk",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-sandbox",
    "--test-type",
    "--disable-gpu",
    "--password-store=basic",
    "--force-renderer-accessibility",
    "--disable-component-update",
    "--disable-background-networking",
    "--disable-sync",
    "--disable-translate",
    "--disable-features=Translate,AutofillServerCommunication,OptimizationGuideOnDeviceModel",
    # A separate network process dies on an emulated machine, and the page with it.
    "--enable-features=NetworkServiceInProcess2",
    "--disable-save-password-bubble",
)
_MAX_BODY = 1_000_000  # chosen by hand
_CORE = "/core/core.js"


class Stage(ThreadingHTTPServer):
    """Serves one episode on a port of the loopback.

    Args:
        archive: the zip with ``html/`` and ``episode.js`` in it.
        state: the file of the stage's state.
        seed: for the episode's random choices.
    """

    daemon_threads = True

    def __init__(self, archive: Path, state: Path, seed: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.archive = zipfile.ZipFile(archive)
        self.seed = seed
        self._path = state
        self._known: dict[str, Any] = {"pid": os.getpid(), "loads": 0}
        self._lock = threading.Lock()
        self._write()

    def note(self, **changes: Any) -> None:
        """Adds to the state; a value that is already there stays."""
        with self._lock:
            if "left" in changes:
                changes["reward"] = None  # a later ending does not belong to this episode
            self._known = {**changes, **self._known}
            if not self.replaced:
                self._write()

    def load(self) -> dict[str, Any]:
        """Counts a load of the page and returns its settings; only the first begins an episode."""
        with self._lock:
            self._known["loads"] += 1
            first = self._known["loads"] == 1
        if not first:
            self.note(left=True)
        return {"seed": self.seed, "first": first}

    def file(self, path: str) -> bytes:
        """Returns the bytes of a file of the pages.

        Raises:
            KeyError: there is no such file.
        """
        with self._lock:
            data = self.archive.read(f"html{path}")
            return data + self.archive.read("episode.js") if path == _CORE else data

    @property
    def replaced(self) -> bool:
        """Whether a later stage took over the state."""
        try:
            return bool(json.loads(self._path.read_bytes())["pid"] != os.getpid())
        except FileNotFoundError:
            return True

    def _write(self) -> None:
        # Like `replace_file`, which cannot be imported: HiSA is not installed on the machine.
        temporary = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        temporary.write_text(json.dumps(self._known), encoding="utf-8")
        os.replace(temporary, self._path)


class _Handler(BaseHTTPRequestHandler):
    server: Stage
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == "/stage/line":
            self._hold()
            return
        try:
            self._answer(self.server.file(path), mimetypes.guess_type(path)[0])
        except KeyError:
            self.send_error(404)

    def do_POST(self) -> None:
        body = self.rfile.read(min(int(self.headers.get("Content-Length") or 0), _MAX_BODY))
        fields = json.loads(body or b"{}")
        event = self.path.rpartition("/")[2]
        answer: dict[str, Any] = {}
        if event == "load":
            answer = self.server.load()
        elif event == "ready":
            self.server.note(instruction=str(fields["instruction"]))
        elif event == "done":
            self.server.note(reward=float(fields["reward"]), reason=str(fields["reason"]))
        elif event == "left":
            self.server.note(left=True)
        elif event == "broken":
            self.server.note(broken=str(fields["message"]))
        self._answer(json.dumps(answer).encode(), "application/json")

    def _hold(self) -> None:
        """Keep a response open; when its connection ends, note the page as lost."""
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.end_headers()
        self.wfile.flush()
        self.close_connection = True
        self.connection.settimeout(None)
        with contextlib.suppress(OSError):  # an error also means that the page is gone
            self.connection.recv(1)
        self.server.note(lost=True)

    def _answer(self, body: bytes, kind: str | None) -> None:
        self.send_response(200)
        text = kind is not None and (kind.startswith("text/") or "javascript" in kind)
        encoding = "; charset=utf-8" if text else ""  # the pages do not declare it themselves
        self.send_header("Content-Type", f"{kind or 'application/octet-stream'}{encoding}")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Log no requests: the log is for errors."""


def _line(url: str, profile: str, scale: str) -> list[str]:
    program = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if program is None:
        sys.exit(f"no browser: none of {', '.join(BROWSERS)} is installed")
    size = f"--force-device-scale-factor={scale}"
    return [program, f"--app={url}", f"--user-data-dir={profile}", size, *_FLAGS]


def main() -> None:
    """Shows the page until its browser ends, or a later stage takes over."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--page", required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--scale", default="1")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        stage = Stage(Path(sys.argv[0]), options.state, options.seed)
        threading.Thread(target=stage.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{stage.server_address[1]}/{options.page}"
        browser = subprocess.Popen(_line(url, profile, options.scale))
        try:
            while browser.poll() is None and not stage.replaced:
                time.sleep(0.3)
        finally:
            browser.terminate()
            code = browser.wait()
        if not stage.replaced:
            stage.note(exit=code)


if __name__ == "__main__":
    main()
