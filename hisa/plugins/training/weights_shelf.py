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
"""Versions that stay: a worker that has read the name of a file finds it still there."""
_HEADER = 1 << 20
"""Most bytes of a file beside the numbers themselves; a tensor's entry takes about a hundred."""


class WeightsShelf:
    """A folder of safetensors files; a reader sees whole ones only.

    Args:
        folder: made where it is missing.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def publish(self, policy: Trainable) -> None:
        """Put the weights of a policy there under its version.

        Raises:
            OSError: the disk refuses it; the versions before are still there.
        """
        from safetensors.torch import save

        tensors = policy.network.state_dict().items()
        data = save({name: tensor.detach().contiguous() for name, tensor in tensors})
        replace_file(self._folder / f"{policy.version}.safetensors", data, synced=True)
        for version in self._versions()[:-_KEPT]:
            (self._folder / f"{version}.safetensors").unlink(missing_ok=True)

    def read(self, after: int) -> tuple[int, bytes] | None:
        """Returns the newest version and its file; None: there is none after ``after``."""
        for version in reversed(self._versions()):
            if version <= after:
                break
            try:
                return version, (self._folder / f"{version}.safetensors").read_bytes()
            except FileNotFoundError:
                return self.read(after)
        return None

    def _versions(self) -> list[int]:
        names = (path.stem for path in self._folder.glob("*.safetensors"))
        return sorted(int(name) for name in names if name.isdecimal())


def load_weights(policy: Trainable, version: int, data: bytes) -> None:
    """Give a policy the weights of a file.

    Raises:
        UsageError: they are not those of its network, damaged, or not finite.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    own = policy.network.state_dict()
    most = sum(tensor.nbytes for tensor in own.values()) + _HEADER
    try:
        tensors = load(data) if len(data) <= most else {}
    except (SafetensorError, ValueError, KeyError):
        tensors = {}
    shapes = {name: (tensor.shape, tensor.dtype) for name, tensor in tensors.items()}
    same = shapes == {name: (tensor.shape, tensor.dtype) for name, tensor in own.items()}
    if not same or not all(bool(tensor.isfinite().all()) for tensor in tensors.values()):
        raise UsageError(
            f"version {version}: damaged, or not the weights of {policy.name!r}",
            fix="train in a new folder",
        )
    policy.network.load_state_dict(tensors)
    policy.version = version
