"""A network over pixels that points: a convolution, the description's bytes through a GRU, cells.

It sees 80x64 pixels and answers with one of 10x8 cells, whose centre is clicked. For the arms of
GTA1's table 6 its reply has more parts, as there the prompt asks for more: first a token that says
whether the reply is well-formed (two values; the smallest stand-in for the tags around a thought,
with no thought inside), then the cell, then a class of box size. The box has the cell's centre for
its own, so that click and box share the place; in the paper they are written one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from PIL import Image
from torch import Tensor, nn
from torch.nn.functional import gelu, log_softmax

from hisa.plugins.training.widget_pages import HEIGHT, WIDTH

__all__ = ["BOX_SIZES", "CELL", "COLUMNS", "Heads", "PixelNetwork", "Replies", "encode", "points"]

CELL = 8
COLUMNS, ROWS = WIDTH // CELL, HEIGHT // CELL
BOX_SIZES = tuple((width, height) for height in (9, 14) for width in (9, 16, 24, 34))
"""Widths and heights of the classes: they span what `widget_pages` draws."""
_BYTES = 32
"""Of a description, from its end; the longest of a widget has 19."""


@dataclass(frozen=True, slots=True)
class Replies:
    """Replies, N to each of B targets: int64 [B, N].

    Args:
        cells: in reading order.
        sizes: classes of `BOX_SIZES`.
        formed: 1 for well-formed; of a malformed reply nothing can be read.
    """

    cells: Tensor
    sizes: Tensor
    formed: Tensor


@dataclass(frozen=True, slots=True)
class Heads:
    """Log-probabilities of a reply's parts, in nats.

    Args:
        cells: [B, 80].
        sizes: [B, 80, 8], given the cell.
        formed: [B, 2].
        parts: that a reply has beside its cell: "size", "formed".
    """

    cells: Tensor
    sizes: Tensor
    formed: Tensor
    parts: frozenset[str]

    def sample(self, members: int, generator: torch.Generator) -> Replies:
        """Returns replies drawn at temperature 1; a part that replies lack is 0, or well-formed."""

        def draw(logs: Tensor, times: int = 1) -> Tensor:
            return torch.multinomial(logs.exp(), times, replacement=True, generator=generator)

        cells = draw(self.cells.detach(), members)
        sizes, formed = torch.zeros_like(cells), torch.ones_like(cells)
        if "size" in self.parts:
            sizes = draw(self._sizes_at(cells).detach().flatten(0, 1)).view_as(cells)
        if "formed" in self.parts:
            formed = draw(self.formed.detach(), members)
        return Replies(cells, sizes, formed)

    def likeliest(self) -> Replies:
        """Returns the reply whose parts are each the likeliest, N = 1."""
        cells = self.cells.argmax(1, keepdim=True)
        formed = self.formed.argmax(1, keepdim=True)
        has_token = "formed" in self.parts
        sizes = self._sizes_at(cells).argmax(2)
        return Replies(cells, sizes, formed if has_token else torch.ones_like(cells))

    def log_probs(self, replies: Replies) -> Tensor:
        """Returns the log-probability of each whole reply, [B, N], with gradients."""
        total = self.cells.gather(1, replies.cells)
        if "size" in self.parts:
            sizes = self._sizes_at(replies.cells)
            total = total + sizes.gather(2, replies.sizes[:, :, None])[:, :, 0]
        if "formed" in self.parts:
            total = total + self.formed.gather(1, replies.formed)
        return total

    def entropy(self) -> Tensor:
        """Returns the entropy of the cell, [B]."""
        return -(self.cells.exp() * self.cells).sum(1)

    def _sizes_at(self, cells: Tensor) -> Tensor:
        return self.sizes.gather(1, cells[:, :, None].expand(-1, -1, len(BOX_SIZES)))


class PixelNetwork(nn.Module):
    """The network; 83,219 parameters with 32 channels.

    Args:
        channels: of the picture's features and of the description's.
    """

    def __init__(self, channels: int = 32) -> None:
        super().__init__()
        self.channels = channels
        self.eyes = nn.Sequential(
            nn.Conv2d(5, 24, 7, 4, 3), nn.GELU(), nn.Conv2d(24, channels, 3, 2, 1), nn.GELU(),
            nn.Conv2d(channels, channels, 3, 1, 1), nn.GELU(),
            nn.Conv2d(channels, channels, 3, 1, 1),
        )  # fmt: skip
        self.letters = nn.Embedding(256, channels)
        self.words = nn.GRU(channels, channels, batch_first=True)
        self.meant = nn.Linear(channels, 2 * channels)
        self.places = nn.Sequential(
            nn.Conv2d(channels, channels, 3, 1, 1), nn.GELU(),
            nn.Conv2d(channels, channels, 5, 1, 2), nn.GELU(),
        )  # fmt: skip
        self.cell = nn.Conv2d(channels, 1, 1)
        self.size = nn.Conv2d(channels, len(BOX_SIZES), 1)
        self.formed = nn.Linear(channels, 2)
        down, right = torch.linspace(-1, 1, HEIGHT), torch.linspace(-1, 1, WIDTH)
        grid = torch.stack(torch.meshgrid(down, right, indexing="ij")).flip(0)
        self.register_buffer("grid", grid[None], persistent=False)

    def forward(
        self, pictures: Tensor, descriptions: Tensor, parts: frozenset[str] = frozenset()
    ) -> Heads:
        """Returns the distribution of replies.

        Args:
            pictures: uint8 [B, 3, 64, 80].
            descriptions: int64 [B, 32], bytes; see `encode`.
            parts: see `Heads`.
        """
        seen = torch.cat(
            [pictures.float() / 255 - 0.5, self.grid.expand(len(pictures), -1, -1, -1)], 1
        )
        _, read = self.words(self.letters(descriptions))
        scale, shift = self.meant(read[0])[:, :, None, None].chunk(2, 1)
        features = self.places(gelu(self.eyes(seen) * (1 + scale) + shift))
        return Heads(
            log_softmax(self.cell(features).flatten(1), 1),
            log_softmax(self.size(features).flatten(2).transpose(1, 2), 2),
            log_softmax(self.formed(read[0]), 1),
            parts,
        )


def encode(
    pictures: Sequence[Image.Image], descriptions: Sequence[str]
) -> tuple[Tensor, Tensor]:
    """Returns pictures and descriptions as `PixelNetwork.forward` takes them."""
    import numpy as np

    small = [
        picture if picture.size == (WIDTH, HEIGHT) else picture.resize((WIDTH, HEIGHT), Image.Resampling.BOX)
        for picture in pictures
    ]
    pixels = torch.from_numpy(np.stack([np.array(picture.convert("RGB")) for picture in small]))
    letters = [text.encode()[-_BYTES:].rjust(_BYTES) for text in descriptions]
    return pixels.permute(0, 3, 1, 2).contiguous(), torch.tensor([list(text) for text in letters])


def points(cells: Tensor) -> tuple[Tensor, Tensor]:
    """Returns x and y of cells' centres, in pixels of 80x64."""
    return (cells % COLUMNS) * CELL + CELL // 2, (cells // COLUMNS) * CELL + CELL // 2
