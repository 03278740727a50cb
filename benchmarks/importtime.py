"""How long ``hisa --help`` and ``import hisa.wiring`` take, by ``python -X importtime``.

Modules are compiled before, as they are where HiSA was started once.

python -m benchmarks.importtime [--json]
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from typing import Any

from benchmarks.machine import compiled_once, machine

GOAL_MS = 200.0
WIRING_GOAL_MS = 500.0
HELP = ("-m", "hisa", "--help")
WIRING = ("-c", "import hisa.wiring")
RUNS = 7
HEAVY = ("torch", "openai", "qdrant_client", "qdrant_edge", "numpy", "PIL", "pydantic", "rich")


def measure(words: tuple[str, ...], environment: dict[str, str]) -> tuple[float, list[str]]:
    """Milliseconds of all imports of one process, and heavy modules among them."""
    command = [sys.executable, "-X", "importtime", *words]
    process = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    lines = process.stderr.splitlines()
    rows = [line.split("|") for line in lines if line.startswith("import time:")][1:]
    microseconds = sum(int(row[0].split(":")[1]) for row in rows)
    names = {row[2].strip().split(".")[0] for row in rows}
    return microseconds / 1000, sorted(names.intersection(HEAVY))


def wall(words: tuple[str, ...], environment: dict[str, str]) -> float:
    """Milliseconds of the whole process."""
    started = time.perf_counter()
    subprocess.run([sys.executable, *words], capture_output=True, check=True, env=environment)
    return (time.perf_counter() - started) * 1000


def report(words: tuple[str, ...]) -> dict[str, Any]:
    """Medians of `RUNS` processes, and the best."""
    with compiled_once() as environment:
        wall(words, environment)
        measured = [measure(words, environment) for _ in range(RUNS)]
        walls = [wall(words, environment) for _ in range(RUNS)]
    imports = [milliseconds for milliseconds, _ in measured]
    return {
        "imports_ms": statistics.median(imports),
        "best_ms": min(imports),
        "process_ms": statistics.median(walls),
        "heavy": measured[0][1],
    }


def main() -> None:
    reports = {"help": report(HELP), "wiring": report(WIRING)}
    if "--json" in sys.argv:
        print(json.dumps({**reports["help"], "wiring": reports["wiring"]}))
        return
    for title, key, goal in (
        ("hisa --help", "help", GOAL_MS),
        ("import hisa.wiring", "wiring", WIRING_GOAL_MS),
    ):
        row = reports[key]
        verdict = "met" if row["imports_ms"] < goal else "NOT met"
        print(f"{title}, median of {RUNS} ({machine()})")
        goal_text = f"at best {row['best_ms']:.1f}; goal < {goal:.0f} ms: {verdict}"
        print(f"  imports        {row['imports_ms']:7.1f} ms   {goal_text}")
        print(f"  whole process  {row['process_ms']:7.1f} ms")
        print(f"  heavy modules  {', '.join(row['heavy']) or 'none'}")


if __name__ == "__main__":
    main()
