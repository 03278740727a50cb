"""Checkpoints: a safetensors file that says, as JSON in its header, which network it is of.

A checkpoint is data from elsewhere until it was read: its size, header, sizes and numbers are
checked before a network takes them, and nothing in it is ever run.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hisa.errors import UsageError
from hisa.machine.storage import replace_file

if TYPE_CHECKING:
    from torch import nn

__all__ = ["LARGEST", "Header", "pack", "read", "unpack", "write"]

LARGEST = 256 << 20
"""Bytes of a file: a hundred times a pointer of the default size."""
_LARGEST_HEADER = 1 << 20
"""Bytes of a file's own header, where each tensor takes about a hundred."""
_KEY = "hisa"

Network = TypeVar("Network", bound="nn.Module")


class Header(BaseModel):
    """A network's kind and sizes.

    Args:
        format: counted up where an older reader would misread the rest.
        kind: of network, such as "pointer".
        name: of the policy.
        version: of its weights.
        sizes: what its constructor takes.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    format: Literal[1] = 1
    kind: str = Field(max_length=40)
    name: str = Field(max_length=200)
    version: int = Field(ge=0, lt=1 << 62)
    sizes: dict[str, int]


def pack(header: Header, network: nn.Module) -> bytes:
    """Returns a checkpoint's bytes."""
    from safetensors.torch import save

    return save(network.state_dict(), {_KEY: header.model_dump_json()})


def unpack(
    data: bytes, source: str, *, kind: str, sizes: Mapping[str, range], make: Callable[..., Network]
) -> tuple[Header, Network]:
    """Returns header and network of a checkpoint's bytes.

    Args:
        data: all of it.
        source: names it in errors, such as its path.
        kind: of network that is wanted.
        sizes: that are allowed.
        make: a network of sizes.

    Raises:
        UsageError: too large, damaged, foreign, of another kind or size, or not all finite.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    header = _header(data, source)
    if header.kind != kind:
        raise _refused(source, f"a checkpoint of kind {header.kind!r}; want {kind!r}")
    if header.sizes.keys() != sizes.keys() or any(header.sizes[n] not in sizes[n] for n in sizes):
        raise _refused(source, f"sizes are {header.sizes}; allowed are {dict(sizes)}")
    network = make(**header.sizes)
    try:
        network.load_state_dict(load(data))
    except (SafetensorError, RuntimeError, ValueError, KeyError) as error:
        raise _refused(source, f"damaged, or not of its sizes: {str(error)[:200]}") from error
    if not all(bool(tensor.isfinite().all()) for tensor in network.state_dict().values()):
        raise _refused(source, "some of its numbers are not finite")
    return header, network


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
        if not path.is_file():
            raise _refused(str(path), "no such file")
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise _refused(str(path), f"not readable: {error.strerror}") from error
    if len(data) > LARGEST:
        raise _refused(str(path), f"larger than {LARGEST >> 20} MiB")
    return data


def _header(data: bytes, source: str) -> Header:
    """Returns the header of a checkpoint's bytes, read without the library."""
    length = struct.unpack("<Q", data[:8])[0] if len(data) >= 8 else 0
    if not 0 < length <= min(_LARGEST_HEADER, len(data) - 8):
        raise _refused(source, "no safetensors file, or cut off")
    try:
        return Header.model_validate_json(json.loads(data[8 : 8 + length])["__metadata__"][_KEY])
    except ValidationError as error:
        raise _refused(
            source, f"its header is not of format 1: {error.errors()[0]['msg']}"
        ) from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _refused(source, "a safetensors file, but no checkpoint of HiSA") from error


def _refused(source: str, reason: str) -> UsageError:
    return UsageError(
        f"{source}: {reason}. Allowed are files that hisa train has written",
        fix="hisa train sft --help, hisa train grounder --help",
    )
