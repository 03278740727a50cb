"""The time that turns and kept elements add to a step, on the looks of a run that was made.

``python -m benchmarks.turn_cost RUN [--repeat N]`` takes a run's folder: the elements of a look
are kept anew in a new run, and its largest request is logged anew. Prints one line of JSON, in
milliseconds, medians: a look, a request, and a step, which has one new look and two requests (the
look that it begins with is that which the last one ended with).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from hisa.events import Observed
from hisa.models.audit import Audit
from hisa.protocols import Message, ModelRequest, Task, TextPart
from hisa.runs.kept_elements import read_elements
from hisa.runs.log import RunLog
from hisa.runs.read import ELEMENTS, load_run
from hisa.runs.turns import turns

__all__ = ["main"]


def _median(repeat: int, act: Callable[[], object]) -> float:
    times = []
    for _ in range(repeat):
        begun = time.perf_counter()
        act()
        times.append(1000 * (time.perf_counter() - begun))
    return round(statistics.median(times), 2)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--repeat", type=int, default=30)
    given = parser.parse_args()
    run = load_run(given.run)
    names = {e.elements_sha256 for e in run.events if isinstance(e, Observed)} - {""}
    looks = [read_elements(run.folder / ELEMENTS / f"{name}.json") for name in sorted(names)]
    largest = max(looks, key=len)
    body = max((turn.request for turn in turns(run)), key=lambda body: len(json.dumps(body)))
    request = ModelRequest("planner", (Message("user", (TextPart("x"),)),))
    audit = Audit()
    with (
        tempfile.TemporaryDirectory() as folder,
        RunLog.create(Path(folder), Task("t", "x")) as log,
    ):

        def keep() -> None:
            asyncio.run(asyncio.to_thread(log._keep_elements, largest))
            for path in (log.folder / ELEMENTS).glob("*"):
                path.unlink()

        elements = _median(given.repeat, keep)
        asked = _median(given.repeat, lambda: log.emit(audit.asked(request, body, (), model="m")))
    print(
        json.dumps(
            {
                "elements": len(largest),
                "keep_ms": elements,
                "request_ms": asked,
                "step_ms": round(elements + 2 * asked, 2),
            }
        )
    )


if __name__ == "__main__":
    main()
