"""Rollout workers: processes that play ahead while the trainer updates (ComputerRL, 2.3).

The age of an episode is the number of updates between its first action and its use. Update N uses
the groups that were drawn for it. The groups of update N + bound begin only when update N is asked
for, with the policy as it is then. So no episode is older than the bound, and no finished one is
thrown away.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING

from hisa.errors import EnvironmentFailed

if TYPE_CHECKING:
    from hisa.plugins.training.base import Draw, Episode, Learner, Rollouts, Trainable

__all__ = ["RolloutWorkers"]


class RolloutWorkers:
    """Plays the draws of coming updates.

    Args:
        rollouts: makes the rollouts of a worker, in its process; it must be picklable.
        workers: number of processes.
        max_age: most age of an episode, in updates; 0: none begins before its update.
    """

    def __init__(self, rollouts: Callable[[], Rollouts], workers: int, max_age: int) -> None:
        self._rollouts, self._workers, self._bound = rollouts, workers, max_age
        self._pool: ProcessPoolExecutor | None = None
        self._waves: dict[int, list[Future[list[Episode]]]] = {}

    def batch(
        self, update: int, draws: Callable[[int], Sequence[Draw]], policy: Learner
    ) -> list[Episode]:
        """Returns the episodes of an update, and begins those of the next ones.

        Args:
            update: its number.
            draws: returns the draws of any update by its number.
            policy: plays the episodes that begin now, as it is now.

        Raises:
            EnvironmentFailed: a worker died.
        """
        if self._pool is None:
            spawn = multiprocessing.get_context("spawn")
            own = (self._rollouts,)
            self._pool = ProcessPoolExecutor(self._workers, spawn, _begin_work, own)
        weights = pickle.dumps(policy)  # a copy, since the policy is trained meanwhile
        try:
            for coming in range(update, update + self._bound + 1):
                if coming not in self._waves:
                    every = draws(coming)
                    self._waves[coming] = [
                        self._pool.submit(_play, part, weights, coming * self._workers + number)
                        for number in range(self._workers)
                        if (part := every[number :: self._workers])
                    ]
            return [episode for wave in self._waves.pop(update) for episode in wave.result()]
        except BrokenProcessPool as error:
            raise EnvironmentFailed(
                f"a rollout worker died: {error}", fix="hisa train grpo -o DIR --resume"
            ) from error

    def close(self) -> None:
        """Ends all workers after their current waves, and drops their episodes; may be repeated."""
        if self._pool:
            self._pool.shutdown(cancel_futures=True)
        self._pool = None
        self._waves.clear()


_own: list[Rollouts] = []
"""The rollouts of this process, if it is a worker."""


def _begin_work(rollouts: Callable[[], Rollouts]) -> None:
    """Makes this process a worker, which ends when the trainer does."""
    import torch

    torch.set_num_threads(1)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _own.append(rollouts())


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent:
        parent.join()
    os._exit(1)


def _play(draws: Sequence[Draw], weights: bytes, seed: int) -> list[Episode]:
    policy: Trainable = pickle.loads(weights)
    policy.reseed(seed)
    return list(_own[0].play(draws, policy))
