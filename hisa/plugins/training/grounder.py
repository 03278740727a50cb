"""GTA1's training of a grounder (3.2) on `PixelNetwork`: cold start, then GRPO on click rewards.

The paper starts from a trained grounder; a few supervised steps stand in for it here. Eq. 4 has no
entropy term and no KL. Without the former a net this small collapses on one cell if it starts from
random weights, so that `ClickSettings.entropy_bonus` may bring one in: 0 unless asked for.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from torch import Tensor, nn

from hisa.plugins.training import pixel_network as net
from hisa.plugins.training.losses import click_grpo_loss, cloning_loss
from hisa.plugins.training.widget_pages import HEIGHT, WIDTH, Target

__all__ = ["REWARDS", "ClickSettings", "ClickTrainer", "Pool", "reply_rewards"]

REWARDS = {
    "click": frozenset[str](),
    "click+iou": frozenset({"size"}),
    "click+format": frozenset({"formed"}),
    "all": frozenset({"size", "formed"}),
}
"""The arms of table 6, with the parts that their replies have beside a cell."""


@dataclass(frozen=True, slots=True)
class ClickSettings:
    """Numbers of a training; N, clip, norm and the constant rate of AdamW as in GTA1's table 7.

    Args:
        reward: one of `REWARDS`.
        cold_start: supervised steps; 100 lead to 0.6 on held-out pages, where GRPO can begin.
        rate: of GRPO. 2e-3 undid a cold start, 3e-4 did not.
        cold_rate: of the cold start.
        entropy_bonus: weight of the cells' mean entropy in the objective; 0 as in eq. 4.
        batch: targets of a step.
        members: replies to each target, N.
        seed: of weights, batches and replies.
        channels: of the network's features.
    """

    reward: str = "click"
    cold_start: int = 100
    rate: float = 3e-4
    cold_rate: float = 2e-3
    entropy_bonus: float = 0.0
    batch: int = 64
    members: int = 8
    clip: float = 0.2
    norm: float = 1.0
    seed: int = 0
    channels: int = 32


class Pool:
    """Targets as tensors; a shared picture is kept once."""

    def __init__(self, targets: Sequence[Target]) -> None:
        pictures: dict[int, Image.Image] = {id(t.picture): t.picture for t in targets}
        numbers = {key: number for number, key in enumerate(pictures)}
        descriptions = [t.description for t in targets]
        self.pixels, self.letters = net.encode(list(pictures.values()), descriptions)
        scales = [(WIDTH / t.picture.width, HEIGHT / t.picture.height) * 2 for t in targets]
        boxes = torch.tensor([t.box for t in targets], dtype=torch.float32)
        self.boxes = boxes * torch.tensor(scales)
        self.pages = torch.tensor([numbers[id(t.picture)] for t in targets])

    def __len__(self) -> int:
        return len(self.pages)


def reply_rewards(replies: Tensor, boxes: Tensor, parts: frozenset[str]) -> tuple[Tensor, Tensor]:
    """Returns the click reward (eq. 2) and the whole reward of each reply, float32 [B, N].

    The paper leaves open its IoU reward and how table 6 combines rewards: here it is the IoU
    itself, and the plain sum. Of a malformed reply nothing is read, so that all are 0.

    Args:
        replies: N to each of B targets, see `parts_of`.
        boxes: of the targets, [B, 4].
        parts: of `REWARDS`.
    """
    cells, sizes, formed = net.parts_of(replies, parts)
    x, y = net.points(cells)
    left, top, right, bottom = (boxes[:, [side]] for side in range(4))
    click = ((left <= x) & (x <= right) & (top <= y) & (y <= bottom)) * formed.float()
    total = click
    if "size" in parts:
        width, height = boxes.new_tensor(net.BOX_SIZES)[sizes].unbind(2)
        across = torch.minimum(x + width / 2, right) - torch.maximum(x - width / 2, left)
        down = torch.minimum(y + height / 2, bottom) - torch.maximum(y - height / 2, top)
        common = across.clamp(min=0) * down.clamp(min=0)
        union = width * height + (right - left) * (bottom - top) - common
        total = total + formed * common / union
    return click, total + formed if "formed" in parts else total


class ClickTrainer:
    """Trains a network, one step at a call: of the cold start, then of GRPO.

    Draws of a step follow from seed and count, so that a resumed training goes on as if it had not
    ended.
    """

    def __init__(self, settings: ClickSettings) -> None:
        torch.manual_seed(settings.seed)
        self.settings, self.parts = settings, REWARDS[settings.reward]
        self.network = net.PixelNetwork(settings.channels)
        self.version = 0
        self.optimizer = torch.optim.AdamW(self.network.parameters(), lr=settings.cold_rate)

    def step(self, pool: Pool) -> dict[str, Any]:
        """Do a step; returns a row of `MetricsRow`'s measures.

        Groups without spread have advantages of 0 and stay in the mean, as in eq. 4.
        """
        started, settings = time.perf_counter(), self.settings
        if self.version == settings.cold_start:  # no moments of the cold start go into GRPO
            self.optimizer = torch.optim.AdamW(self.network.parameters(), lr=settings.rate)
        generator = torch.Generator().manual_seed(settings.seed * 1_000_003 + self.version)
        chosen = torch.randint(len(pool), (settings.batch,), generator=generator)
        logs = self._log_probs(pool, chosen)
        entropy = -(logs.exp() * logs).sum(1).mean()
        measures: dict[str, Any] = {}
        if cold := self.version < settings.cold_start:
            loss = cloning_loss(logs.gather(1, self._answers(pool.boxes[chosen]))[:, 0])
        else:
            loss, measures = self._click_loss(logs, pool.boxes[chosen], generator)
            loss = loss - settings.entropy_bonus * entropy
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), settings.norm)
        self.optimizer.step()
        self.version += 1
        return measures | {
            "update": self.version,
            "phase": "sft" if cold else "grpo",
            "loss": loss.item(),
            "entropy": entropy.item(),
            "seconds": time.perf_counter() - started,
        }

    def save(self, path: Path) -> None:
        """Write a checkpoint; see `checkpoints.write`."""
        self.network.save(path, self.version)

    def _click_loss(
        self, every: Tensor, boxes: Tensor, generator: torch.Generator
    ) -> tuple[Tensor, dict[str, Any]]:
        replies = torch.multinomial(
            every.detach().exp(), self.settings.members, replacement=True, generator=generator
        )
        click, rewards = reply_rewards(replies, boxes, self.parts)
        spread = rewards.amax(1, keepdim=True) > rewards.amin(1, keepdim=True) + 1e-6
        deviation = rewards.std(1, unbiased=False, keepdim=True)
        advantages = ((rewards - rewards.mean(1, keepdim=True)) / deviation).where(spread, 0.0)
        logs = every.gather(1, replies).flatten()
        clip = self.settings.clip
        loss = click_grpo_loss(logs, logs.detach(), advantages.flatten(), clip=clip).value
        return loss, {
            "reward": float(click.mean()),
            "best_of_n": float(click.amax(1).mean()),
            "episodes": click.numel(),
            "steps": click.numel(),
            "turns": 1.0,
            "groups": len(spread),
            "dropped_groups": int((~spread).sum()),
        }

    def _log_probs(self, pool: Pool, chosen: Tensor) -> Tensor:
        pixels = pool.pixels[pool.pages[chosen]]
        logs: Tensor = self.network(pixels, pool.letters[chosen], self.parts)
        return logs

    def _answers(self, boxes: Tensor) -> Tensor:
        """The right reply to each target: the cell at its centre, the size nearest to its own."""
        middle = (boxes[:, :2] + boxes[:, 2:]) / 2 // net.CELL
        column, row = middle.long().clamp(min=0).unbind(1)
        reply = row.clamp(max=net.ROWS - 1) * net.COLUMNS + column.clamp(max=net.COLUMNS - 1)
        if "size" in self.parts:
            sizes = torch.cdist(boxes[:, 2:] - boxes[:, :2], boxes.new_tensor(net.BOX_SIZES))
            reply = reply * len(net.BOX_SIZES) + sizes.argmin(1)
        return (reply * 2 + 1 if "formed" in self.parts else reply)[:, None]

    def hits(self, pool: Pool) -> int:
        """Returns for how many targets the likeliest reply clicks into the box."""
        total = 0
        for first in range(0, len(pool), 256):
            part = torch.arange(first, min(first + 256, len(pool)))
            with torch.no_grad():
                replies = self._log_probs(pool, part).argmax(1, keepdim=True)
            total += int(reply_rewards(replies, pool.boxes[part], self.parts)[0].sum())
        return total
