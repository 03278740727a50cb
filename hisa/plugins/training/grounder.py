"""GTA1's training of a grounder (3.2): a small network, its cold start, then GRPO on click rewards.

The network sees 80x64 pixels and answers with one of 10x8 cells, whose centre is clicked. For the
arms of table 6 its reply has more parts, as the prompt asks for more there: a token that says
whether the reply is well-formed (the smallest stand-in for the tags around a thought), and a class
of box size. The box is centred on the cell, so click and box share their place; the paper's model
writes one after the other. A reply is one number, see `parts_of`.

The paper starts from a trained grounder; here a few supervised steps replace it. Eq. 4 has no
entropy term and no KL. Without an entropy term a network this small collapses to one cell if it
starts from random weights, so training without a cold start adds an entropy bonus.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from safetensors.torch import save
from torch import Tensor, nn
from torch.nn.functional import gelu, log_softmax

from hisa.cli.out import say_error
from hisa.machine.storage import replace_file
from hisa.plugins.training.curves import MetricsRow
from hisa.plugins.training.grpo import step_grpo_loss
from hisa.plugins.training.training_folder import TrainingFolder
from hisa.plugins.training.training_settings import ClickSettings
from hisa.plugins.training.widget_pages import HEIGHT, WIDTH, Target

__all__ = [
    "BOX_SIZES",
    "REWARDS",
    "ClickTrainer",
    "PixelNetwork",
    "Pool",
    "encode",
    "parts_of",
    "points",
    "reply_rewards",
]

_CELL = 8
_COLUMNS, _ROWS = WIDTH // _CELL, HEIGHT // _CELL
BOX_SIZES = tuple((width, height) for height in (9, 14) for width in (9, 16, 24, 34))
"""Widths and heights of the classes, in pixels; they cover what `widget_pages` draws."""
_BYTES = 32
"""Bytes read of a description, from its end; the longest one of a widget has 19."""


REWARDS = {
    "click": frozenset[str](),
    "click+iou": frozenset({"size"}),
    "click+format": frozenset({"formed"}),
    "all": frozenset({"size", "formed"}),
}
"""The arms of table 6, with the parts that their replies have besides a cell."""
_EVERY = 50  # steps between two checkpoints: some seconds


class PixelNetwork(nn.Module):
    """The network; 83,227 parameters with 32 channels of features."""

    grid: Tensor

    def __init__(self, channels: int = 32) -> None:
        super().__init__()
        self.channels = channels

        def conv(
            size: int, stride: int = 1, in_channels: int = channels, to: int = channels
        ) -> nn.Conv2d:
            """Returns a layer: kernel ``size``, ``stride``, and ``in_channels`` ``to`` channels."""
            return nn.Conv2d(in_channels, to, size, stride, size // 2)

        self.eyes = nn.Sequential(
            conv(7, 4, 5, 24), nn.GELU(), conv(3, 2, 24), nn.GELU(), conv(3), nn.GELU(), conv(3)
        )
        self.letters = nn.Embedding(256, channels)
        self.words = nn.GRU(channels, channels, batch_first=True)
        self.meant = nn.Linear(channels, 2 * channels)
        self.places = nn.Sequential(conv(3), nn.GELU(), conv(5), nn.GELU())
        self.cell, self.size = conv(1, to=1), conv(1, to=len(BOX_SIZES))
        self.formed = nn.Linear(channels, 2)
        down, right = torch.linspace(-1, 1, HEIGHT), torch.linspace(-1, 1, WIDTH)
        grid = torch.stack(torch.meshgrid(down, right, indexing="ij"))
        self.register_buffer("grid", grid[None], persistent=False)

    def forward(self, pixels: Tensor, letters: Tensor, parts: frozenset[str]) -> Tensor:
        """Returns the log-probabilities of all replies to B pictures and descriptions, [B, R].

        R is 80, times 8 with "size", times 2 with "formed".

        Args:
            pixels: the pictures, uint8 [B, 3, 64, 80].
            letters: the descriptions as bytes, [B, 32]; see `encode`.
            parts: of a reply besides its cell: "size", "formed".
        """
        grid = self.grid.expand(len(pixels), -1, -1, -1)
        _, read = self.words(self.letters(letters))
        scale, shift = self.meant(read[0])[:, :, None, None].chunk(2, 1)
        visual = self.eyes(torch.cat([pixels.float() / 255 - 0.5, grid], 1))
        features = self.places(gelu(visual * (1 + scale) + shift))
        replies = log_softmax(self.cell(features).flatten(1), 1)
        if "size" in parts:  # given the cell
            sizes = log_softmax(self.size(features).flatten(2).transpose(1, 2), 2)
            replies = (replies[:, :, None] + sizes).flatten(1)
        if "formed" in parts:
            formed = log_softmax(self.formed(read[0]), 1)
            replies = (replies[:, :, None] + formed[:, None, :]).flatten(1)
        return replies

    def save(self, path: Path) -> None:
        """Writes the weights as a safetensors file."""
        replace_file(path, save(self.state_dict()))


def encode(pictures: Sequence[Image.Image], descriptions: Sequence[str]) -> tuple[Tensor, Tensor]:
    """Returns pictures as uint8 [P, 3, 64, 80], and descriptions as their last bytes [T, 32]."""
    size, box = (WIDTH, HEIGHT), Image.Resampling.BOX
    small = [picture.convert("RGB").resize(size, box) for picture in pictures]
    pixels = torch.from_numpy(np.stack([np.array(picture) for picture in small]))
    letters = [list(text.encode()[-_BYTES:].rjust(_BYTES)) for text in descriptions]
    return pixels.permute(0, 3, 1, 2).contiguous(), torch.tensor(letters)


def parts_of(replies: Tensor, parts: frozenset[str]) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the cells of replies in reading order, their size classes, and 1 if well-formed.

    If replies do not have these parts, all size classes are 0, and all are well-formed.
    """
    formed, sizes = torch.ones_like(replies), torch.zeros_like(replies)
    if "formed" in parts:
        replies, formed = replies // 2, replies % 2
    if "size" in parts:
        replies, sizes = replies // len(BOX_SIZES), replies % len(BOX_SIZES)
    return replies, sizes, formed


def points(cells: Tensor) -> tuple[Tensor, Tensor]:
    """Returns x and y of the centres of cells, in pixels of 80x64."""
    return (cells % _COLUMNS) * _CELL + _CELL // 2, (cells // _COLUMNS) * _CELL + _CELL // 2


class Pool:
    """Targets as tensors; a picture of several targets is stored once."""

    def __init__(self, targets: Sequence[Target]) -> None:
        pictures: dict[int, Image.Image] = {id(t.picture): t.picture for t in targets}
        numbers = {key: number for number, key in enumerate(pictures)}
        descriptions = [t.description for t in targets]
        self.pixels, self.letters = encode(list(pictures.values()), descriptions)
        scales = [(WIDTH / t.picture.width, HEIGHT / t.picture.height) * 2 for t in targets]
        boxes = torch.tensor([t.box for t in targets], dtype=torch.float32)
        self.boxes = boxes * torch.tensor(scales)
        self.pages = torch.tensor([numbers[id(t.picture)] for t in targets])

    def __len__(self) -> int:
        return len(self.pages)


def reply_rewards(replies: Tensor, boxes: Tensor, parts: frozenset[str]) -> tuple[Tensor, Tensor]:
    """Returns the click reward (eq. 2) and the whole reward of each reply, float32 [B, N].

    The paper defines neither its IoU reward nor how table 6 combines rewards: here it is the IoU
    itself, and the plain sum. A malformed reply is not read, so all its rewards are 0.

    Args:
        replies: N for each of B targets, [B, N]; see `parts_of`.
        boxes: of the targets, [B, 4]: left, top, right, bottom in pixels of 80x64.
        parts: a value of `REWARDS`.
    """
    cells, sizes, formed = parts_of(replies, parts)
    x, y = points(cells)
    left, top, right, bottom = (boxes[:, [side]] for side in range(4))
    click = ((left <= x) & (x <= right) & (top <= y) & (y <= bottom)) * formed.float()
    total = click
    if "size" in parts:
        width, height = boxes.new_tensor(BOX_SIZES)[sizes].unbind(2)
        across = torch.minimum(x + width / 2, right) - torch.maximum(x - width / 2, left)
        down = torch.minimum(y + height / 2, bottom) - torch.maximum(y - height / 2, top)
        common = across.clamp(min=0) * down.clamp(min=0)
        union = width * height + (right - left) * (bottom - top) - common
        total = total + formed * common / union
    return click, total + formed if "formed" in parts else total


class ClickTrainer:
    """Trains a network one step per call: first the cold start, then GRPO.

    The draws of a step depend only on the seed and its number, so a resumed training continues as
    if it had not been stopped.
    """

    def __init__(self, settings: ClickSettings) -> None:
        if not settings.cold_start:
            settings = replace(settings, entropy_bonus=0.03, rate=1e-3)
        torch.manual_seed(settings.seed)
        self.settings, self.parts = settings, REWARDS[settings.reward]
        self.network = PixelNetwork(settings.channels)
        self.version = 0
        self.optimizer = torch.optim.AdamW(self.network.parameters(), lr=settings.cold_rate)

    def step(self, pool: Pool) -> dict[str, Any]:
        """Makes one step; returns its measures, as fields of `MetricsRow`.

        Groups without a spread have advantages of 0, and stay in the mean as in eq. 4.
        """
        started, settings = time.perf_counter(), self.settings
        if self.version == settings.cold_start:  # GRPO starts without the moments of the cold start
            self.optimizer = torch.optim.AdamW(self.network.parameters(), lr=settings.rate)
        generator = torch.Generator().manual_seed(settings.seed * 1_000_003 + self.version)
        chosen = torch.randint(len(pool), (settings.batch,), generator=generator)
        logs = self._log_probs(pool, chosen)
        entropy = -(logs.exp() * logs).sum(1).mean()
        measures: dict[str, Any] = {}
        if cold := self.version < settings.cold_start:
            loss = -logs.gather(1, self._answers(pool.boxes[chosen])).mean()
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

    def train(self, pool: Pool, tuning: Pool | None, folder: TrainingFolder) -> None:
        """Makes the steps that are left, and writes them to the folder.

        Args:
            pool: targets to train on.
            tuning: targets on which the network is evaluated at each checkpoint; None: it is not.
            folder: of the run; training continues from its state.
        """
        end, rows = self.settings.cold_start + self.settings.updates, list[MetricsRow]()
        folder.restore(self, self.optimizer)
        while self.version < end:
            rows.append(MetricsRow(version=self.version + 1, **self.step(pool)))
            if self.version % _EVERY == 0 or self.version == end:
                if tuning:
                    rows[-1].greedy_n = len(tuning)
                    rows[-1].greedy = self.hits(tuning) / len(tuning)
                folder.write(self.version, self, self.optimizer, rows=rows)
                right = "" if rows[-1].greedy is None else f": {rows[-1].greedy:.2f} right"
                say_error(f"{rows[-1].phase} {self.version} of {end}{right}")
                rows = []

    def save(self, path: Path) -> None:
        """Writes the network's weights as a safetensors file."""
        self.network.save(path)

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
        old, weights = logs.detach(), torch.full_like(logs, 1 / len(logs)).detach()
        fixed = (old, old, old, advantages.flatten(), weights)
        loss, _ = step_grpo_loss(logs, *fixed, clip=self.settings.clip, kl=0.0)
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
        """Returns the right reply to each target: the cell at its centre, and the nearest size."""
        middle = (boxes[:, :2] + boxes[:, 2:]) / 2 // _CELL
        column, row = middle.long().clamp(min=0).unbind(1)
        reply = row.clamp(max=_ROWS - 1) * _COLUMNS + column.clamp(max=_COLUMNS - 1)
        if "size" in self.parts:
            sizes = torch.cdist(boxes[:, 2:] - boxes[:, :2], boxes.new_tensor(BOX_SIZES))
            reply = reply * len(BOX_SIZES) + sizes.argmin(1)
        return (reply * 2 + 1 if "formed" in self.parts else reply)[:, None]

    def hits(self, pool: Pool) -> int:
        """Returns the number of targets for which the likeliest reply clicks inside the box."""
        total = 0
        for first in range(0, len(pool), 256):
            part = torch.arange(first, min(first + 256, len(pool)))
            with torch.no_grad():
                replies = self._log_probs(pool, part).argmax(1, keepdim=True)
            total += int(reply_rewards(replies, pool.boxes[part], self.parts)[0].sum())
        return total
