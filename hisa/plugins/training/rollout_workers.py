"""Rollout workers: processes that play ahead while the trainer updates (ComputerRL, 2.3).

The age of an episode is the number of updates between its first action and its use. Update N uses
the groups that were drawn for it, and those of N + bound begin once it is being made at the
earliest, with the policy as it is then: no episode is older than the bound, and no finished one is
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
    from hisa.plugins.training.base import Draw, Episode, Rollouts, Trainable

__all__ = ["RolloutWorkers"]


class RolloutWorkers:
    """Plays the draws of coming updates.

    Args:
        rollouts: makes those of a worker, in its own process; so it has to be picklable.
        workers: processes.
        max_age: bound on the age of an episode, in updates; 0: none is begun before its update.
    """

    def __init__(self, rollouts: Callable[[], Rollouts], workers: int, max_age: int) -> None:
        self._rollouts, self._workers, self._bound = rollouts, workers, max_age
        self._pool: ProcessPoolExecutor | None = None
        self._waves: dict[int, list[Future[list[Episode]]]] = {}

    def batch(
        self, update: int, draws: Callable[[int], Sequence[Draw]], policy: Trainable
    ) -> list[Episode]:
        """Returns the episodes of an update; ``draws`` has those of any update by its number.

        Raises:
            EnvironmentFailed: a worker died.
        """
        if self._pool is None:
            spawn = multiprocessing.get_context("spawn")
            own = (self._rollouts,)
            self._pool = ProcessPoolExecutor(self._workers, spawn, _begin_work, own)
        weights = pickle.dumps(policy)  # as it is now: it is trained on meanwhile
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
        """End all workers after the wave in hand, and forget what they play; may be repeated."""
        if self._pool:
            self._pool.shutdown(cancel_futures=True)
        self._pool = None
        self._waves.clear()


_own: list[Rollouts] = []
"""The rollouts of this process, where it is a worker."""


def _begin_work(rollouts: Callable[[], Rollouts]) -> None:
    """Make a worker of this process, which ends when the trainer does."""
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
