"""Trains a net for a time: the learning rate follows it, and what was cut off goes on."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

__all__ = ["Training"]

_RATE, _DECAY = 2e-3, 1e-2
_WARMUP = 0.04
"""Share of the time in which the rate rises."""
_SAVE_EVERY, _LINE_EVERY = 180.0, 50
"""Seconds and steps."""


class Training:
    """A net with its optimizer, averaged weights, and the steps and seconds it was trained.

    Args:
        net: the first weights.
        compute_losses: takes the net's output and the rest of a batch; their sum is trained.
        path: the checkpoint, from which the training goes on; ``curve.jsonl`` is written beside it.
        seconds: how long the training takes in all.
        facts: stored with the checkpoint; those of a checkpoint take their place.
    """

    def __init__(
        self,
        net: torch.nn.Module,
        compute_losses: Callable[..., dict[str, torch.Tensor]],
        path: Path,
        seconds: float,
        **facts: Any,
    ) -> None:
        self.net = net.to(memory_format=torch.channels_last)
        self.mean = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(0.999), use_buffers=True)
        self.optimizer = torch.optim.AdamW(net.parameters(), _RATE, weight_decay=_DECAY)
        self.compute_losses, self.path, self.seconds = compute_losses, path, seconds
        self.facts: dict[str, Any] = {"step": 0, "elapsed": 0.0, **facts}
        self._parts = {"net": net, "averaged": self.mean.module, "optimizer": self.optimizer}
        if path.exists():
            self._load()

    @property
    def rate(self) -> float:
        """The learning rate of the next step: it rises, then falls as a cosine."""
        progress = min(1.0, float(self.facts["elapsed"]) / self.seconds)
        fall = (1 + math.cos(math.pi * progress)) / 2
        return _RATE * min(1.0, 0.02 + progress / _WARMUP) * (0.01 + 0.99 * fall)

    def run(self, batches: Iterator[Sequence[torch.Tensor]]) -> None:
        """Takes steps until the time has passed; writes the curve and checkpoints."""
        losses, saved = list[dict[str, float]](), self.facts["elapsed"]
        started = time.monotonic() - saved
        while self.facts["elapsed"] < self.seconds:
            losses.append(self.take_step(next(batches)))
            self.facts["elapsed"] = time.monotonic() - started
            is_over = self.facts["elapsed"] >= self.seconds
            if is_over or len(losses) == _LINE_EVERY:
                self._write_line(losses)
                losses.clear()
            if is_over or self.facts["elapsed"] - saved > _SAVE_EVERY:
                self.save()
                saved = self.facts["elapsed"]

    def take_step(self, batch: Sequence[torch.Tensor]) -> dict[str, float]:
        """Takes a step on what the net takes and what the losses take, and returns the losses."""
        self.net.train()
        self.optimizer.param_groups[0]["lr"] = self.rate
        with torch.autocast("cpu", torch.bfloat16):  # takes half the time
            output = self.net(batch[0])
        losses = self.compute_losses(output.float(), *batch[1:])
        self.optimizer.zero_grad()
        torch.stack([*losses.values()]).sum().backward()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 10.0)
        self.optimizer.step()
        self.facts["step"] += 1
        self.mean.update_parameters(self.net)
        return {name: float(loss.detach()) for name, loss in losses.items()}

    def save(self) -> None:
        """Writes the checkpoint; a crash leaves the one before."""
        states = {name: part.state_dict() for name, part in self._parts.items()}
        draft = self.path.with_suffix(".draft")
        torch.save({**states, "facts": self.facts}, draft)
        draft.replace(self.path)

    def _load(self) -> None:
        state = torch.load(self.path, weights_only=True)
        if isinstance(state, tuple):  # the icon reader's training wrote no averaged weights once
            weights, moments, step, elapsed = state
            facts = {"step": step, "elapsed": elapsed}
            state = {"net": weights, "averaged": weights, "optimizer": moments, "facts": facts}
        for name, part in self._parts.items():
            part.load_state_dict(state[name])
        self.facts |= state["facts"]
        self.mean.n_averaged.fill_(self.facts["step"])

    def _write_line(self, losses: Sequence[dict[str, float]]) -> None:
        means = {name: round(fmean(row[name] for row in losses), 4) for name in losses[0]}
        line = {"step": self.facts["step"], "seconds": round(self.facts["elapsed"]), **means}
        with self.path.with_name("curve.jsonl").open("a", encoding="utf-8") as curve:
            curve.write(json.dumps(line) + "\n")
        print(json.dumps(line), flush=True)  # noqa: T201
