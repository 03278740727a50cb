"""Rollouts on desktops and virtual machines: every episode is a run, as ``hisa run`` makes it.

The bench's jobs make the runs, each on a fresh machine, in an event loop that runs while the caller
waits for the next episode. A small policy is itself the model of a run's planner, and is asked in
the caller's thread; a language model is served (`language_rollouts`), and the workers of an
executor can make its runs.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Generator, Iterator, Mapping, Sequence
from contextlib import aclosing
from copy import deepcopy
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar
from weakref import WeakSet

from hisa.config import Settings
from hisa.errors import UsageError
from hisa.outcomes.endings import RunStatus, is_success, says_nothing
from hisa.plugins.benchmarks.bench.executors.base import Executor, WorkerLost
from hisa.plugins.benchmarks.bench.jobs import Job, Message, RunEnded, RunMade, perform
from hisa.plugins.benchmarks.bench.suites import Suite
from hisa.plugins.training.base import Draw, Episode, Policy, RunPlayer, Sample, Step
from hisa.plugins.training.pointer_features import features
from hisa.plugins.training.pointer_planner import LOOK, act_reply
from hisa.protocols import Model, ModelReply, ModelRequest, Role, TextPart

__all__ = ["MachineRollouts", "RunRollouts", "UnreadableSteps", "no_sample"]

_P = TypeVar("_P")


class UnreadableSteps(ValueError):
    """The steps of a run cannot be read as samples; the message is the reason."""


class RunRollouts(ABC, Generic[_P]):
    """Episodes on machines; see `hisa.plugins.training.base.Source`.

    Members of a group get fresh machines with the same seed. No patterns are learned from the runs,
    and no model but the policy is asked.

    Args:
        suite: its tasks are played.
        settings: of the runs, such as their environment and their limit of steps.
        folder: gets the run folders.
        workers: machines at once.
        environment: an environment maker as ``module:name``; empty: that of the settings.
        executor: its workers make the runs, a new one each; they see the folders of the suite and
            of the runs under the same paths. None: this process makes them.

    Raises:
        UsageError: the machine is not thrown away after an episode.
    """

    planner: ClassVar[Mapping[str, Any]] = {}
    """Settings of the runs' planner."""

    def __init__(
        self,
        suite: Suite,
        settings: Settings,
        folder: Path,
        *,
        workers: int = 1,
        environment: str = "",
        executor: Executor | None = None,
    ) -> None:
        if not (environment or settings.environment.throw_away):
            kind = settings.environment.kind
            raise UsageError(f"{kind!r} keeps what an episode leaves behind", fix="--env desktop")
        self._paths = {task.id: task.path for task in suite.tasks}
        self._folder, self._workers, self._environment = folder.resolve(), workers, environment
        self._executor = executor
        self._settings = settings.model_dump(mode="json")
        self._settings["planner"] |= {"sequence": 1, **self.planner}
        self._settings["state"] |= {"steps": "raw", "refine": "window"}
        self._settings["patterns"] |= {"enabled": False}
        self._plays: WeakSet[Generator[Episode]] = WeakSet()

    @property
    def tasks(self) -> tuple[str, ...]:
        """See `Rollouts`."""
        return tuple(self._paths)

    def play(self, draws: Sequence[Draw], policy: _P, *, greedy: bool = False) -> Iterator[Episode]:
        """Yields episodes, see `Rollouts`; machines go on while the caller waits for the next one.

        They run in their own event loop, so this cannot be called inside another one.

        Args:
            draws: the tasks and seeds to play.
            policy: the model of each run's planner.
            greedy: whether it takes the likeliest act instead of drawing one.

        Raises:
            UsageError: the suite has no task of this name.
        """
        unknown = [draw.task for draw in draws if draw.task not in self._paths]
        if unknown:
            message = f"no task {unknown[0]!r}; the suite has {', '.join(self.tasks[:10])}"
            raise UsageError(message, fix="hisa bench tasks SUITE")
        play = self._play_episodes(draws, policy, greedy)
        self._plays.add(play)
        return play

    def close(self) -> None:
        """Ends the machines of plays that were not played to their end."""
        for play in list(self._plays):
            play.close()
        if self._executor:
            asyncio.run(self._executor.close())

    def _play_episodes(self, draws: Sequence[Draw], policy: _P, greedy: bool) -> Generator[Episode]:
        with asyncio.Runner() as runner:  # on exit it cancels the tasks that still run
            loop, room = runner.get_loop(), asyncio.Semaphore(self._workers)
            waiting = {
                loop.create_task(self._episode(draw, player, room))
                for draw, player in zip(draws, self._players(draws, policy, greedy), strict=True)
            }
            while waiting:
                ended, waiting = runner.run(
                    asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                )
                yield from (work.result() for work in ended)

    @abstractmethod
    def _players(self, draws: Sequence[Draw], policy: _P, greedy: bool) -> list[RunPlayer]:
        """Returns the players of the draws, in order."""

    async def _episode(self, draw: Draw, player: RunPlayer, room: asyncio.Semaphore) -> Episode:
        settings, ended, run = deepcopy(self._settings), None, ""
        settings["run"]["seed"] = draw.seed
        settings["models"]["planner"] |= player.planner
        job = Job(
            task=self._paths[draw.task],
            settings=settings,
            runs=str(self._folder),
            environment=self._environment,
        )
        async with room, aclosing(self._perform(job, player)) as messages:
            async for message in messages:
                if isinstance(message, RunEnded):
                    ended = ended or message  # a worker may die after its result
                elif isinstance(message, RunMade):
                    run = message.run
        ended, steps = ended or RunEnded(status="defect"), list[Step]()
        reason = ended.message or ended.score_detail
        failure = no_sample(ended.status, ended.steps, ended.score, reason)
        try:
            steps = list(player.read_steps(self._folder / run)) if run else []
        except UnreadableSteps as error:
            failure = failure or str(error)
        solved = not failure and is_success(ended.status, ended.score_state, ended.score)
        return Episode(
            draw,
            tuple(steps),
            None if failure else ended.score,
            solved,
            truncated=ended.status == "max_steps",
            failure=failure,
            policy=player.policy_name,
        )

    async def _perform(self, job: Job, player: RunPlayer) -> AsyncGenerator[Message]:
        """Yields the messages of a run; a worker that dies ends it as a broken machine."""
        if self._executor is None:
            async for message in perform(job, player.models):
                yield message
            return
        worker = await self._executor.start_worker()
        try:
            async for message in worker.do(job):
                yield message
        except WorkerLost as error:
            yield RunEnded(status="environment_error", message=str(error))
        finally:
            await worker.close()


class MachineRollouts(RunRollouts[Policy]):
    """Episodes of policies that choose acts for looks."""

    planner: ClassVar[Mapping[str, Any]] = {"kind": "pointer"}

    def _players(self, draws: Sequence[Draw], policy: Policy, greedy: bool) -> list[RunPlayer]:
        return [_RecordingPolicy(policy, greedy) for _ in draws]


def no_sample(status: RunStatus, steps: int, score: float | None, reason: str) -> str:
    """Returns the reason why a run says nothing about its policy; empty if it is a sample.

    If the agent's own act broke the machine, the run is a sample. A run whose machine broke for
    another reason, or that was not scored, is not.

    Args:
        status: of the run.
        steps: number of its steps.
        score: of its check, 0 to 1; None if there is none.
        reason: the run's message, for the result.
    """
    if says_nothing(status, steps) or score is None:
        return f"{status}: {reason or 'there is no score'}"
    return ""


class _RecordingPolicy:
    """The model of one run's planner, which records the steps."""

    def __init__(self, policy: Policy, greedy: bool) -> None:
        self.name, self.policy_name = f"pointer:{policy.name}", policy.name
        self._policy, self._greedy = policy, greedy
        self.models: Mapping[Role, Model] = {"planner": self}
        self.planner: dict[str, Any] = {"temperature": float(not greedy)}
        self._samples: list[Sample] = []

    def read_steps(self, run: Path) -> Sequence[Step]:
        """Returns the steps since it was made."""
        return self._samples

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        """See `Model`."""
        part = next(message.parts[0] for message in request.messages if message.role == "user")
        assert isinstance(part, TextPart)
        look = LOOK.validate_json(part.text)
        (choice,) = self._policy.choose([look], greedy=self._greedy)
        act, version = choice.act, self._policy.version
        allowed = features(look).allows(act)  # if not, the planner refuses it too, and asks again
        self._samples.append(Sample(look, act, choice.logprob, choice.entropy, version, allowed))
        return act_reply(choice, self.name, version)
