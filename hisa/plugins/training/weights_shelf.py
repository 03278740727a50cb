"""Weights by version, from the trainer to rollout workers that go on meanwhile."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hisa.errors import UsageError
from hisa.machine.storage import replace_file

if TYPE_CHECKING:
    from hisa.plugins.training.base import Trainable

__all__ = ["WeightsShelf", "load_weights"]

_KEPT = 3
"""Versions that stay, for readers that have just listed the folder."""
_HEADER = 1 << 20
"""Most bytes of a file beside its numbers; a tensor's entry takes about a hundred."""


class WeightsShelf:
    """A folder of safetensors files, each replaced whole."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def publish(self, policy: Trainable) -> None:
        """Put the weights of a policy there under its version."""
        from safetensors.torch import save

        tensors = policy.network.state_dict().items()
        data = save({name: tensor.detach().contiguous() for name, tensor in tensors})
        replace_file(self._folder / f"{policy.version}.safetensors", data, synced=True)
        for version in self._versions()[:-_KEPT]:
            (self._folder / f"{version}.safetensors").unlink(missing_ok=True)

    def read(self, after: int) -> tuple[int, bytes] | None:
        """Returns the newest version and its file; None: there is none after ``after``."""
        version = max(self._versions(), default=after)
        try:
            path = self._folder / f"{version}.safetensors"
            return (version, path.read_bytes()) if version > after else None
        except FileNotFoundError:
            return self.read(after)

    def _versions(self) -> list[int]:
        names = (path.stem for path in self._folder.glob("*.safetensors"))
        return sorted(int(name) for name in names if name.isdecimal())


def load_weights(policy: Trainable, version: int, data: bytes) -> None:
    """Give a policy the weights of a file.

    Raises:
        UsageError: they are not those of its network, are damaged, or not finite.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    own = policy.network.state_dict()
    most = sum(tensor.nbytes for tensor in own.values()) + _HEADER
    try:
        tensors = load(data) if len(data) <= most else {}
    except (SafetensorError, ValueError, KeyError):
        tensors = {}
    shapes, own_shapes = ({n: (t.shape, t.dtype) for n, t in x.items()} for x in (tensors, own))
    if shapes != own_shapes or not all(bool(t.isfinite().all()) for t in tensors.values()):
        reason = f"version {version}: damaged, or not the weights of {policy.name!r}"
        raise UsageError(reason, fix="train in a new folder")
    policy.network.load_state_dict(tensors)
    policy.version = version
