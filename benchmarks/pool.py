"""Workers at scale: runs per minute, the scheduler's own time, memory, and recovery.

    python -m benchmarks.pool                    1, 2 and 4 worker processes, forms in memory
    python -m benchmarks.pool --desktops         the same on real desktops
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
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml

from hisa.config import Settings, load
from hisa.plugins.benchmarks.bench.attempt_records import Plan, PlannedTask
from hisa.plugins.benchmarks.bench.executors.base import WorkerLost
from hisa.plugins.benchmarks.bench.executors.local import LocalExecutor
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
from hisa.plugins.benchmarks.bench.suites import open_suite
from hisa.plugins.benchmarks.bench.summary import summarise
from hisa.protocols import Environment, Task
from hisa.screen.observation import Observation
from hisa.testing.form import FakeEnvironment

LOOK_SECONDS = 0.25
"""What a look at a simulated screen takes."""
LOOKS = 4
"""Looks of a run: one at the start, and one after each step but the last of four."""
STEP_SECONDS = 20.0
"""What a step takes in the large simulation: a model that thinks, and a screen that settles."""
STEPS = 4
HOSTS = 10


class _Paced(FakeEnvironment):
    async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
        await asyncio.sleep(LOOK_SECONDS)
        return await super().observe(elements=elements, settle=settle)


@asynccontextmanager
async def paced(settings: Settings, task: Task) -> AsyncIterator[Environment]:
    """A form in memory whose looks take their time."""
    yield _Paced()


# ---------------------------------------------------------------- processes of this machine


def _forms(folder: Path, count: int) -> Plan:
    settings = load(environ={}, overrides={"patterns": {"enabled": False}})
    tasks = []
    for number in range(count):
        path = folder / f"form{number:03}.yaml"
        words = f'Click the "Name" field. Type "name {number}". Click the "Save" button.'
        check = [{"file": "/home/user/form.txt", "equals": f"name {number}"}]
        path.write_text(yaml.safe_dump({"id": path.stem, "instruction": words, "check": check}))
        tasks.append(PlannedTask(id=path.stem, path=str(path)))
    variants = {"full": settings.model_dump(mode="json")}
    return Plan(suite="own:forms", variants=variants, tasks=tuple(tasks))


def _examples(count: int) -> Plan:
    settings = load(environ={}, overrides={"patterns": {"enabled": False}})
    suite = open_suite("own:examples")
    return Plan(
        suite=suite.name,
        variants={"full": settings.model_dump(mode="json")},
        tasks=suite.tasks,
        repeat=max(1, count // len(suite.tasks)),
    )


async def throughput(folder: Path, plan: Plan, workers: int, maker: str) -> dict[str, Any]:
    """One bench with so many workers."""
    ledger = AttemptLedger(folder, plan)
    executor = LocalExecutor(folder / "workers.log")
    memory = asyncio.create_task(_peak_memory())
    # Starting Python is not what is measured: the clock starts with the first attempt.
    first: list[float] = []
    bench = Bench(
        ledger,
        executor,
        workers=workers,
        environment=maker,
        heard=lambda _: first.append(time.monotonic()),
    )
    await bench.run()
    seconds = time.monotonic() - first[0]
    memory.cancel()
    peak = (await asyncio.gather(memory, return_exceptions=True))[0]
    results = [ledger.slot_state(slot).result for slot in plan.slots]
    ended = [result.finished for result in results if result is not None and result.finished]
    ledger.close()
    return {
        "workers": workers,
        "runs": len(ended),
        "succeeded": sum(each.score == 1.0 for each in ended),
        "seconds": seconds,
        "runs_per_minute": 60 * len(ended) / seconds,
        "steps": sum(each.steps for each in ended),
        "memory_mb_per_worker": (peak if isinstance(peak, float) else 0.0) / workers,
    }


async def _peak_memory() -> float:
    """The most memory (PSS, megabytes) that this process's descendants had, until cancelled."""
    peak = 0.0
    try:
        while True:
            peak = max(peak, await asyncio.to_thread(_descendants_mb))
            await asyncio.sleep(1.0)
    except asyncio.CancelledError:
        return peak


def _descendants_mb() -> float:
    parents: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                status = Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)[1].split()
                parents[int(entry)] = int(status[1])
            except OSError:
                continue
    found, grown = {os.getpid()}, True
    while grown:
        more = {process for process, parent in parents.items() if parent in found} - found
        found |= more
        grown = bool(more)
    return sum(_pss_mb(process) for process in found - {os.getpid()})


def _pss_mb(process: int) -> float:
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    line = next((line for line in text.splitlines() if line.startswith("Pss:")), "Pss: 0")
    return int(line.split()[1]) / 1024


def processes(runs: int, *, desktops: bool) -> list[dict[str, Any]]:
    """The table of 1, 2 and 4 workers."""
    rows = []
    for workers in (1, 2, 4):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            plan = _examples(runs) if desktops else _forms(folder, runs)
            maker = "" if desktops else "benchmarks.pool:paced"
            rows.append(asyncio.run(throughput(folder / "bench", plan, workers, maker)))
    return rows


# ---------------------------------------------------------------- simulated environments on Ray


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
        self.made: list[float] = []
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
                self.made.append(now)
                if len(self.made) == self._environments:
                    self.all_made.set()
            case StepDone(step=step):
                if step > 1:
                    self.gaps.append(now - self._last[number] - STEP_SECONDS)
                self._last[number] = now
            case RunEnded():
                self._last.pop(number, None)

    async def memory_mb(self) -> float:
        """PSS of all hosts."""
        found = await asyncio.gather(*(self._answer(host.memory_mb) for host in self.hosts))
        return float(sum(found))

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
    bench = Bench(ledger, pool, workers=environments, heard=heard)
    work = asyncio.create_task(bench.run())
    made = asyncio.create_task(pool.all_made.wait())
    await asyncio.wait((work, made), return_when=asyncio.FIRST_COMPLETED)
    if work.done():
        work.result()  # what ended it too early
    all_at_work = pool.made[-1] - started
    # Once most have taken two steps, and none has ended.
    await asyncio.sleep(2.5 * STEP_SECONDS)
    full = await pool.memory_mb()
    healthy = list(pool.gaps)
    before = len(pool.made)
    killed = time.monotonic()
    pool.kill_one()
    await work
    recovered = [at - killed for at in pool.made[before:]]
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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=16)
    parser.add_argument("--desktops", action="store_true")
    parser.add_argument("--simulate", type=int, metavar="N")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.simulate:
        with tempfile.TemporaryDirectory() as folder:
            found = asyncio.run(simulate(Path(folder), options.simulate))
        if options.json:
            print(json.dumps(found))
        for name, value in () if options.json else found.items():
            shown = f"{value:.3f}" if isinstance(value, float) else value
            print(f"  {name:<30} {shown}")
        return
    rows = processes(options.runs, desktops=options.desktops)
    if options.json:
        print(json.dumps(rows))
        return
    kind = "real desktops" if options.desktops else f"forms in memory, {LOOK_SECONDS} s a look"
    print(f"{options.runs} runs with the offline model, {kind}")
    print("  workers  runs/min  speed-up  succeeded  own ms/step  MB/worker")
    for row in rows:
        own = ""
        if not options.desktops:
            waited = row["runs"] * LOOKS * LOOK_SECONDS
            own = f"{1000 * (row['seconds'] * row['workers'] - waited) / row['steps']:.0f}"
        print(
            f"  {row['workers']:>7} {row['runs_per_minute']:>9.1f}"
            f" {row['runs_per_minute'] / rows[0]['runs_per_minute']:>8.2f}x"
            f" {row['succeeded']:>5} of {row['runs']:<3} {own:>10}"
            f" {row['memory_mb_per_worker']:>10.0f}"
        )
    sys.stdout.flush()


if __name__ == "__main__":
    main()
