"""How long a person waits: from the start of `hisa run` to the first act on a fresh desktop.

    python -m benchmarks.first_act [RUNS]

Each run is a process of its own with an empty pattern store, on a private desktop, with the
offline model, and one before them is not counted: it compiles the modules, as a first start does.
The goal is under 2 s on an idle machine of 2 cores.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.machine import compiled_once

GOAL_SECONDS = 2.0
TASK = 'Open the text editor. Type "hello".'


def first_act(folder: Path, environment: dict[str, str]) -> dict[str, float]:
    """Seconds from the start of the process to the first event of each kind up to an act."""
    environ = {**environment, "HISA_PATTERNS__PATH": str(folder / "patterns")}
    begun = time.time()
    subprocess.run(
        [sys.executable, "-m", "hisa", "run", TASK, "--runs", str(folder / "runs"), "--no-report"],
        env=environ,
        check=True,
        capture_output=True,
    )
    (log,) = folder.glob("runs/*/events.jsonl")
    times: dict[str, float] = {}
    for line in log.read_text("utf-8").splitlines():
        event = json.loads(line)
        times.setdefault(event["type"], event["at"] - begun)
        if event["type"] == "acted":
            break
    return times


def main(runs: int) -> None:
    """Print the medians."""
    timings = []
    with compiled_once() as environment:
        for _ in range(1 + runs):
            with tempfile.TemporaryDirectory() as folder:
                timings.append(first_act(Path(folder), environment))
    del timings[0]
    load = os.getloadavg()[0]
    for name in timings[0]:
        times = [run[name] for run in timings if name in run]
        print(f"{name:<16} {statistics.median(times):6.2f} s  (at most {max(times):.2f} s)")
    acted = statistics.median(run["acted"] for run in timings)
    verdict = "met" if acted < GOAL_SECONDS else "NOT met"
    print(f"{runs} runs; {os.cpu_count()} processors, load {load:.1f} at the end")
    print(f"goal: acted under {GOAL_SECONDS:g} s on an idle machine: {verdict}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
