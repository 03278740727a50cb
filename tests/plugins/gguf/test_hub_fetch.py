"""A file of the model hub, fetched from a hub of this machine through the hub's own package."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
NAME = "hf:some/repo-GGUF/a.gguf"

pytestmark = pytest.mark.process


class Hub(BaseHTTPRequestHandler):
    """One repository with one file, as the hub's protocol has it."""

    content = b""

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    def answer(self, *, body: bool) -> None:
        path = self.path.partition("?")[0]
        headers = {}
        if path.startswith("/api/models/some/repo-GGUF"):
            card = {"id": "some/repo-GGUF", "sha": "c" * 40, "cardData": {"license": "mit"}}
            status, content = 200, json.dumps({**card, "siblings": [], "tags": []}).encode()
        elif path.startswith("/some/repo-GGUF/resolve/") and path.endswith("/a.gguf"):
            status, content = 200, self.content
            digest = hashlib.sha256(content).hexdigest()
            headers = {"ETag": f'"{digest}"', "X-Repo-Commit": "c" * 40}
        else:
            status, content = 404, b"{}"
            headers = {"X-Error-Code": "EntryNotFound"}
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if body:
            self.wfile.write(content)

    def log_message(self, *args: object) -> None:
        """Says nothing."""


@pytest.fixture
def hub(random_model: Path) -> Iterator[str]:
    Hub.content = random_model.read_bytes()
    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def fetch(endpoint: str, name: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hisa", "models", "fetch", "--alone", name],
        capture_output=True,
        text=True,
        cwd=folder,
        check=False,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "HF_ENDPOINT": endpoint,
            "HF_HOME": str(folder),
        },
    )


def test_a_file_is_fetched_and_found_by_its_name(
    hub: str, tmp_path: Path, own_weights: Path, random_model: Path
) -> None:
    done = fetch(hub, NAME, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "licence mit" in done.stderr
    path = own_weights / "hub" / "some" / "repo-GGUF" / "a.gguf"
    assert done.stdout.splitlines() == [
        str(path),
        f'use it: hisa run "Click Save." --model gguf:{NAME}',
    ]
    assert path.read_bytes() == random_model.read_bytes()


def test_a_file_that_the_hub_has_not_is_an_error_in_words(hub: str, tmp_path: Path) -> None:
    done = fetch(hub, "hf:some/repo-GGUF/b.gguf", tmp_path)
    assert done.returncode == 2
    assert "has no such file" in done.stderr


def test_a_hub_out_of_reach_is_an_error_in_words(tmp_path: Path) -> None:
    done = fetch("http://127.0.0.1:9", NAME, tmp_path)
    assert done.returncode == 3
    assert "cannot be used" in done.stderr
    assert "hisa models ls" in done.stderr
