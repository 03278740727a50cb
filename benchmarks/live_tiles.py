"""Tiles of the live page: processor time of server and client, age of pictures, memory.

    python -m benchmarks.live_tiles              200 runs: a minute, then the steps of an hour
    python -m benchmarks.live_tiles 50 20 5      runs, seconds, and minutes of the second part

The server is ``hisa serve``. A writer makes the logs of runs by HiSA's `RunLog`: each second one in
ten gets a step with a new picture. The client asks for what the page asks for, and decodes it. In
the second part steps come as fast as they can be written, with pictures drawn from 8 for each run.
"""

from __future__ import annotations

import http.client
import io
import json
import os
import queue
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from PIL import Image, ImageDraw

from benchmarks.machine import machine
from hisa.events import ModelCalled, Observed, StepFinished
from hisa.protocols import Task
from hisa.runs.log import RunLog
from hisa.screen.observation import Screenshot


def screen(rng: random.Random) -> Image.Image:
    """A desktop of four windows with text, 1280x720."""
    draw = ImageDraw.Draw(picture := Image.new("RGB", (1280, 720), (70, 100, 120)))
    for x, y in ((20, 20), (640, 60), (90, 330), (600, 340)):
        draw.rectangle((x, y, x + 620, y + 360), (255, 255, 255), (90, 90, 90))
        words = ["".join(rng.choices("abcdefghijklmnopqrst", k=6)) for _ in range(14 * 22)]
        text = "\n".join(" ".join(words[at : at + 14]) for at in range(0, len(words), 14))
        draw.multiline_text((x + 8, y + 8), text, (20, 20, 20))
    return picture


def write(root: Path, runs: int, seconds: int, minutes: int) -> None:
    """Writes the runs, a part for each line of input; prints run, hash and time of each picture."""
    rng = random.Random(1)
    logs = [RunLog.create(root, Task(f"task-{n}", f"Do the work {n}")) for n in range(runs)]
    screens, few = [screen(rng) for _ in range(8)], list[Screenshot]()

    for steps, rate in ((runs, 1e9), (runs * seconds // 10, runs / 10), (6 * runs * minutes, 1e9)):
        begun = time.monotonic()
        for made in range(steps):
            time.sleep(max(0.0, begun + made / rate - time.monotonic()))
            log = logs[made] if rate > runs and not few else rng.choice(logs)
            if not few:  # a picture that was not there before
                ImageDraw.Draw(drawn := rng.choice(screens).copy()).text((9, 4), str(rng.random()))
            sha, log.step = log._save(rng.choice(few or [Screenshot(drawn)])), log.step + 1
            log.emit(Observed(image=sha, width=9, height=9, screen_width=9, screen_height=9))
            spent = {"tokens_in": 2000, "tokens_out": 300, "reply": "The button is there. " * 50}
            log.emit(ModelCalled(role="planner", model="m", usd=0.01, **spent))
            log.emit(StepFinished(seconds={"plan": 1.0}))
            print(json.dumps([log.id, sha, time.time()]), flush=True)
        few = [Screenshot(picture) for picture in screens] if rate < runs else []
        print("null", flush=True)
        sys.stdin.readline()


class Viewer:
    """Does what the page does: a stream, and six connections for pictures."""

    def __init__(self, address: str) -> None:
        self.host, _, token = address.removeprefix("http://").partition("/#token=")
        self.headers = {"Authorization": f"Bearer {token}"}
        self.wanted, self.shown, self.pictures = dict[str, str](), dict[str, str](), 0
        self.changed: queue.SimpleQueue[str] = queue.SimpleQueue()
        for work in (self._listen, *6 * [self._fetch]):
            threading.Thread(target=work, daemon=True).start()

    def _listen(self) -> None:
        stream = http.client.HTTPConnection(self.host)
        stream.request("GET", "/api/desktops/stream", headers=self.headers)
        for line in stream.getresponse():
            for tile in json.loads(line[6:])["tiles"] if line.startswith(b"data: ") else ():
                if tile["hash"] != self.wanted.get(tile["id"], ""):
                    self.wanted[tile["id"]] = tile["hash"]
                    self.changed.put(tile["id"])

    def _fetch(self) -> None:
        connection = http.client.HTTPConnection(self.host)
        while True:
            name = self.changed.get()
            if (sha := self.wanted[name]) != self.shown.get(name):
                try:
                    connection.request("GET", f"/api/tiles/{name}", headers=self.headers)
                    Image.open(io.BytesIO(connection.getresponse().read())).load()
                    self.shown[name], self.pictures = sha, self.pictures + 1
                except (http.client.HTTPException, OSError):
                    connection.close()  # it was idle for long; the next request opens it again
                    self.changed.put(name)


def used(pids: dict[str, int]) -> dict[str, float]:
    """Seconds of processor time of processes so far."""
    lines = {n: Path(f"/proc/{pid}/stat").read_text("ascii") for n, pid in pids.items()}
    ticks = {n: sum(map(int, x.rpartition(")")[2].split()[11:13])) for n, x in lines.items()}
    return {name: count / os.sysconf("SC_CLK_TCK") for name, count in ticks.items()}


def watch(writer: subprocess.Popen[str], viewer: Viewer, server: int) -> list[float]:
    """Prints what a part of the writer's took; returns the server's megabytes over it."""
    unseen: dict[str, list[tuple[str, float]]] = {}
    pids, begun = {"server": server, "client": os.getpid(), "writer": writer.pid}, time.monotonic()
    before, pictures, memory = used(pids), viewer.pictures, list[float]()
    steps, oldest, looked = 0, 0.0, begun
    for line in iter(writer.stdout.readline if writer.stdout else str, "null\n"):
        run, sha, at = json.loads(line)
        unseen.setdefault(run, []).append((sha, at))
        if (steps := steps + 1) == 1 or time.monotonic() - looked > 0.1:
            looked = time.monotonic()
            pages = int(Path(f"/proc/{server}/statm").read_text("ascii").split()[1])
            memory.append(pages * os.sysconf("SC_PAGE_SIZE") / 1e6)
            for name, written in unseen.items():
                known = [n for n, (sha, _) in enumerate(written) if sha == viewer.shown.get(name)]
                del written[: known[-1] + 1 if known else 0]
                oldest = max(oldest, time.time() - written[0][1] if written else 0.0)
    wall, shown = time.monotonic() - begun, viewer.pictures - pictures
    shares = ", ".join(f"{n} {(now - before[n]) / wall:.1%}" for n, now in used(pids).items())
    print(f"{steps} steps in {wall:.0f} s, {shown} pictures shown, at most {oldest:.1f} s late;")
    print(f"    of a core: {shares}; server {memory[-1]:.0f} MB, at most {max(memory):.0f}")
    return memory


def main(sizes: list[str]) -> None:
    """Prints what was measured."""
    print(f"{machine()}, load {os.getloadavg()[0]:.0f}; {sizes[0]} runs")
    with tempfile.TemporaryDirectory() as root:
        started = [
            subprocess.Popen([sys.executable, "-m", *c], stdin=-1, stdout=-1, text=True)
            for c in (["benchmarks.live_tiles", *sizes, root], ["hisa", "serve", "--root", root])
        ]
        writer, server = started
        try:
            viewer = Viewer(server.stdout.readline().split()[-1] if server.stdout else "")
            for part in ("start", "as it is", "an hour's steps"):
                print(f"{part}: ", end="", flush=True)
                memory = watch(writer, viewer, server.pid)
                print(file=writer.stdin, flush=True)
            half = memory[len(memory) // 2 :]
            slope = statistics.linear_regression(range(len(half)), half).slope * len(half)
            print(f"server's memory over the second half of these: {slope:+.1f} MB")
        finally:
            for process in started:
                process.kill()
                process.wait()


if __name__ == "__main__":
    sizes = sys.argv[1:4] or ["200", "60", "60"]
    write(Path(sys.argv[4]), *map(int, sizes)) if len(sys.argv) == 5 else main(sizes)
