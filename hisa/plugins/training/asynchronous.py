"""The trainer's side of asynchronous step-level GRPO (ComputerRL, 2.3 and 3.2).

It waits for whole groups, updates with truncated importance weights (the samples' own
log-probabilities against those of the policy before the update), and puts the weights on the shelf
while workers play on.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hisa.plugins.training.advantages import grouped
from hisa.plugins.training.curve_metrics import MetricsRow, episode_metrics
from hisa.plugins.training.episode_buffer import EpisodeBuffer, Taken, Terms
from hisa.plugins.training.rollout_workers import Crew, WorkerPool
from hisa.plugins.training.step_training import GrpoSettings, grpo_optimizer, update_policy
from hisa.plugins.training.weights_shelf import WeightsShelf

if TYPE_CHECKING:
    from hisa.plugins.training.base import Trainable
    from hisa.plugins.training.episodes import Draw
    from hisa.plugins.training.training_folder import TrainingFolder

__all__ = ["AsynchronousTraining", "ages_by_length"]

_PAUSE = 0.02
"""Seconds between two looks into the buffer; see `rollout_workers`."""


def ages_by_length(ages: list[tuple[int, int]]) -> dict[str, tuple[float, int, int]]:
    """Returns mean and 95th percentile (nearest rank) of age, and the number, by length in steps.

    Lengths are put together by powers of two: "1", "2-3", "4-7", ...

    Args:
        ages: (age in updates, steps) of episodes.
    """
    rows: dict[int, list[int]] = defaultdict(list)
    for age, steps in ages:
        rows[1 << (steps.bit_length() - 1)].append(age)
    table = {}
    for least, values in sorted(rows.items()):
        values.sort()
        name = str(least) if least == 1 else f"{least}-{2 * least - 1}"
        table[name] = (sum(values) / len(values), values[-(-19 * len(values) // 20) - 1], len(values))
    return table


class AsynchronousTraining:
    """One run; with the state of an earlier process in its folder it goes on from there.

    Args:
        folder: of the run; buffer and weights are beside its other files.
        policy: changed in place.
        crew: of the rollouts.
        draws: gives the groups of a batch by its number, from 1; names never come twice.
        settings: of the updates; ``groups`` is that of the buffer's batches.
        terms: of the buffer.
        weighted: whether truncated importance weights are taken. False: PPO's ratio is to the
            policy that acted, however old.
        ray: whether workers are Ray actors.
        after_update: gets each row and what was taken; what it raises ends the run.

    Raises:
        UsageError: another trainer is at work here, or the buffer is not one of this run.
    """

    def __init__(
        self,
        folder: TrainingFolder,
        policy: Trainable,
        crew: Crew,
        draws: Callable[[int], list[Draw]],
        settings: GrpoSettings,
        terms: Terms,
        *,
        weighted: bool = True,
        ray: bool = False,
        after_update: Callable[[MetricsRow, Taken], None] = lambda _row, _taken: None,
    ) -> None:
        self.policy, self.reference = policy, policy.copy()
        self._folder, self._draws, self._settings = folder, draws, settings
        self._weighted, self._after_update = weighted, after_update
        self._optimizer = grpo_optimizer(policy, settings)
        self.done = folder.restore(policy, self._optimizer, self.reference)
        path = folder.path / "episodes.sqlite"
        self.buffer = EpisodeBuffer(path, terms)
        self.buffer.claim(policy.version)
        self._shelf = WeightsShelf(folder.path / "weights")
        self._shelf.publish(policy)
        self.pool = WorkerPool(self.buffer, path, folder.path / "weights", crew, ray=ray)

    def run(self) -> None:
        """Make the updates that are left, then end the workers.

        Raises:
            EnvironmentFailed: the workers die again and again.
        """
        try:
            while self.done < self._settings.updates:
                begun = time.monotonic()
                taken = self._wait()
                row = self._update(taken)
                row.seconds = time.monotonic() - begun
                episodes = [episode for group in taken.groups for episode in group]
                self._folder.write(
                    self.done, self.policy, self._optimizer,
                    rows=[row], episodes=episodes, reference=self.reference,
                )  # fmt: skip
                self._shelf.publish(self.policy)
                self.buffer.advance(self.policy.version)
                self._after_update(row, taken)
        finally:
            self.pool.close()
            self.buffer.close()

    def _wait(self) -> Taken:
        terms = self.buffer.terms
        while True:
            self.pool.tend()
            if self.buffer.waiting() < terms.batch:
                offered = int(self.buffer.counts().get("offered", 0))
                self.buffer.offer(self._draws(offered // terms.batch + 1))
            if taken := self.buffer.take():
                return taken
            time.sleep(_PAUSE)

    def _update(self, taken: Taken) -> MetricsRow:
        version = self.policy.version
        episodes = [episode for group in taken.groups for episode in group]
        batch = grouped(episodes)
        measures: dict[str, Any] = update_policy(
            self.policy, self.reference, self._optimizer, batch, self._settings,
            decoupled=self._weighted,
        )  # fmt: skip
        self.done += 1
        if measures:
            measures["loss"] = measures.pop("value")
        return MetricsRow(
            update=self.done,
            version=self.policy.version,
            dropped_groups=batch.dropped,
            **episode_metrics(episodes, version=version),
            **measures,
        )
