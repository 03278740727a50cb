"""One suite for every executor: the same jobs, messages, deaths and ends."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from hisa.plugins.benchmarks.bench.executors.base import Executor, WorkerLost
from hisa.plugins.benchmarks.bench.executors.local import LocalExecutor
from hisa.plugins.benchmarks.bench.jobs import JobDone, RunEnded, RunMade, StepDone
from hisa.runs.read import load_run
from tests.plugins.benchmarks.bench_suite.forms import job

pytestmark = pytest.mark.process

RAY = pytest.param(
    "ray",
    marks=[
        pytest.mark.skipif(find_spec("ray") is None, reason="needs Ray: hisa install ray"),
        # Ray's own modules warn and leave pipes to its processes open.
        pytest.mark.filterwarnings("ignore"),
    ],
)


@pytest.fixture(scope="module")
def ray() -> Iterator[None]:
    """Ray, started once: the executors of the tests find it there."""
    from hisa.plugins.benchmarks.bench.executors.ray import RayExecutor

    started = RayExecutor()
    yield
    asyncio.run(started.close())


@pytest.fixture(params=["local", RAY])
async def executor(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Executor]:
    made: Executor
    if request.param == "ray":
        request.getfixturevalue("ray")
        from hisa.plugins.benchmarks.bench.executors.ray import RayExecutor

        made = RayExecutor()
    else:
        made = LocalExecutor(tmp_path / "workers.log")
    yield made
    await made.close()


async def test_one_worker_does_job_after_job_and_tells(executor: Executor, tmp_path: Path) -> None:
    worker = await executor.start_worker()
    for name, score in (("ada", 1.0), ("bob", 0.0)):
        wanted = name if score else "somebody else"
        told = [message async for message in worker.do(job(tmp_path, name, wanted=wanted))]
        made, *steps, ended, free = told
        assert isinstance(free, JobDone)
        assert isinstance(made, RunMade)
        assert [step.step for step in steps if isinstance(step, StepDone)] == [1, 2, 3, 4]
        assert isinstance(ended, RunEnded)
        assert (ended.status, ended.score, ended.steps) == ("succeeded", score, 4)
        assert worker.name == f"{made.host}:{made.process}"
        assert load_run(tmp_path / "runs" / made.run).score == score
    await worker.close()


async def test_a_killed_worker_is_lost_and_another_goes_on(
    executor: Executor, tmp_path: Path
) -> None:
    worker = await executor.start_worker()

    async def die() -> None:
        async for message in worker.do(job(tmp_path, "ada")):
            assert isinstance(message, RunMade)
            os.kill(message.process, signal.SIGKILL)

    with pytest.raises(WorkerLost, match=r"worker .*:[0-9]+"):
        await die()
    await worker.close()
    second = await executor.start_worker()
    assert second.name != worker.name
    told = [message async for message in second.do(job(tmp_path, "ada"))]
    assert isinstance(told[-2], RunEnded)
    assert told[-2].score == 1.0
    await second.close()


async def test_closing_a_worker_at_work_stops_its_run(executor: Executor, tmp_path: Path) -> None:
    worker = await executor.start_worker()
    made: list[RunMade] = []

    async def listen() -> None:
        async for message in worker.do(job(tmp_path, "slow")):
            if isinstance(message, RunMade):
                made.append(message)
                begun.set()

    begun = asyncio.Event()
    listening = asyncio.create_task(listen())
    await asyncio.wait_for(begun.wait(), 60)
    listening.cancel()
    await asyncio.gather(listening, return_exceptions=True)
    await worker.close()
    assert load_run(tmp_path / "runs" / made[0].run).status == "stopped"
