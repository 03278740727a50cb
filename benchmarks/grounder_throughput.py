"""Places a second that a vision grounder finds, against a server that really runs a model.

    python -m benchmarks.grounder_throughput --python PYTHON [-n N] [--json]

PYTHON is an interpreter that has torch and transformers; `benchmarks.tiny_vision_server` runs in
it: a Qwen2.5-VL-shaped model, tiny and with random weights, behind the OpenAI chat protocol. Each
request goes through the grounder of a run, with a picture of its own that is encoded for it. The
model's time depends on its size; what HiSA adds to it does not, and is what this is about: all of a
request's time that it is not at the server, and the processor time of this process.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx

from benchmarks.machine import machine
from hisa.config import Settings
from hisa.grounder.formats import GTA1Format
from hisa.grounder.vision import Seer
from hisa.models.budget import Budget
from hisa.models.open_models import open_models
from hisa.models.spending import Ledger
from hisa.plugins.benchmarks.bench.stats import quantile
from hisa.protocols import ModelRequest
from hisa.screen.geometry import Size
from hisa.screen.observation import Screenshot

ROOT = Path(__file__).resolve().parent
PICTURES = ROOT / "grounding" / "screens"
CONCURRENCY = (1, 8, 32)
DESCRIPTION = "the Save button in the tool bar, third from the left"


@dataclass(frozen=True)
class Row:
    """What was measured at one concurrency; milliseconds are of one request."""

    concurrency: int
    requests: int
    per_second: float
    p50_ms: float
    p95_ms: float
    server_ms: float
    """Mean time at the server."""
    outside_ms: float
    """The rest of the mean: encoding, HTTP both ways, parsing, and waiting for a turn here."""
    client_cpu_ms: float
    """Processor time of this process for one request."""
    encode_ms: float
    """Making the request's picture: padding, PNG, base64; measured alone."""
    parse_ms: float
    """Reading a point from an answer; measured alone."""
    batch: float
    """Mean number of requests that the server ran together."""

    @property
    def outside_share(self) -> float:
        """The part of a request's time that it is not at the server."""
        return self.outside_ms / (self.outside_ms + self.server_ms)


@contextmanager
def served(python: str, layers: int) -> Iterator[str]:
    """The address of a server in a process of its own."""
    line = [python, str(ROOT / "tiny_vision_server.py"), "--layers", str(layers)]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, text=True, env={**os.environ})
    try:
        address = process.stdout.readline().strip() if process.stdout else ""
        if not address:
            sys.exit(f"{python} cannot run the server: it needs torch and transformers")
        yield address
    finally:
        process.kill()
        process.wait()


def pictures(count: int) -> list[Screenshot]:
    """Real screens at 1280x720, none encoded yet."""
    found = sorted(PICTURES.glob("*.png"))
    saved = [Screenshot.from_png(path.read_bytes()).fitted(Size(1280, 720)) for path in found[:8]]
    return [Screenshot(saved[number % len(saved)].pixels.copy()) for number in range(count)]


async def measured(address: str, concurrency: int, count: int) -> Row:
    """So many requests, so many at a time."""
    model = {"model": "gta1-tiny", "base_url": address, "timeout": 600}
    settings = Settings.model_validate({"models": {"grounder": model}})
    opened = open_models(settings.models, settings.planner, lambda _: None, Budget(), Ledger())
    async with opened as models, httpx.AsyncClient() as plain:
        seer = Seer(models["grounder"], GTA1Format())
        await seer.ask(pictures(1)[0], DESCRIPTION)  # connections, caches
        stats = address.replace("/v1", "/stats")
        await plain.get(stats)
        shown, turn = pictures(count), asyncio.Semaphore(concurrency)
        times: list[float] = []

        async def one(picture: Screenshot) -> None:
            async with turn:
                started = time.monotonic()
                await seer.ask(picture, DESCRIPTION)
                times.append(time.monotonic() - started)

        cpu, started = time.process_time(), time.monotonic()
        await asyncio.gather(*map(one, shown))
        wall, cpu = time.monotonic() - started, time.process_time() - cpu
        told = (await plain.get(stats)).json()
    inside = statistics.mean(told["seconds"])
    return Row(
        concurrency,
        count,
        per_second=count / wall,
        p50_ms=1000 * (quantile(times, 0.5) or 0),
        p95_ms=1000 * (quantile(times, 0.95) or 0),
        server_ms=1000 * inside,
        outside_ms=1000 * (statistics.mean(times) - inside),
        client_cpu_ms=1000 * cpu / count,
        encode_ms=_encoding(),
        parse_ms=_parsing(),
        batch=statistics.mean(told["batches"]),
    )


def _encoding() -> float:
    """Milliseconds for one picture, when nothing else is done."""
    found = []
    for picture in pictures(16):
        started = time.perf_counter()
        _, messages = GTA1Format().prepare(picture, DESCRIPTION)
        for part in ModelRequest("grounder", messages).pictures:
            part.data_url  # noqa: B018
        found.append(1000 * (time.perf_counter() - started))
    return statistics.median(found)


def _parsing() -> float:
    form, size, times = GTA1Format(), Size(1280, 720), 1000
    started = time.perf_counter()
    for _ in range(times):
        form.parse("(640,360)", size)
    return 1000 * (time.perf_counter() - started) / times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--python", required=True, help="an interpreter with torch, transformers")
    parser.add_argument("-n", type=int, default=64, help="requests at each concurrency")
    parser.add_argument("--layers", type=int, default=2, help="of the model and its vision tower")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with served(options.python, options.layers) as address:
        rows = [asyncio.run(measured(address, each, options.n)) for each in CONCURRENCY]
    if options.json:
        print(json.dumps([asdict(row) | {"outside_share": row.outside_share} for row in rows]))
        return
    print(f"{machine()}; load {os.getloadavg()[0]:.1f}; {options.n} requests each, 1280x720")
    print("at once  per s    p50 ms    p95 ms  server ms  outside ms  share  CPU here  together")
    for row in rows:
        print(
            f"{row.concurrency:7}{row.per_second:7.2f}{row.p50_ms:10.0f}{row.p95_ms:10.0f}"
            f"{row.server_ms:11.0f}{row.outside_ms:12.1f}{row.outside_share:7.1%}"
            f"{row.client_cpu_ms:8.1f} ms{row.batch:8.1f}"
        )
    print(f"encoding alone {rows[0].encode_ms:.1f} ms, parsing {rows[0].parse_ms:.3f} ms")


if __name__ == "__main__":
    main()
