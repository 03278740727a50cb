"""Rollout workers: processes that play on while the trainer updates its policy (ComputerRL, 2.3).

A worker is sent a wave of draws with the newest weights, plays it, and sends its episodes back. A
thread of the trainer sends and receives, so that no worker waits for an update to end.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING

from hisa.errors import EnvironmentFailed
from hisa.machine.patience import patience
from hisa.plugins.training.admission import Admission, Terms

if TYPE_CHECKING:
    from hisa.plugins.training.episodes import Draw, Episode, Rollouts, Trainable

__all__ = ["Crew", "RolloutWorkers"]

_PAUSE = 0.02
"""Seconds between two looks at the workers: an update takes ten times as long."""
_DEATHS = 3
"""Deaths for each worker, without a new episode, after which the trainer gives up."""


@dataclass(frozen=True, slots=True)
class Crew:
    """The workers; what makes their parts is called in their own processes, and so picklable."""

    rollouts: Callable[[], Rollouts]
    policy: Callable[[], Trainable]  # of the trainer's sizes; its weights are replaced
    workers: int = 1
    wave: int = 32  # draws that one plays at once


class RolloutWorkers:
    """Workers under `Terms`; `begin` starts them, and one that dies is replaced.

    Its episodes in flight are lost with it, and their draws are played again.
    """

    def __init__(self, crew: Crew, terms: Terms) -> None:
        self.terms, self._crew = terms, crew
        self._change = threading.Condition()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._error: EnvironmentFailed | None = None

    @property
    def counts(self) -> dict[str, int]:
        """The counts of `Admission` since the last `begin`."""
        return dict(self._admission.counts)

    def begin(self, policy: Trainable, draws: Iterator[Draw], group_size: int) -> None:
        """Start workers on draws, whole groups one after the other; earlier ones are ended."""
        self.close()
        self._admission = Admission(self.terms, group_size, policy.version)
        self._waiting, self._draws = deque[Draw](), draws
        self._weights = policy.version, _packed(policy)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, args=(self._stop,), daemon=True)
        self._thread.start()

    def batch(self) -> list[Episode]:
        """Waits for the episodes of the next update.

        Raises:
            EnvironmentFailed: workers die again and again, and no episode comes of them.
        """
        with self._change:
            while (episodes := self._admission.take()) is None:
                if self._error:
                    raise self._error
                if not (self._thread and self._thread.is_alive()):
                    raise EnvironmentFailed("the rollout workers have ended")
                self._change.wait(1.0)
        return episodes

    def publish(self, policy: Trainable) -> None:
        """Let workers play by these weights from their next wave on."""
        weights = policy.version, _packed(policy)
        with self._change:
            self._weights = weights
            self._admission.publish(policy.version)

    def close(self) -> None:
        """End all workers; may be called twice."""
        self._stop.set()
        if self._thread:
            self._thread.join()
        self._thread = None

    def _serve(self, stop: threading.Event) -> None:
        workers = [_Worker(self._crew, number) for number in range(self._crew.workers)]
        numbers, deaths, done = len(workers), 0, 0
        try:
            while not stop.is_set():
                for worker in (worker for worker in workers if not worker.draws):
                    with self._change:
                        wave, weights = self._wave(), self._weights
                    if wave:
                        worker.send(wave, weights)
                for pipe in wait([worker.pipe for worker in workers], _PAUSE):
                    place = next(i for i, worker in enumerate(workers) if worker.pipe is pipe)
                    alive = self._receive(workers[place])
                    if not alive:
                        workers[place].end()
                        workers[place], numbers = _Worker(self._crew, numbers), numbers + 1
                        before, done = done, self._admission.counts["done"]
                        deaths = 1 + (deaths if done == before else 0)
                if deaths > _DEATHS * len(workers):
                    reason = f"{deaths} rollout workers died without an episode"
                    self._error = EnvironmentFailed(reason, fix="see their errors above")
                    stop.set()
        finally:
            for worker in workers:
                worker.end()
            with self._change:
                self._change.notify_all()

    def _wave(self) -> list[Draw]:
        """The next draws, as many as the bound lets begin."""
        wave: list[Draw] = []
        while len(wave) < self._crew.wave:
            draw = self._waiting.popleft() if self._waiting else next(self._draws)
            if not self._admission.admit(draw, self._weights[0]):
                self._waiting.appendleft(draw)
                break
            wave.append(draw)
        return wave

    def _receive(self, worker: _Worker) -> bool:
        """Keep the episodes of a worker's wave; False: it died."""
        try:
            episodes: list[Episode] = worker.pipe.recv()
        except (EOFError, OSError):
            episodes = []
        with self._change:
            of_draw = {episode.draw: episode for episode in episodes}
            for draw in worker.draws:
                if not self._admission.finish(draw, of_draw.get(draw)):
                    self._waiting.append(draw)
            self._change.notify_all()
        worker.draws = []
        return bool(episodes)


class _Worker:
    """A process, our end of its pipe, and the draws that it plays."""

    def __init__(self, crew: Crew, number: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs, crew, number), daemon=True)
        self._process.start()
        theirs.close()
        self.draws: list[Draw] = []
        self._version = -1

    def send(self, draws: list[Draw], weights: tuple[int, bytes]) -> None:
        version, packed = weights
        self.draws = draws
        with contextlib.suppress(OSError):  # it died, as its pipe will show
            self.pipe.send((draws, version, packed if version != self._version else b""))
        self._version = version

    def end(self) -> None:
        self._process.terminate()
        self._process.join(patience(10))
        self._process.kill()
        self._process.join()
        self.pipe.close()


def _packed(policy: Trainable) -> bytes:
    from safetensors.torch import save

    tensors = policy.network.state_dict().items()
    return save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors})


def _work(pipe: Connection, crew: Crew, number: int) -> None:
    """Play what the trainer sends, until it ends."""
    import torch
    from safetensors.torch import load

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    torch.set_num_threads(1)
    policy, rollouts = crew.policy(), crew.rollouts()
    policy.reseed(number)
    try:
        while True:
            draws, version, weights = pipe.recv()
            if weights:
                policy.network.load_state_dict(load(weights))
            policy.version = version
            pipe.send(list(rollouts.play(draws, policy)))
    except (EOFError, BrokenPipeError):  # the trainer has ended
        return
    finally:
        rollouts.close()
