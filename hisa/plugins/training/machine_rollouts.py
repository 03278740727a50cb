"""Rollouts on desktops and virtual machines: every episode is a run, as ``hisa run`` makes it.

The bench's jobs make the runs, each on a fresh machine, in an event loop that runs while the caller
waits for the next episode. The model of a run's planner is the policy, which is asked in the
caller's thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterator, Sequence
from copy import deepcopy
from pathlib import Path
from weakref import WeakSet

from hisa.config import Settings
from hisa.errors import UsageError
from hisa.outcomes.endings import RunStatus, is_success, says_nothing
from hisa.plugins.benchmarks.bench.jobs import Job, RunEnded, perform
from hisa.plugins.benchmarks.bench.suites import Suite
from hisa.plugins.training.base import Draw, Episode, Policy, Sample
from hisa.plugins.training.pointer_features import features
from hisa.plugins.training.pointer_planner import LOOK, act_reply
from hisa.protocols import ModelReply, ModelRequest, TextPart

__all__ = ["MachineRollouts", "no_sample"]


class MachineRollouts:
    """Episodes on machines; see `hisa.plugins.training.base.Rollouts`.

    Members of a group get fresh machines with the same seed. No patterns are learned from the runs,
    and no model but the policy is asked.

    Args:
        suite: its tasks are played.
        settings: of the runs, such as their environment and their limit of steps.
        folder: gets the run folders.
        workers: machines at once.
        environment: an environment maker as ``module:name``; empty: that of the settings.

    Raises:
        UsageError: the machine is not thrown away after an episode.
    """

    def __init__(
        self,
        suite: Suite,
        settings: Settings,
        folder: Path,
        *,
        workers: int = 1,
        environment: str = "",
    ) -> None:
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

    def _play_episodes(
        self, draws: Sequence[Draw], policy: Policy, greedy: bool
    ) -> Generator[Episode]:
        with asyncio.Runner() as runner:  # on exit it cancels the tasks that still run
            loop, room = runner.get_loop(), asyncio.Semaphore(self._workers)
            waiting = {
                loop.create_task(self._episode(draw, _RecordingPolicy(policy, greedy), room))
                for draw in draws
            }
            while waiting:
                ended, waiting = runner.run(
                    asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                )
                yield from (work.result() for work in ended)

    async def _episode(
        self, draw: Draw, model: _RecordingPolicy, room: asyncio.Semaphore
    ) -> Episode:
        settings, ended = deepcopy(self._settings), RunEnded(status="defect")
        settings["run"]["seed"] = draw.seed
        settings["models"]["planner"]["temperature"] = float(not model.greedy)
        job = Job(
            task=self._paths[draw.task],
            settings=settings,
            runs=str(self._folder),
            environment=self._environment,
        )
        async with room:
            async for message in perform(job, {"planner": model}):
                if isinstance(message, RunEnded):
                    ended = message
        reason = ended.message or ended.score_detail
        failure = no_sample(ended.status, ended.steps, ended.score, reason)
        solved = not failure and is_success(ended.status, ended.score_state, ended.score)
        return Episode(
            draw,
            tuple(model.samples),
            None if failure else ended.score,
            solved,
            truncated=ended.status == "max_steps",
            failure=failure,
            policy=model.policy.name,
        )


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
        self.name, self.policy, self.greedy = f"pointer:{policy.name}", policy, greedy
        self.samples: list[Sample] = []

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        """See `Model`."""
        part = next(message.parts[0] for message in request.messages if message.role == "user")
        assert isinstance(part, TextPart)
        look = LOOK.validate_json(part.text)
        (choice,) = self.policy.choose([look], greedy=self.greedy)
        act, version = choice.act, self.policy.version
        allowed = features(look).allows(act)  # if not, the planner refuses it too, and asks again
        self.samples.append(Sample(look, act, choice.logprob, choice.entropy, version, allowed))
        return act_reply(choice, self.name, version)
