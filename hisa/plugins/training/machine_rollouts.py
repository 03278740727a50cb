"""Rollouts on desktops and virtual machines: every episode is a run, as ``hisa run`` makes it.

The bench's own attempts make them, each on a fresh machine. Machines work in a thread of their own;
the policy stays in the thread of whoever plays: the model of a run's planner passes its looks on,
and those that wait are asked together.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Coroutine, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any

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
        self._plays: set[_Play] = set()

    @property
    def tasks(self) -> tuple[str, ...]:
        """See `Rollouts`."""
        return tuple(self._paths)

    def play(
        self, draws: Sequence[Draw], policy: Policy, *, greedy: bool = False
    ) -> Iterator[Episode]:
        """See `Rollouts`; the policy is asked while the next episode is waited for."""
        for draw in draws:
            if draw.task not in self._paths:
                known = ", ".join(self.tasks[:10])
                raise UsageError(
                    f"no task {draw.task!r}; there are: {known}", fix="hisa bench tasks"
                )
        return self._played(draws, policy, greedy)

    def close(self) -> None:
        """End the machines of plays that were not played to their end."""
        while self._plays:
            self._plays.pop().close()

    def _played(self, draws: Sequence[Draw], policy: Policy, greedy: bool) -> Iterator[Episode]:
        play = _Play(policy, greedy)
        self._plays.add(play)
        try:
            play.start(self._work(play, draws))
            yield from play.episodes(len(draws))
        finally:
            play.close()
            self._plays.discard(play)

    async def _work(self, play: _Play, draws: Sequence[Draw]) -> None:
        async def lane() -> None:
            for draw in waiting:
                play.heard.put(await self._episode(play, draw))

        waiting = iter(draws)
        async with asyncio.TaskGroup() as group:
            for _ in range(min(self._workers, len(draws))):
                group.create_task(lane())

    async def _episode(self, play: _Play, draw: Draw) -> Episode:
        settings = deepcopy(self._settings)
        settings["run"]["seed"] = draw.seed
        settings["models"]["planner"]["temperature"] = float(not play.greedy)
        job = Job(
            task=self._paths[draw.task], settings=settings, runs=str(self._folder),
            environment=self._environment,
        )  # fmt: skip
        model, ended = _AskedPolicy(play), RunEnded(status="defect")
        async for message in perform(job, {"planner": model}):
            if isinstance(message, RunEnded):
                ended = message
        reason = ended.message or ended.score_detail
        failure = no_sample(ended.status, ended.steps, ended.score, reason)
        solved = not failure and is_success(ended.status, ended.score_state, ended.score)
        return Episode(
            draw, tuple(model.samples), None if failure else ended.score, solved,
            truncated=ended.status == "max_steps", seconds=ended.seconds, failure=failure,
            source="machines", policy=play.policy.name,
        )  # fmt: skip


def no_sample(status: RunStatus, steps: int, score: float | None, reason: str) -> str:
    """Returns why a run says nothing about its policy; empty where it does.

    A machine that the agent's own act broke is a sample; any other broken machine is none, nor is a
    run that was not scored.
    """
    if says_nothing(status, steps) or score is None:
        return f"{status}: {reason or 'there is no score'}"
    return ""


class _Play:
    """Machines in a thread of their own; what they ask and how they end comes in a queue."""

    def __init__(self, policy: Policy, greedy: bool) -> None:
        self.policy, self.greedy = policy, greedy
        self.heard: SimpleQueue[_Question | Episode | None] = SimpleQueue()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Begin the work; None is heard once it is over."""
        self._task = self._loop.create_task(work)
        self._task.add_done_callback(lambda _: self.heard.put(None))
        self._thread.start()

    def episodes(self, count: int) -> Iterator[Episode]:
        """Yields so many, answering questions meanwhile."""
        while count:
            messages = [self.heard.get()]
            while not self.heard.empty():
                messages.append(self.heard.get())
            questions = [message for message in messages if isinstance(message, tuple)]
            version, looks = self.policy.version, [look for look, _ in questions]
            choices = self.policy.choose(looks, greedy=self.greedy) if looks else ()
            for (_, answer), choice in zip(questions, choices, strict=True):
                if answer.set_running_or_notify_cancel():
                    answer.set_result((choice, version))
            for message in messages:
                if isinstance(message, Episode):
                    count -= 1
                    yield message
                elif message is None and count:
                    self._task.result()  # raises what ended it

    def close(self) -> None:
        """Stop the runs at work, and wait until their machines are gone."""
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join()

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(asyncio.wait([self._task]))  # type: ignore[arg-type]


class _AskedPolicy:
    """The planner's model of one run; keeps its steps."""

    def __init__(self, play: _Play) -> None:
        self.name, self.samples, self._play = f"pointer:{play.policy.name}", list[Sample](), play

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        """See `Model`."""
        part = next(message.parts[0] for message in request.messages if message.role == "user")
        assert isinstance(part, TextPart)
        look, answer = read_look(part.text), Future[tuple[Choice, int]]()
        self._play.heard.put((look, answer))
        choice, version = await asyncio.wrap_future(answer)
        act, sample = choice.act, Sample(look, choice.act, choice.logprob, choice.entropy, version)
        try:
            features(look).require(act)
        except UsageError:  # the planner refuses it too, and asks again
            sample = replace(sample, well_formed=False)
        self.samples.append(sample)
        reply = json.dumps({"act": act.kind, "item": act.item, "word": act.word})
        return ModelReply(reply, policy=str(version), tokens=TurnTokens(logprobs=(choice.logprob,)))
