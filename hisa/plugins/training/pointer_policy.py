"""The pointer network as a policy that can be trained."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Self

import torch

from hisa.plugins.training import checkpoints
from hisa.plugins.training.checkpoints import Header
from hisa.plugins.training.episodes import Choice, Look, Sample
from hisa.plugins.training.pointer_features import features
from hisa.plugins.training.pointer_network import PointerNetwork, act_at, column_of

__all__ = ["PointerPolicy"]


class PointerPolicy:
    """Points at one element, or at an element and a word; ``seed`` is that of its sampling."""

    def __init__(
        self, network: PointerNetwork, *, version: int = 0, name: str = "pointer", seed: int = 0
    ) -> None:
        self.network, self.version, self.name = network.train(False), version, name
        self._generator = torch.Generator().manual_seed(seed)

    @classmethod
    def fresh(cls, seed: int, *, width: int = 96, layers: int = 2) -> Self:
        """Returns an untrained policy, the same for the same seed; see `PointerNetwork`."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return cls(PointerNetwork(width=width, layers=layers), seed=seed)

    def reseed(self, seed: int) -> None:
        """Begin its sampling anew, so that the same looks get the same acts."""
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
        acts = (act_at(column, words) for column in columns[:, 0].tolist())
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
        columns = torch.tensor([column_of(sample.act, words) for sample in samples])
        return log_probs.gather(1, columns[:, None])[:, 0], _entropy(log_probs)

    def copy(self) -> Self:
        """See `Trainable`; its sampling goes on as this one's would."""
        twin = self.unpack(self.pack(), self.name)
        twin._generator.set_state(self._generator.get_state())
        return twin

    def pack(self) -> bytes:
        """Returns a checkpoint's bytes."""
        sizes = {"width": self.network.width, "layers": self.network.layers}
        header = Header(kind="pointer", name=self.name, version=self.version, sizes=sizes)
        return checkpoints.pack(header, self.network.state_dict())

    @classmethod
    def unpack(cls, data: bytes, source: str, *, seed: int = 0) -> Self:
        """Returns the policy of a checkpoint's bytes.

        Raises:
            UsageError: they are not a whole checkpoint of a pointer; names ``source``.
        """
        header, tensors = checkpoints.unpack(data, source, kind="pointer")
        width, layers = header.size("width", 4, 512), header.size("layers", 1, 12)
        network = PointerNetwork(width=width - width % 4, layers=layers)
        try:
            network.load_state_dict(tensors)
        except RuntimeError as error:
            raise header.refused(f"not of its sizes: {error!s:.200}") from error
        return cls(network, version=header.version, name=header.name, seed=seed)

    def save(self, path: Path) -> None:
        """Write a checkpoint; see `checkpoints.write`."""
        checkpoints.write(path, self.pack())

    @classmethod
    def load(cls, path: Path, *, seed: int = 0) -> Self:
        """Returns the policy of a file; see `checkpoints.read` and `unpack`."""
        return cls.unpack(checkpoints.read(path), str(path), seed=seed)


def _entropy(log_probs: torch.Tensor) -> torch.Tensor:
    """Nats of each row; what is not allowed adds nothing."""
    finite = log_probs.masked_fill(log_probs == -torch.inf, 0)
    return -(log_probs.exp() * finite).sum(1)
