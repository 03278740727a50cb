"""A network that points: at an element to click, at an element and a word, or at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain

import numpy as np
import torch
from torch import nn

from hisa.plugins.training.episodes import Act
from hisa.plugins.training.instruction_words import MAX_WORDS
from hisa.plugins.training.pointer_features import GRAMS, NUMBERS, ROLES, Features, grams

__all__ = ["Layout", "PointerNetwork"]

_NAMED = 7
"""Column of `Features.numbers` from which on the texts' occurrences are."""
_DONE_AT_FIRST = -3.0
"""Bias of "done": about one step in 200 among ten acts, for most episodes end by themselves."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where a batch's acts are: done, a click on each of E items, each of W words into each."""

    items: int
    words: int

    def index(self, act: Act) -> int:
        """Returns the column of an act."""
        if act.kind == "done":
            return 0
        if act.kind == "click":
            return 1 + act.item
        return 1 + self.items + act.item * self.words + act.word

    def act(self, index: int) -> Act:
        """Returns the act of a column."""
        if index == 0:
            return Act("done")
        if index <= self.items:
            return Act("click", index - 1)
        item, word = divmod(index - 1 - self.items, self.words)
        return Act("type", item, word)


class PointerNetwork(nn.Module):
    """A transformer over the words of the instruction and the elements of the screen.

    Args:
        width: of its vectors; a multiple of 4, the number of heads.
        layers: of the transformer.
        match: whether it is told which elements' names and values are in the instruction.
    """

    def __init__(self, *, width: int, layers: int, match: bool) -> None:
        super().__init__()
        self.width, self.layers, self.match = width, layers, bool(match)
        self.text = nn.EmbeddingBag(GRAMS, width, mode="mean")
        nn.init.normal_(self.text.weight, std=0.5)  # a mean of some 20 is then about 0.1
        self.project = nn.Linear(width, width)
        self.place = nn.Embedding(MAX_WORDS, width)
        self.role = nn.Embedding(ROLES, width)
        self.numbers = nn.Linear(NUMBERS, width)
        self.part = nn.Embedding(3, width)  # the end, a word, an element
        layer = nn.TransformerEncoderLayer(
            width, 4, 4 * width, dropout=0, batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(width)
        self.done, self.click = nn.Linear(width, 1), nn.Linear(width, 1)
        nn.init.constant_(self.done.bias, _DONE_AT_FIRST)
        self.field, self.typed = nn.Linear(width, width), nn.Linear(width, width)
        self.typing = nn.Linear(width, 1)

    def forward(self, looks: Sequence[Features]) -> tuple[torch.Tensor, Layout]:
        """Returns log-probabilities [n, 1 + E + E * W], -inf for what a look does not allow."""
        layout = Layout(max(len(f.names) for f in looks), max(len(f.words) for f in looks))
        batch = _Batch(looks, layout)
        hidden = self.norm(self.encoder(self._embed(looks, batch), src_key_padding_mask=batch.pad))
        end, words, items = hidden.split((1, layout.words, layout.items), 1)
        typing = self.field(items) @ self.typed(words).transpose(1, 2) / self.width**0.5
        typing = typing + self.typing(words)[..., 0][:, None, :]
        scores = torch.cat(
            [self.done(end)[..., 0], self.click(items)[..., 0], typing.flatten(1)], 1
        )
        return scores.masked_fill(~batch.allowed, -torch.inf).log_softmax(1), layout

    def _embed(self, looks: Sequence[Features], batch: _Batch) -> torch.Tensor:
        """Vectors of the end, the words and the elements, [n, 1 + W + E, width]."""
        pieces = [grams(text) for text in batch.texts]
        starts = [0, *accumulate(map(len, pieces[:-1]))] if pieces else []
        bags = torch.tensor(list(chain.from_iterable(pieces)), dtype=torch.long)
        texts = self.project(self.text(bags, torch.tensor(starts, dtype=torch.long)))
        words, items = texts[batch.words], texts[batch.names]
        numbers = batch.numbers
        if not self.match:
            numbers = torch.cat(
                [numbers[..., :_NAMED], torch.zeros_like(numbers[..., _NAMED:])], -1
            )
        words = words + self.place.weight[: words.shape[1]] + self.part.weight[1]
        items = items + self.numbers(numbers) + self.role(batch.roles) + self.part.weight[2]
        end = self.part.weight[0].expand(len(looks), 1, -1)
        return torch.cat([end, words, items], 1)


class _Batch:
    """Looks side by side, filled up to the longest; each text is embedded once."""

    def __init__(self, looks: Sequence[Features], layout: Layout) -> None:
        n, e, w = len(looks), layout.items, layout.words
        known: dict[str, int] = {"": 0}
        words, names = np.zeros((n, w), np.int64), np.zeros((n, e), np.int64)
        numbers, roles = np.zeros((n, e, NUMBERS), np.float32), np.zeros((n, e), np.int64)
        pad, typable = np.ones((n, 1 + w + e), np.bool_), np.zeros((n, e), np.bool_)
        pad[:, 0] = False
        for row, look in enumerate(looks):
            own_words, own_items = len(look.words), len(look.names)
            words[row, :own_words] = [known.setdefault(t, len(known)) for t in look.words]
            names[row, :own_items] = [known.setdefault(t, len(known)) for t in look.names]
            numbers[row, :own_items], roles[row, :own_items] = look.numbers, look.roles
            typable[row, :own_items] = look.takes_text
            pad[row, 1 : 1 + own_words] = pad[row, 1 + w : 1 + w + own_items] = False
        types = typable[:, :, None] & ~pad[:, None, 1 : 1 + w]
        allowed = np.concatenate([~pad[:, :1], ~pad[:, 1 + w :], types.reshape(n, e * w)], 1)
        self.texts = tuple(known)
        self.words, self.names = torch.from_numpy(words), torch.from_numpy(names)
        self.numbers, self.roles = torch.from_numpy(numbers), torch.from_numpy(roles)
        self.pad, self.allowed = torch.from_numpy(pad), torch.from_numpy(allowed)
