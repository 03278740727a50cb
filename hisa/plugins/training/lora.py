"""Cloning of recorded turns by a language model: LoRA, the loss on the replies alone.

The loss of a batch is the mean over the tokens of its replies, as that of `transformers`. Turns
are neither packed nor padded. The folder of the run is written after each update, see
`training_folder`, so a killed run loses at most one. With several processes (`data_parallel`) each
scores its share of a batch, and the loss is the mean over the tokens of all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import torch

from hisa.plugins.training.base import ReplySample
from hisa.plugins.training.curves import MetricsRow
from hisa.plugins.training.data_parallel import Processes
from hisa.plugins.training.language_policy import LanguagePolicy
from hisa.plugins.training.sft import adamw, descend, seed_draws
from hisa.plugins.training.training_folder import TrainingFolder
from hisa.plugins.training.training_settings import LoraSettings

__all__ = ["LoraTraining", "mean_loss", "reply_loss"]


_ALONE = Processes()


def reply_loss(
    policy: LanguagePolicy, batch: Sequence[ReplySample], processes: Processes = _ALONE
) -> float:
    """Returns the loss of a batch, and adds its gradients to those of the adapter.

    It is the mean over the tokens of the replies of -log p, in nats. One reply is in memory at a
    time.

    Args:
        policy: gets the gradients.
        batch: of all processes.
        processes: share the batch.
    """
    tokens, loss = sum(sample.length for sample in batch), torch.zeros(())
    for sample in processes.share(batch):
        part = -policy.score(sample).logprobs.sum() / tokens
        part.backward()
        loss += part.detach()
    processes.add_gradients(list(policy.network))
    return float(processes.add_up(loss))


def mean_loss(
    policy: LanguagePolicy, samples: Sequence[ReplySample], processes: Processes = _ALONE
) -> float | None:
    """Returns the mean loss over the tokens of all replies, in nats; None without any."""
    if not samples:
        return None
    with torch.inference_mode():
        scores = (policy.score(sample).logprobs.sum() for sample in processes.share(samples))
        total = processes.add_up(sum(scores, torch.zeros(())))
    return -float(total) / sum(sample.length for sample in samples)


class LoraTraining:
    """One run of cloning.

    Args:
        folder: of the run, which continues from the folder's state.
        policy: its adapter is changed in place.
        samples: to train on.
        held: of held-out runs; the checkpoint "best" has the lowest loss on them.
        settings: of the run.
        processes: share each batch.
    """

    def __init__(
        self,
        folder: TrainingFolder,
        policy: LanguagePolicy,
        samples: Sequence[ReplySample],
        held: Sequence[ReplySample],
        settings: LoraSettings,
        processes: Processes = _ALONE,
    ) -> None:
        self.policy, self.folder, self._settings = policy, folder, settings
        self._samples, self._held, self._processes = list(samples), list(held), processes
        self.after_update: Callable[[MetricsRow], None] = lambda _row: None
        """Gets the row of each update; an error that it raises ends the run after it."""
        self._optimizer = adamw(policy, settings.lr)
        self.completed_updates = folder.restore(policy, self._optimizer)
        self.best: float | None = folder.state["best"] if folder.state else None
        """Lowest loss on held-out turns so far."""
        self._per_epoch = -(-len(self._samples) // settings.batch)
        self.updates = settings.epochs * self._per_epoch
        """Updates in all."""

    def run(self) -> None:
        """Makes the updates that are left, with the loss on held-out turns before the first one."""
        if self.folder.state is None:
            self._write(MetricsRow(update=0, phase="sft", version=self.policy.version))
        for update in range(self.completed_updates + 1, self.updates + 1):
            began = time.monotonic()
            batch = self._batch(update)
            loss = reply_loss(self.policy, batch, self._processes)
            descend(self.policy, self._optimizer)
            self.policy.version += 1
            self.completed_updates = update
            row = MetricsRow(update=update, phase="sft", version=self.policy.version, loss=loss)
            row.steps, row.seconds = len(batch), time.monotonic() - began
            self._write(row)

    def _batch(self, update: int) -> list[ReplySample]:
        """Returns the samples of an update, from 1; an epoch has an order of its own."""
        epoch, part = divmod(update - 1, self._per_epoch)
        order = list(self._samples)
        seed_draws(self._settings.seed, epoch).shuffle(order)
        return order[part * self._settings.batch : (part + 1) * self._settings.batch]

    def _write(self, row: MetricsRow) -> None:
        """Evaluates if it is due, and stores the update."""
        every, names = self._settings.evaluate_every, []
        if row.update in (0, self.updates) or (every and row.update % every == 0):
            row.held_loss = mean_loss(self.policy, self._held, self._processes)
            if row.held_loss is not None and (self.best is None or row.held_loss < self.best):
                self.best = row.held_loss
                names.append("best")
        self.folder.write(
            row.update, self.policy, self._optimizer, rows=[row], checkpoints=names, best=self.best
        )
        self.after_update(row)
