"""Runs of a served policy by workers of an executor, one of which dies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from hisa.plugins.benchmarks.bench.executors.base import Executor
from hisa.plugins.benchmarks.bench.executors.local import LocalExecutor
from hisa.plugins.benchmarks.bench.suites import open_suite
from hisa.plugins.training.base import Draw, ReplySample, RunPlayer
from hisa.plugins.training.machine_rollouts import RunRollouts
from hisa.protocols import Model, Role
from hisa.runs.run_reader import load_run
from tests.plugins.benchmarks.bench_suite.forms import PARTS, settings, write_task

pytestmark = [
    pytest.mark.process,
    # Ray's own modules warn and leave pipes to its processes open.
    pytest.mark.filterwarnings("ignore"),
]
NEEDS_RAY = pytest.mark.skipif(find_spec("ray") is None, reason="needs Ray: hisa install ray")


class Player:
    """Asks the model that the settings name, and reads one sample for each complete step."""

    policy_name = "served"
    models: Mapping[Role, Model] = {}
    planner: dict[str, Any] = {}  # noqa: RUF012 - never changed

    def read_steps(self, run: Path) -> Sequence[ReplySample]:
        steps = [event for event in load_run(run).events if event.type == "step_finished"]
        return [ReplySample((1,), (2,)) for _ in steps]


class ServedRollouts(RunRollouts[str]):
    def _players(self, draws: Sequence[Draw], policy: str, greedy: bool) -> list[RunPlayer]:
        return [Player() for _ in draws]


@pytest.mark.parametrize("kind", ["local", pytest.param("ray", marks=NEEDS_RAY)])
def test_a_worker_that_dies_costs_its_episode_and_no_other(tmp_path: Path, kind: str) -> None:
    executor: Executor = LocalExecutor(tmp_path / "workers.log")
    if kind == "ray":
        from hisa.plugins.benchmarks.bench.executors.ray import RayExecutor

        executor = RayExecutor()
    for name in ("ada", "bob", "deadly-9"):
        write_task(tmp_path / "tasks", name)
    suite, folder = open_suite(f"own:{tmp_path / 'tasks'}"), tmp_path / "runs"
    rollouts = ServedRollouts(
        suite, settings(), folder, workers=2, environment=PARTS, executor=executor
    )
    draws = [Draw(name, seed) for seed, name in enumerate(("deadly-9", "ada", "bob"))]
    try:
        twice = [list(rollouts.play(part, "policy")) for part in (draws, draws[1:2])]
    finally:
        rollouts.close()
    first = {episode.draw.task: episode for episode in twice[0]}
    assert len(twice[0]) == 3
    assert not first["deadly-9"].is_sample
    assert first["deadly-9"].failure.startswith("environment_error: worker ")
    for episode in (first["ada"], first["bob"], *twice[1]):
        assert episode.solved, episode.failure
        assert len(episode.samples) == 4
