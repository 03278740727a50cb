"""The own time of a step as a user runs it, as a multiple of what version ca490f0 took.

    python -m benchmarks.own_time [--steps N] [--json]

``hisa run`` in a process of its own, progress on a terminal, report off: models answer at once
over HTTP, a vision grounder among them, and the machine replays drawn screens at once over HTTP.
What is left is HiSA's own time, with the time of two local servers in it, which read each request
whole and are as plain as can be: their time is not HiSA's. The measure is that of
``benchmarks.loop`` at ca490f0, run in the same minute from this repository's history.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pty
import socket
import socketserver
import statistics
import struct
import subprocess
import sys
import tarfile
import tempfile
import threading
from collections.abc import Iterator
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

from benchmarks.loop import SIZE, screens
from benchmarks.machine import machine
from hisa.events import StepFinished
from hisa.runs.run_reader import read_events

OLD = "ca490f0"
GOAL = 23.0 / 24.9
"""Half of what Agent S3 took for its first tenth of steps where the old loop took 24.9 ms."""
PLAN = json.dumps(
    {
        "thought": "The value is in the next row; I open it.",
        "tool": "gui_action",
        "input": "pyautogui.click(X_COORD, Y_COORD)",
        "description": "the cell with the total",
    }
)
_JSON = "application/json"
_COPIED = 1 << 16
"""Longer bodies are sent by themselves: a copy of a picture takes as long as sending it."""
_STEP_SECONDS, _START_SECONDS = 1.0, 60.0
"""Time limit of a run: ten times what a step takes on two busy cores, and what starting takes."""
_ANSWERS = {"grounder": "(400,300)", "planner": PLAN}


class _Handler(socketserver.BaseRequestHandler):
    """Reads requests whole and answers at once.

    ``http.server`` takes as long for a request's head as HiSA for all of it: its time would be in
    the measure and is not HiSA's.
    """

    def handle(self) -> None:
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._waiting = b""
        while b"\r\n\r\n" not in self._waiting:
            if not self._receive_more():
                return
            while b"\r\n\r\n" in self._waiting:
                self._serve_request()

    def answer(self, path: str, headers: dict[str, str]) -> tuple[str, bytes]:
        """The answer's content type and body."""
        raise NotImplementedError

    def _receive_more(self) -> bool:
        data = self.request.recv(1 << 20)
        self._waiting += data
        return bool(data)

    def _serve_request(self) -> None:
        head, _, _ = self._waiting.partition(b"\r\n\r\n")
        first, *lines = head.decode("ascii").split("\r\n")
        fields = (line.partition(":") for line in lines)
        headers = {name.lower(): value.strip() for name, _, value in fields}
        length = int(headers.get("content-length", 0))
        while len(self._waiting) < len(head) + 4 + length and self._receive_more():
            pass
        start = len(head) + 4
        self._waiting = self._waiting[start + length :]
        kind, data = self.answer(first.split()[1], headers)
        response_head = (
            f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\n\r\n"
        )
        is_small = len(data) < _COPIED
        for part in [response_head.encode() + data] if is_small else [response_head.encode(), data]:
            self.request.sendall(part)


class _Models(_Handler):
    """Answers every role at once, told apart by the header that HiSA sends."""

    def answer(self, path: str, headers: dict[str, str]) -> tuple[str, bytes]:
        text = _ANSWERS.get(headers.get("x-component", ""), "Succeeded. A region changed.")
        message = {"role": "assistant", "content": text}
        body = {
            "id": "x",
            "object": "chat.completion",
            "created": 0,
            "model": "instant",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }
        return _JSON, json.dumps(body).encode()


def _look(pixels: bytes) -> bytes:
    """The body of a look, made before it is asked for."""
    window = {"id": "1", "title": "Sheet", "app": "calc", "box": None, "active": True}
    header = {
        "screen": [SIZE.width, SIZE.height],
        "format": "raw",
        "cursor": [1, 1],
        "windows": [window],
        "elements": None,
        "complete": False,
    }
    text = json.dumps(header).encode()
    return struct.pack(">I", len(text)) + text + pixels


class _Machine(_Handler):
    """A guest whose screen is another drawn one at each look."""

    shown = 0
    looks: ClassVar = [_look(picture.tobytes()) for picture in screens()]

    def answer(self, path: str, headers: dict[str, str]) -> tuple[str, bytes]:
        size = {"width": SIZE.width, "height": SIZE.height}
        if path == "/hisa/act":
            return _JSON, b'{"done": 1}'
        if path == "/hisa/execute":
            return _JSON, b'{"exit_code": 0, "output": "", "error": "", "timed_out": false}'
        if path != "/hisa/observe":
            body = {"protocol": 1, "capabilities": ["execute", "unchanged"], "screen": size}
            return _JSON, json.dumps(body).encode()
        type(self).shown += 1
        return "application/octet-stream", self.looks[self.shown % len(self.looks)]


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True


@contextlib.contextmanager
def serve(handler: type[_Handler]) -> Iterator[str]:
    """The handler in a process of its own, so that its time is not the agent's."""
    server = _Server(("127.0.0.1", 0), handler)
    child = os.fork()
    if not child:
        server.serve_forever()
    server.server_close()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)


def run_cli(folder: Path, steps: int, models: str, guest: str) -> Path:
    """Run ``hisa`` on a terminal; returns the run's folder."""
    line = [
        sys.executable,
        "-m",
        "hisa",
        "run",
        "Open every cell.",
        "--env",
        f"guest={guest}",
        "--model",
        "instant",
        "--max-steps",
        str(steps),
        "--confirm",
        "never",
        "--no-report",
        "--runs",
        str(folder),
        "--set",
        "patterns.enabled=false",
        "--set",
        "models.grounder.model=instant",
        "--set",
        f"models.grounder.base_url={models}/v1",
        "--set",
        "grounder.kind=vision",
        "--set",
        "policy.defaults=never",
    ]
    environment = {**os.environ, "OPENAI_BASE_URL": f"{models}/v1", "OPENAI_API_KEY": "x"}
    master, slave = pty.openpty()
    drain = threading.Thread(target=_drain, args=(master,), daemon=True)
    drain.start()
    process = subprocess.Popen(line, stdout=slave, stderr=slave, stdin=slave, env=environment)
    os.close(slave)
    try:
        process.wait(_STEP_SECONDS * steps + _START_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        sys.exit(f"benchmarks.own_time: hisa run took longer than its limit, {steps} steps")
    (run_folder,) = (path.parent for path in folder.glob("*/events.jsonl"))
    return run_folder


def _drain(master: int) -> None:
    with contextlib.suppress(OSError):
        while os.read(master, 65536):
            pass


def step_times(run: Path) -> list[float]:
    """Milliseconds from the end of each step to the end of the next."""
    ends = [event.at for event in read_events(run) if isinstance(event, StepFinished)]
    return [1000 * (later - earlier) for earlier, later in pairwise(ends)]


def old_loop() -> float:
    """The old loop benchmark's median, in milliseconds, measured here and now.

    Raises:
        SystemExit: this copy of the repository does not hold the old version.
    """
    root = Path(__file__).resolve().parent.parent
    archive = subprocess.run(
        ["git", "-C", str(root), "archive", OLD], capture_output=True, check=False
    )
    if archive.returncode:
        sys.exit(f"version {OLD} is not in this copy's history; try: git fetch --unshallow")
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=BytesIO(archive.stdout)) as files:
            files.extractall(folder, filter="data")
        process = subprocess.run(
            [sys.executable, "-m", "benchmarks.loop", "--json"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": folder},
            capture_output=True,
            check=True,
        )
    return float(json.loads(process.stdout)["median_ms"])


def rounds(count: int, steps: int) -> list[tuple[float, list[float]]]:
    """By round: the old loop's milliseconds around it, and the times of the steps.

    The two take turns, so that what else the machine does meanwhile strikes both.
    """
    results = []
    before = old_loop()
    for _ in range(count):
        with (
            tempfile.TemporaryDirectory() as folder,
            serve(_Models) as models,
            serve(_Machine) as guest,
        ):
            times = step_times(run_cli(Path(folder), steps, models, guest))
        after = old_loop()
        results.append(((before + after) / 2, times))
        before = after
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=100, help="steps of a round (100)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds, in turn with the old (5)")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    results = rounds(max(1, options.rounds), max(2, options.steps))
    tenth = max(1, len(results[0][1]) // 10)
    rows = {
        "old_loop_ms": statistics.median(old for old, _ in results),
        "step_ms": statistics.median(statistics.median(times) for _, times in results),
        "first_tenth_ms": statistics.median(t for _, times in results for t in times[:tenth]),
        "last_tenth_ms": statistics.median(t for _, times in results for t in times[-tenth:]),
    }
    multiples = sorted(statistics.median(times) / old for old, times in results)
    multiple = statistics.median(multiples)
    if options.json:
        print(json.dumps(rows | {"multiple": multiple, "multiples": multiples}))
        return
    verdict = "met" if multiple <= GOAL else "NOT met"
    least, most = multiples[0], multiples[-1]
    print(
        f"own time of a step by `hisa run`, {len(results)} times {len(results[0][1])} ({machine()})"
    )
    print(f"  {OLD}'s benchmarks.loop  {rows['old_loop_ms']:6.1f} ms")
    print(f"  a step, median         {rows['step_ms']:6.1f} ms")
    print(f"  in turns, median      {multiple:6.2f} times the old loop ({least:.2f} to {most:.2f})")
    print(f"  goal                   at most {GOAL:.2f} times: {verdict}")
    print(
        f"  first and last tenth   {rows['first_tenth_ms']:6.1f} ms {rows['last_tenth_ms']:6.1f} ms"
    )


if __name__ == "__main__":
    main()
