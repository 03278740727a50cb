"""A network over pixels that points: a convolution, the description's bytes through a GRU, cells.

It sees 80x64 pixels and answers with one of 10x8 cells, whose centre is clicked. For the arms of
GTA1's table 6 its reply has more parts, as there the prompt asks for more: a token that says
whether the reply is well-formed (the smallest stand-in for the tags around a thought, with no
thought inside), and a class of box size. The box has the cell's centre for its own, so that click
and box share their place; the paper's model writes one after the other. A reply is one number, see
`parts_of`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Self

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn
from torch.nn.functional import gelu, log_softmax

from hisa.plugins.training import checkpoints
from hisa.plugins.training.widget_pages import HEIGHT, WIDTH

__all__ = ["BOX_SIZES", "CELL", "COLUMNS", "ROWS", "PixelNetwork", "encode", "parts_of", "points"]

CELL = 8
COLUMNS, ROWS = WIDTH // CELL, HEIGHT // CELL
BOX_SIZES = tuple((width, height) for height in (9, 14) for width in (9, 16, 24, 34))
"""Widths and heights of the classes: they span what `widget_pages` draws."""
_BYTES = 32
"""Of a description, from its end; the longest of a widget has 19."""


class PixelNetwork(nn.Module):
    """The network; 83,227 parameters with 32 channels of features."""

    grid: Tensor

    def __init__(self, channels: int = 32) -> None:
        super().__init__()
        self.channels = channels

        def conv(size: int, stride: int = 1, seen: int = channels, to: int = channels) -> nn.Conv2d:
            return nn.Conv2d(seen, to, size, stride, size // 2)

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

        ``parts`` are those that a reply has beside its cell, of "size" and "formed"; R is 80 for
        none, and 8 and 2 times as many with these.
        """
        grid = self.grid.expand(len(pixels), -1, -1, -1)
        _, read = self.words(self.letters(letters))
        scale, shift = self.meant(read[0])[:, :, None, None].chunk(2, 1)
        seen = self.eyes(torch.cat([pixels.float() / 255 - 0.5, grid], 1))
        features = self.places(gelu(seen * (1 + scale) + shift))
        replies = log_softmax(self.cell(features).flatten(1), 1)
        if "size" in parts:  # given the cell
            sizes = log_softmax(self.size(features).flatten(2).transpose(1, 2), 2)
            replies = (replies[:, :, None] + sizes).flatten(1)
        if "formed" in parts:
            formed = log_softmax(self.formed(read[0]), 1)
            replies = (replies[:, :, None] + formed[:, None, :]).flatten(1)
        return replies

    def save(self, path: Path, version: int) -> None:
        """Write a checkpoint; see `checkpoints.write`."""
        sizes = {"channels": self.channels}
        header = checkpoints.Header(kind="pixels", name="pixels", version=version, sizes=sizes)
        checkpoints.write(path, header, self)

    def point_at(self, picture: Image.Image, description: str) -> tuple[float, float]:
        """Returns x and y of the likeliest cell's centre, as shares of the picture's sides."""
        with torch.no_grad():
            replies = self(*encode([picture], [description]), frozenset())
        x, y = points(replies[0].argmax())
        return float(x) / WIDTH, float(y) / HEIGHT

    @classmethod
    def load(cls, path: Path) -> Self:
        """Returns the network of a checkpoint; raises UsageError as `checkpoints.read` does."""
        header, tensors = checkpoints.read(path, "pixels", {"channels": (1, 256)})
        network = cls(header.sizes["channels"])
        checkpoints.load_weights(path, network, tensors)
        network.train(False)
        return network


def encode(pictures: Sequence[Image.Image], descriptions: Sequence[str]) -> tuple[Tensor, Tensor]:
    """Returns pictures as uint8 [P, 3, 64, 80], and descriptions as their last bytes [T, 32]."""
    size, box = (WIDTH, HEIGHT), Image.Resampling.BOX
    small = [picture.convert("RGB").resize(size, box) for picture in pictures]
    pixels = torch.from_numpy(np.stack([np.array(picture) for picture in small]))
    letters = [list(text.encode()[-_BYTES:].rjust(_BYTES)) for text in descriptions]
    return pixels.permute(0, 3, 1, 2).contiguous(), torch.tensor(letters)


def parts_of(replies: Tensor, parts: frozenset[str]) -> tuple[Tensor, Tensor, Tensor]:
    """Returns replies' cells in reading order, classes of size, and 1 for well-formed.

    Of parts that a reply does not have the size is 0, and the form right.
    """
    formed, sizes = torch.ones_like(replies), torch.zeros_like(replies)
    if "formed" in parts:
        replies, formed = replies // 2, replies % 2
    if "size" in parts:
        replies, sizes = replies // len(BOX_SIZES), replies % len(BOX_SIZES)
    return replies, sizes, formed


def points(cells: Tensor) -> tuple[Tensor, Tensor]:
    """Returns x and y of cells' centres, in pixels of 80x64."""
    return (cells % COLUMNS) * CELL + CELL // 2, (cells // COLUMNS) * CELL + CELL // 2
