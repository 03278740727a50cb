"""Rollouts on desktops and virtual machines: every episode is a run, as ``hisa run`` makes it.

The bench's own attempts make them, each on a fresh machine. Machines work in a thread of their own;
the policy stays in the thread of whoever plays: the model of a run's planner passes its looks on,
and those that wait are asked together.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Coroutine, Generator, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any
from weakref import WeakSet

from hisa.config import Settings
from hisa.errors import UsageError
from hisa.outcomes.endings import RunStatus, is_success, says_nothing
from hisa.plugins.benchmarks.bench.jobs import Job, RunEnded, perform
from hisa.plugins.benchmarks.bench.suites import Suite
from hisa.plugins.training.base import Policy
from hisa.plugins.training.episodes import Choice, Draw, Episode, Look, Sample
from hisa.plugins.training.pointer_features import features
from hisa.plugins.training.screen_looks import read_look
from hisa.protocols import ModelReply, ModelRequest, TextPart, TurnTokens

__all__ = ["MachineRollouts", "no_sample"]

_Question = tuple[Look, Future[tuple[Choice, int]]]
"""Answered by the choice, and the version that made it."""
_Heard = SimpleQueue[_Question | Episode | None]
"""What machines ask and how they end; None: the work is over."""


class MachineRollouts:
    """Episodes on machines; see `hisa.plugins.training.base.Rollouts`.

    Members of a group get fresh machines with the same seed. Nothing is learned from a run, and no
    model but the policy is asked.

    Args:
        suite: whose tasks are played.
        settings: of the runs, above all their environment and their limit of steps.
        folder: where their run folders are made.
        workers: machines at work at once.
        environment: an environment maker as ``module:name``; empty: that of the settings.

    Raises:
        UsageError: the machine keeps what an episode leaves behind.
    """

    def __init__(
        self, suite: Suite, settings: Settings, folder: Path,
        *, workers: int = 1, environment: str = "",
    ) -> None:  # fmt: skip
        if not (environment or settings.environment.throw_away):
            kind = settings.environment.kind
            raise UsageError(f"{kind!r} keeps what an episode leaves behind", fix="--env desktop")
        self._paths = {task.id: task.path for task in suite.tasks}
        self._folder, self._workers, self._environment = folder, workers, environment
        self._settings = settings.model_dump(mode="json")
        self._settings["planner"] |= {"kind": "pointer", "sequence": 1}
        self._settings["state"] |= {"steps": "raw", "refine": "window"}
        self._settings["patterns"] |= {"enabled": False}
        self._plays: WeakSet[Generator[Episode]] = WeakSet()

    @property
    def tasks(self) -> tuple[str, ...]:
        """See `Rollouts`."""
        return tuple(self._paths)

    def play(
        self, draws: Sequence[Draw], policy: Policy, *, greedy: bool = False
    ) -> Iterator[Episode]:
        """See `Rollouts`; the policy is asked while the next episode is waited for."""
        unknown = [draw.task for draw in draws if draw.task not in self._paths]
        if unknown:
            why = f"no task {unknown[0]!r}; there are: {', '.join(self.tasks[:10])}"
            raise UsageError(why, fix="hisa bench tasks SUITE")
        play = self._played(draws, policy, greedy)
        self._plays.add(play)
        return play

    def close(self) -> None:
        """End the machines of plays that were not played to their end."""
        for play in list(self._plays):
            play.close()

    def _played(self, draws: Sequence[Draw], policy: Policy, greedy: bool) -> Generator[Episode]:
        heard, count = _Heard(), len(draws)
        with _in_thread(self._work(draws, heard, policy.name, greedy), heard) as work:
            while count:
                messages = [heard.get()]
                while not heard.empty():
                    messages.append(heard.get())
                questions = [message for message in messages if isinstance(message, tuple)]
                looks = [look for look, _ in questions]
                choices = policy.choose(looks, greedy=greedy) if looks else ()
                version = policy.version
                for (_, answer), choice in zip(questions, choices, strict=True):
                    if answer.set_running_or_notify_cancel():
                        answer.set_result((choice, version))
                for message in messages:
                    if isinstance(message, Episode):
                        count -= 1
                        yield message
                    elif message is None and count:
                        work.result()  # raises what ended it

    async def _work(self, draws: Sequence[Draw], heard: _Heard, policy: str, greedy: bool) -> None:
        async def lane() -> None:
            for draw in waiting:
                heard.put(await self._episode(draw, _AskedPolicy(policy, heard), greedy))

        waiting = iter(draws)
        async with asyncio.TaskGroup() as group:
            for _ in range(min(self._workers, len(draws))):
                group.create_task(lane())

    async def _episode(self, draw: Draw, model: _AskedPolicy, greedy: bool) -> Episode:
        settings, ended = deepcopy(self._settings), RunEnded(status="defect")
        settings["run"]["seed"] = draw.seed
        settings["models"]["planner"]["temperature"] = float(not greedy)
        job = Job(
            task=self._paths[draw.task], settings=settings, runs=str(self._folder),
            environment=self._environment,
        )  # fmt: skip
        async for message in perform(job, {"planner": model}):
            if isinstance(message, RunEnded):
                ended = message
        reason = ended.message or ended.score_detail
        failure = no_sample(ended.status, ended.steps, ended.score, reason)
        solved = not failure and is_success(ended.status, ended.score_state, ended.score)
        return Episode(
            draw, tuple(model.samples), None if failure else ended.score, solved,
            truncated=ended.status == "max_steps", seconds=ended.seconds, failure=failure,
            source="machines", policy=model.policy,
        )  # fmt: skip


def no_sample(status: RunStatus, steps: int, score: float | None, reason: str) -> str:
    """Returns why a run says nothing about its policy; empty where it does.

    A machine that the agent's own act broke is a sample; any other broken machine is none, nor is a
    run that was not scored.
    """
    if says_nothing(status, steps) or score is None:
        return f"{status}: {reason or 'there is no score'}"
    return ""


@contextmanager
def _in_thread(coroutine: Coroutine[Any, Any, None], heard: _Heard) -> Iterator[asyncio.Task[None]]:
    """Work in an event loop of its own; at the end it is cancelled, and its machines are gone."""
    loop = asyncio.new_event_loop()
    work = loop.create_task(coroutine)
    work.add_done_callback(lambda _: heard.put(None))

    def serve() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(asyncio.wait([work]))

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield work
    finally:
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(work.cancel)
        thread.join()


class _AskedPolicy:
    """The planner's model of one run; keeps its steps."""

    def __init__(self, policy: str, heard: _Heard) -> None:
        self.name, self.policy, self._heard = f"pointer:{policy}", policy, heard
        self.samples: list[Sample] = []

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        """See `Model`."""
        part = next(message.parts[0] for message in request.messages if message.role == "user")
        assert isinstance(part, TextPart)
        look, answer = read_look(part.text), Future[tuple[Choice, int]]()
        self._heard.put((look, answer))
        choice, version = await asyncio.wrap_future(answer)
        act, sample = choice.act, Sample(look, choice.act, choice.logprob, choice.entropy, version)
        try:
            features(look).require(act)
        except UsageError:  # the planner refuses it too, and asks again
            sample = replace(sample, well_formed=False)
        self.samples.append(sample)
        reply = json.dumps({"act": act.kind, "item": act.item, "word": act.word})
        return ModelReply(reply, policy=str(version), tokens=TurnTokens(logprobs=(choice.logprob,)))
