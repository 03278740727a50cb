"""How long a person waits: from the start of `hisa run` to the first act on a fresh desktop.

    python -m benchmarks.first_act [RUNS]

Each run is a process of its own with an empty pattern store, on a private desktop, with the
offline model; the goal is under 2 s on an idle machine of 2 cores.
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

TASK = 'Open the text editor. Type "hello".'


def first_act(folder: Path) -> dict[str, float]:
    """Seconds from the start of the process to the first event of each kind up to an act."""
    environ = {**os.environ, "HISA_PATTERNS__PATH": str(folder / "patterns")}
    begun = time.time()
    subprocess.run(
        [sys.executable, "-m", "hisa", "run", TASK, "--runs", str(folder / "runs"), "--no-report"],
        env=environ, check=True, capture_output=True,
    )  # fmt: skip
    (log,) = folder.glob("runs/*/events.jsonl")
    seen: dict[str, float] = {}
    for line in log.read_text("utf-8").splitlines():
        event = json.loads(line)
        seen.setdefault(event["type"], event["at"] - begun)
        if event["type"] == "acted":
            break
    return seen


def main(runs: int) -> None:
    """Print the medians."""
    found = []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as folder:
            found.append(first_act(Path(folder)))
    load = os.getloadavg()[0]
    for name in found[0]:
        times = [run[name] for run in found if name in run]
        print(f"{name:<16} {statistics.median(times):6.2f} s  (at most {max(times):.2f} s)")
    print(f"{runs} runs; {os.cpu_count()} processors, load {load:.1f} at the end")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
