"""Checkpoints: one safetensors file with its weights, and in it, as JSON, the network they are of.

A checkpoint is data from elsewhere until it was read: its size, its header and its numbers are
checked before a network takes them, and nothing in it is ever run.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError

from hisa.errors import UsageError
from hisa.machine.storage import replace_file

if TYPE_CHECKING:
    import torch

__all__ = ["FORMAT", "LARGEST", "Header", "pack", "read", "read_header", "unpack", "write"]

FORMAT: Literal[1] = 1
"""Counted up where an older reader would take a checkpoint for something else."""
LARGEST = 256 << 20
"""Bytes of a file: a hundred times a pointer of the default size."""
_LARGEST_HEADER = 1 << 20
"""Bytes of a file's header: each tensor takes about a hundred."""
_KEY = "hisa"
_FIX = {
    "pointer": "hisa train sft --help tells how a policy is trained",
    "pixels": "hisa train grounder --help tells how a grounder is trained",
}


class Header(BaseModel):
    """A network's kind and sizes.

    Args:
        kind: of network.
        name: of the policy.
        version: of its weights.
        sizes: that its constructor needs.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    format: Literal[1] = FORMAT
    kind: Literal["pointer", "pixels"]
    name: str = Field(max_length=200)
    version: int = Field(ge=0, lt=1 << 62)
    sizes: dict[str, int] = Field(max_length=32)
    _source: str = PrivateAttr("")

    def size(self, name: str, least: int, most: int) -> int:
        """Returns one of the sizes.

        Raises:
            UsageError: it is missing, or not within ``least`` and ``most``.
        """
        value = self.sizes.get(name)
        if value is None or not least <= value <= most:
            raise self.refused(f"{name} is {value}; allowed are {least} to {most}")
        return value

    def refused(self, reason: str) -> UsageError:
        """Returns the error for a checkpoint with this header."""
        return _refused(self._source or self.name, reason, self.kind)


def pack(header: Header, tensors: Mapping[str, torch.Tensor]) -> bytes:
    """Returns a checkpoint's bytes."""
    from safetensors.torch import save

    plain = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    return save(plain, {_KEY: header.model_dump_json()})


def unpack(data: bytes, source: str, *, kind: str) -> tuple[Header, dict[str, torch.Tensor]]:
    """Returns header and tensors of a checkpoint's bytes.

    Args:
        data: all of it.
        source: names it in errors, such as its path.
        kind: of network that is wanted.

    Raises:
        UsageError: too large, damaged, foreign, of another kind, or with numbers that are none.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    header = _header(data, source, kind)
    if header.kind != kind:
        raise _refused(source, f"a checkpoint of kind {header.kind!r}; want {kind!r}", kind)
    try:
        tensors = load(data)
    except (SafetensorError, ValueError, KeyError) as error:
        raise _refused(source, f"damaged: {error}", kind) from error
    for name, tensor in tensors.items():
        if not tensor.is_floating_point() or not math.isfinite(tensor.double().sum().item()):
            raise _refused(source, f"{name} holds numbers that are none", kind)
    return header, tensors


def read_header(path: Path, *, kind: str = "pointer") -> Header:
    """Returns the header of a file; needs no torch.

    Raises:
        UsageError: it is missing, too large, damaged or foreign.
    """
    return _header(read(path), str(path), kind)


def write(path: Path, data: bytes) -> None:
    """Write a checkpoint whole, or not at all.

    Raises:
        UsageError: it cannot be written there.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, data, synced=True)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}", fix="df -h .") from error


def read(path: Path) -> bytes:
    """Returns the bytes of a file.

    Raises:
        UsageError: it is missing, no plain file, not readable, or larger than 256 MiB.
    """
    try:
        if not path.is_file():
            raise _refused(str(path), "no such file", "pointer")
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise _refused(str(path), f"not readable: {error.strerror}", "pointer") from error
    if len(data) > LARGEST:
        raise _refused(str(path), f"larger than {LARGEST >> 20} MiB", "pointer")
    return data


def _header(data: bytes, source: str, kind: str) -> Header:
    """The header of a checkpoint's bytes, read without the library."""
    length = struct.unpack("<Q", data[:8])[0] if len(data) >= 8 else 0
    if not 0 < length <= min(_LARGEST_HEADER, len(data) - 8):
        raise _refused(source, "no safetensors file, or cut off", kind)
    try:
        metadata = json.loads(data[8 : 8 + length])["__metadata__"]
        header = Header.model_validate_json(metadata[_KEY])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else "foreign"
        raise _refused(
            source, f"not a checkpoint of HiSA, format {FORMAT}: {reason}", kind
        ) from error
    header._source = source
    return header


def _refused(source: str, reason: str, kind: str) -> UsageError:
    return UsageError(f"{source}: {reason}", fix=_FIX.get(kind, _FIX["pointer"]))
