"""Checkpoints: a safetensors file that says, as JSON in its header, which network it is of.

A checkpoint is data from elsewhere until it was read: its size, header and numbers are checked
before a network takes them, and nothing in it is ever run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from hisa.errors import UsageError
from hisa.machine.storage import replace_file

if TYPE_CHECKING:
    import torch

__all__ = ["LARGEST", "Header", "pack", "read", "unpack", "write"]

LARGEST = 256 << 20
"""Bytes of a file: a hundred times a pointer of the default size."""
_LARGEST_HEADER = 1 << 20
"""Bytes of a file's own header, where each tensor takes about a hundred."""


class Header(BaseModel):
    """A network's kind, the name and version of its policy, and the sizes that it is made of."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    format: Literal[1] = 1
    kind: str = Field(max_length=40)
    name: str = Field(max_length=200)
    version: int = Field(ge=0, lt=1 << 62)
    sizes: dict[str, int]
    _source: str = PrivateAttr("")

    def size(self, name: str, least: int, most: int) -> int:
        """Returns a size; raises UsageError where it is missing, or not within its bounds."""
        value = self.sizes.get(name)
        if value is None or not least <= value <= most:
            raise self.refused(f"{name} is {value}; allowed are {least} to {most}")
        return value

    def refused(self, reason: str) -> UsageError:
        """Returns the error for the checkpoint that it is of."""
        return _refused(self._source, reason)


def pack(header: Header, tensors: Mapping[str, torch.Tensor]) -> bytes:
    """Returns a checkpoint's bytes."""
    from safetensors.torch import save

    return save(dict(tensors), {"hisa": header.model_dump_json()})


def unpack(data: bytes, source: str, *, kind: str) -> tuple[Header, dict[str, torch.Tensor]]:
    """Returns header and tensors of a checkpoint's bytes; ``source`` names it in errors.

    Raises:
        UsageError: damaged, foreign, of another kind, or not all finite.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    length = int.from_bytes(data[:8], "little")
    if not 0 < length <= min(_LARGEST_HEADER, len(data) - 8):
        raise _refused(source, "no safetensors file, or cut off")
    try:
        text = json.loads(data[8 : 8 + length])["__metadata__"]["hisa"]
        header = Header.model_validate_json(text)
        header._source = source
        tensors = load(data)
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError) as error:
        reason = str(error).splitlines()[0][:200]
        raise _refused(
            source, f"damaged, or no checkpoint of HiSA in format 1 ({reason})"
        ) from error
    if header.kind != kind:
        raise header.refused(f"a checkpoint of kind {header.kind!r}; want {kind!r}")
    if not all(bool(tensor.isfinite().all()) for tensor in tensors.values()):
        raise header.refused("some of its numbers are not finite")
    return header, tensors


def write(path: Path, data: bytes) -> None:
    """Write a checkpoint whole or not at all; on return it is on the disk.

    Raises:
        UsageError: it cannot be written there.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, data, synced=True)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}", fix="df -h") from error


def read(path: Path) -> bytes:
    """Returns the bytes of a file.

    Raises:
        UsageError: it is missing, no plain file, not readable, or larger than 256 MiB.
    """
    try:
        if not path.is_file() or path.stat().st_size > LARGEST:
            raise _refused(str(path), f"no file of at most {LARGEST >> 20} MiB")
        return path.read_bytes()
    except OSError as error:
        raise _refused(str(path), f"not readable: {error.strerror}") from error


def _refused(source: str, reason: str) -> UsageError:
    return UsageError(
        f"{source}: {reason}. Allowed are files that hisa train has written",
        fix="hisa train sft --help, hisa train grounder --help",
    )
