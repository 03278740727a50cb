"""How long ``hisa --help`` takes to import, by ``python -X importtime``; and as a whole process.

python -m benchmarks.importtime [--json]
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time

from benchmarks.machine import machine

GOAL_MS = 200.0
RUNS = 7
HEAVY = ("torch", "openai", "qdrant_client", "qdrant_edge", "numpy", "PIL", "pydantic", "rich")


def measure() -> tuple[float, list[str]]:
    """Milliseconds of all imports of one ``hisa --help``, and heavy modules among them."""
    command = [sys.executable, "-X", "importtime", "-m", "hisa", "--help"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stderr.splitlines()
    rows = [line.split("|") for line in lines if line.startswith("import time:")][1:]
    microseconds = sum(int(row[0].split(":")[1]) for row in rows)
    names = {row[2].strip().split(".")[0] for row in rows}
    return microseconds / 1000, sorted(names.intersection(HEAVY))


def wall() -> float:
    """Milliseconds of the whole process."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-m", "hisa", "--help"], capture_output=True, check=True)
    return (time.perf_counter() - started) * 1000


def main() -> None:
    measured = [measure() for _ in range(RUNS)]
    imports = statistics.median(milliseconds for milliseconds, _ in measured)
    process = statistics.median(wall() for _ in range(RUNS))
    heavy = measured[0][1]
    if "--json" in sys.argv:
        print(json.dumps({"imports_ms": imports, "process_ms": process, "heavy": heavy}))
        return
    verdict = "met" if imports < GOAL_MS else "NOT met"
    print(f"hisa --help, median of {RUNS} ({machine()})")
    print(f"  imports        {imports:7.1f} ms   goal < {GOAL_MS:.0f} ms: {verdict}")
    print(f"  whole process  {process:7.1f} ms")
    print(f"  heavy modules  {', '.join(heavy) or 'none'}")


if __name__ == "__main__":
    main()
