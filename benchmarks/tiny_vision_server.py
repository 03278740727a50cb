"""A server of the OpenAI chat protocol that really runs a Qwen2.5-VL-shaped model, a tiny one.

    python -m benchmarks.tiny_vision_server [--layers N] [--device cpu]

Its weights are random, so that what it says means nothing: each answer is ``(x,y)`` with numbers
drawn from the tokens that the model wrote. The work is that of a real server: the picture is
decoded, brought to patches by Qwen2-VL's own image processor, run through the vision tower and the
language model, and as many tokens are written one by one as a point has. Requests that wait
together are run together. There is no tokenizer, which would have to be fetched: a byte is a token.

It needs torch and transformers, and nothing of HiSA's. It prints its address, and serves until it
is ended. ``GET /stats`` gives the seconds that each request spent here, and how many were run
together.
"""

from __future__ import annotations

import argparse
import base64
import io
import json
import queue
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

_BYTES = 256
_PAD, _START, _END, _PICTURE = 256, 257, 258, 259
_VOCABULARY = 512
_WRITTEN = 10
"""Tokens of an answer: those of "(1234,567)"."""
_TOGETHER = 16
"""Requests in one batch, at most."""


def tiny_model(layers: int, device: str) -> Any:
    """A model of Qwen2.5-VL's shape with random weights."""
    import torch
    from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration

    torch.manual_seed(0)
    config = Qwen2_5_VLConfig(
        text_config={
            "hidden_size": 64,
            "intermediate_size": 128,
            "num_hidden_layers": layers,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "vocab_size": _VOCABULARY,
            "max_position_embeddings": 32768,
            "bos_token_id": None,
            "eos_token_id": None,
            "pad_token_id": _PAD,
            "rope_parameters": {
                "rope_type": "default",
                "mrope_section": [2, 3, 3],
                "rope_theta": 1_000_000.0,
            },
        },
        vision_config={
            "depth": layers,
            "hidden_size": 64,
            "intermediate_size": 128,
            "num_heads": 4,
            "out_hidden_size": 64,
            "fullatt_block_indexes": [layers - 1],
        },
        image_token_id=_PICTURE,
        vision_start_token_id=_START,
        vision_end_token_id=_END,
        pad_token_id=_PAD,
    )
    return Qwen2_5_VLForConditionalGeneration(config).eval().to(device)


@dataclass
class _Job:
    """A request on its way."""

    text: str
    picture: bytes
    arrived: float = field(default_factory=time.monotonic)
    done: threading.Event = field(default_factory=threading.Event)
    answer: str = ""
    tokens_in: int = 0


class Engine:
    """Runs waiting requests together, in a thread of its own."""

    def __init__(self, layers: int, device: str) -> None:
        from transformers import Qwen2VLImageProcessor

        self._device = device
        self._model = tiny_model(layers, device)
        self._processor = Qwen2VLImageProcessor()
        self._waiting: queue.Queue[_Job] = queue.Queue()
        self.seconds: list[float] = []
        self.batches: list[int] = []
        threading.Thread(target=self._work, daemon=True).start()

    def ask(self, job: _Job) -> None:
        """Wait until a job is answered."""
        self._waiting.put(job)
        job.done.wait()
        self.seconds.append(time.monotonic() - job.arrived)

    def _work(self) -> None:
        while True:
            jobs = [self._waiting.get()]
            while len(jobs) < _TOGETHER and not self._waiting.empty():
                jobs.append(self._waiting.get())
            self._run(jobs)
            self.batches.append(len(jobs))
            for job in jobs:
                job.done.set()

    def _run(self, jobs: list[_Job]) -> None:
        import torch
        from PIL import Image

        pictures = [Image.open(io.BytesIO(job.picture)).convert("RGB") for job in jobs]
        seen = self._processor(images=pictures, return_tensors="pt")
        merged = [int(grid.prod()) // 4 for grid in seen["image_grid_thw"]]
        lines = [
            [*_tokens(""), _START, *[_PICTURE] * count, _END, *_tokens(job.text)]
            for job, count in zip(jobs, merged, strict=True)
        ]
        longest = max(map(len, lines))
        ids = torch.tensor([[_PAD] * (longest - len(line)) + line for line in lines])
        mask = (ids != _PAD).long()
        with torch.inference_mode():
            written = self._model.generate(
                input_ids=ids.to(self._device),
                attention_mask=mask.to(self._device),
                pixel_values=seen["pixel_values"].to(self._device),
                image_grid_thw=seen["image_grid_thw"].to(self._device),
                mm_token_type_ids=(ids == _PICTURE).int().to(self._device),
                max_new_tokens=_WRITTEN,
                min_new_tokens=_WRITTEN,
                do_sample=False,
                pad_token_id=_PAD,
            )
        for job, line, picture, row in zip(jobs, lines, pictures, written, strict=True):
            said = row[longest:].tolist()
            x = sum(said[:5]) % picture.width
            y = sum(said[5:]) % picture.height
            job.answer, job.tokens_in = f"({x * 0.9:.0f},{y * 0.9:.0f})", len(line)


def _tokens(text: str) -> list[int]:
    return [byte % _BYTES for byte in text.encode()]


class _Handler(BaseHTTPRequestHandler):
    engine: ClassVar[Engine]
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        if self.path == "/stats":
            engine = self.engine
            self._json({"seconds": engine.seconds, "batches": engine.batches})
            engine.seconds, engine.batches = [], []
        else:
            self._json({"object": "list", "data": [{"id": "tiny", "object": "model"}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        job = _job(body["messages"])
        self.engine.ask(job)
        usage = {
            "prompt_tokens": job.tokens_in,
            "completion_tokens": _WRITTEN,
            "total_tokens": job.tokens_in + _WRITTEN,
        }
        message = {"role": "assistant", "content": job.answer}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        self._json(
            {
                "id": "tiny",
                "object": "chat.completion",
                "created": 0,
                "model": "tiny",
                "choices": [choice],
                "usage": usage,
            }
        )

    def _json(self, content: dict[str, Any]) -> None:
        data = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Nothing on standard error."""


def _job(messages: list[dict[str, Any]]) -> _Job:
    """The texts of all messages, and the last picture."""
    texts, picture = [], b""
    for message in messages:
        content = message["content"]
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        for part in parts:
            if part["type"] == "text":
                texts.append(part["text"])
            else:
                picture = base64.b64decode(part["image_url"]["url"].partition(",")[2])
    return _Job("\n".join(texts), picture)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    _Handler.engine = Engine(options.layers, options.device)
    server = _Server(("127.0.0.1", 0), _Handler)
    print(f"http://127.0.0.1:{server.server_address[1]}/v1", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
