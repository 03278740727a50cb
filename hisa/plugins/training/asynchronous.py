"""The trainer's side of asynchronous step-level GRPO (ComputerRL, 2.3 and 3.2).

It waits for whole groups, updates with truncated importance weights (the samples' own
log-probabilities against those of the policy before the update), and puts the weights on the shelf
while workers play on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
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
"""Seconds between two looks into the buffer, as in `rollout_workers`."""


def ages_by_length(batches: Iterable[Taken]) -> dict[int, tuple[float, int, int]]:
    """Returns mean and 95th percentile (nearest rank) of age in updates, and the number.

    Rows are by length in steps, from the key to less than twice the key, a power of two.
    """
    rows: dict[int, list[int]] = {}
    for taken in batches:
        for episode in taken.episodes:
            least = 1 << (len(episode.samples).bit_length() - 1)
            rows.setdefault(least, []).append(taken.version - episode.version)
    ranked = {least: sorted(ages) for least, ages in sorted(rows.items())}
    return {
        least: (sum(ages) / len(ages), ages[-(-19 * len(ages) // 20) - 1], len(ages))
        for least, ages in ranked.items()
    }


class AsynchronousTraining:
    """One run; with the state of an earlier process in its folder it goes on from there.

    Args:
        folder: of the run; buffer and weights are beside its other files.
        policy: changed in place.
        crew: the workers.
        draws: gives the groups of a batch by its number, from 1; no name comes twice.
        settings: of the updates; their ``groups`` are the batch of ``terms``.
        terms: of the buffer.
        weighted: whether importance weights are taken; False: the clipped ratio is to the policy
            that acted, however old.
        ray: whether workers are Ray actors.
        after_update: gets each row with its batch; what it raises ends the run.

    Raises:
        UsageError: another trainer is at work here, or the buffer is not that of this run.
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
        self._folder, self._crew, self._draws, self._settings = folder, crew, draws, settings
        self._weighted, self._after_update = weighted, after_update
        self._optimizer = grpo_optimizer(policy, settings)
        self.done = folder.restore(policy, self._optimizer, self.reference)
        path, shelf = folder.path / "episodes.sqlite", folder.path / "weights"
        self.buffer, self._shelf = EpisodeBuffer(path, terms), WeightsShelf(shelf)
        self.buffer.claim(policy.version)
        self._shelf.publish(policy)
        self._pool = WorkerPool(self.buffer, path, shelf, crew, ray=ray)

    def run(self) -> None:
        """Make the updates that are left, then end the workers.

        Raises:
            EnvironmentFailed: workers die again and again.
        """
        try:
            while self.done < self._settings.updates:
                begun = time.monotonic()
                taken = self._wait()
                row = self._update(taken)
                row.seconds = time.monotonic() - begun
                self._folder.write(
                    self.done, self.policy, self._optimizer,
                    rows=[row], episodes=taken.episodes, reference=self.reference,
                )  # fmt: skip
                self._shelf.publish(self.policy)
                self.buffer.advance(self.policy.version)
                self._after_update(row, taken)
        finally:
            self._pool.close()
            self.buffer.close()

    def _wait(self) -> Taken:
        """The next batch; meanwhile there are draws enough, and all workers live."""
        batch, bound = self.buffer.terms.batch, self.buffer.terms.bound
        # More than the bound lets out during an update, so that the bound is what holds back.
        ahead = (bound + 1) * batch * self._settings.group_size + self._crew.wave
        while True:
            while self.buffer.waiting() < ahead:
                number = self.buffer.counts().get("offered", 0) // batch + 1
                self.buffer.offer(self._draws(number))
            self._pool.tend()
            if taken := self.buffer.take():
                return taken
            time.sleep(_PAUSE)

    def _update(self, taken: Taken) -> MetricsRow:
        batch = grouped(taken.episodes)
        measures: dict[str, Any] = update_policy(
            self.policy, self.reference, self._optimizer, batch, self._settings,
            decoupled=self._weighted,
        )  # fmt: skip
        if measures:
            measures["loss"] = measures.pop("value")
        self.done += 1
        measures |= episode_metrics(taken.episodes, version=taken.version)
        measures |= {"update": self.done, "version": self.policy.version}
        return MetricsRow(dropped_groups=batch.dropped, **measures)
