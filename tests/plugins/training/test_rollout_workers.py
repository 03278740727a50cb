"""Workers in processes of their own: the age of what they play, their deaths, and their end."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs PyTorch: make test-train")


from hisa.errors import EnvironmentFailed
from hisa.machine.patience import Deadline
from hisa.plugins.training.base import Policy
from hisa.plugins.training.curves import read_metrics
from hisa.plugins.training.episodes import Draw, Episode
from hisa.plugins.training.grpo import GrpoSettings, StepTraining, draw_groups
from hisa.plugins.training.rollout_workers import Crew, RolloutWorkers
from hisa.plugins.training.training_folder import TrainingFolder
from tests.plugins.training.look_bandit import WORDS, Bandit, TablePolicy

SETTINGS = GrpoSettings(groups=3, group_size=4, lr=0.1, evaluate_every=0, pulse_at=4)


class DyingBandit(Bandit):
    """Kills its process where a file of that name is, which it removes; so only once a file."""

    def __init__(self, trap: Path) -> None:
        super().__init__()
        self._trap = trap

    def play(
        self, draws: Sequence[Draw], policy: Policy, *, greedy: bool = False
    ) -> Iterator[Episode]:
        if self._trap.exists():
            self._trap.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().play(draws, policy, greedy=greedy)


def broken() -> TablePolicy:
    raise ValueError("no such policy")


def draws(update: int) -> list[Draw]:
    return draw_groups(WORDS, SETTINGS, update)


@pytest.fixture
def crew(tmp_path: Path) -> Crew:
    return Crew(Bandit, TablePolicy, tmp_path / "weights", workers=2, wave=5)


def trained(path: Path, crew: Crew, updates: int, *, resume: bool = False) -> StepTraining:
    folder, settings = TrainingFolder(path, {}, resume=resume), replace(SETTINGS, updates=updates)
    workers = RolloutWorkers(crew, 2)
    run = StepTraining(folder, TablePolicy(), Bandit(), WORDS, settings, workers=workers)
    run.run()
    folder.close()
    return run


@pytest.mark.process
def test_a_run_with_workers_keeps_the_bound_and_goes_on_where_it_stopped(
    tmp_path: Path, crew: Crew
) -> None:
    trained(tmp_path / "run", crew, 2)
    assert trained(tmp_path / "run", crew, 7, resume=True).done == 7
    rows = read_metrics(tmp_path / "run").rows
    assert [row.phase for row in rows] == ["grpo"] * 4 + ["pulse"] + ["grpo"] * 3
    played = [row for row in rows[1:] if row.phase == "grpo"]
    assert all(row.episodes == 12 and (row.age_p95 or 0) <= 2 for row in played)
    assert not multiprocessing.active_children()


@pytest.mark.process
@pytest.mark.parametrize("bound", [0, 2])
def test_episodes_are_begun_at_most_the_bound_ahead(crew: Crew, bound: int) -> None:
    workers, policy = RolloutWorkers(crew, bound), TablePolicy()
    asked: list[int] = []

    def noted(update: int) -> list[Draw]:
        asked.append(update)
        return draws(update)

    try:
        for update in (1, 2, 3):
            policy.version = update - 1
            workers.publish(policy)
            episodes = workers.batch(update, noted)
            assert {episode.draw for episode in episodes} == set(draws(update))
            assert max(asked) == update + bound
            assert all(update - 1 - bound <= e.version <= update - 1 for e in episodes)
    finally:
        workers.close()
    assert asked == list(range(1, 4 + bound))


@pytest.mark.process
def test_what_a_killed_worker_played_is_played_again(tmp_path: Path, crew: Crew) -> None:
    trap = tmp_path / "trap"
    workers = RolloutWorkers(replace(crew, rollouts=partial(DyingBandit, trap)), 0)
    workers.publish(TablePolicy())
    try:
        for update in (1, 2):
            trap.touch()
            episodes = workers.batch(update, draws)
            assert {episode.draw for episode in episodes} == set(draws(update))
            assert len(episodes) == 12
            assert not trap.exists()
    finally:
        workers.close()


@pytest.mark.process
def test_workers_that_cannot_start_are_given_up(
    crew: Crew, capfd: pytest.CaptureFixture[str]
) -> None:
    workers = RolloutWorkers(replace(crew, policy=broken, workers=1), 0)
    workers.publish(TablePolicy())
    with pytest.raises(EnvironmentFailed, match="rollout workers died 4 times"):
        workers.batch(1, draws)
    workers.close()
    assert "no such policy" in capfd.readouterr().err


PARENT = """
import multiprocessing, sys, time
from pathlib import Path
from hisa.plugins.training.rollout_workers import Crew, RolloutWorkers
from tests.plugins.training.test_rollout_workers import Bandit, TablePolicy, draws
if __name__ == "__main__":
    workers = RolloutWorkers(Crew(Bandit, TablePolicy, Path(sys.argv[1])), 0)
    workers.publish(TablePolicy())
    workers.batch(1, draws)
    print(multiprocessing.active_children()[0].pid, flush=True)
    time.sleep(600)
"""


def until(condition: Callable[[], object]) -> None:
    deadline = Deadline(60.0)
    while not condition():
        assert not deadline.passed
        time.sleep(0.02)


@pytest.mark.process
def test_workers_end_with_their_parent(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    root = str(Path(__file__).parents[3])
    parent = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path / "weights")],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": root},
    )
    assert parent.stdout
    worker = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    parent.stdout.close()
    until(lambda: not Path(f"/proc/{worker}").exists())
