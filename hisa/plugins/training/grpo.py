"""Step-level GRPO (ComputerRL, 3.2): groups of rollouts, advantages of steps, updates; Entropulse.

The actor that plays and the reference that the KL is taken to are policies apart. Batches are
dynamic: an update takes all steps of its episodes, however many they are, some at a time, and its
gradient is that of the objective over all of them.

Entropulse (3.3 and D.1): when RL has made a policy too sure of itself, it is cloned from what was
solved on the way, some trajectories drawn for each unique task, with cloning's settings, 3 epochs
and half the rate. The reference becomes the result, and RL goes on. The paper is silent on the
optimiser: here both phases begin with a fresh one.

With workers (2.3) the episodes of an update were begun by older versions: the update weighs them by
truncated importance, the samples' own log-probabilities against those of the policy before it.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import torch

from hisa.plugins.benchmarks.bench import stats
from hisa.plugins.training.advantages import Advantaged, grouped
from hisa.plugins.training.base import Policy, Rollouts, Trainable
from hisa.plugins.training.curves import MetricsRow, TaskMetrics, episode_metrics
from hisa.plugins.training.episodes import Draw, Episode, Sample
from hisa.plugins.training.losses import step_grpo_loss
from hisa.plugins.training.sft import CloningSettings, adamw, clone, descend, seeded
from hisa.plugins.training.strata import CloningSet, cloning_set
from hisa.plugins.training.training_folder import TrainingFolder

if TYPE_CHECKING:
    from hisa.plugins.training.rollout_workers import RolloutWorkers

__all__ = [
    "TUNING_SEEDS",
    "Arm",
    "GrpoSettings",
    "StepTraining",
    "draw_groups",
    "evaluate",
    "evaluation_draws",
    "objective_gradient",
    "pulse_set",
    "update_policy",
    "with_greedy",
]

TUNING_SEEDS = 900_000
"""First seed of the instances by which the best checkpoint is chosen; seeds from 1,000,000 on are
for reports, and no training sees them."""
_TRAINING_SEEDS = 500_000
"""Instances of a page for training; those above are for demonstrations and tuning."""
Arm = Literal["pulse", "control", "higher-clip"]
"""Ways to go on: with Entropulse's phase; without it, but the reference reset all the same (the
paper's control, figure 6); or like the control and with a higher upper clip."""
_DAPO_CLIP_HIGH = 0.28
"""DAPO's (arXiv 2503.14476), which 3.3 tried against the fall of entropy."""
_PULSE_EPOCHS = 3


@dataclass(frozen=True, slots=True)
class GrpoSettings:
    """Settings of a run; table 6 of the paper where it has them and two cores allow.

    For `clip`, `clip_high` and `kl` see `losses.step_grpo_loss`. 24 groups of 8 raise a page that
    was kept out of the demonstrations, 6 of 8 do not (one seed each).
    """

    updates: int = 100
    groups: int = 24  # of one update, dealt to the tasks in turn
    group_size: int = 8
    lr: float = 2e-4  # constant rate of AdamW, without warm-up or weight decay
    kl: float = 0.0003
    clip: float = 0.2
    clip_high: float | None = None
    grad_norm: float = 1.0
    passes: int = 4  # steps of the optimiser, each of the whole objective; the first number tried
    steps_at_once: int = 256  # of one forward pass; bounds memory, changes nothing else
    evaluate_every: int = 5  # updates between greedy evaluations; 0: never
    evaluation_seeds: int = 20  # instances of each task that these play
    pulse_at: int = 0  # this update is the supervised phase of Entropulse instead; 0: none is
    arm: Arm = "pulse"
    per_task: int = 1  # successes that such a phase takes of each unique task
    cloning: CloningSettings = field(default_factory=CloningSettings)  # that it takes its own from
    weighted: bool = True  # whether older episodes are weighed by importance
    seed: int = 0


def draw_groups(tasks: Sequence[str], settings: GrpoSettings, update: int) -> list[Draw]:
    """Returns the draws of an update, from 1: each group a new instance, the tasks in turn."""
    draws = []
    for group in range(settings.groups):
        number = (update - 1) * settings.groups + group
        task, seed = tasks[number % len(tasks)], settings.seed * 100_003 + number
        for member in range(settings.group_size):
            draws.append(Draw(task, seed % _TRAINING_SEEDS, f"{update}.{group}", member))
    return draws


def evaluation_draws(tasks: Iterable[str], count: int, first: int = TUNING_SEEDS) -> list[Draw]:
    """Returns `count` instances of each task, from the first seed on."""
    return [Draw(task, first + number) for task in tasks for number in range(count)]


def evaluate(
    rollouts: Rollouts, policy: Policy, draws: Sequence[Draw], *, greedy: bool = True
) -> dict[str, list[bool]]:
    """Returns for each task whether each of its episodes was solved; failed machines left out."""
    solved: dict[str, list[bool]] = {draw.task: [] for draw in draws}
    for episode in rollouts.play(draws, policy, greedy=greedy):
        if episode.is_sample:
            solved[episode.draw.task].append(episode.solved)
    return solved


def with_greedy(row: MetricsRow, solved: dict[str, list[bool]]) -> None:
    """Put a greedy evaluation into a row: the mean over tasks of the share solved of each."""
    for task, won in solved.items():
        part = row.tasks.setdefault(task, TaskMetrics())
        part.greedy, part.greedy_n = stats.mean(won), len(won)
    row.greedy_n = sum(map(len, solved.values()))
    row.greedy = stats.mean([sum(won) / len(won) for won in solved.values() if won])


def objective_gradient(
    policy: Trainable,
    batch: Advantaged,
    settings: GrpoSettings,
    old: torch.Tensor,
    reference: torch.Tensor,
    behaviour: torch.Tensor | None = None,
) -> dict[str, float]:
    """Add the gradient of the objective over all steps of a batch, some steps at a time.

    `old`, `reference` and `behaviour` are log-probabilities of the batch's samples, float [steps].
    Returns the loss ("loss"), and means over all steps as `losses.Loss` has them.
    """
    totals = dict.fromkeys(("loss", "kl", "ppo_kl", "clipped"), 0.0)
    weights = torch.tensor(batch.weights)
    advantages = torch.tensor([advantage for _, advantage in batch.samples])
    for start in range(0, len(weights), settings.steps_at_once):
        part = slice(start, start + settings.steps_at_once)
        logprobs, _ = policy.log_probs([sample for sample, _ in batch.samples[part]])
        loss = step_grpo_loss(
            logprobs,
            old[part],
            reference[part],
            advantages[part],
            weights[part],
            clip=settings.clip,
            clip_high=settings.clip_high,
            kl=settings.kl,
            behaviour_logprobs=None if behaviour is None else behaviour[part],
        )
        loss.value.backward()
        totals["loss"] += float(loss.value.detach())
        for name in ("kl", "ppo_kl", "clipped"):
            totals[name] += float(weights[part].sum() / weights.sum()) * getattr(loss, name)
    return totals


def update_policy(
    policy: Trainable,
    reference: Trainable,
    optimizer: torch.optim.Optimizer,
    batch: Advantaged,
    settings: GrpoSettings,
    *,
    decoupled: bool = False,
) -> dict[str, float]:
    """Make one update, of `passes` steps of the optimiser; the version goes up by one.

    Where it is `decoupled`, samples may be of older versions: their log-probabilities are then
    those of the behaviour, and the old ones are taken anew from the policy as it is. Returns the
    measures of the last pass; none, and no new version, for a batch without samples.
    """
    if not batch.samples:
        return {}
    samples = [sample for sample, _ in batch.samples]
    acted = torch.tensor([sample.logprob for sample in samples])
    old = _log_probs(policy, samples, settings.steps_at_once) if decoupled else acted
    towards = _log_probs(reference, samples, settings.steps_at_once)
    behaviour = acted if decoupled else None
    optimizer.zero_grad()
    measures: dict[str, float] = {}
    for _ in range(settings.passes):
        measures = objective_gradient(policy, batch, settings, old, towards, behaviour)
        descend(policy, optimizer, settings.grad_norm)
    policy.version += 1
    return measures


def _log_probs(policy: Trainable, samples: Sequence[Sample], at_once: int) -> torch.Tensor:
    starts = range(0, len(samples), at_once)
    with torch.no_grad():
        return torch.cat([policy.log_probs(samples[at : at + at_once])[0] for at in starts])


def pulse_set(episodes: Iterable[Episode], draws: random.Random, per_task: int) -> CloningSet:
    """Returns at most `per_task` solved episodes of each unique task, all of a task as likely.

    A unique task is an instance: a name and a seed.
    """
    kept: dict[tuple[str, int], list[Episode]] = {}
    count: Counter[tuple[str, int]] = Counter()
    for episode in filter(lambda episode: episode.solved, episodes):
        key = (episode.draw.task, episode.draw.seed)
        count[key] += 1
        chosen = kept.setdefault(key, [])
        if len(chosen) < per_task:
            chosen.append(episode)
        elif (place := draws.randrange(count[key])) < per_task:
            chosen[place] = episode
    return cloning_set(episode for chosen in kept.values() for episode in chosen)


class StepTraining:
    """One run of step-level GRPO, written to its folder after each update.

    From a folder with an earlier state, the run goes on there. `policy` is changed in place, and an
    error that `after_update` raises for a row ends the run after that update. With `workers` these
    play, and `rollouts` only evaluates.
    """

    def __init__(
        self,
        folder: TrainingFolder,
        policy: Trainable,
        rollouts: Rollouts,
        tasks: Sequence[str],
        settings: GrpoSettings,
        after_update: Callable[[MetricsRow], None] = lambda _row: None,
        *,
        workers: RolloutWorkers | None = None,
    ) -> None:
        self.policy, self.reference = policy, policy.copy()
        self._folder, self._rollouts, self._tasks = folder, rollouts, tuple(tasks)
        self._settings, self._after_update, self._workers = settings, after_update, workers
        self._optimizer = adamw(policy, settings.lr)
        self.done = folder.restore(policy, self._optimizer, self.reference)  # updates so far
        self.best: float | None = folder.state["best"] if folder.state else None
        """Best greedy score on tuning seeds; "best" is the first checkpoint that had it."""
        self.episodes: list[Episode] = []
        """Those of the last update."""

    def run(self) -> None:
        """Make the updates that are left, with an evaluation before the first one.

        Raises:
            EnvironmentFailed: workers die again and again.
        """
        try:
            if self._folder.state is None:
                self._write(MetricsRow(update=0, version=self.policy.version))
            self._publish()
            for update in range(self.done + 1, self._settings.updates + 1):
                self.policy.reseed(seeded(self._settings.seed, update).getrandbits(62))
                began, pulsing = time.monotonic(), update == self._settings.pulse_at
                row = self._pulse(update) if pulsing else self._update(update)
                row.seconds, self.done = time.monotonic() - began, update
                self._write(row)
        finally:
            if self._workers:
                self._workers.close()

    def _publish(self) -> None:
        if self._workers:
            self._workers.publish(self.policy)

    def _draws(self, update: int) -> list[Draw]:
        return draw_groups(self._tasks, self._settings, update)

    def _update(self, update: int) -> MetricsRow:
        settings, version = self._settings, self.policy.version
        if settings.arm == "higher-clip" and 0 < settings.pulse_at < update:
            settings = replace(settings, clip_high=_DAPO_CLIP_HIGH)
        if self._workers:
            self.episodes = self._workers.batch(update, self._draws)
        else:
            self.episodes = list(self._rollouts.play(self._draws(update), self.policy))
        self.episodes.sort(key=lambda episode: (episode.draw.group, episode.draw.member))
        batch = grouped(self.episodes)
        measures = update_policy(
            self.policy,
            self.reference,
            self._optimizer,
            batch,
            settings,
            decoupled=self._workers is not None and settings.weighted,
        )
        self._publish()
        facts = episode_metrics(self.episodes, version=version) | measures
        row = MetricsRow(update=update, dropped_groups=batch.dropped, **facts)
        row.version = self.policy.version
        return row

    def _pulse(self, update: int) -> MetricsRow:
        """The supervised phase, or what its controls do in its place."""
        row, self.episodes = MetricsRow(update=update), []
        if self._settings.arm == "pulse":
            own = self._settings.cloning
            seed = self._settings.seed
            settings = replace(own, epochs=_PULSE_EPOCHS, lr=own.lr / 2, seed=seed)
            draws, means = random.Random(f"pulse {seed}"), list[tuple[float, float]]()
            data = pulse_set(self._folder.successes(), draws, self._settings.per_task)
            clone(self.policy, data.samples, settings, after_epoch=lambda _, *m: means.append(m))
            row.phase, row.steps, (row.loss, row.entropy) = "pulse", len(data.samples), means[-1]
        row.version = self.policy.version
        self.reference = self.policy.copy()
        self._optimizer = adamw(self.policy, self._settings.lr)
        if self._workers:  # what they play is of a policy that is no more
            self._workers.close()
        self._publish()
        return row

    def _write(self, row: MetricsRow) -> None:
        """Evaluate where it is due, and write the update down."""
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
