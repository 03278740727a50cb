"""Workers in processes of their own, killed and given new weights while they play."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks.delayed_bandit import LENGTHS, BanditPolicy, DelayedBandit
from hisa.errors import EnvironmentFailed
from hisa.machine.patience import Deadline
from hisa.plugins.training.asynchronous import AsynchronousTraining, ages_by_length
from hisa.plugins.training.base import Policy
from hisa.plugins.training.curve_metrics import MetricsRow
from hisa.plugins.training.episode_buffer import EpisodeBuffer, Taken, Terms
from hisa.plugins.training.episodes import Choice, Draw, Episode, Look
from hisa.plugins.training.rollout_workers import Crew, WorkerPool, packed_weights
from hisa.plugins.training.step_training import GrpoSettings
from hisa.plugins.training.training_folder import TrainingFolder


def crew(seconds: float, *, wave: int) -> Crew:
    return Crew(partial(DelayedBandit, seconds), BanditPolicy, 1, wave)


class GatedBandit(DelayedBandit):
    """Holds before its fourth step until there is a file of that name: nothing hangs on time."""

    def __init__(self, gate: str) -> None:
        super().__init__()
        self._gate = Path(gate)

    def play(
        self, draws: Sequence[Draw], policy: Policy, *, greedy: bool = False
    ) -> Iterator[Episode]:
        return super().play(draws, _Held(policy, self._gate), greedy=greedy)


class _Held:
    def __init__(self, policy: Policy, gate: Path) -> None:
        self.name, self.version = policy.name, policy.version
        self._policy, self._gate, self._steps = policy, gate, 0

    def choose(self, looks: Sequence[Look], *, greedy: bool = False) -> list[Choice]:
        self._steps += 1
        while self._steps > 3 and not self._gate.exists():
            time.sleep(0.01)
        choices = self._policy.choose(looks, greedy=greedy)
        self.version = self._policy.version
        return choices


def gated(path: Path) -> Crew:
    """One worker that plays a short and a long episode at a time; only the short one ends."""
    return Crew(partial(GatedBandit, str(path)), BanditPolicy, 1, 2)


def broken() -> BanditPolicy:
    raise ValueError("no such policy")


def until(condition: Callable[[], object]) -> None:
    deadline = Deadline(60.0)
    while not condition():
        assert not deadline.passed
        time.sleep(0.02)


@pytest.fixture
def buffer(tmp_path: Path) -> Iterator[EpisodeBuffer]:
    buffer = EpisodeBuffer(tmp_path / "episodes.sqlite", Terms(batch=1, bound=50))
    buffer.advance(0, packed_weights(BanditPolicy()))
    yield buffer
    buffer.close()


def killed() -> int:
    """Kills the one worker as `kill -9` does."""
    [worker] = multiprocessing.active_children()
    assert worker.pid
    os.kill(worker.pid, signal.SIGKILL)
    worker.join()
    return worker.pid


@pytest.mark.process
def test_a_killed_worker_costs_its_episode_in_flight_and_weights_are_picked_up_amid_one(
    buffer: EpisodeBuffer, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    pool = WorkerPool(buffer, gated(gate))
    buffer.offer([Draw("short", 0, "0", 0), Draw("long", 0, "1", 0)])
    pool.tend()
    until(lambda: buffer.counts().get("done") == 1)
    first = killed()
    buffer.offer([Draw("short", 0, "2", 0)])
    pool.tend()
    assert buffer.counts()["freed"] == 1
    until(lambda: buffer.counts()["done"] == 2)  # the second worker has made two steps
    buffer.advance(1, packed_weights(BanditPolicy()))
    gate.touch()
    until(lambda: buffer.counts()["done"] == 3)
    rows = buffer._base.execute("SELECT episode FROM tickets WHERE task = 'long'")
    versions = [sample["version"] for sample in json.loads(rows.fetchone()[0])["samples"]]
    assert versions[:2] == [0, 0]
    assert versions[3:] == [1] * 13
    [second] = multiprocessing.active_children()
    assert second.pid != first
    pool.close()
    assert not multiprocessing.active_children()


@pytest.mark.process
def test_a_pool_whose_workers_cannot_start_gives_up(
    buffer: EpisodeBuffer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    pool = WorkerPool(buffer, Crew(DelayedBandit, broken))
    pool._deaths = 3
    pool.tend()
    with pytest.raises(EnvironmentFailed, match="4 rollout workers died without an episode"):
        until(pool.tend)
    pool.close()
    assert "no such policy" in capfd.readouterr().err


SETTINGS = GrpoSettings(
    groups=3, lr=0.1, passes=1, kl=0.0, evaluate_every=10, evaluation_seeds=1, pulse_at=8
)


def training(path: Path, updates: int, *, resume: bool = False) -> AsynchronousTraining:
    batches: list[Taken] = []

    def after_update(row: MetricsRow) -> None:
        if row.update:
            assert run.taken
            batches.append(run.taken)

    folder = TrainingFolder(path, {}, resume=resume)
    run = AsynchronousTraining(
        folder,
        BanditPolicy(),
        DelayedBandit(),
        tuple(LENGTHS),
        replace(SETTINGS, updates=updates),
        after_update,
        crew=crew(0.0, wave=24),
        terms=Terms(batch=3, bound=2),
    )
    run.run()
    folder.close()
    ages = ages_by_length(batches)
    assert set(ages) <= {2, 4, 16}
    assert all(p95 <= 2 and mean <= 2 for mean, p95, _ in ages.values())
    return run


@pytest.mark.process
def test_a_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    first = training(tmp_path, 6)
    assert first.done == 6
    again = training(tmp_path, 14, resume=True)
    assert again.policy.version > first.policy.version
    lines = (tmp_path / "metrics.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["update"] for line in lines] == list(range(15))
    assert [json.loads(line)["phase"] for line in lines[7:10]] == ["grpo", "pulse", "grpo"]
    assert not multiprocessing.active_children()


PARENT = """
import sys, time
from pathlib import Path
from hisa.plugins.training.episode_buffer import EpisodeBuffer
from hisa.plugins.training.rollout_workers import WorkerPool
from tests.plugins.training.test_asynchronous import crew
import multiprocessing
if __name__ == "__main__":
    folder = Path(sys.argv[1])
    buffer = EpisodeBuffer(folder / "episodes.sqlite")
    WorkerPool(buffer, crew(0.1, wave=1)).tend()
    [worker] = multiprocessing.active_children()
    print(worker.pid, flush=True)
    time.sleep(600)
"""


@pytest.mark.process
def test_workers_end_with_their_parent(buffer: EpisodeBuffer, tmp_path: Path) -> None:
    buffer.offer([Draw("short", seed, str(seed)) for seed in range(9)])
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    root = str(Path(__file__).parents[3])
    parent = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": root},
    )
    assert parent.stdout
    worker = int(parent.stdout.readline())
    until(lambda: buffer.counts().get("leased"))
    parent.kill()
    parent.wait()
    parent.stdout.close()
    until(lambda: not Path(f"/proc/{worker}").exists())


@pytest.mark.process
@pytest.mark.skipif(find_spec("ray") is None, reason="needs Ray: hisa install ray")
@pytest.mark.filterwarnings("ignore")  # Ray's own modules leave pipes to its processes open
def test_the_same_by_ray(buffer: EpisodeBuffer, tmp_path: Path) -> None:
    import ray

    gate = tmp_path / "gate"
    pool = WorkerPool(buffer, gated(gate), ray=True)
    buffer.offer([Draw("short", 0, "0", 0), Draw("long", 0, "1", 0)])
    pool.tend()
    until(lambda: buffer.counts().get("done") == 1)
    [worker] = pool._staff.values()
    worker.end()
    until(lambda: not worker.is_alive())
    gate.touch()
    pool.tend()
    until(lambda: buffer.counts().get("done") == 2)
    assert buffer.counts()["freed"] == 1
    pool.close()
    ray.shutdown()
