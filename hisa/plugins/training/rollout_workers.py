"""Rollout workers: processes on this machine, or Ray actors, by the same loop (ComputerRL, 2.3).

A worker leases a wave of tickets, plays it, and puts each episode into the buffer as it ends. It
takes the newest weights up before each choice, so an episode may have steps of several versions.
"""

from __future__ import annotations

import importlib
import itertools
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hisa.errors import EnvironmentFailed, UsageError
from hisa.machine.parts import install_command
from hisa.plugins.training.episode_buffer import EpisodeBuffer
from hisa.plugins.training.weights_shelf import WeightsShelf, load_weights

if TYPE_CHECKING:
    from hisa.plugins.training.base import Rollouts, Trainable
    from hisa.plugins.training.episodes import Choice, Look

__all__ = ["Crew", "Factory", "FreshPolicy", "WorkerPool", "work"]

_PAUSE = 0.02
"""Seconds between two questions for tickets or weights: an update takes ten times as long."""
_RENEWAL = 20.0
"""Seconds between two signs of life; a lease is many times as long."""
_DEATHS = 3
"""Deaths for each worker without a new episode after which the pool gives up."""


@dataclass(frozen=True, slots=True)
class Factory:
    """A function by name, and its arguments, so that another process can call it.

    Args:
        target: "module:function".
        arguments: by name; whatever JSON can hold.
    """

    target: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def make(self) -> Any:
        """Calls the function.

        Raises:
            UsageError: there is no such function.
        """
        module, _, name = self.target.partition(":")
        try:
            function = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError, ValueError) as error:
            raise UsageError(f"{self.target!r}: {error}", fix="name MODULE:FUNCTION") from error
        return function(**self.arguments)


@dataclass(frozen=True, slots=True)
class Crew:
    """What each worker makes for itself.

    Args:
        rollouts: gives a `Rollouts`.
        policy: gives a `Trainable` of the trainer's kind and sizes; its weights do not matter.
        wave: tickets leased at once.
        workers: in all.
    """

    rollouts: Factory
    policy: Factory
    wave: int = 32
    workers: int = 1


class FreshPolicy:
    """A policy that takes the newest weights up before each choice, and shows that it lives."""

    def __init__(
        self, policy: Trainable, shelf: WeightsShelf, buffer: EpisodeBuffer, worker: str
    ) -> None:
        self.name, self.version = policy.name, -1
        self._policy, self._shelf = policy, shelf
        self._renew, self._renewed = partial(buffer.renew, worker), time.monotonic()

    def refresh(self) -> None:
        """Take up what is new; see `load_weights` for errors."""
        if newest := self._shelf.read(self.version):
            load_weights(self._policy, *newest)
            self.version = newest[0]
        if time.monotonic() - self._renewed > _RENEWAL:
            self._renew()
            self._renewed = time.monotonic()

    def choose(self, looks: Sequence[Look], *, greedy: bool = False) -> list[Choice]:
        """See `Policy`."""
        self.refresh()
        return self._policy.choose(looks, greedy=greedy)


def work(name: str, seed: int, crew: Crew, buffer: EpisodeBuffer, shelf: WeightsShelf) -> None:
    """Play what the buffer gives out, without end; ``seed`` is of the sampling."""
    import torch

    torch.set_num_threads(1)
    policy: Trainable = crew.policy.make()
    policy.reseed(seed)
    fresh = FreshPolicy(policy, shelf, buffer, name)
    rollouts: Rollouts = crew.rollouts.make()
    try:
        while True:
            fresh.refresh()
            tickets = {t.draw: t for t in buffer.lease(name, fresh.version, crew.wave)}
            for episode in rollouts.play(list(tickets), fresh) if tickets else ():
                buffer.put(tickets[episode.draw], episode)
            if not tickets:
                time.sleep(_PAUSE)
    finally:
        rollouts.close()


class WorkerPool:
    """Workers that are hired anew when they die; their leases end at once.

    Args:
        buffer: the trainer's.
        path: of the buffer's file.
        shelf: folder of the weights, with a version on it.
        crew: what the workers make.
        ray: actors of the Ray cluster at RAY_ADDRESS, or of one started here, in place of
            processes; buffer and shelf stay on this machine.

    Raises:
        UsageError: Ray is not installed.
    """

    def __init__(
        self, buffer: EpisodeBuffer, path: Path, shelf: Path, crew: Crew, *, ray: bool = False
    ) -> None:
        self._buffer, self._crew, self._numbers = buffer, crew, itertools.count()
        self._hire = _actors(path, shelf, crew) if ray else partial(_Process, path, shelf, crew)
        self._staff: dict[str, Any] = {}
        self.deaths, self._since, self._done = 0, 0, 0.0
        self.tend()

    def tend(self) -> None:
        """Replace the dead.

        Raises:
            EnvironmentFailed: they die again and again, and no episode comes of them.
        """
        dead = [name for name, worker in self._staff.items() if not worker.is_alive()]
        for name in dead:
            del self._staff[name]
            self._buffer.free(name)
        done = self._buffer.counts().get("done", 0) if dead else self._done
        self._since = len(dead) + (self._since if done == self._done else 0)
        self.deaths, self._done = self.deaths + len(dead), done
        if self._since > _DEATHS * self._crew.workers:
            raise EnvironmentFailed(
                f"{self._since} rollout workers died without an episode; see their errors above",
                fix="try one worker",
            )
        while len(self._staff) < self._crew.workers:
            number = next(self._numbers)
            name = f"{os.getpid()}.{number}"
            self._staff[name] = self._hire(name, number)

    def pids(self) -> list[int]:
        """Returns the process ids of workers on this machine."""
        return [worker.pid for worker in self._staff.values()]

    def close(self) -> None:
        """End all workers."""
        for worker in self._staff.values():
            worker.terminate()
        for name, worker in self._staff.items():
            worker.join(10)
            worker.kill()
            self._buffer.free(name)
        self._staff.clear()


class _Process(multiprocessing.get_context("spawn").Process):
    """A worker on this machine; ends with its parent."""

    def __init__(self, path: Path, shelf: Path, crew: Crew, name: str, number: int) -> None:
        super().__init__(target=_run, args=(path, shelf, crew, name, number), daemon=True)
        self.start()


def _run(path: Path, shelf: Path, crew: Crew, name: str, number: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    work(name, number, crew, EpisodeBuffer(path), WeightsShelf(shelf))


def _end_with_parent() -> None:
    """Waits for the parent's end, then for this process's own; a hung one goes after 10 s."""
    parent = multiprocessing.parent_process()
    if parent:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(10)
        os._exit(1)


def _actors(path: Path, shelf: Path, crew: Crew) -> Any:
    """A function that hires an actor by name and number."""
    try:
        ray = importlib.import_module("ray")
    except ImportError as error:
        raise UsageError("--ray needs Ray", fix=install_command("ray")) from error
    if not ray.is_initialized():
        ray.init(include_dashboard=False, log_to_driver=True, configure_logging=False)
    here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
        ray.get_runtime_context().get_node_id(), soft=False
    )
    desk = ray.remote(num_cpus=0, scheduling_strategy=here)
    desks = desk(EpisodeBuffer).remote(path), desk(WeightsShelf).remote(shelf)
    return lambda name, number: _Actor(ray, name, number, crew, desks)


class _Actor:
    """A worker anywhere in the cluster, with the few methods of a process that a pool uses."""

    def __init__(self, ray: Any, name: str, number: int, crew: Crew, desks: Any) -> None:
        self._ray = ray
        self._actor = ray.remote(num_cpus=0, max_restarts=0)(_FarWorker).remote()
        self._end = self._actor.work.remote(name, number, crew, desks)
        self.pid = 0

    def is_alive(self) -> bool:
        return not self._ray.wait([self._end], timeout=0)[0]

    def terminate(self) -> None:
        self._ray.kill(self._actor)

    def join(self, _seconds: float) -> None:
        """Nothing: a killed actor is not waited for."""

    kill = terminate


class _FarWorker:
    def work(self, name: str, number: int, crew: Crew, desks: Any) -> None:
        buffer, shelf = map(_Far, desks)
        work(name, number, crew, buffer, shelf)


class _Far:
    """Calls the methods of an object that is an actor."""

    def __init__(self, actor: Any) -> None:
        self._actor, self._get = actor, importlib.import_module("ray").get

    def __getattr__(self, name: str) -> Any:
        return lambda *values: self._get(getattr(self._actor, name).remote(*values))
