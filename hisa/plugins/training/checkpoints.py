"""Checkpoints: a safetensors file that says, as JSON in its header, which network it is of.

A checkpoint is data from elsewhere until it was read: its size, header and numbers are checked
before a network takes them, and nothing in it is ever run.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field

from hisa.errors import UsageError
from hisa.machine.storage import replace_file

if TYPE_CHECKING:
    import torch

__all__ = ["LARGEST", "Header", "load_weights", "read", "write"]

LARGEST = 256 << 20
"""Bytes of a file: a hundred times a pointer of the default size."""


class Header(BaseModel):
    """A network's kind, the name and version of its policy, and the sizes that it is made of."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    format: Literal[1] = 1
    kind: str = Field(max_length=40)
    name: str = Field(max_length=200)
    version: int = Field(ge=0, lt=1 << 62)
    sizes: dict[str, int]


def write(path: Path, header: Header, network: torch.nn.Module) -> None:
    """Write a checkpoint whole or not at all; on return it is on the disk.

    Raises:
        UsageError: it cannot be written there.
    """
    from safetensors.torch import save

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        data = save(network.state_dict(), {"hisa": header.model_dump_json()})
        replace_file(path, data, synced=True)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}", fix="df -h") from error


def read(
    path: Path, kind: str, bounds: dict[str, tuple[int, int]]
) -> tuple[Header, dict[str, torch.Tensor]]:
    """Returns header and tensors of a checkpoint of a kind, whose sizes are within bounds.

    Raises:
        UsageError: missing, no plain file, larger than 256 MiB, damaged, foreign, of another kind
            or size, or not all finite.
    """
    from safetensors import SafetensorError, safe_open

    try:
        if not path.is_file() or path.stat().st_size > LARGEST:
            raise _refused(path, f"no file of at most {LARGEST >> 20} MiB")
        with safe_open(path, "pt") as file:
            header = Header.model_validate_json(file.metadata()["hisa"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except OSError as error:
        raise _refused(path, f"not readable: {error.strerror}") from error
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError) as error:
        reason = str(error).splitlines()[0][:200]
        reason = f"damaged, or no checkpoint of HiSA in format 1 ({reason})"
        raise _refused(path, reason) from error
    if header.kind != kind:
        raise _refused(path, f"a checkpoint of kind {header.kind!r}; want {kind!r}")
    for name, (least, most) in bounds.items():
        if not least <= header.sizes.get(name, least - 1) <= most:
            size = header.sizes.get(name)
            raise _refused(path, f"{name} is {size}; allowed are {least} to {most}")
    if not all(bool(tensor.isfinite().all()) for tensor in tensors.values()):
        raise _refused(path, "some of its numbers are not finite")
    return header, tensors


def load_weights(path: Path, network: torch.nn.Module, tensors: dict[str, torch.Tensor]) -> None:
    """Give a network the tensors of a checkpoint; raises UsageError where they do not fit."""
    try:
        network.load_state_dict(tensors)
    except RuntimeError as error:
        raise _refused(path, f"other weights than the network's: {error!s:.200}") from error


def _refused(path: Path, reason: str) -> UsageError:
    return UsageError(
        f"{path}: {reason}. Allowed are files that hisa train has written",
        fix="hisa train sft --help, hisa train grounder --help",
    )
