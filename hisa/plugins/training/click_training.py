"""GTA1's training of a grounder (3.2) on `PixelNetwork`: cold start, then GRPO on click rewards.

The paper starts from a trained grounder; here a few supervised steps stand in for it. Eq. 4 has no
entropy term and no KL. From random weights a net this small collapses on one cell without the
former, so that `ClickSettings.entropy_bonus` may bring one in: 0 unless asked for.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from hisa.plugins.training.losses import click_grpo_loss, cloning_loss
from hisa.plugins.training.pixel_network import (
    BOX_SIZES, CELL, COLUMNS, ROWS, Heads, PixelNetwork, Replies, encode, points,
)  # fmt: skip
from hisa.plugins.training.widget_pages import HEIGHT, WIDTH, Target

__all__ = ["REWARDS", "ClickSettings", "ClickTrainer", "Pool", "reply_rewards"]

REWARDS = {
    "click": frozenset[str](),
    "click+iou": frozenset({"size"}),
    "click+format": frozenset({"formed"}),
    "all": frozenset({"size", "formed"}),
}
"""The arms of table 6, with what their replies have beside a cell."""


@dataclass(frozen=True, slots=True)
class ClickSettings:
    """Numbers of a training; N, clip and gradient norm are those of GTA1's table 7.

    Args:
        reward: one of `REWARDS`.
        members: replies to each target, N.
        batch: targets of an update.
        rate: AdamW's of GRPO, constant. 2e-3 undoes a cold start, 3e-4 does not.
        cold_rate: that of the cold start.
        entropy_bonus: weight of the cells' mean entropy in the objective; 0 as in eq. 4.
        seed: of weights, batches and replies.
    """

    reward: str = "click"
    members: int = 8
    batch: int = 64
    rate: float = 3e-4
    cold_rate: float = 1e-3
    entropy_bonus: float = 0.0
    clip: float = 0.2
    gradient_norm: float = 1.0
    seed: int = 0


class Pool:
    """Targets as tensors on a device; pictures that targets share are kept once.

    Args:
        targets: at least one.
        device: of torch.
    """

    def __init__(self, targets: Sequence[Target], device: str = "cpu") -> None:
        numbers: dict[int, int] = {}
        pictures = []
        for target in targets:
            if numbers.setdefault(id(target.picture), len(pictures)) == len(pictures):
                pictures.append(target.picture)
        pixels, letters = encode(pictures, [target.description for target in targets])
        self.pixels, self.letters = pixels.to(device), letters.to(device)
        pages = [numbers[id(target.picture)] for target in targets]
        self.pages = torch.tensor(pages, device=device)
        self.boxes = torch.tensor([_scaled(target) for target in targets], device=device)
        self.device = device

    def __len__(self) -> int:
        return len(self.pages)


def _scaled(target: Target) -> list[float]:
    """The box in pixels of 80x64."""
    across, down = WIDTH / target.picture.width, HEIGHT / target.picture.height
    return [side * (down if index % 2 else across) for index, side in enumerate(target.box)]


def reply_rewards(replies: Replies, boxes: Tensor, parts: frozenset[str]) -> tuple[Tensor, Tensor]:
    """Returns the click reward (eq. 2) and the whole reward of each reply, float32 [B, N].

    The whole is the plain sum of the parts that are rewarded: click 0 or 1, IoU of the reply's box
    with the target's 0 to 1, format 0 or 1. The paper gives neither weights nor IoU's form. Of a
    malformed reply nothing is read, so that all are 0.

    Args:
        replies: N to each of B targets.
        boxes: of the targets, [B, 4], closed on all sides.
        parts: of `REWARDS`.
    """
    x, y = points(replies.cells)
    left, top, right, bottom = (boxes[:, [side]] for side in range(4))
    formed = replies.formed.float()
    click = ((left <= x) & (x <= right) & (top <= y) & (y <= bottom)).float() * formed
    total = click
    if "size" in parts:
        width, height = boxes.new_tensor(BOX_SIZES)[replies.sizes].unbind(2)
        across = torch.minimum(x + width / 2, right) - torch.maximum(x - width / 2, left)
        down = torch.minimum(y + height / 2, bottom) - torch.maximum(y - height / 2, top)
        common = across.clamp(min=0) * down.clamp(min=0)
        union = width * height + (right - left) * (bottom - top) - common
        total = total + formed * common / union
    if "formed" in parts:
        total = total + formed
    return click, total


class ClickTrainer:
    """Trains a network, one update at a call.

    What is drawn in an update follows from seed and count, so that a resumed training goes on as
    if it had not ended.
    """

    def __init__(self, settings: ClickSettings, device: str = "cpu") -> None:
        torch.manual_seed(settings.seed)
        self.settings, self.parts = settings, REWARDS[settings.reward]
        self.network = PixelNetwork().to(device)
        self.done = 0
        self.cold = True
        self.optimizer = self._optimizer()

    def _optimizer(self) -> torch.optim.Optimizer:
        rate = self.settings.cold_rate if self.cold else self.settings.rate
        return torch.optim.AdamW(self.network.parameters(), lr=rate)

    def clone(self, pool: Pool) -> dict[str, Any]:
        """Do a supervised step of the cold start; returns a row of metrics."""
        started = time.perf_counter()
        heads, boxes, _ = self._look(pool)
        loss = cloning_loss(heads.log_probs(_answers(boxes))[:, 0])
        self._step(loss)
        return self._row("sft", started, heads, loss=float(loss.detach()))

    def update(self, pool: Pool) -> dict[str, Any]:
        """Do a step of GRPO; returns a row of metrics.

        Groups without spread have advantages of 0 and stay in the mean, as in eq. 4.
        """
        started = time.perf_counter()
        if self.cold:
            self.cold, self.optimizer = False, self._fresh()
        heads, boxes, generator = self._look(pool)
        replies = heads.sample(self.settings.members, generator)
        click, rewards = reply_rewards(replies, boxes, self.parts)
        spread = rewards.amax(1) > rewards.amin(1) + 1e-6
        deviation = rewards.std(1, unbiased=False, keepdim=True)
        advantages = (rewards - rewards.mean(1, keepdim=True)) / deviation
        advantages = torch.where(spread[:, None], advantages, torch.zeros_like(advantages))
        logprobs = heads.log_probs(replies).flatten()
        clipped = click_grpo_loss(
            logprobs, logprobs.detach(), advantages.flatten(), clip=self.settings.clip
        )
        self._step(clipped.value - self.settings.entropy_bonus * heads.entropy().mean())
        return self._row(
            "grpo", started, heads, reward=float(rewards.mean()), click=float(click.mean()),
            groups=len(spread), dropped_groups=len(spread) - int(spread.sum()),
        )  # fmt: skip

    def _fresh(self) -> torch.optim.Optimizer:
        return self._optimizer()

    def _look(self, pool: Pool) -> tuple[Heads, Tensor, torch.Generator]:
        """The replies' distribution for a batch of targets, their boxes, and what draws replies."""
        seed = self.settings.seed * 1_000_003 + self.done
        generator = torch.Generator(pool.device).manual_seed(seed)
        chosen = torch.randint(
            len(pool), (self.settings.batch,), generator=generator, device=pool.device
        )
        pixels, letters = pool.pixels[pool.pages[chosen]], pool.letters[chosen]
        return self.network(pixels, letters, self.parts), pool.boxes[chosen], generator

    def _step(self, loss: Tensor) -> None:
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.network.parameters(), self.settings.gradient_norm)
        self.optimizer.step()
        self.done += 1

    def _row(self, phase: str, started: float, heads: Heads, **values: Any) -> dict[str, Any]:
        entropy = float(heads.entropy().mean().detach())
        seconds = round(time.perf_counter() - started, 4)
        return {"update": self.done, "phase": phase, "entropy": entropy, **values} | {
            "seconds": seconds
        }

    def hits(self, pool: Pool) -> int:
        """Returns for how many targets the likeliest reply clicks into the box."""
        total = 0
        with torch.no_grad():
            for start in range(0, len(pool), 256):
                part = slice(start, start + 256)
                pixels = pool.pixels[pool.pages[part]]
                heads = self.network(pixels, pool.letters[part], self.parts)
                click, _ = reply_rewards(heads.likeliest(), pool.boxes[part], self.parts)
                total += int(click.sum())
        return total


def _answers(boxes: Tensor) -> Replies:
    """The right reply to each target: the cell at its centre, the size nearest to its own."""
    x, y = (boxes[:, 0] + boxes[:, 2]) / 2, (boxes[:, 1] + boxes[:, 3]) / 2
    column = (x // CELL).long().clamp(0, COLUMNS - 1)
    row = (y // CELL).long().clamp(0, ROWS - 1)
    own = torch.stack([boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]], 1)
    sizes = torch.cdist(own, boxes.new_tensor(BOX_SIZES)).argmin(1)[:, None]
    cells = (row * COLUMNS + column)[:, None]
    return Replies(cells, sizes, torch.ones_like(cells))
