"""Environments at scale, simulated: the scheduler's own time, memory, and recovery.

    python -m benchmarks.pool --simulate 2000    environments in Ray actors, a tenth killed

The scheduler, the ledger and the messages are the real ones. Simulated environments are forms in
memory whose steps take as long as they are told.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from hisa.config import load
from hisa.plugins.benchmarks.bench.attempt_records import Plan, PlannedTask
from hisa.plugins.benchmarks.bench.executors.base import WorkerLost
from hisa.plugins.benchmarks.bench.jobs import (
    Job,
    Message,
    RunEnded,
    RunMade,
    StepDone,
    message_adapter,
)
from hisa.plugins.benchmarks.bench.ledger import AttemptLedger
from hisa.plugins.benchmarks.bench.schedule import Bench, Progress
from hisa.plugins.benchmarks.bench.summary import summarise
from hisa.testing.form import FakeEnvironment

STEP_SECONDS = 20.0
"""What a step takes in the large simulation: a model that thinks, and a screen that settles."""
STEPS = 4
HOSTS = 10


def _pss_mb(process: int) -> float:
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    line = next((line for line in text.splitlines() if line.startswith("Pss:")), "Pss: 0")
    return int(line.split()[1]) / 1024


class _Host:
    """An actor with many environments; each takes the steps of one attempt at a time."""

    def __init__(self) -> None:
        self._environments: dict[int, FakeEnvironment] = {}

    async def process(self) -> int:
        return os.getpid()

    async def memory_mb(self) -> float:
        return _pss_mb(os.getpid())

    async def do(self, number: int, begin: float) -> AsyncIterator[str]:
        environment = FakeEnvironment()
        self._environments[number] = environment
        await environment.reset()
        yield RunMade(run=f"simulated-{number}", host="ray", process=os.getpid()).model_dump_json()
        await asyncio.sleep(begin)
        for step in range(1, STEPS + 1):
            started = asyncio.get_running_loop().time()
            await environment.observe(elements=True)
            took = asyncio.get_running_loop().time() - started
            await asyncio.sleep(max(0.0, STEP_SECONDS - took))
            yield StepDone(step=step).model_dump_json()
        yield RunEnded(
            status="succeeded", score=1.0, score_state="scored", steps=STEPS
        ).model_dump_json()


class _Tenant:
    """A worker that is one of many environments of a host."""

    def __init__(self, ray: Any, host: Any, pool: SimulatedPool, number: int) -> None:
        self._ray, self._host, self._pool, self._number = ray, host, pool, number
        self.name = f"ray:{number}"

    async def do(self, job: Job, /) -> AsyncIterator[Message]:
        # Attempts begin spread over a step, as those of a pool at work do.
        begin = STEP_SECONDS * (self._number % 997) / 997
        try:
            async for reference in self._host.do.remote(self._number, begin):
                message = message_adapter.validate_json(await reference)
                self._pool.hear(self._number, message)
                yield message
        except self._ray.exceptions.RayError as error:
            raise WorkerLost(str(error).splitlines()[0]) from error

    async def close(self, *, patience: float = 20.0) -> None:
        """The host stays for the others."""


class SimulatedPool:
    """An executor whose workers share a few Ray actors."""

    name = "simulated"

    def __init__(self, environments: int) -> None:
        import importlib

        self._ray: Any = importlib.import_module("ray")
        self._ray.init(include_dashboard=False, log_to_driver=False, configure_logging=False)
        self._room = -(-environments // HOSTS)
        options = {"num_cpus": 0, "max_concurrency": self._room + 10}
        self._class: Any = self._ray.remote(**options)(_Host)
        self.hosts: list[Any] = []
        self._taken: list[int] = []
        self._count = 0
        self._environments = environments
        self.all_made = asyncio.Event()
        self.start_times: list[float] = []
        self.gaps: list[float] = []
        self._last: dict[int, float] = {}

    async def open(self) -> None:
        """Start the hosts."""
        self.hosts = [self._class.remote() for _ in range(HOSTS)]
        self._taken = [0] * HOSTS
        await asyncio.gather(*(self._answer(host.process) for host in self.hosts))

    async def _answer(self, method: Any) -> Any:
        return await method.remote()

    async def start_worker(self) -> _Tenant:
        """A place on the host with the most room."""
        at = min(range(HOSTS), key=lambda number: self._taken[number])
        self._taken[at] += 1
        self._count += 1
        return _Tenant(self._ray, self.hosts[at], self, self._count)

    def kill_one(self) -> None:
        """A tenth of the environments dies at once; a new host is asked for."""
        self._ray.kill(self.hosts[0])
        self.hosts[0] = self._class.remote()
        self._taken[0] = 0

    def hear(self, number: int, message: Message) -> None:
        """Take the time of a message."""
        now = time.monotonic()
        match message:
            case RunMade():
                self.start_times.append(now)
                if len(self.start_times) == self._environments:
                    self.all_made.set()
            case StepDone(step=step):
                if step > 1:
                    self.gaps.append(now - self._last[number] - STEP_SECONDS)
                self._last[number] = now
            case RunEnded():
                self._last.pop(number, None)

    async def memory_mb(self) -> float:
        """PSS of all hosts."""
        sizes = await asyncio.gather(*(self._answer(host.memory_mb) for host in self.hosts))
        return float(sum(sizes))

    async def close(self) -> None:
        """Leave Ray."""
        self._ray.shutdown()


async def simulate(folder: Path, environments: int) -> dict[str, Any]:
    """All environments at work at once; a tenth of them killed in the middle."""
    tasks = tuple(PlannedTask(id=f"task-{n:05}", path="none") for n in range(environments))
    variants = {"full": load(environ={}).model_dump(mode="json")}
    ledger = AttemptLedger(folder, Plan(suite="own:simulated", variants=variants, tasks=tasks))
    pool = SimulatedPool(environments)
    await pool.open()
    empty = await pool.memory_mb()
    ends: list[str] = []

    def heard(progress: Progress) -> None:
        if progress.end:
            ends.append(progress.end)

    started = time.monotonic()
    bench = Bench(ledger, pool, workers=environments, on_progress=heard)
    work = asyncio.create_task(bench.run())
    starting = asyncio.create_task(pool.all_made.wait())
    await asyncio.wait((work, starting), return_when=asyncio.FIRST_COMPLETED)
    if work.done():
        work.result()  # what ended it too early
    all_at_work = pool.start_times[-1] - started
    # Once most have taken two steps, and none has ended.
    await asyncio.sleep(2.5 * STEP_SECONDS)
    full = await pool.memory_mb()
    healthy = list(pool.gaps)
    before = len(pool.start_times)
    killed = time.monotonic()
    pool.kill_one()
    await work
    recovered = [at - killed for at in pool.start_times[before:]]
    sums = summarise(ledger.slot_state(slot) for slot in ledger.plan.slots)
    ledger.close()
    await pool.close()
    return {
        "environments": environments,
        "hosts": HOSTS,
        "seconds_until_all_at_work": all_at_work,
        "step_seconds": STEP_SECONDS,
        "overhead_ms_per_step_median": 1000 * statistics.median(healthy),
        "overhead_ms_per_step_p99": 1000 * sorted(healthy)[int(0.99 * len(healthy))],
        "memory_mb_per_environment": (full - empty) / environments,
        "memory_mb_per_host": empty / HOSTS,
        "killed": ends.count("lost"),
        "seconds_until_recovered": max(recovered, default=0.0),
        "results": sums.scored,
        "attempts": sums.attempts,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--simulate", type=int, metavar="N", default=2000, help="environments")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = asyncio.run(simulate(Path(folder), options.simulate))
    if options.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        shown = f"{value:.3f}" if isinstance(value, float) else value
        print(f"  {name:<30} {shown}")


if __name__ == "__main__":
    main()
