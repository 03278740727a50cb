"""Rollout workers: processes on this machine or Ray tasks, by the same loop (ComputerRL, 2.3).

A worker leases a wave of tickets, plays it, and puts each episode into the buffer as it ends. It
takes the newest weights up before each choice, so an episode may have steps of several versions.
"""

from __future__ import annotations

import importlib
import itertools
import multiprocessing
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hisa.errors import EnvironmentFailed, UsageError
from hisa.machine.parts import install_command
from hisa.machine.patience import patience
from hisa.plugins.training.episode_buffer import EpisodeBuffer

if TYPE_CHECKING:
    from hisa.plugins.training.base import Rollouts, Trainable
    from hisa.plugins.training.episodes import Choice, Look

__all__ = ["Crew", "WorkerPool", "packed_weights"]

_PAUSE = 0.02
"""Seconds between two requests for tickets: an update takes ten times as long."""
_DEATHS = 3
"""Deaths for each worker, without a new episode, after which the pool gives up."""


@dataclass(frozen=True, slots=True)
class Crew:
    """The workers; what makes their parts is called in their own processes, and so picklable."""

    rollouts: Callable[[], Rollouts]
    policy: Callable[[], Trainable]  # of the trainer's sizes; its weights are replaced
    workers: int = 1
    wave: int = 32  # tickets that one leases at once


def packed_weights(policy: Trainable) -> bytes:
    """Returns the weights of a policy for the buffer."""
    from safetensors.torch import save

    tensors = policy.network.state_dict().items()
    return save({name: tensor.detach().contiguous() for name, tensor in tensors})


class _FreshPolicy:
    """A policy that takes the newest weights up before each choice, and shows that it lives."""

    def __init__(self, policy: Trainable, buffer: EpisodeBuffer, worker: int) -> None:
        self.name, self.version = policy.name, -1
        self._policy, self._buffer, self._worker = policy, buffer, worker

    def refresh(self) -> None:
        """Take up weights that are newer; end with the trainer."""
        from safetensors.torch import load

        parent = multiprocessing.parent_process()
        if parent and not parent.is_alive():
            sys.exit(0)
        if newer := self._buffer.refresh(self._worker, self.version):
            self.version, weights = newer
            self._policy.network.load_state_dict(load(weights))
            self._policy.version = self.version

    def choose(self, looks: Sequence[Look], *, greedy: bool = False) -> list[Choice]:
        """See `base.Policy`."""
        self.refresh()
        return self._policy.choose(looks, greedy=greedy)


def _work(worker: int, crew: Crew, buffer: EpisodeBuffer) -> None:
    """Plays whatever the buffer gives out, without end."""
    import torch

    torch.set_num_threads(1)
    trainable = crew.policy()
    trainable.reseed(worker)
    policy, rollouts = _FreshPolicy(trainable, buffer, worker), crew.rollouts()
    try:
        while True:
            policy.refresh()
            tickets = {t.draw: t for t in buffer.lease(worker, policy.version, crew.wave)}
            for episode in rollouts.play(list(tickets), policy) if tickets else ():
                buffer.put(tickets[episode.draw], episode)
            if not tickets:
                time.sleep(_PAUSE)
    finally:
        rollouts.close()


class _Hired(NamedTuple):
    is_alive: Callable[[], bool]
    end: Callable[[], None]


class WorkerPool:
    """Workers that are replaced when they die; their leases end at once.

    Args:
        buffer: the trainer's, with weights in it.
        crew: the workers.
        ray: tasks of the Ray cluster at RAY_ADDRESS, or of one that is started here, in place of
            processes; the buffer stays on this machine.

    Raises:
        UsageError: Ray is not installed.
    """

    def __init__(self, buffer: EpisodeBuffer, crew: Crew, *, ray: bool = False) -> None:
        self._buffer, self._crew, self._numbers = buffer, crew, itertools.count()
        self._hire = (_ray_tasks if ray else _processes)(buffer.path, crew)
        self._staff: dict[int, _Hired] = {}
        self._deaths, self._done = 0, 0

    def tend(self) -> None:
        """Hire whoever is missing, and end the leases of the dead.

        Raises:
            EnvironmentFailed: they die again and again, and no episode comes of them.
        """
        dead = [number for number, worker in self._staff.items() if not worker.is_alive()]
        for number in dead:
            del self._staff[number]
            self._buffer.free(number)
        if dead:
            done = self._buffer.counts().get("done", 0)
            self._deaths = len(dead) + (self._deaths if done == self._done else 0)
            self._done = done
        if self._deaths > _DEATHS * self._crew.workers:
            reason = f"{self._deaths} rollout workers died without an episode"
            raise EnvironmentFailed(reason, fix="see their errors above")
        while len(self._staff) < self._crew.workers:
            number = next(self._numbers)
            self._staff[number] = self._hire(number)

    def close(self) -> None:
        """End all workers."""
        while self._staff:
            self._staff.popitem()[1].end()


def _processes(path: Path, crew: Crew) -> Callable[[int], _Hired]:
    def hire(worker: int) -> _Hired:
        work = (worker, crew, path)
        process = multiprocessing.get_context("spawn").Process(target=_run, args=work, daemon=True)
        process.start()

        def end() -> None:
            process.terminate()
            process.join(patience(10))
            process.kill()
            process.join()

        return _Hired(process.is_alive, end)

    return hire


def _run(worker: int, crew: Crew, path: Path) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    _work(worker, crew, EpisodeBuffer(path))


def _ray_tasks(path: Path, crew: Crew) -> Callable[[int], _Hired]:
    try:
        ray = importlib.import_module("ray")
    except ImportError as error:
        raise UsageError("--ray needs Ray", fix=install_command("ray")) from error
    if not ray.is_initialized():
        ray.init(include_dashboard=False, configure_logging=False)
    here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
        ray.get_runtime_context().get_node_id(), soft=False
    )
    desk = ray.remote(num_cpus=0, scheduling_strategy=here)(EpisodeBuffer).remote(path)
    work = ray.remote(num_cpus=0, max_retries=0)(_work_far)

    def hire(worker: int) -> _Hired:
        task = work.remote(worker, crew, desk)
        end = partial(ray.cancel, task, force=True)
        return _Hired(lambda: not ray.wait([task], timeout=0)[0], end)

    return hire


def _work_far(worker: int, crew: Crew, desk: Any) -> None:
    buffer: Any = _Far(desk)
    _work(worker, crew, buffer)


class _Far:
    """Calls the methods of an object that is an actor."""

    def __init__(self, actor: Any) -> None:
        self._actor, self._get = actor, importlib.import_module("ray").get

    def __getattr__(self, name: str) -> Any:
        return lambda *values: self._get(getattr(self._actor, name).remote(*values))
