"""Workers in processes of their own, killed and given new weights while they play."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks.delayed_bandit import LENGTHS, BanditPolicy, DelayedBandit
from hisa.errors import EnvironmentFailed, UsageError
from hisa.machine.patience import Deadline
from hisa.plugins.training.asynchronous import AsynchronousTraining, ages_by_length
from hisa.plugins.training.base import Policy
from hisa.plugins.training.episode_buffer import EpisodeBuffer, Taken, Terms
from hisa.plugins.training.episodes import Choice, Draw, Episode, Look
from hisa.plugins.training.rollout_workers import Crew, Factory, WorkerPool
from hisa.plugins.training.step_training import GrpoSettings, draw_groups
from hisa.plugins.training.training_folder import TrainingFolder
from hisa.plugins.training.weights_shelf import WeightsShelf, load_weights

POLICY = Factory("benchmarks.delayed_bandit:BanditPolicy")


def crew(seconds: float, *, wave: int, workers: int = 1) -> Crew:
    rollouts = Factory("benchmarks.delayed_bandit:DelayedBandit", {"seconds": seconds})
    return Crew(rollouts, POLICY, workers, wave)


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
    rollouts = Factory("tests.plugins.training.test_asynchronous:GatedBandit", {"gate": str(path)})
    return Crew(rollouts, POLICY, 1, 2)


def until(condition: Callable[[], object]) -> None:
    deadline = Deadline(60.0)
    while not condition():
        assert not deadline.passed
        time.sleep(0.02)


@pytest.fixture
def buffer(tmp_path: Path) -> Iterator[EpisodeBuffer]:
    buffer = EpisodeBuffer(tmp_path / "episodes.sqlite", Terms(batch=1, bound=50))
    buffer.claim(0)
    yield buffer
    buffer.close()


@pytest.fixture
def shelf(tmp_path: Path) -> WeightsShelf:
    shelf = WeightsShelf(tmp_path / "weights")
    shelf.publish(BanditPolicy())
    return shelf


def killed() -> int:
    """Kills the one worker as `kill -9` does."""
    [worker] = multiprocessing.active_children()
    assert worker.pid
    os.kill(worker.pid, signal.SIGKILL)
    worker.join()
    return worker.pid


@pytest.mark.process
def test_a_killed_worker_costs_its_episode_in_flight_and_weights_are_picked_up_amid_one(
    buffer: EpisodeBuffer, shelf: WeightsShelf, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    pool = WorkerPool(buffer, tmp_path / "episodes.sqlite", tmp_path / "weights", gated(gate))
    buffer.offer([Draw("short", 0, "0", 0), Draw("long", 0, "1", 0)])
    pool.tend()
    until(lambda: buffer.counts().get("done") == 1)
    first = killed()
    buffer.offer([Draw("short", 0, "2", 0)])
    pool.tend()
    assert buffer.counts()["freed"] == 1
    until(lambda: buffer.counts()["done"] == 2)  # the second worker has made two steps
    newer = BanditPolicy()
    newer.version = 1
    shelf.publish(newer)
    gate.touch()
    until(lambda: buffer.counts()["done"] == 3)
    [long] = buffer._read('"group" = ?', "1")
    versions = [sample.version for sample in long.samples]
    assert versions[:2] == [0, 0]
    assert versions[3:] == [1] * 13
    [second] = multiprocessing.active_children()
    assert second.pid != first
    pool.close()
    assert not multiprocessing.active_children()


@pytest.mark.process
def test_a_pool_whose_workers_cannot_start_gives_up(
    buffer: EpisodeBuffer, shelf: WeightsShelf, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    broken = Crew(Factory("benchmarks.delayed_bandit:Missing"), POLICY)
    pool = WorkerPool(buffer, tmp_path / "episodes.sqlite", tmp_path / "weights", broken)
    pool._deaths = 3
    pool.tend()
    with pytest.raises(EnvironmentFailed, match="4 rollout workers died without an episode"):
        until(pool.tend)
    pool.close()
    assert "no attribute 'Missing'" in capfd.readouterr().err


def test_weights_that_are_not_the_policys(shelf: WeightsShelf, tmp_path: Path) -> None:
    policy = BanditPolicy()
    newest = shelf.read(-1)
    assert newest
    assert shelf.read(0) is None
    load_weights(policy, *newest)
    policy.network.weight.data[0, 0] = float("nan")
    policy.version = 1
    shelf.publish(policy)
    bad = shelf.read(0)
    assert bad
    for data in (bad[1], newest[1][:-4], b"", newest[1] + b"x" * (2 << 20)):
        with pytest.raises(UsageError, match="damaged, or not the weights of 'bandit'"):
            load_weights(BanditPolicy(), 1, data)
    for version in range(2, 9):
        policy.version = version
        shelf.publish(policy)
    assert len(list((tmp_path / "weights").iterdir())) == 3


SETTINGS = GrpoSettings(updates=12, groups=3, group_size=8, lr=0.1, passes=1, kl=0.0)


def training(path: Path, updates: int, *, resume: bool = False) -> AsynchronousTraining:
    batches: list[Taken] = []
    folder = TrainingFolder(path, {}, resume=resume)
    run = AsynchronousTraining(
        folder,
        BanditPolicy(),
        crew(0.0, wave=24),
        lambda number: draw_groups(tuple(LENGTHS), SETTINGS, number),
        GrpoSettings(updates=updates, groups=3, group_size=8, lr=0.1, passes=1, kl=0.0),
        Terms(batch=3, bound=2),
        after_update=lambda _row, taken: batches.append(taken),
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
    assert first.policy.version <= first.done == 6
    again = training(tmp_path, 14, resume=True)
    assert again.policy.version > first.policy.version
    lines = (tmp_path / "metrics.jsonl").read_text("utf-8").splitlines()
    assert len(lines) == 14
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
    WorkerPool(buffer, folder / "episodes.sqlite", folder / "weights", crew(0.1, wave=1)).tend()
    [worker] = multiprocessing.active_children()
    print(worker.pid, flush=True)
    time.sleep(600)
"""


@pytest.mark.process
def test_workers_end_with_their_parent(
    buffer: EpisodeBuffer, shelf: WeightsShelf, tmp_path: Path
) -> None:
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
def test_the_same_by_ray(buffer: EpisodeBuffer, shelf: WeightsShelf, tmp_path: Path) -> None:
    import ray

    gate = tmp_path / "gate"
    pool = WorkerPool(
        buffer, tmp_path / "episodes.sqlite", tmp_path / "weights", gated(gate), ray=True
    )
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
