"""Step-level GRPO (ComputerRL, 3.2): groups of rollouts, advantages of steps, updates; Entropulse.

The policy that plays and the reference of the KL are separate policies. Batches are dynamic: an
update takes all steps of its episodes, some at a time, and its gradient is that of the objective
over all of them.

Entropulse (3.3 and D.1): when RL has lowered a policy's entropy too far, the policy is trained on
the solved episodes so far, one drawn for each unique task, with cloning's settings, but 3 epochs
and half the rate. The result becomes the reference, and RL continues. The paper does not say what
becomes of the optimiser: here both phases begin with a fresh one.

With workers (2.3) the episodes of an update were begun by older versions. The update weights them
by truncated importance, from the samples' own log-probabilities and those of the policy before it.
"""

from __future__ import annotations

import math
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import torch
from torch import Tensor

from hisa.errors import UsageError
from hisa.plugins.benchmarks.bench import stats
from hisa.plugins.training.base import Draw, Episode, Learner, Source, Step
from hisa.plugins.training.curves import MetricsRow, TaskMetrics, episode_metrics
from hisa.plugins.training.sft import adamw, clone, descend, seed_draws
from hisa.plugins.training.strata import CloningSet, cloning_set
from hisa.plugins.training.training_folder import TrainingFolder
from hisa.plugins.training.training_settings import CloningSettings, GrpoSettings

if TYPE_CHECKING:
    from hisa.plugins.training.rollout_workers import RolloutWorkers

__all__ = [
    "Batch",
    "StepTraining",
    "build_batch",
    "draw_groups",
    "evaluate",
    "evaluation_draws",
    "pulse_set",
    "step_grpo_loss",
    "update_policy",
    "with_greedy",
    "z_scores",
]

_L = TypeVar("_L", bound=Learner)
_P = TypeVar("_P")
_TUNING_SEEDS = 900_000
"""First seed of the instances on which the best checkpoint is chosen; seeds from 1,000,000 on are
for reports, and no training uses them."""
_TRAINING_SEEDS = 500_000
"""Training uses seeds below this; those above are for demonstrations and tuning."""
_DAPO_CLIP_HIGH = 0.28
"""Upper clip of DAPO (arXiv 2503.14476), which 3.3 tried against the loss of entropy."""
_FARTHEST, _LARGEST_KL = 20.0, 10.0
"""Bounds as in verl: of a difference of log-probabilities before exp, and of a step's `low_var_kl`
(named in ComputerRL's table 6), above which it has no gradient. TRL has neither."""


def z_scores(rewards: Sequence[float]) -> list[float] | None:
    """Returns (r - mean) / std of each reward, with the population's std; None without a spread."""
    if not rewards or min(rewards) == max(rewards):
        return None
    mean = math.fsum(rewards) / len(rewards)
    std = math.dist(rewards, [mean] * len(rewards)) / math.sqrt(len(rewards))
    return [(reward - mean) / std for reward in rewards]


class Batch(NamedTuple):
    """The steps of all groups with a spread of rewards.

    A step weighs 1 / (groups kept * steps of its group), so the batch's mean is the mean over
    groups of the mean over a group's steps.
    """

    samples: list[Step]
    advantages: list[float]  # of the steps
    weights: list[float]  # of the steps; they sum to 1
    dropped: int  # groups with steps, but without a spread


def build_batch(episodes: Iterable[Episode]) -> Batch:
    """Returns the steps of all groups with their advantages, (r - mean) / std of a group.

    Mean and std are over *all* steps of a group, so long trajectories weigh more (ComputerRL, 3.2).
    A group without a spread is dropped and counted.

    Raises:
        UsageError: an episode has no group, or its group played another instance.
    """
    groups: dict[str, list[Episode]] = {}
    for episode in episodes:
        members, draw = groups.setdefault(episode.draw.group, []), episode.draw
        members.append(episode)
        first = members[0].draw
        if not draw.group or (first.task, first.seed) != (draw.task, draw.seed):
            reason = f"{draw} is in no group, or in one with {first.task!r}, seed {first.seed}"
            raise UsageError(reason, fix="play each instance as a group of its own, with a name")
    scored_groups, dropped = list[tuple[list[Step], list[float]]](), 0
    for members in groups.values():
        played = [member for member in members if member.is_sample]
        scores = z_scores([reward for member in played for reward in member.rewards])
        steps = [sample for member in played for sample in member.samples]
        if scores:
            scored_groups.append((steps, scores))
        dropped += bool(steps) and not scores
    return Batch(
        [sample for steps, _ in scored_groups for sample in steps],
        [score for _, scores in scored_groups for score in scores],
        [1 / (len(scored_groups) * len(steps)) for steps, _ in scored_groups for _ in steps],
        dropped,
    )


def step_grpo_loss(
    logprobs: Tensor,
    old: Tensor,
    acted: Tensor,
    reference: Tensor,
    advantages: Tensor,
    weights: Tensor,
    *,
    clip: float = 0.2,
    clip_high: float | None = None,
    kl: float = 0.0003,
    truncate: float = 2.0,
) -> tuple[Tensor, dict[str, float]]:
    """Returns the negated objective of step-level GRPO (ComputerRL, 3.2), and its measures.

    The loss is -sum of weight * (importance * min(ratio * A, clip(ratio) * A) - kl * KL), a scalar
    with gradients; it has no entropy term. The measures are weighted sums: "loss", "kl" (k3:
    e^d - d - 1 with d = log pi_ref - log pi), "ppo_kl" (log pi_old - log pi) and "clipped" (steps
    whose gradient the clip removes). Defaults of clip and KL are those of the paper's table 6.

    Args:
        logprobs: log-probability of each act (for a reply, the sum over its tokens), with
            gradients. All tensors are float [steps].
        old: the same by the policy before this update.
        acted: the same by the version that acted; the importance min(pi_old / pi_acted, truncate)
            is a constant.
        reference: the same by the reference policy.
        advantages: of each step.
        weights: of each step, not negative.
        clip: the ratio is clipped to 1 - clip and 1 + clip.
        clip_high: clips to 1 + clip_high instead; None: as ``clip``.
        kl: coefficient of the KL.
        truncate: most importance; 2 as first published (Yao et al., 2025), 3 in TRL.

    Raises:
        ValueError: there are no steps, shapes differ, or a number is not finite.
    """
    numbers = (logprobs, old, acted, reference, advantages, weights)
    if len({tensor.shape for tensor in numbers}) > 1 or not len(logprobs):
        raise ValueError(f"all tensors must be [steps], not {[t.shape for t in numbers]}")
    if not all(bool(torch.isfinite(tensor).all()) for tensor in numbers):
        raise ValueError("a log-probability, advantage or weight is not finite")
    low, high = 1 - clip, 1 + (clip if clip_high is None else clip_high)
    ratio = (logprobs - old.detach()).clamp(-_FARTHEST, _FARTHEST).exp()
    gain = torch.minimum(ratio * advantages, ratio.clamp(low, high) * advantages)
    importance = (old - acted).detach().clamp(max=_FARTHEST).exp().clamp(max=truncate)
    gap = (reference.detach() - logprobs).clamp(-_FARTHEST, _FARTHEST)
    divergence = (gap.exp() - gap - 1).clamp(max=_LARGEST_KL)
    value = -(weights * (importance * gain - kl * divergence)).sum()
    clipped = ((ratio < low) & (advantages < 0)) | ((ratio > high) & (advantages > 0))
    means = {"kl": divergence, "ppo_kl": old - logprobs, "clipped": clipped}
    totals = {name: float((weights * mean.detach()).sum()) for name, mean in means.items()}
    return value, {"loss": float(value.detach()), **totals}


def update_policy(
    policy: _L,
    reference: _L,
    optimizer: torch.optim.Optimizer,
    batch: Batch,
    settings: GrpoSettings,
    *,
    clip_high: float | None = None,
    decoupled: bool = False,
) -> dict[str, float]:
    """Makes one update, of ``settings.passes`` steps of the optimiser; raises the version by one.

    Args:
        policy: changed in place.
        reference: of the KL.
        optimizer: of the policy's weights.
        batch: steps with advantages and weights; if empty, nothing is changed.
        settings: clip, KL, passes and the size of a forward pass.
        clip_high: see `step_grpo_loss`.
        decoupled: whether samples may be of older versions; the old log-probabilities are then
            computed by the policy as it is now.

    Returns:
        The measures of the last pass, see `step_grpo_loss`; empty for an empty batch.
    """
    if not batch.samples:
        return {}
    size = settings.steps_at_once
    parts = [slice(start, start + size) for start in range(0, len(batch.samples), size)]
    acted = torch.tensor([sample.logprob for sample in batch.samples])
    advantages, weights = torch.tensor(batch.advantages), torch.tensor(batch.weights)
    with torch.no_grad():
        towards = torch.cat([reference.log_probs(batch.samples[part])[0] for part in parts])
        old = acted
        if decoupled:
            old = torch.cat([policy.log_probs(batch.samples[part])[0] for part in parts])
    optimizer.zero_grad()
    measures = dict[str, float]()
    for _ in range(settings.passes):
        measures = {}
        for part in parts:
            logprobs, _ = policy.log_probs(batch.samples[part])
            fixed = (old[part], acted[part], towards[part], advantages[part], weights[part])
            loss_options: dict[str, Any] = {
                "clip": settings.clip,
                "clip_high": clip_high,
                "kl": settings.kl,
            }
            loss, own = step_grpo_loss(logprobs, *fixed, **loss_options)
            loss.backward()
            measures = {name: measures.get(name, 0.0) + value for name, value in own.items()}
        descend(policy, optimizer)
    policy.version += 1
    return measures


def draw_groups(tasks: Sequence[str], settings: GrpoSettings, update: int) -> list[Draw]:
    """Returns the draws of an update: each group plays a new instance, the tasks in turn.

    Args:
        tasks: names of the tasks.
        settings: number and size of the groups, and the seed.
        update: its number, from 1.
    """
    draws = []
    for group in range(settings.groups):
        number = (update - 1) * settings.groups + group
        task, seed = tasks[number % len(tasks)], settings.seed * 100_003 + number
        for member in range(settings.group_size):
            draws.append(Draw(task, seed % _TRAINING_SEEDS, f"{update}.{group}", member))
    return draws


def evaluation_draws(tasks: Iterable[str], count: int, first: int = _TUNING_SEEDS) -> list[Draw]:
    """Returns ``count`` instances of each of the ``tasks``, from the seed ``first`` on."""
    return [Draw(task, first + number) for task in tasks for number in range(count)]


def evaluate(
    rollouts: Source[_P], policy: _P, draws: Sequence[Draw], *, greedy: bool = True
) -> dict[str, list[bool]]:
    """Returns for each task whether each of its episodes was solved.

    Args:
        rollouts: play the episodes.
        policy: chooses the actions.
        draws: the instances; episodes whose machine fails are left out.
        greedy: whether the policy takes the likeliest action instead of drawing one.
    """
    solved: dict[str, list[bool]] = {draw.task: [] for draw in draws}
    for episode in rollouts.play(draws, policy, greedy=greedy):
        if episode.is_sample:
            solved[episode.draw.task].append(episode.solved)
    return solved


def with_greedy(row: MetricsRow, solved: dict[str, list[bool]]) -> None:
    """Puts a greedy evaluation into a row: the mean over tasks of each task's share solved."""
    for task, won in solved.items():
        part = row.tasks.setdefault(task, TaskMetrics())
        part.greedy, part.greedy_n = stats.mean(won), len(won)
    row.greedy_n = sum(map(len, solved.values()))
    row.greedy = stats.mean([sum(won) / len(won) for won in solved.values() if won])


def pulse_set(episodes: Iterable[Episode], draws: random.Random) -> CloningSet:
    """Returns one solved episode of each unique task, drawn evenly from those of the task.

    A unique task is an instance: a name and a seed.
    """
    chosen: dict[tuple[str, int], Episode] = {}
    count: Counter[tuple[str, int]] = Counter()
    for episode in filter(lambda episode: episode.solved, episodes):
        key = (episode.draw.task, episode.draw.seed)
        count[key] += 1
        if draws.randrange(count[key]) == 0:
            chosen[key] = episode
    return cloning_set(chosen.values())


class StepTraining(Generic[_L]):
    """One run of step-level GRPO, written to its folder after each update.

    Args:
        folder: of the run, which continues from the folder's state.
        policy: changed in place.
        rollouts: play the episodes; with ``workers`` they only evaluate.
        tasks: names of the tasks to play.
        settings: of the run.
        after_update: gets each row; an error that it raises ends the run after that update.
        before_update: gets the episodes of an update before it is made; an error ends the run.
        workers: play the episodes ahead, in other processes.
    """

    def __init__(
        self,
        folder: TrainingFolder,
        policy: _L,
        rollouts: Source[_L],
        tasks: Sequence[str],
        settings: GrpoSettings,
        after_update: Callable[[MetricsRow], None] = lambda _row: None,
        *,
        before_update: Callable[[Sequence[Episode]], None] = lambda _episodes: None,
        workers: RolloutWorkers | None = None,
    ) -> None:
        self.policy, self.reference = policy, policy.copy()
        self._folder, self._rollouts, self._tasks = folder, rollouts, tuple(tasks)
        self._settings, self._after_update, self._workers = settings, after_update, workers
        self._before_update = before_update
        self._optimizer = adamw(policy, settings.lr)
        self.completed_updates = folder.restore(policy, self._optimizer, self.reference)
        self.best: float | None = folder.state["best"] if folder.state else None
        """Best greedy score on tuning seeds; the checkpoint "best" is the first one that had it."""
        self.episodes: list[Episode] = []
        """The episodes of the last update."""

    def run(self) -> None:
        """Makes the updates that are left, with an evaluation before the first one.

        Raises:
            EnvironmentFailed: a worker died.
        """
        try:
            if self._folder.state is None:
                self._write(MetricsRow(update=0, version=self.policy.version))
            for update in range(self.completed_updates + 1, self._settings.updates + 1):
                self.policy.reseed(seed_draws(self._settings.seed, update).getrandbits(62))
                began, pulsing = time.monotonic(), update == self._settings.pulse_at
                row = self._pulse(update) if pulsing else self._update(update)
                row.seconds, self.completed_updates = time.monotonic() - began, update
                self._write(row)
        finally:
            if self._workers:
                self._workers.close()

    def _draws(self, update: int) -> list[Draw]:
        """Returns the draws of an update; empty if the update plays no episodes."""
        if update > self._settings.updates or update == self._settings.pulse_at:
            return []
        return draw_groups(self._tasks, self._settings, update)

    def _update(self, update: int) -> MetricsRow:
        settings, version = self._settings, self.policy.version
        higher = settings.arm == "higher-clip" and 0 < settings.pulse_at < update
        if self._workers:
            self.episodes = self._workers.batch(update, self._draws, self.policy)
        else:
            self.episodes = list(self._rollouts.play(self._draws(update), self.policy))
        self.episodes.sort(key=lambda episode: (episode.draw.group, episode.draw.member))
        self._before_update(self.episodes)
        batch = build_batch(self.episodes)
        measures = update_policy(
            self.policy,
            self.reference,
            self._optimizer,
            batch,
            settings,
            clip_high=_DAPO_CLIP_HIGH if higher else None,
            decoupled=settings.decoupled or (self._workers is not None and settings.weighted),
        )
        facts = episode_metrics(self.episodes, version=version) | measures
        row = MetricsRow(update=update, dropped_groups=batch.dropped, **facts)
        row.version = self.policy.version
        return row

    def _pulse(self, update: int) -> MetricsRow:
        """Runs the supervised phase, or only resets the reference in the other arms."""
        row, self.episodes, seed = MetricsRow(update=update), [], self._settings.seed
        if self._settings.arm == "pulse":
            small = self._settings.steps_at_once
            settings = CloningSettings(
                epochs=3, lr=self._settings.pulse_lr, steps_at_once=small, seed=seed
            )
            means = list[tuple[float, float]]()
            data = pulse_set(self._folder.successes(), random.Random(f"pulse {seed}"))
            clone(self.policy, data.samples, settings, after_epoch=lambda _, *m: means.append(m))
            row.phase, row.steps, (row.loss, row.entropy) = "pulse", len(data.samples), means[-1]
        row.version = self.policy.version
        self.reference = self.policy.copy()
        self._optimizer = adamw(self.policy, self._settings.lr)
        if self._workers:  # they play with the policy before the phase
            self._workers.close()
        return row

    def _write(self, row: MetricsRow) -> None:
        """Evaluates if it is due, and stores the update."""
        every, names = self._settings.evaluate_every, []
        pulse_at = self._settings.pulse_at
        due = row.update in (self._settings.updates, pulse_at - 1, pulse_at)
        if every and (due or row.update % every == 0):
            draws = evaluation_draws(self._tasks, self._settings.evaluation_seeds)
            with_greedy(row, evaluate(self._rollouts, self.policy, draws))
            names.append(f"{row.update:05d}")
            if row.greedy is not None and (self.best is None or row.greedy > self.best):
                self.best = row.greedy
                names.append("best")
        self._folder.write(
            row.update,
            self.policy,
            self._optimizer,
            rows=[row],
            episodes=self.episodes,
            checkpoints=names,
            reference=self.reference,
            best=self.best,
        )
        self._after_update(row)
