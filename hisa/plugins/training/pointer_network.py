"""A network that points: at an element to click, at an element and a word, or at the end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

from hisa.plugins.training.episodes import Act
from hisa.plugins.training.instruction_words import MAX_WORDS
from hisa.plugins.training.pointer_features import GRAMS, NUMBERS, Features, grams

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PointerNetwork", "act_at", "column_of"]

_DONE_AT_FIRST = -3.0
"""Bias of "done": about one step in 200 among ten acts, for most episodes end by themselves."""


def column_of(act: Act, words: int) -> int:
    """Returns an act's place in a batch of so many words: done, and of each item a click, words."""
    return 0 if act.kind == "done" else act.item * (1 + words) + act.word + 2


def act_at(column: int, words: int) -> Act:
    """Returns the act that `column_of` gives this place."""
    if column == 0:
        return Act("done")
    item, word = divmod(column - 1, 1 + words)
    return Act("type" if word else "click", item, word - 1)


class PointerNetwork(nn.Module):
    """A transformer over the words of the instruction and the elements of the screen.

    Args:
        width: of its vectors; a multiple of 4, the number of heads.
        layers: of the transformer.
    """

    def __init__(self, *, width: int, layers: int) -> None:
        super().__init__()
        self.width, self.layers = width, layers
        self.text = nn.EmbeddingBag(GRAMS, width, mode="mean")
        nn.init.normal_(self.text.weight, std=0.5)  # a mean of some 20 is then about 0.1
        self.project = nn.Linear(width, width)
        self.place = nn.Embedding(MAX_WORDS, width)
        self.role = nn.Linear(width, width)  # of its text: a task may name it, "check the box"
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

    def forward(self, looks: Sequence[Features]) -> tuple[torch.Tensor, int]:
        """Returns log-probabilities [n, 1 + E * (1 + W)] and W; see `column_of`.

        What a look does not allow has -inf.
        """
        words, items = self._words_and_items(looks)
        is_word = _padded(np.ones(len(look.words), np.bool_) for look in looks)
        is_item = _padded(np.ones(len(look.names), np.bool_) for look in looks)
        is_end = is_word.new_ones(len(looks), 1)
        end = self.part.weight[0].expand(len(looks), 1, -1)
        padding = ~torch.cat([is_end, is_word, is_item], 1)
        hidden = self.encoder(torch.cat([end, words, items], 1), src_key_padding_mask=padding)
        end, words, items = self.norm(hidden).split((1, words.shape[1], items.shape[1]), 1)
        typing = self.field(items) @ self.typed(words).transpose(1, 2) / self.width**0.5
        typing = typing + self.typing(words).transpose(1, 2)
        of_items = torch.cat([self.click(items), typing], 2).flatten(1)
        typable = _padded(look.takes_text for look in looks)[:, :, None] & is_word[:, None, :]
        allowed = torch.cat([is_item[:, :, None], typable], 2).flatten(1)
        scores = torch.cat([self.done(end)[..., 0], of_items], 1)
        scores = scores.masked_fill(~torch.cat([is_end, allowed], 1), -torch.inf)
        return scores.log_softmax(1), words.shape[1]

    def _words_and_items(self, looks: Sequence[Features]) -> tuple[torch.Tensor, torch.Tensor]:
        """Vectors of the words and of the elements, before they know of each other."""
        parts = [part for look in looks for part in (look.words, look.names, look.roles)]
        texts = list(chain.from_iterable(parts))
        places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        bags = [grams(text) for text in places]  # a text of several looks is embedded once
        starts = torch.tensor([0, *accumulate(map(len, bags))][: len(bags)], dtype=torch.long)
        pieces = torch.tensor(list(chain.from_iterable(bags)), dtype=torch.long)
        vectors = self.project(self.text(pieces, starts))[[places[text] for text in texts]]
        of_parts = vectors.split([len(part) for part in parts])
        words, items, roles = (
            pad_sequence(of_parts[first::3], batch_first=True) for first in range(3)
        )
        words = words + self.place.weight[: words.shape[1]] + self.part.weight[1]
        numbers = self.numbers(_padded(look.numbers for look in looks))
        return words, items + numbers + self.role(roles) + self.part.weight[2]


def _padded(rows: Iterable[NDArray[Any]]) -> torch.Tensor:
    """Rows side by side, filled up to the longest with 0."""
    return pad_sequence([torch.from_numpy(row) for row in rows], batch_first=True)
