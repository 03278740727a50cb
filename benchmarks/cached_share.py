"""The share of each planner request that the one before already sent, byte for byte.

    python -m benchmarks.cached_share [--steps N] [--vocabularies FOLDER] [--json]

Servers reuse what they computed for the beginning of an earlier prompt, so only what a request
begins with counts: everything before the first byte that differs. The run is the one of
`benchmarks.tokens`: 100 steps of the real loop, with a refinement every 5 steps. What is compared
are the ``messages`` of the JSON bodies as they left over HTTP.

"text" leaves the picture's bytes out; it stands last, so nothing behind it is lost. "bytes" counts
the picture as it is sent, in base64; "tokens" counts it as OpenAI documents for high detail, and
text with the first vocabulary found in FOLDER (see `benchmarks.tokens`), else estimated. OpenAI
reuses blocks of 128 tokens where 1024 are alike, vLLM blocks of 16: "in blocks" is rounded down to
those. The first request has none before it; the means are over the others.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import statistics
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx

from benchmarks.loop import SIZE
from benchmarks.tokens import answer, drive, picture_tokens
from benchmarks.tokens_vocabularies import vocabularies
from hisa.config import ModelSettings
from hisa.models.client import OpenAIModel
from hisa.models.endpoint import Endpoint
from hisa.models.profiles import find
from hisa.models.tokens import estimate_tokens, longest
from hisa.testing.model_server import ReceivedRequest

GOAL = 0.70
MODEL = "gpt-4.1"
"""Any model whose profile sends pictures and a schema."""
MESSAGES = '"messages":'
PICTURE = rb"(?<=data:image/png;base64,)[A-Za-z0-9+/=]+"

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Share:
    """What a request shares with the one before it, as parts of one."""

    text: float
    bytes: float
    text_tokens: float
    tokens: float
    blocks_of_128: float
    blocks_of_16: float


class _Server:
    """Answers as `benchmarks.tokens.answer` does and keeps the planner's bodies."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []

    async def __call__(self, scope: Any, receive: Callable[[], Awaitable[Any]], send: Any) -> None:
        raw, more = b"", True
        while more:
            piece = await receive()
            raw, more = raw + piece.get("body", b""), piece.get("more_body", False)
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        received = ReceivedRequest(scope["path"], headers, json.loads(raw))
        if received.role == "planner":
            self.bodies.append(raw)
        message = {"role": "assistant", "content": answer(received)}
        completion = {"choices": [{"index": 0, "finish_reason": "stop", "message": message}]}
        plain = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": plain})
        await send({"type": "http.response.body", "body": json.dumps(completion).encode()})


async def planner_bodies(steps: int, folder: Path) -> list[bytes]:
    """The bodies of the planner's requests in a run of so many steps, as they left."""
    server = _Server()
    client = httpx.AsyncClient(transport=httpx.ASGITransport(server), base_url="http://typical/v1")
    model = OpenAIModel(
        ModelSettings(model=MODEL),
        Endpoint("http://typical/v1"),
        profile=find(MODEL),
        http_client=client,
    )
    await drive(model, steps, folder)
    await model.aclose()
    return server.bodies


def prompt(body: bytes, *, picture: bool) -> bytes:
    """The messages of a body as they were sent, with or without the bytes of its picture."""
    text = body.decode("utf-8")
    start = text.index(MESSAGES) + len(MESSAGES)
    _, end = json.JSONDecoder().raw_decode(text, start)
    sent = text[start:end].encode()
    return sent if picture else re.sub(PICTURE, b"", sent)


def count_common(first: bytes, second: bytes) -> int:
    """The number of bytes with which both begin."""
    return longest(min(len(first), len(second)), lambda size: first[:size] == second[:size])


def share(before: bytes, now: bytes, count: Count) -> Share:
    """What one body shares with the body before it."""
    text, earlier = prompt(now, picture=False), prompt(before, picture=False)
    same = count_common(text, earlier)
    full_prompt = prompt(now, picture=True)
    begin = count(text[:same].decode("utf-8", "ignore"))
    size = count(text.decode("utf-8"))
    everything = size + picture_tokens(SIZE)
    cached = begin // 128 * 128 if begin >= 1024 else 0
    return Share(
        text=same / len(text),
        bytes=count_common(full_prompt, prompt(before, picture=True)) / len(full_prompt),
        text_tokens=begin / size,
        tokens=begin / everything,
        blocks_of_128=cached / everything,
        blocks_of_16=begin // 16 * 16 / everything,
    )


def shares(bodies: Sequence[bytes], count: Count) -> list[Share]:
    """One share for each request but the first."""
    return [share(before, now, count) for before, now in pairwise(bodies)]


def main() -> None:
    parser = argparse.ArgumentParser(description="Share of the planner's prompt sent before.")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--vocabularies", type=Path, help="folder of unpacked wheels")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    counters = vocabularies(options.vocabularies) if options.vocabularies else {}
    name, count = next(iter(counters.items()), ("the estimate, an upper one", estimate_tokens))
    with tempfile.TemporaryDirectory() as folder:
        bodies = asyncio.run(planner_bodies(options.steps, Path(folder)))
    results = shares(bodies, count)
    columns = {field: [getattr(result, field) for result in results] for field in Share.__slots__}
    rows = {field: (statistics.mean(values), min(values)) for field, values in columns.items()}
    if options.json:
        print(json.dumps({"requests": len(bodies), "count": name, "shares": rows}))
        return
    verdict = "met" if rows["text"][0] >= GOAL else "NOT met"
    print(f"{len(bodies)} planner requests, tokens by {name}; goal {GOAL:.0%} of text: {verdict}")
    for field, (mean, least) in rows.items():
        print(f"  {_LABELS[field]:<52}{mean:>7.1%} mean {least:>7.1%} least")


_LABELS = {
    "text": "text bytes",
    "bytes": "bytes with the picture in base64",
    "text_tokens": "tokens of text",
    "tokens": "tokens of text and picture",
    "blocks_of_128": "the same in blocks of 128 from 1024 up (OpenAI)",
    "blocks_of_16": "the same in blocks of 16 (vLLM)",
}


if __name__ == "__main__":
    main()
