"""The pointer network as a policy that can be trained."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Self

import torch

from hisa.errors import UsageError
from hisa.plugins.training import checkpoints
from hisa.plugins.training.checkpoints import Header
from hisa.plugins.training.episodes import Choice, Look, Sample
from hisa.plugins.training.pointer_features import features
from hisa.plugins.training.pointer_network import PointerNetwork

__all__ = ["PointerPolicy"]

_AT_ONCE = 256
"""Looks of one forward pass without gradients: some ten megabytes for the largest pages."""


class PointerPolicy:
    """Points at one element, or at an element and a word, in the looks that it is given.

    Args:
        network: its weights.
        version: of them.
        name: of the policy.
        seed: of its sampling.
    """

    def __init__(
        self, network: PointerNetwork, *, version: int = 0, name: str = "pointer", seed: int = 0
    ) -> None:
        self.network, self.version, self.name = network.eval(), version, name
        self._generator = torch.Generator().manual_seed(seed)

    @classmethod
    def fresh(cls, seed: int, *, width: int = 96, layers: int = 2, match: bool = True) -> Self:
        """Returns an untrained policy of a seed, the same each time."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            network = PointerNetwork(width=width, layers=layers, match=match)
        return cls(network, seed=seed)

    def reseed(self, seed: int) -> None:
        """Begin its sampling anew, so that the same looks get the same acts."""
        self._generator.manual_seed(seed)

    def choose(self, looks: Sequence[Look], *, greedy: bool = False) -> list[Choice]:
        """See `Policy`."""
        choices: list[Choice] = []
        for start in range(0, len(looks), _AT_ONCE):
            choices += self._choose(looks[start : start + _AT_ONCE], greedy)
        return choices

    def log_probs(self, samples: Sequence[Sample]) -> tuple[torch.Tensor, torch.Tensor]:
        """See `Trainable`.

        Raises:
            UsageError: no samples, or an act that its look does not allow.
        """
        if not samples:
            raise UsageError("no samples: want at least one", fix="hisa train sft --help")
        numbers = [features(sample.look) for sample in samples]
        for look, sample in zip(numbers, samples, strict=True):
            look.require(sample.act)
        log_probs, layout = self.network(numbers)
        columns = torch.tensor([layout.index(sample.act) for sample in samples])
        return log_probs.gather(1, columns[:, None])[:, 0], _entropy(log_probs)

    def copy(self) -> Self:
        """See `Trainable`; its sampling goes on as this one's would."""
        network = _like(self.network)
        network.load_state_dict(self.network.state_dict())
        twin = type(self)(network, version=self.version, name=self.name)
        twin._generator.set_state(self._generator.get_state())
        return twin

    def pack(self) -> bytes:
        """Returns a checkpoint's bytes; see `checkpoints`."""
        net = self.network
        sizes = {"width": net.width, "layers": net.layers, "match": int(net.match)}
        header = Header(kind="pointer", name=self.name, version=self.version, sizes=sizes)
        return checkpoints.pack(header, net.state_dict())

    def save(self, path: Path) -> None:
        """Write a checkpoint whole, or not at all."""
        checkpoints.write(path, self.pack())

    @classmethod
    def unpack(cls, data: bytes, source: str, *, seed: int = 0) -> Self:
        """Returns the policy of a checkpoint's bytes.

        Raises:
            UsageError: they are not a whole checkpoint of a pointer; names ``source``.
        """
        header, tensors = checkpoints.unpack(data, source, kind="pointer")
        width, layers = header.size("width", 4, 1024), header.size("layers", 1, 24)
        if width % 4:
            raise header.refused(f"width {width} is not a multiple of 4")
        network = PointerNetwork(width=width, layers=layers, match=bool(header.size("match", 0, 1)))
        try:
            network.load_state_dict(tensors)
        except RuntimeError as error:
            raise header.refused("its tensors are not those of its sizes") from error
        return cls(network, version=header.version, name=header.name, seed=seed)

    @classmethod
    def load(cls, path: Path, *, seed: int = 0) -> Self:
        """Returns the policy of a file.

        Raises:
            UsageError: it is missing, too large, damaged, or not a pointer's checkpoint.
        """
        return cls.unpack(checkpoints.read(path), str(path), seed=seed)

    def _choose(self, looks: Sequence[Look], greedy: bool) -> list[Choice]:
        with torch.inference_mode():
            log_probs, layout = self.network([features(look) for look in looks])
            if greedy:
                columns = log_probs.argmax(1, keepdim=True)
            else:
                columns = torch.multinomial(log_probs.exp(), 1, generator=self._generator)
            logprobs = log_probs.gather(1, columns)[:, 0].tolist()
            entropies = _entropy(log_probs).tolist()
        acts = [layout.act(column) for column in columns[:, 0].tolist()]
        return [Choice(*choice) for choice in zip(acts, logprobs, entropies, strict=True)]


def _entropy(log_probs: torch.Tensor) -> torch.Tensor:
    """Nats of each row; what is not allowed adds nothing."""
    finite = log_probs.masked_fill(log_probs == -torch.inf, 0)
    return -(log_probs.exp() * finite).sum(1)


def _like(network: PointerNetwork) -> PointerNetwork:
    return PointerNetwork(width=network.width, layers=network.layers, match=network.match)
