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
from hisa.runs.run_reader import load_run
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
    new_executor: Executor
    if request.param == "ray":
        request.getfixturevalue("ray")
        from hisa.plugins.benchmarks.bench.executors.ray import RayExecutor

        new_executor = RayExecutor()
    else:
        new_executor = LocalExecutor(tmp_path / "workers.log")
    yield new_executor
    await new_executor.close()


async def test_worker_does_jobs_in_turn_and_reports(executor: Executor, tmp_path: Path) -> None:
    worker = await executor.start_worker()
    for name, score in (("ada", 1.0), ("bob", 0.0)):
        expected = name if score else "somebody else"
        messages = [message async for message in worker.do(job(tmp_path, name, expected=expected))]
        first, *steps, run_end, free = messages
        assert isinstance(free, JobDone)
        assert isinstance(first, RunMade)
        assert [step.step for step in steps if isinstance(step, StepDone)] == [1, 2, 3, 4]
        assert isinstance(run_end, RunEnded)
        assert (run_end.status, run_end.score, run_end.steps) == ("succeeded", score, 4)
        assert worker.name == f"{first.host}:{first.process}"
        assert load_run(tmp_path / "runs" / first.run).score == score
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
    messages = [message async for message in second.do(job(tmp_path, "ada"))]
    assert isinstance(messages[-2], RunEnded)
    assert messages[-2].score == 1.0
    await second.close()


async def test_closing_a_worker_at_work_stops_its_run(executor: Executor, tmp_path: Path) -> None:
    worker = await executor.start_worker()
    runs: list[RunMade] = []

    async def listen() -> None:
        async for message in worker.do(job(tmp_path, "slow")):
            if isinstance(message, RunMade):
                runs.append(message)
                begun.set()

    begun = asyncio.Event()
    listening = asyncio.create_task(listen())
    await asyncio.wait_for(begun.wait(), 60)
    listening.cancel()
    await asyncio.gather(listening, return_exceptions=True)
    await worker.close()
    assert load_run(tmp_path / "runs" / runs[0].run).status == "stopped"
