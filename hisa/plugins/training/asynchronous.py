"""Asynchronous step-level GRPO (ComputerRL, 2.3 and 3.2): workers play on while it updates.

The trainer waits for whole groups, updates with truncated importance weights (the samples' own
log-probabilities against those of the policy before the update), and publishes its weights.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from hisa.plugins.training.episode_buffer import EpisodeBuffer, Taken, Terms
from hisa.plugins.training.rollout_workers import Crew, WorkerPool, packed_weights
from hisa.plugins.training.step_training import GrpoSettings, StepTraining, draw_groups

if TYPE_CHECKING:
    from hisa.plugins.training.base import Rollouts, Trainable
    from hisa.plugins.training.curve_metrics import MetricsRow
    from hisa.plugins.training.episodes import Episode
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


class AsynchronousTraining(StepTraining):
    """One run; the ``rollouts`` of `StepTraining` only evaluate here.

    Args:
        crew: the workers.
        terms: of the buffer, whose batch is the settings' ``groups``.
        weighted: whether importance weights are taken; False: the clipped ratio is to the policy
            that acted, however old.
        ray: whether workers are Ray tasks.
    """

    def __init__(
        self,
        folder: TrainingFolder,
        policy: Trainable,
        rollouts: Rollouts,
        tasks: Sequence[str],
        settings: GrpoSettings,
        after_update: Callable[[MetricsRow], None] = lambda _row: None,
        *,
        crew: Crew,
        terms: Terms,
        weighted: bool = True,
        ray: bool = False,
    ) -> None:
        super().__init__(folder, policy, rollouts, tasks, settings, after_update)
        self._crew, self._ray, self._decoupled = crew, ray, weighted
        self.taken: Taken | None = None
        """The last batch."""
        self._begin(EpisodeBuffer(folder.path / "episodes.sqlite", terms), self.done + 1)

    def run(self) -> None:
        """Make the updates that are left, then end the workers.

        Raises:
            EnvironmentFailed: workers die again and again.
        """
        try:
            super().run()
        finally:
            self._end()

    def _begin(self, buffer: EpisodeBuffer, update: int) -> None:
        self.buffer, self._first = buffer, update
        self._pool = WorkerPool(buffer, self._crew, ray=self._ray)
        buffer.advance(self.policy.version, packed_weights(self.policy))

    def _end(self) -> None:
        self._pool.close()
        self.buffer.close()

    def _play(self, update: int) -> list[Episode]:
        """The next batch; meanwhile there are draws enough, and all workers live."""
        batch, bound = self.buffer.terms.batch, self.buffer.terms.bound
        # More than the bound lets out during an update, so that the bound is what holds back.
        ahead = (bound + 1) * batch * self._settings.group_size + self._crew.wave
        while True:
            while self.buffer.waiting() < ahead:
                number = self._first + self.buffer.counts().get("offered", 0) // batch
                self.buffer.offer(draw_groups(self._tasks, self._settings, number))
            self._pool.tend()
            if taken := self.buffer.take():
                self.taken = taken
                return taken.episodes
            time.sleep(_PAUSE)

    def _update(self, update: int) -> tuple[MetricsRow, list[Episode]]:
        result = super()._update(update)
        self.buffer.advance(self.policy.version, packed_weights(self.policy))
        return result

    def _pulse(self, update: int) -> tuple[MetricsRow, list[Episode]]:
        """The phase; what was played before it is of a policy that is no more."""
        self._end()
        result = super()._pulse(update)
        self._begin(EpisodeBuffer(self.buffer.path, self.buffer.terms), update + 1)
        return result
