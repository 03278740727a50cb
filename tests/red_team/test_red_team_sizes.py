"""Model servers that answer without end, packed, or from elsewhere: given up, never corrected."""

from __future__ import annotations

import threading
import tracemalloc
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from hisa.config import ModelSettings
from hisa.errors import ModelUnavailable
from hisa.models.client import OpenAIModel
from hisa.models.endpoint import Endpoint
from hisa.models.profiles import find
from hisa.models.retry import TryFailed
from hisa.patterns.embedders.openai_endpoint import OpenAIEndpoint
from hisa.plugins.computer_use.responses_client import ResponsesModel
from hisa.runs.run_reader import list_runs, load_run
from hisa.testing.model_server import FakeServer
from tests.models.support import ask
from tests.plugins.benchmarks.bench_suite.forms import write_task
from tests.plugins.benchmarks.bench_suite.test_guests import FIXED, hisa
from tests.red_team.drawing import draw_cases
from tests.stock.stock_guest import StockGuest

MANY = 96 << 20
"""Bytes of the answers, unpacked."""
MOST_HELD = 40 << 20
"""Bytes that may be held at once: some copies of the longest answer that is taken."""
PIECE = b"a" * (1 << 20)
HEAD = b'{"choices": [{"message": {"content": "'
KINDS = ("length", "chunks", "hang up", "promise", "gzip", "deflate", "gzip in chunks", "br")
STATUSES = (200, 400, 500)


def pieces(kind: str) -> Iterator[bytes]:
    """The body of an answer, as it is sent."""
    if kind == "good":
        yield HEAD + b'hello"}}]}'
    elif "gzip" in kind or kind == "deflate":
        packer = zlib.compressobj(9, wbits=15 if kind == "deflate" else 31)
        yield packer.compress(HEAD)
        for _ in range(MANY >> 20):
            yield packer.compress(PIECE)
        yield packer.flush()
    else:
        yield HEAD
        for _ in range(MANY >> 20):
            yield PIECE


class Flooding(BaseHTTPRequestHandler):
    """Answers as its path says: kind and status."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        _, kind, status, *_ = self.path.replace("%20", " ").split("/")
        with suppress(OSError):
            self._flood(kind, int(status))
        self.close_connection = True

    def _flood(self, kind: str, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        chunked = kind in ("chunks", "gzip in chunks")
        body = [b"".join(pieces(kind))] if kind in ("gzip", "deflate", "good") else pieces(kind)
        if isinstance(body, list):
            self.send_header("Content-Length", str(len(body[0])))
        elif kind in ("length", "br", "promise"):
            promised = 1 << 40 if kind == "promise" else MANY + len(HEAD)
            self.send_header("Content-Length", str(promised))
        elif chunked:
            self.send_header("Transfer-Encoding", "chunked")
        if kind.split()[0] in ("gzip", "deflate", "br"):
            self.send_header("Content-Encoding", kind.split()[0])
        self.end_headers()
        for piece in body:
            if piece:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece)
        if chunked:
            self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextmanager
def flood(handler: type[Flooding] = Flooding) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def model(url: str, protocol: str, way: str) -> OpenAIModel:
    """A client; another way than the plain one for local servers goes through httpx."""
    kind = ResponsesModel if protocol == "responses" else OpenAIModel
    client = httpx.AsyncClient() if way == "httpx" else None
    endpoint = Endpoint(url, "secret-key-1")
    settings = ModelSettings(model="m", timeout=120)
    return kind(settings, endpoint, profile=find("m"), http_client=client)


CASES = [
    (kind, status, protocol, way)
    for kind in KINDS
    for status in STATUSES
    for protocol in ("chat", "responses")
    for way in ("near", "httpx")
]


@pytest.mark.parametrize(("kind", "status", "protocol", "way"), draw_cases(CASES))
async def test_endless_answer_is_stopped_while_it_arrives(
    kind: str, status: int, protocol: str, way: str
) -> None:
    with flood() as url:
        client = model(f"{url}/{kind}/{status}/v1".replace(" ", "%20"), protocol, way)
        tracemalloc.start()
        try:
            with pytest.raises(TryFailed) as caught:
                await client.complete(ask())
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
            await client.aclose()
    assert peak < MOST_HELD, f"{peak >> 20} MB were held"
    assert caught.value.kind in ("too_long", *(("malformed",) if kind == "br" else ()))


@pytest.mark.process
def test_long_answer_is_never_corrected(tmp_path: Path) -> None:
    task = write_task(tmp_path / "tasks", "Ada")
    with StockGuest() as guest, FakeServer(then=lambda _: "x" * (9 << 20)) as server:
        command = hisa(tmp_path)
        command.environ |= {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "x"}
        words = ("run", str(task), "--env", f"guest={guest.url}", "--model", "m", "--no-report")
        command.run_to_end(*words, *FIXED)
        assert len(server.requests) == 1
    (folder,) = list_runs(tmp_path / "runs")
    assert load_run(folder).status == "model_error"


@contextmanager
def sending_on(target: str) -> Iterator[str]:
    """A server that sends every request on to another one."""

    class SendingOn(Flooding):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(307)
            self.send_header("Location", target + self.path.removeprefix("/v1"))
            self.send_header("Content-Length", "0")
            self.end_headers()

    with flood(SendingOn) as url:
        yield f"{url}/v1"


@pytest.mark.parametrize("way", ["near", "httpx"])
async def test_redirect_to_another_server_is_not_followed(way: str) -> None:
    with FakeServer(["stolen"]) as other, sending_on(other.url) as url:
        client = model(url, "chat", way)
        with pytest.raises(TryFailed, match="redirects to"):
            await client.complete(ask())
        await client.aclose()
        assert [received.path for received in other.requests] == []


def test_no_text_goes_on_to_another_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    with flood() as other, sending_on(f"{other}/good/200") as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        embedder = OpenAIEndpoint("m", max_retries=0)
        with pytest.raises(ModelUnavailable) as caught:
            embedder.embed(["what is on the screen"])
    assert "307" in str(caught.value)


def test_endless_vectors_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    with flood() as url:
        for kind in ("length", "chunks", "gzip"):
            monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/{kind}/200/v1")
            embedder = OpenAIEndpoint("m", max_retries=0)
            with pytest.raises(ModelUnavailable, match=r"more than|compressed"):
                embedder.embed(["a"])
