"""Rollout workers: processes that play ahead while the trainer updates (ComputerRL, 2.3).

The age of an episode is the number of updates between its first action and its use. Update N uses
the groups that were drawn for it, and those of N + bound begin once it is being made at the
earliest: no episode is older than the bound, and no finished one is thrown away. A worker takes the
newest weights up before each wave.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hisa.errors import EnvironmentFailed
from hisa.machine.storage import replace_file

if TYPE_CHECKING:
    from hisa.plugins.training.base import Rollouts, Trainable
    from hisa.plugins.training.episodes import Choice, Draw, Episode, Look

__all__ = ["Crew", "RolloutWorkers"]

_DEATHS = 3
"""Times in a row that a worker may die without any wave having been played."""


@dataclass(frozen=True, slots=True)
class Crew:
    """The workers; what makes their parts is called in their own processes, and so picklable."""

    rollouts: Callable[[], Rollouts]
    policy: Callable[[], Trainable]  # of the trainer's sizes; its weights are replaced
    weights: Path  # where the trainer leaves its newest weights
    workers: int = 1
    wave: int = 32  # draws that one plays at once


class RolloutWorkers:
    """Plays the draws of coming updates; where a worker dies, what was in flight is played again.

    Args:
        crew: the workers.
        bound: on the age of an episode, in updates; 0: none is begun before its update.
    """

    def __init__(self, crew: Crew, bound: int) -> None:
        self._crew, self._bound = crew, bound
        self._pool: ProcessPoolExecutor | None = None
        self._waves: dict[Future[list[Episode]], tuple[int, Sequence[Draw]]] = {}
        self._begun, self._deaths = 0, 0
        self._played: dict[int, list[Episode]] = {}

    def publish(self, policy: Trainable) -> None:
        """Let workers play by these weights from their next wave on."""
        from safetensors.torch import save

        packed = save(policy.network.state_dict(), {"version": str(policy.version)})
        replace_file(self._crew.weights, packed)

    def batch(self, update: int, draws: Callable[[int], Sequence[Draw]]) -> list[Episode]:
        """Returns the episodes of an update; ``draws`` has those of any update by its number.

        Raises:
            EnvironmentFailed: workers die again and again, and nothing comes of them.
        """
        for coming in range(max(update, self._begun + 1), update + self._bound + 1):
            self._begun = coming
            self._begin(coming, draws(coming))
        while any(number == update for number, _ in self._waves.values()):
            ended, _ = wait(self._waves, return_when=FIRST_COMPLETED)
            try:
                for future in ended:
                    self._played.setdefault(self._waves[future][0], []).extend(future.result())
                    del self._waves[future]
                self._deaths = 0
            except BrokenProcessPool as error:
                self._begin_again(error)
        return self._played.pop(update)

    def close(self) -> None:
        """End all workers and forget what they play; may be called twice."""
        if self._pool:
            self._stop.set()
            self._pool.shutdown(cancel_futures=True)
        self._pool, self._begun = None, 0
        self._waves.clear()
        self._played.clear()

    def _begin(self, update: int, draws: Sequence[Draw]) -> None:
        if self._pool is None:
            spawn = multiprocessing.get_context("spawn")
            self._stop = spawn.Event()
            self._pool = ProcessPoolExecutor(
                self._crew.workers, spawn, _begin_work, (self._crew, self._stop)
            )
        for start in range(0, len(draws), self._crew.wave):
            part = draws[start : start + self._crew.wave]
            try:
                future = self._pool.submit(_play, part)
            except BrokenProcessPool as error:  # for `batch` to see
                future = Future()
                future.set_exception(error)
            self._waves[future] = update, part

    def _begin_again(self, error: BrokenProcessPool) -> None:
        self._deaths += 1
        if self._deaths > _DEATHS:
            reason = f"rollout workers died {self._deaths} times without a wave: {error}"
            raise EnvironmentFailed(reason, fix="see their errors above") from error
        left, self._waves, self._pool = self._waves, {}, None
        for update, draws in left.values():
            self._begin(update, draws)


class _FreshPolicy:
    """The policy of a worker; it plays on only while the trainer wants it."""

    def __init__(self, policy: Trainable, weights: Path, stop: Any) -> None:
        self.name, self.version = policy.name, -1
        self._policy, self._weights, self._stop = policy, weights, stop

    def refresh(self) -> None:
        """Take up the newest weights."""
        from safetensors import safe_open

        with safe_open(self._weights, "pt") as file:
            version = int(file.metadata()["version"])
            if version != self.version:
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
                self._policy.network.load_state_dict(tensors)
        self.version = self._policy.version = version

    def choose(self, looks: Sequence[Look], *, greedy: bool = False) -> list[Choice]:
        """See `Policy`."""
        if self._stop.is_set():
            raise EnvironmentFailed("the trainer has ended")
        return self._policy.choose(looks, greedy=greedy)


_own: dict[str, Any] = {}
"""The rollouts and the policy of this process, where it is a worker."""


def _begin_work(crew: Crew, stop: Any) -> None:
    """Make a worker of this process, which ends when the trainer does."""
    import torch

    torch.set_num_threads(1)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    policy = crew.policy()
    policy.reseed(os.getpid())
    _own.update(rollouts=crew.rollouts(), policy=_FreshPolicy(policy, crew.weights, stop))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent:
        parent.join()
    os._exit(1)


def _play(draws: Sequence[Draw]) -> list[Episode]:
    _own["policy"].refresh()
    return list(_own["rollouts"].play(draws, _own["policy"]))
