"""GRPO, cloning and Entropulse on a bandit whose runs repeat to the last bit."""

import multiprocessing
import os
import random
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs PyTorch: make test-train")

import torch

torch.set_num_threads(1)

from hisa.errors import UsageError  # noqa: E402
from hisa.plugins.training.curves import MetricsRow, read_metrics  # noqa: E402
from hisa.plugins.training.grpo import (  # noqa: E402
    StepTraining,
    build_batch,
    draw_groups,
    pulse_set,
    update_policy,
)
from hisa.plugins.training.sft import adamw, clone  # noqa: E402
from hisa.plugins.training.training_folder import TrainingFolder  # noqa: E402
from hisa.plugins.training.training_settings import CloningSettings, GrpoSettings  # noqa: E402
from tests.plugins.training.look_bandit import WORDS, Bandit, TablePolicy  # noqa: E402

SETTINGS = GrpoSettings(updates=8, groups=8, lr=0.1, evaluate_every=4, evaluation_seeds=1, passes=2)


def train_on_bandit(
    path: Path, settings: GrpoSettings = SETTINGS, *, stop: int = 0, resume: bool = False
) -> StepTraining[Any]:
    """A run on the bandit, stopped by Ctrl-C after an update if so wished."""
    folder = TrainingFolder(path, {"lr": settings.lr}, resume=resume)

    def after_update(row: MetricsRow) -> None:
        if row.update == stop and stop:
            raise KeyboardInterrupt

    run = StepTraining(folder, TablePolicy(), Bandit(), WORDS, settings, after_update)
    try:
        run.run()
    except KeyboardInterrupt:
        pass
    finally:
        folder.close()
    return run


def weights(run: StepTraining[Any]) -> list[float]:
    """All weights of a run's policy."""
    values: list[float] = run.policy.network.weight.flatten().tolist()
    return values


def test_grpo_learns_the_bandit_and_writes_a_row_an_update(tmp_path: Path) -> None:
    run = train_on_bandit(tmp_path, replace(SETTINGS, updates=30))
    rows = read_metrics(tmp_path).rows
    assert [row.update for row in rows] == list(range(31))
    assert rows[-1].greedy == 1.0
    assert run.best == 1.0
    assert rows[1].reward is not None
    assert rows[-1].reward is not None
    assert rows[1].reward < 0.5 < rows[-1].reward
    assert (rows[1].episodes, rows[1].groups) == (64, 8)
    assert run.policy.version == sum((row.dropped_groups or 0) < row.groups for row in rows[1:])
    assert (tmp_path / "checkpoints" / "best.safetensors").exists()


def test_mini_batches_do_not_change_the_gradient() -> None:
    before = TablePolicy(1)
    batch = build_batch(Bandit().play(draw_groups(WORDS, SETTINGS, 1), before))
    with torch.no_grad():
        before.network.weight.mul_(1.3)
    steps, measures = [], []
    for at_once in (10_000, 7, 1):
        policy, settings = before.copy(), replace(SETTINGS, steps_at_once=at_once, kl=0.1, passes=1)
        optimizer = torch.optim.SGD(policy.network.parameters(), lr=1.0)
        measures.append(update_policy(policy, before, optimizer, batch, settings))
        steps.append(policy.network.weight.detach() - before.network.weight.detach())
    assert len(batch.samples) > 14
    assert steps[0].abs().max() > 0.01
    for step, measure in zip(steps[1:], measures[1:], strict=True):
        torch.testing.assert_close(step, steps[0], atol=1e-6, rtol=1e-5)
        assert measure == pytest.approx(measures[0], abs=1e-5)


def test_an_update_without_spread_changes_nothing() -> None:
    policy, settings = TablePolicy(), replace(SETTINGS, group_size=1)
    batch = build_batch(Bandit().play(draw_groups(WORDS, settings, 1), policy))
    before = policy.network.weight.clone()
    assert update_policy(policy, policy.copy(), adamw(policy, settings.lr), batch, settings) == {}
    assert policy.version == 0
    assert torch.equal(before, policy.network.weight)


@pytest.mark.parametrize("arm", ["pulse", "control", "higher-clip"])
def test_a_run_stopped_and_resumed_equals_one_never_stopped(tmp_path: Path, arm: str) -> None:
    settings = replace(SETTINGS, pulse_at=5, arm=arm)
    unbroken_run = train_on_bandit(tmp_path / "whole", settings)
    for stop in (2, 5):
        path = tmp_path / f"stopped-{stop}"
        assert train_on_bandit(path, settings, stop=stop).completed_updates == stop
        with (path / "metrics.jsonl").open("ab") as file:
            file.write(b'{"update": 3, "rew')
        with (path / "successes.jsonl").open("ab") as file:
            file.write(b'{"draw": {"task": "red"')
        resumed = train_on_bandit(path, settings, resume=True)
        assert weights(resumed) == weights(unbroken_run)
        assert resumed.policy.version == unbroken_run.policy.version
        names = ("successes.jsonl",)
        assert [(path / n).read_bytes() for n in names] == [
            (tmp_path / "whole" / n).read_bytes() for n in names
        ]
        assert len((path / "metrics.jsonl").read_bytes().splitlines()) == 9


def _train_until_killed(path: Path) -> None:
    folder = TrainingFolder(path, {})

    def after_update(row: MetricsRow) -> None:
        if row.update == 3:
            os.kill(os.getpid(), signal.SIGKILL)

    StepTraining(folder, TablePolicy(), Bandit(), WORDS, SETTINGS, after_update).run()


def test_kill_9_loses_at_most_the_update_in_hand(tmp_path: Path) -> None:
    child = multiprocessing.get_context("spawn").Process(
        target=_train_until_killed, args=(tmp_path / "run",)
    )
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL
    resumed = train_on_bandit(tmp_path / "run", resume=True)
    assert weights(resumed) == weights(train_on_bandit(tmp_path / "whole"))


def test_a_folder_has_one_writer_and_is_not_overwritten(tmp_path: Path) -> None:
    folder = TrainingFolder(tmp_path, {"lr": 1})
    with pytest.raises(UsageError, match=f"process {os.getpid()} is training there"):
        TrainingFolder(tmp_path, {}, resume=True)
    folder.close()
    with pytest.raises(UsageError, match="holds a training run"):
        TrainingFolder(tmp_path, {})
    with pytest.raises(UsageError, match="holds no training run"):
        TrainingFolder(tmp_path / "other", {}, resume=True)
    (tmp_path / "state.pt").write_bytes(b"\x80\x04cos\nsystem\n")
    with pytest.raises(UsageError, match="cannot be read"):
        TrainingFolder(tmp_path, {}, resume=True)
    (tmp_path / "state.pt").unlink()
    TrainingFolder(tmp_path, {}, resume=True).close()


def test_cloning_learns_and_refuses_an_empty_set() -> None:
    episodes = [
        e for e in Bandit().play(draw_groups(WORDS, SETTINGS, 1), TablePolicy()) if e.solved
    ]
    samples = [sample for episode in episodes for sample in episode.samples]
    settings = CloningSettings(epochs=4, batch=3, lr=0.3)
    unbroken_policy, losses = TablePolicy(), list[float]()
    optimizer = adamw(unbroken_policy, settings.lr)
    clone(
        unbroken_policy,
        samples,
        settings,
        optimizer,
        lambda _n, loss, _entropy: losses.append(loss),
    )
    assert losses[-1] < losses[0] / 2
    assert unbroken_policy.version == 4
    with pytest.raises(UsageError, match="no solved episode"):
        clone(unbroken_policy, [], settings, optimizer)


def test_a_supervised_phase_draws_per_unique_task_from_all_versions(tmp_path: Path) -> None:
    train_on_bandit(tmp_path)
    folder = TrainingFolder(tmp_path, {}, resume=True)
    solved = list(folder.successes())
    folder.close()
    data = pulse_set(solved, random.Random(0))
    unique = {(episode.draw.task, episode.draw.seed) for episode in solved}
    assert data.counts["tasks"] == len(unique) < len(solved)
    assert data.counts["episodes"] == len(unique)
    assert len({sample.version for sample in data.samples}) > 3
