"""Step-level GRPO (ComputerRL, 3.2): groups of rollouts, advantages of steps, updates; Entropulse.

The actor that plays and the reference that the KL is taken to are policies apart. Batches are
dynamic: an update takes all steps of its episodes, however many they are, some at a time, and its
gradient is that of the objective over all of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from hisa.plugins.training.advantages import Advantaged, grouped
from hisa.plugins.training.cloning import CloningSettings, seeded
from hisa.plugins.training.curve_metrics import MetricsRow, TaskMetrics, episode_metrics
from hisa.plugins.training.entropulse import DAPO_CLIP_HIGH, Arm, pulse
from hisa.plugins.training.episodes import Draw, Episode, Sample
from hisa.plugins.training.losses import Loss, step_grpo_loss

if TYPE_CHECKING:
    from hisa.plugins.training.base import Rollouts, Trainable
    from hisa.plugins.training.training_folder import TrainingFolder

__all__ = [
    "TUNING_SEEDS", "GrpoSettings", "StepTraining", "accumulate", "draw_groups", "evaluate",
    "evaluation_draws", "grpo_optimizer", "update_policy",
]  # fmt: skip

TUNING_SEEDS = 900_000
"""First seed of the instances by which the best checkpoint is chosen; seeds from 1,000,000 on are
for reports, and no training sees them."""
_TRAINING_SEEDS = 500_000
"""Instances of a page for training; those above are for demonstrations and tuning."""


@dataclass(frozen=True, slots=True)
class GrpoSettings:
    """Settings of a run; table 6 of the paper where it has them and two cores allow.

    Args:
        updates: in all.
        groups: of one update, dealt to the tasks in turn; 24 of 8 raise a page that was kept out
            of the demonstrations, 6 of 8 do not (one seed each).
        group_size: members; all play one instance.
        lr: constant rate of AdamW, without warm-up or weight decay.
        kl: coefficient of the low-variance KL to the reference.
        clip: of the ratio, both ways.
        clip_high: upwards instead, None: the same.
        grad_norm: to which gradients are cut.
        passes: steps of the optimiser over the same episodes, each of the whole objective.
        steps_at_once: steps of one forward pass; bounds memory, changes nothing else.
        evaluate_every: updates between greedy evaluations; 0: never.
        evaluation_seeds: instances of each task in those, from `TUNING_SEEDS`.
        pulse_at: this update is the supervised phase of Entropulse instead; 0: none is.
        arm: of Entropulse, see `entropulse.Arm`.
        per_task: successes that a supervised phase takes of each unique task.
        cloning: what a supervised phase takes its settings from.
        seed: of everything that is drawn.
    """

    updates: int = 100
    groups: int = 24
    group_size: int = 8
    lr: float = 2e-4
    kl: float = 0.0003
    clip: float = 0.2
    clip_high: float | None = None
    grad_norm: float = 1.0
    passes: int = 4
    steps_at_once: int = 256
    evaluate_every: int = 5
    evaluation_seeds: int = 20
    pulse_at: int = 0
    arm: Arm = "pulse"
    per_task: int = 1
    cloning: CloningSettings = field(default_factory=CloningSettings)
    seed: int = 0


def draw_groups(tasks: Sequence[str], settings: GrpoSettings, update: int) -> list[Draw]:
    """Returns the draws of an update, from 1: each group a new instance, the tasks in turn."""
    first = (update - 1) * settings.groups
    draws = []
    for number in range(first, first + settings.groups):
        task = tasks[number % len(tasks)]
        seed = (settings.seed * 100_003 + number) % _TRAINING_SEEDS
        name = f"{update}.{number - first}"
        draws += [Draw(task, seed, name, member) for member in range(settings.group_size)]
    return draws


def evaluation_draws(tasks: Iterable[str], count: int, first: int = TUNING_SEEDS) -> list[Draw]:
    """Returns `count` instances of each task, from the first seed on."""
    return [Draw(task, first + number) for task in tasks for number in range(count)]


def evaluate(
    rollouts: Rollouts, policy: Trainable, draws: Sequence[Draw], *, greedy: bool = True
) -> dict[str, list[bool]]:
    """Returns for each task whether each of its episodes was solved; failed machines left out."""
    solved: dict[str, list[bool]] = {draw.task: [] for draw in draws}
    for episode in rollouts.play(draws, policy, greedy=greedy):
        if episode.is_sample:
            solved[episode.draw.task].append(episode.solved)
    return solved


def grpo_optimizer(policy: Trainable, settings: GrpoSettings) -> torch.optim.Optimizer:
    """Returns a fresh AdamW."""
    return torch.optim.AdamW(policy.network.parameters(), lr=settings.lr, weight_decay=0.0)


def accumulate(
    policy: Trainable,
    batch: Advantaged,
    settings: GrpoSettings,
    *,
    reference: torch.Tensor | None,
    old: torch.Tensor,
    behaviour: torch.Tensor | None = None,
    clip_high: float | None = None,
) -> dict[str, float]:
    """Add the gradient of the objective over all steps of a batch, some steps at a time.

    `reference`, `old` and `behaviour` are log-probabilities of the batch's samples, float [steps].
    Returns the loss ("value"), and means over all steps as `losses.Loss` has them.
    """
    totals = dict.fromkeys(("value", "kl", "ppo_kl", "clipped"), 0.0)
    weights = torch.tensor(batch.weights)
    advantages = torch.tensor([advantage for _, advantage in batch.samples])
    for start in range(0, len(weights), settings.steps_at_once):
        part = slice(start, start + settings.steps_at_once)
        logprobs, _ = policy.log_probs([sample for sample, _ in batch.samples[part]])
        loss: Loss = step_grpo_loss(
            logprobs,
            old[part],
            None if reference is None else reference[part],
            advantages[part],
            weights[part],
            clip=settings.clip,
            clip_high=clip_high if clip_high is not None else settings.clip_high,
            kl=settings.kl,
            behaviour_logprobs=None if behaviour is None else behaviour[part],
        )
        loss.value.backward()  # type: ignore[no-untyped-call]
        totals["value"] += float(loss.value.detach())
        share = float(weights[part].sum() / weights.sum())
        for name in ("kl", "ppo_kl", "clipped"):
            totals[name] += share * getattr(loss, name)
    return totals


def update_policy(
    policy: Trainable,
    reference: Trainable,
    optimizer: torch.optim.Optimizer,
    batch: Advantaged,
    settings: GrpoSettings,
    *,
    decoupled: bool = False,
    clip_high: float | None = None,
) -> dict[str, float]:
    """Make one update, of `passes` steps of the optimiser; the version goes up by one.

    Where it is `decoupled`, the samples may be of older versions: their log-probabilities are then
    those of the behaviour, and the old ones are taken anew from the policy as it is. `clip_high`
    stands in for that of the settings. Returns the measures of the last pass, see `accumulate`;
    none, and no new version, for an empty batch.
    """
    if not batch.samples:
        return {}
    samples = [sample for sample, _ in batch.samples]
    acted = torch.tensor([sample.logprob for sample in samples])
    old = _log_probs(policy, samples, settings) if decoupled else acted
    towards = _log_probs(reference, samples, settings)
    measures: dict[str, float] = {}
    for _ in range(settings.passes):
        optimizer.zero_grad()
        measures = accumulate(
            policy,
            batch,
            settings,
            reference=towards,
            old=old,
            behaviour=acted if decoupled else None,
            clip_high=clip_high,
        )
        torch.nn.utils.clip_grad_norm_(policy.network.parameters(), settings.grad_norm)
        optimizer.step()
    policy.version += 1
    return measures


def _log_probs(
    policy: Trainable, samples: Sequence[Sample], settings: GrpoSettings
) -> torch.Tensor:
    step = settings.steps_at_once
    with torch.no_grad():
        parts = [
            policy.log_probs(samples[at : at + step])[0] for at in range(0, len(samples), step)
        ]
    return torch.cat(parts)


class StepTraining:
    """One run of step-level GRPO, written to its folder after each update.

    Args:
        folder: with the state of an earlier process, the run goes on from there.
        policy: changed in place.
        rollouts: on which it plays.
        tasks: to train on.
        after_update: gets each row; what it raises ends the run after that update.
    """

    def __init__(
        self,
        folder: TrainingFolder,
        policy: Trainable,
        rollouts: Rollouts,
        tasks: Sequence[str],
        settings: GrpoSettings,
        after_update: Callable[[MetricsRow], None] = lambda _row: None,
    ) -> None:
        self.policy, self.reference = policy, policy.copy()
        self._folder, self._rollouts, self._tasks = folder, rollouts, tuple(tasks)
        self._settings, self._after_update = settings, after_update
        self._optimizer = grpo_optimizer(policy, settings)
        self.done = folder.restore(policy, self._optimizer, self.reference)
        """Updates done so far."""
        self.best: float | None = folder.state["best"] if folder.state else None
        """Best greedy score on tuning seeds; "best" is the first checkpoint that had it."""

    def run(self) -> None:
        """Make the updates that are left, with an evaluation before the first one."""
        if self._folder.state is None:
            self._write(MetricsRow(update=0, version=self.policy.version), [])
        for update in range(self.done + 1, self._settings.updates + 1):
            draws = seeded(self._settings.seed, update)
            self.policy.reseed(draws.getrandbits(62))
            begun = time.monotonic()
            if update == self._settings.pulse_at:
                row, episodes = self._pulse(update), list[Episode]()
            else:
                row, episodes = self._update(update)
            self.done = update
            self._write(row.model_copy(update={"seconds": time.monotonic() - begun}), episodes)

    def _update(self, update: int) -> tuple[MetricsRow, list[Episode]]:
        settings = self._settings
        version = self.policy.version
        draws = draw_groups(self._tasks, settings, update)
        episodes = list(self._rollouts.play(draws, self.policy))
        episodes.sort(key=lambda episode: (episode.draw.group, episode.draw.member))
        batch = grouped(episodes)
        after_pulse = 0 < settings.pulse_at < update
        high = DAPO_CLIP_HIGH if after_pulse and settings.arm == "higher-clip" else None
        measures: dict[str, Any] = update_policy(
            self.policy, self.reference, self._optimizer, batch, settings, clip_high=high
        )
        if measures:
            measures["loss"] = measures.pop("value")
        row = MetricsRow(
            update=update,
            version=self.policy.version,
            dropped_groups=batch.dropped,
            **episode_metrics(episodes, version=version),
            **measures,
        )
        return row, episodes

    def _pulse(self, update: int) -> MetricsRow:
        settings = self._settings
        row = MetricsRow(update=update, phase="grpo" if settings.arm != "pulse" else "pulse")
        if settings.arm == "pulse":
            outcome = pulse(
                self.policy,
                self._folder.successes(),
                settings.cloning,
                per_task=settings.per_task,
                seed=settings.seed,
            )
            row.loss, row.entropy, row.steps = (
                outcome.loss,
                outcome.entropy,
                len(outcome.data.samples),
            )
        row.version = self.policy.version
        self.reference = self.policy.copy()
        self._optimizer = grpo_optimizer(self.policy, settings)
        return row

    def _write(self, row: MetricsRow, episodes: list[Episode]) -> None:
        """Evaluate where it is due, and write the update down."""
        settings, names = self._settings, []
        due = settings.evaluate_every and (
            row.update % settings.evaluate_every == 0
            or row.update in (settings.updates, settings.pulse_at)
        )
        if due:
            draws = evaluation_draws(self._tasks, settings.evaluation_seeds)
            solved = evaluate(self._rollouts, self.policy, draws)
            with_greedy(row, solved)
            names.append(f"{row.update:05d}")
            if row.greedy is not None and (self.best is None or row.greedy > self.best):
                self.best = row.greedy
                names.append("best")
        self._folder.write(
            row.update,
            self.policy,
            self._optimizer,
            rows=[row],
            episodes=episodes,
            checkpoints=names,
            reference=self.reference,
            best=self.best,
        )
        self._after_update(row)


def with_greedy(row: MetricsRow, solved: dict[str, list[bool]]) -> None:
    """Put a greedy evaluation into a row: the mean over tasks of the share solved of each."""
    shares = {task: sum(won) / len(won) for task, won in solved.items() if won}
    for task, share in shares.items():
        old = row.tasks.get(task, TaskMetrics())
        row.tasks[task] = old.model_copy(update={"greedy": share, "greedy_n": len(solved[task])})
    row.greedy_n = sum(map(len, solved.values()))
    row.greedy = sum(shares.values()) / len(shares) if shares else None
