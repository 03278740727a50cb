"""A policy that points at an element, perhaps with a word to type; its network and its files.

A checkpoint is a safetensors file with a JSON header that describes it. It is not trusted: its
size, header and numbers are checked before a network loads them, and nothing in it is executed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field
from torch import nn
from torch.nn.utils.rnn import pad_sequence

from hisa.errors import UsageError
from hisa.machine.storage import replace_file
from hisa.plugins.training.base import Act, Choice, Look, Sample
from hisa.plugins.training.pointer_features import (
    GRAMS,
    MAX_WORDS,
    NUMBERS,
    Features,
    features,
    grams,
)

__all__ = ["LARGEST", "Header", "PointerNetwork", "PointerPolicy"]

LARGEST = 256 << 20
"""Most bytes of a checkpoint: a hundred times a pointer of the default size."""

_DONE_AT_FIRST = -3.0
"""Bias of "done": about one step in 200 among ten acts, as most episodes end by themselves."""


def _column_of(act: Act, words: int) -> int:
    """Returns an act's column: first "done", then for each item a click and its ``words`` words."""
    return 0 if act.kind == "done" else act.item * (1 + words) + act.word + 2


def _act_at(column: int, words: int) -> Act:
    """Returns the act for which `_column_of` returns this column."""
    if column == 0:
        return Act("done")
    item, word = divmod(column - 1, 1 + words)
    return Act("type" if word else "click", item, word - 1)


class _Sizes(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    width: int = Field(ge=4, le=512, multiple_of=4)
    layers: int = Field(ge=1, le=12)


class Header(BaseModel):
    """The header of a checkpoint: name and version of the policy, sizes of its network."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    format: Literal[1] = 1
    kind: Literal["pointer"] = "pointer"
    name: str = Field(max_length=200)
    version: int = Field(ge=0, lt=1 << 62)
    sizes: _Sizes


class PointerNetwork(nn.Module):
    """A transformer over the words of the instruction and the elements of the screen.

    Args:
        width: size of its vectors; a multiple of 4, the number of heads.
        layers: number of layers.
    """

    def __init__(self, *, width: int, layers: int) -> None:
        super().__init__()
        self.width, self.layers = width, layers
        self.text = nn.EmbeddingBag(GRAMS, width, mode="mean")
        nn.init.normal_(self.text.weight, std=0.5)  # a mean of some 20 is then about 0.1
        self.project = nn.Linear(width, width)
        self.place = nn.Embedding(MAX_WORDS, width)
        self.role = nn.Linear(width, width)  # from its text, as a task may name it: "check the box"
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
        """Returns log-probabilities [n, 1 + E * (1 + W)] and W; see `_column_of`.

        Acts that a look does not allow have -inf.
        """
        words, items = self._words_and_items(looks)
        is_word = _pad_rows(np.ones(len(look.words), np.bool_) for look in looks)
        is_item = _pad_rows(np.ones(len(look.names), np.bool_) for look in looks)
        is_end = is_word.new_ones(len(looks), 1)
        end = self.part.weight[0].expand(len(looks), 1, -1)
        padding = ~torch.cat([is_end, is_word, is_item], 1)
        hidden = self.encoder(torch.cat([end, words, items], 1), src_key_padding_mask=padding)
        end, words, items = self.norm(hidden).split((1, words.shape[1], items.shape[1]), 1)
        typing = self.field(items) @ self.typed(words).transpose(1, 2) / self.width**0.5
        typing = typing + self.typing(words).transpose(1, 2)
        of_items = torch.cat([self.click(items), typing], 2).flatten(1)
        typable = _pad_rows(look.takes_text for look in looks)[:, :, None] & is_word[:, None, :]
        allowed = torch.cat([is_item[:, :, None], typable], 2).flatten(1)
        scores = torch.cat([self.done(end)[..., 0], of_items], 1)
        scores = scores.masked_fill(~torch.cat([is_end, allowed], 1), -torch.inf)
        return scores.log_softmax(1), words.shape[1]

    def _words_and_items(self, looks: Sequence[Features]) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns the vectors of the words and of the elements, before the transformer."""
        parts = [part for look in looks for part in (look.words, look.names, look.roles)]
        texts = list(chain.from_iterable(parts))
        places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        bags = [grams(text) for text in places]  # a text of several looks is embedded once
        starts = torch.tensor([0, *accumulate(map(len, bags))][: len(bags)], dtype=torch.long)
        pieces = torch.tensor([*chain.from_iterable(bags)], dtype=torch.long)
        vectors = self.project(self.text(pieces, starts))[[places[text] for text in texts]]
        of_parts = vectors.split([len(part) for part in parts])
        words, items, roles = (
            pad_sequence(of_parts[first::3], batch_first=True) for first in range(3)
        )
        words = words + self.place.weight[: words.shape[1]] + self.part.weight[1]
        numbers = self.numbers(_pad_rows(look.numbers for look in looks))
        return words, items + numbers + self.role(roles) + self.part.weight[2]


class PointerPolicy:
    """A policy that chooses an element, or an element and a word; ``seed`` is for its sampling."""

    def __init__(
        self, network: PointerNetwork, *, version: int = 0, name: str = "pointer", seed: int = 0
    ) -> None:
        self.network, self.version, self.name = network.train(False), version, name
        self._generator = torch.Generator().manual_seed(seed)

    @classmethod
    def fresh(cls, seed: int, *, width: int = 96, layers: int = 2) -> Self:
        """Returns an untrained policy; the same ``seed`` gives the same one.

        ``width`` and ``layers`` are those of its `PointerNetwork`.
        """
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return cls(PointerNetwork(width=width, layers=layers), seed=seed)

    def reseed(self, seed: int) -> None:
        """Restarts its sampling, so that the same looks get the same acts."""
        self._generator.manual_seed(seed)

    def choose(self, looks: Sequence[Look], *, greedy: bool = False) -> list[Choice]:
        """See `Policy`."""
        if not looks:
            return []
        with torch.inference_mode():
            log_probs, words = self.network([features(look) for look in looks])
            if greedy:
                columns = log_probs.argmax(1, keepdim=True)
            else:
                columns = torch.multinomial(log_probs.exp(), 1, generator=self._generator)
            logprobs, entropies = log_probs.gather(1, columns)[:, 0], _entropy(log_probs)
        acts = (_act_at(column, words) for column in columns[:, 0].tolist())
        return list(map(Choice, acts, logprobs.tolist(), entropies.tolist()))

    def log_probs(self, samples: Sequence[Sample]) -> tuple[torch.Tensor, torch.Tensor]:
        """See `Trainable`.

        Raises:
            UsageError: an act that its look does not allow.
        """
        looks = [features(sample.look) for sample in samples]
        for look, sample in zip(looks, samples, strict=True):
            look.require(sample.act)
        log_probs, words = self.network(looks)
        columns = torch.tensor([_column_of(sample.act, words) for sample in samples])
        return log_probs.gather(1, columns[:, None])[:, 0], _entropy(log_probs)

    def copy(self) -> Self:
        """See `Trainable`; its sampling goes on as this one's would."""
        twin = type(self)(deepcopy(self.network), version=self.version, name=self.name)
        twin._generator.set_state(self._generator.get_state())
        return twin

    def save(self, path: Path) -> None:
        """Writes a checkpoint whole or not at all; on return it is on the disk.

        Raises:
            UsageError: it cannot be written.
        """
        from safetensors.torch import save

        sizes = _Sizes(width=self.network.width, layers=self.network.layers)
        header = Header(name=self.name, version=self.version, sizes=sizes)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            data = save(self.network.state_dict(), {"hisa": header.model_dump_json()})
            replace_file(path, data, synced=True)
        except OSError as error:
            raise UsageError(f"{path}: cannot be written: {error.strerror}", fix="df -h") from error

    @classmethod
    def load(cls, path: Path, *, seed: int = 0) -> Self:
        """Returns the policy in a file.

        Raises:
            UsageError: the file is missing, larger than 256 MiB, damaged, of another kind or other
                sizes, or has numbers that are not finite.
        """
        from safetensors import SafetensorError, safe_open

        try:
            if not path.is_file() or path.stat().st_size > LARGEST:
                raise ValueError(f"not a file of at most {LARGEST >> 20} MiB")
            with safe_open(path, "pt") as file:
                header = Header.model_validate_json(file.metadata()["hisa"])
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            if not all(bool(tensor.isfinite().all()) for tensor in tensors.values()):
                raise ValueError("some of its numbers are not finite")
            network = PointerNetwork(width=header.sizes.width, layers=header.sizes.layers)
            network.load_state_dict(tensors)
        except (
            OSError,
            SafetensorError,
            ValueError,
            KeyError,
            TypeError,
            RecursionError,
            RuntimeError,
        ) as error:
            reason = str(error).splitlines()[0][:200]
            raise UsageError(
                f"{path}: damaged, or not a checkpoint of hisa train: {reason}",
                fix="hisa train sft --help",
            ) from error
        return cls(network, version=header.version, name=header.name, seed=seed)


def _entropy(log_probs: torch.Tensor) -> torch.Tensor:
    """Returns the entropy of each row in nats; acts with -inf add nothing."""
    finite = log_probs.masked_fill(log_probs == -torch.inf, 0)
    return -(log_probs.exp() * finite).sum(1)


def _pad_rows(rows: Iterable[NDArray[Any]]) -> torch.Tensor:
    """Returns the rows as one tensor, padded with 0 to the longest one."""
    return pad_sequence([torch.from_numpy(row) for row in rows], batch_first=True)
