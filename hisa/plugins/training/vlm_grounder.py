"""GTA1's training (3.2) of a vision-language model: click rewards of its own replies.

The model is asked N times where a thing is; its replies are read, rewarded and compared with the
others to the same question (eq. 2 and 3), and the model is updated along eq. 4, whose ratio is that
of a reply as one. There is no KL and no entropy term. Groups without a spread have advantages of 0
and stay in the mean.

The paper starts from a model that can point. For one that cannot, supervised steps on the right
replies come first, if there are any.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from hisa.cli.out import say, say_error
from hisa.errors import UsageError
from hisa.plugins.benchmarks.bench import stats
from hisa.plugins.training.command_parts import print_progress
from hisa.plugins.training.curves import MetricsRow
from hisa.plugins.training.gate_results import GateResult, require_gates
from hisa.plugins.training.grpo import step_grpo_loss, z_scores
from hisa.plugins.training.sft import seed_draws
from hisa.plugins.training.training_folder import TrainingFolder
from hisa.plugins.training.training_settings import build_settings
from hisa.plugins.training.vlm_gates import check_vision
from hisa.plugins.training.vlm_policy import SampledReply, VisionPolicy, load_policy
from hisa.plugins.training.vlm_questions import Question, ask_about, open_targets
from hisa.plugins.training.vlm_replies import FORMS
from hisa.plugins.training.vlm_settings import VisionSettings

__all__ = ["VisionTrainer", "check_grounder", "train_grounder"]


class VisionTrainer:
    """Trains a policy one step per call: first supervised steps, if any, then GRPO.

    The draws of a step depend only on the seed and its number, so a resumed training continues as
    if it had not been stopped.
    """

    def __init__(self, policy: VisionPolicy, settings: VisionSettings) -> None:
        self.policy, self.settings = policy, settings
        self.malformed = 0  # replies of the last update that were not in the form of the arm
        self.optimizer = self._optimize(settings.cold_lr)

    def step(self, questions: Sequence[Question]) -> MetricsRow:
        """Makes one step on drawn questions; returns its measures.

        Raises:
            UsageError: the loss or a log-probability is not finite.
        """
        started, settings, policy = time.perf_counter(), self.settings, self.policy
        if policy.version == settings.cold_start:  # GRPO starts without the moments before it
            self.optimizer = self._optimize(settings.lr)
        draws = seed_draws(settings.seed, policy.version)
        chosen = [questions[draws.randrange(len(questions))] for _ in range(settings.targets)]
        teaches = policy.version < settings.cold_start
        measures = self._teach(chosen) if teaches else self._reinforce(chosen)
        policy.version += 1
        taken = time.perf_counter() - started
        return MetricsRow(update=policy.version, version=policy.version, seconds=taken, **measures)

    def train(
        self, questions: Sequence[Question], tuning: Sequence[Question], folder: TrainingFolder
    ) -> None:
        """Makes the steps that are left, and writes them to the folder.

        Args:
            questions: to train on.
            tuning: questions that are asked greedily at each checkpoint; may be empty.
            folder: of the run; training continues from its state.
        """
        settings, policy, rows = self.settings, self.policy, list[MetricsRow]()
        end = settings.cold_start + settings.updates
        folder.restore(policy, self.optimizer)
        while policy.version < end:
            rows.append(row := self.step(questions))
            last = policy.version == end
            if tuning and (last or policy.version % settings.save_every == 0):
                row.greedy, row.greedy_n = self.hits(tuning) / len(tuning), len(tuning)
            print_progress(end, row)
            if row.groups:
                say_error(f"  {self.malformed} of {row.episodes} replies were malformed")
            if last or policy.version % settings.save_every == 0:
                folder.write(policy.version, policy, self.optimizer, rows=rows)
                rows = []

    def hits(self, questions: Sequence[Question]) -> int:
        """Returns the number of questions whose likeliest reply clicks inside the box."""
        total, settings = 0.0, self.settings
        for first in range(0, len(questions), settings.rows_at_once):
            part = questions[first : first + settings.rows_at_once]
            replies = self.policy.ask(part, longest=settings.max_reply, greedy=True)
            for question, (reply,) in zip(part, replies, strict=True):
                total += self.policy.form.reward(reply.text, question.box).click
        return int(total)

    def _teach(self, chosen: Sequence[Question]) -> dict[str, Any]:
        """Makes a supervised step on the right replies, each reply's tokens weighing alike."""
        form, size, total = self.policy.form, self.settings.rows_at_once, 0.0
        rows = [(q, self.policy.encode(form.write(q.box, q.description))) for q in chosen]
        for first in range(0, len(rows), size):
            part = rows[first : first + size]
            lengths = torch.tensor([len(ids) for _, ids in part])
            logs = self.policy.log_probs(part)
            loss = -(logs / lengths.to(logs)).sum() / len(rows)
            self._check_finite(loss)
            loss.backward()
            total += float(loss.detach())
        self._descend()
        return {"phase": "sft", "loss": total, "steps": len(rows)}

    def _reinforce(self, chosen: Sequence[Question]) -> dict[str, Any]:
        """Makes a step of eq. 4 on replies to questions; none if no group has a spread."""
        settings, form = self.settings, self.policy.form
        at_once, groups = max(1, settings.rows_at_once // settings.members), []
        for first in range(0, len(chosen), at_once):
            part = chosen[first : first + at_once]
            groups += self.policy.ask(part, settings.members, longest=settings.max_reply)
        rewards = [
            [form.reward(reply.text, question.box) for reply in replies]
            for question, replies in zip(chosen, groups, strict=True)
        ]
        scores = [z_scores([reward.total for reward in group]) for group in rewards]
        rows = [
            (question, reply, score)
            for question, replies, own in zip(chosen, groups, scores, strict=True)
            for reply, score in zip(replies, own or [], strict=bool(own))
        ]
        count = len(chosen) * settings.members
        loss = self._follow(rows, count) if rows else 0.0
        self.malformed = count - sum(reward.formed for group in rewards for reward in group)
        replies = [reply for group in groups for reply in group]
        return {
            "phase": "grpo",
            "loss": loss,
            "reward": stats.mean([reward.click for group in rewards for reward in group]),
            "best_of_n": stats.mean([max(reward.click for reward in group) for group in rewards]),
            "entropy": stats.mean([-reply.logprob / len(reply.ids) for reply in replies]),
            "reply_length": stats.mean([len(reply.ids) for reply in replies]),
            "truncated": stats.mean([float(reply.truncated) for reply in replies]),
            "turns": 1.0,
            "episodes": count,
            "steps": count,
            "groups": len(groups),
            "dropped_groups": scores.count(None),
        }

    def _follow(self, rows: Sequence[tuple[Question, SampledReply, float]], count: int) -> float:
        """Makes a step along the gradient of rows, each weighing 1 / count; returns the loss."""
        total, size = 0.0, self.settings.rows_at_once
        for first in range(0, len(rows), size):
            part = rows[first : first + size]
            logs = self.policy.log_probs([(question, reply.ids) for question, reply, _ in part])
            self._check_finite(logs)
            fixed = [[reply.logprob, score, 1 / count] for _, reply, score in part]
            acted, advantages, weights = logs.new_tensor(fixed).unbind(1)
            old, clip = logs.detach(), self.settings.clip
            loss, _ = step_grpo_loss(logs, old, acted, old, advantages, weights, clip=clip, kl=0.0)
            loss.backward()
            total += float(loss.detach())
        self._descend()
        return total

    def _check_finite(self, numbers: torch.Tensor) -> None:
        if not bool(torch.isfinite(numbers).all()):
            reason = f"update {self.policy.version + 1}: a log-probability is not finite"
            raise UsageError(reason, fix="a lower --lr, from the last checkpoint or anew")

    def _optimize(self, lr: float) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.policy.network.parameters(), lr=lr, weight_decay=0.0)

    def _descend(self) -> None:
        weights = self.policy.network.parameters()
        torch.nn.utils.clip_grad_norm_(weights, self.settings.norm)
        self.optimizer.step()
        self.optimizer.zero_grad()


def train_grounder(
    open_folder: Callable[[], TrainingFolder], out: Path, values: dict[str, Any]
) -> None:
    """Trains a vision-language model as ``hisa train grounder --model`` says.

    Without an update to make it only checks.

    Args:
        open_folder: opens the run's folder, once the model has passed the gates.
        out: path of that folder.
        values: of the command, complete; see `VisionSettings`.

    Raises:
        UsageError: the model, a target or a gate does not allow it.
        OperatorError: the detector of ``--clean`` cannot be used.
    """
    settings = build_settings(VisionSettings, values)
    form = FORMS[settings.reward]
    policy = load_policy(settings.model, form, lora=settings.lora, seed=settings.seed)
    limits = policy.limit_pixels(settings.max_pixels)
    parts = open_targets(values["data"], values["clean"], settings.seed, out)
    train_on, tuning = (ask_about(targets, **limits) for targets in parts)
    _check_lengths(policy, [*train_on, *tuning], settings)
    require_gates(check_vision(policy, train_on, settings.max_reply), say_error)
    if settings.cold_start + settings.updates:
        folder = open_folder()
        VisionTrainer(policy, settings).train(train_on, tuning, folder)
        say(folder.checkpoint("last"))
        path = policy.export(folder.path).resolve()
        adapter = f"MODEL --enable-lora --lora-modules tuned={path}"
        say(f"vllm serve {adapter if settings.lora else path}")


def check_grounder(model: str, data: str = "") -> list[GateResult]:
    """Returns the results of all checks of a vision-language model, as a training makes them.

    Args:
        model: its name, ``hf:NAME``.
        data: folder of runs; empty: pages are drawn.

    Raises:
        UsageError: the model cannot be loaded, or there is no target.
    """
    settings = VisionSettings(model=model)
    policy = load_policy(model, FORMS[settings.reward])
    limits = policy.limit_pixels(settings.max_pixels)
    train_on, _ = open_targets(data, None, settings.seed, Path())
    return check_vision(policy, ask_about(train_on, **limits), settings.max_reply)


def _check_lengths(
    policy: VisionPolicy, questions: Sequence[Question], settings: VisionSettings
) -> None:
    most = min(settings.max_tokens, policy.most_tokens)
    for question, length in zip(questions, policy.count_tokens(questions), strict=True):
        if (tokens := length + settings.max_reply) > most:
            size = f"{question.size.width}x{question.size.height}"
            reason = f"its picture of {size} and a reply take {tokens} tokens, at most {most} fit"
            raise UsageError(f"{question.place}: {reason}", fix="a smaller --max-pixels")
