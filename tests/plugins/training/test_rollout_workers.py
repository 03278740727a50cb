"""Workers in processes of their own: the age of what they play, their deaths, and their end."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs PyTorch: make test-train")


from hisa.errors import EnvironmentFailed
from hisa.machine.patience import Deadline
from hisa.plugins.training.base import Draw, Episode, Policy
from hisa.plugins.training.curves import read_metrics
from hisa.plugins.training.grpo import StepTraining, draw_groups
from hisa.plugins.training.rollout_workers import RolloutWorkers
from hisa.plugins.training.training_folder import TrainingFolder
from hisa.plugins.training.training_settings import GrpoSettings
from tests.plugins.training.look_bandit import WORDS, Bandit, TablePolicy

SETTINGS = GrpoSettings(groups=3, group_size=4, lr=0.1, evaluate_every=0, pulse_at=4)


class DyingBandit(Bandit):
    """Kills its process."""

    def play(
        self, draws: Sequence[Draw], policy: Policy, *, greedy: bool = False
    ) -> Iterator[Episode]:
        os.kill(os.getpid(), signal.SIGKILL)
        return super().play(draws, policy, greedy=greedy)


def draws(update: int) -> list[Draw]:
    return draw_groups(WORDS, SETTINGS, update)


def train_with_workers(path: Path, updates: int, *, resume: bool = False) -> StepTraining[Any]:
    folder, settings = TrainingFolder(path, {}, resume=resume), replace(SETTINGS, updates=updates)
    workers = RolloutWorkers(Bandit, 2, 2)
    run = StepTraining(folder, TablePolicy(), Bandit(), WORDS, settings, workers=workers)
    run.run()
    folder.close()
    return run


@pytest.mark.process
def test_resumed_training_respects_its_age_limit_and_continues(tmp_path: Path) -> None:
    train_with_workers(tmp_path / "run", 2)
    assert train_with_workers(tmp_path / "run", 7, resume=True).completed_updates == 7
    rows = read_metrics(tmp_path / "run").rows
    assert [row.phase for row in rows] == ["grpo"] * 4 + ["pulse"] + ["grpo"] * 3
    played = [row for row in rows[1:] if row.phase == "grpo"]
    assert all(row.episodes == 12 and (row.age_p95 or 0) <= 2 for row in played)
    assert not multiprocessing.active_children()


@pytest.mark.process
def test_episodes_are_begun_at_most_the_bound_ahead() -> None:
    workers, policy, begun = RolloutWorkers(Bandit, 2, 2), TablePolicy(), list[int]()

    def note_and_draw(update: int) -> list[Draw]:
        begun.append(update)
        return draws(update)

    try:
        for update in (1, 2, 3):
            policy.version = update - 1
            episodes = workers.batch(update, note_and_draw, policy)
            assert {episode.draw for episode in episodes} == set(draws(update))
            assert max(begun) == update + 2
            assert all(update - 3 <= e.version <= update - 1 for e in episodes)
    finally:
        workers.close()
    assert begun == list(range(1, 6))


@pytest.mark.process
def test_a_worker_that_dies_ends_the_run_with_the_command_that_goes_on() -> None:
    workers = RolloutWorkers(DyingBandit, 1, 0)
    with pytest.raises(EnvironmentFailed, match="a rollout worker died") as caught:
        workers.batch(1, draws, TablePolicy())
    workers.close()
    assert "--resume" in caught.value.fix


PARENT = """
import multiprocessing, time
from hisa.plugins.training.rollout_workers import RolloutWorkers
from tests.plugins.training.test_rollout_workers import Bandit, TablePolicy, draws
if __name__ == "__main__":
    workers = RolloutWorkers(Bandit, 1, 0)
    workers.batch(1, draws, TablePolicy())
    print(multiprocessing.active_children()[0].pid, flush=True)
    time.sleep(600)
"""


@pytest.mark.process
def test_workers_end_with_their_parent(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    parent = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    )
    assert parent.stdout
    worker = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = Deadline(60.0)
    while Path(f"/proc/{worker}").exists():
        assert not deadline.passed
        time.sleep(0.02)
