"""Reads the header of a GGUF file: what the model is, without its vocabulary and weights.

The format is llama.cpp's (docs/gguf.md of github.com/ggml-org/ggml): magic, version, two counts,
then keys with typed values. The file may come from anyone, so every length in it is bounded.
"""

from __future__ import annotations

import functools
import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from hisa.errors import ConfigError

__all__ = ["GgufHeader", "read_header"]

_SCALARS = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d",
}  # fmt: skip
"""Type of a number in the file, to its `struct` format."""
_STRING, _ARRAY = 8, 9
_MOST_KEYS, _MOST_BYTES = 2000, 1 << 16
"""Models have 20 to 60 keys; the longest text before the vocabulary is a licence."""
_BYTES_A_WEIGHT = 0.65
"""For files without a size label: with four bits, the most usual, they have 0.56 to 0.7."""
_LABEL = re.compile(r"(?:(\d+)x)?(\d+(?:\.\d+)?)([KMBT])", re.I)
_UNITS = {"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
Value = int | float | bool | str | None


@dataclass(frozen=True)
class GgufHeader:
    """The keys before the vocabulary, without lists, and the size of the file in bytes."""

    values: dict[str, Value]
    size: int

    def number(self, key: str, default: int = 0) -> int:
        """Returns a whole number of the model's architecture, such as ``context_length``."""
        value = self.values.get(f"{self.architecture}.{key}")
        return value if isinstance(value, int) and 0 < value < 1 << 32 else default

    @property
    def architecture(self) -> str:
        """The family that llama.cpp knows, such as ``qwen2``; ``clip`` for eyes."""
        return str(self.values.get("general.architecture", ""))

    @property
    def weights(self) -> float:
        """Number of weights: by the model's label, else estimated from the size of the file."""
        label = _LABEL.search(str(self.values.get("general.size_label", "")))
        if label is None:
            return self.size / _BYTES_A_WEIGHT
        return int(label[1] or 1) * float(label[2]) * _UNITS[label[3].upper()]

    def cache_bytes(self, context: int) -> int:
        """Returns the bytes of the attention cache for ``context`` tokens; models may need less."""
        heads = self.number("attention.head_count", 1)
        width = self.number("embedding_length") // heads
        lengths = (self.number(f"attention.{kind}_length", width) for kind in ("key", "value"))
        cached_heads = self.number("attention.head_count_kv", heads)
        layers = self.number("block_count")
        return 2 * layers * cached_heads * sum(lengths) * context  # 2: bytes of a number


def read_header(path: Path) -> GgufHeader:
    """Returns the header of a GGUF file, cached until the file changes.

    Raises:
        ConfigError: there is no such file, or it is not a GGUF file.
    """
    try:
        status = path.stat()
        return _read(path, status.st_mtime_ns, status.st_size)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}", fix="hisa models ls") from error
    except (struct.error, ValueError) as error:
        raise ConfigError(
            f"{path}: not a GGUF file that can be used: {error}",
            fix="name a file in the format of llama.cpp, or fetch it again",
        ) from error


@functools.lru_cache(maxsize=16)
def _read(path: Path, changed: int, size: int) -> GgufHeader:
    with path.open("rb") as file:
        if (magic := file.read(4)) != b"GGUF":
            raise ValueError(f"it begins with {magic!r}, not with b'GGUF'")
        version, _, keys = struct.unpack("<IQQ", file.read(20))
        if version not in (2, 3):
            raise ValueError(f"version {version} of the format; known are 2 and 3")
        values: dict[str, Value] = {}
        for _ in range(min(keys, _MOST_KEYS)):
            key = _text(file)
            (kind,) = struct.unpack("<I", file.read(4))
            if kind != _ARRAY:
                values[key] = _value(file, kind)
            elif key.startswith("tokenizer."):
                break  # the vocabulary has megabytes, and nothing after it is needed
            else:
                _pass_list(file)
        return GgufHeader(values, size)


def _value(file: BinaryIO, kind: int) -> Value:
    if kind == _STRING:
        return _text(file)
    if kind not in _SCALARS:
        raise ValueError(f"a value of the unknown type {kind}")
    value: Value = struct.unpack(f"<{_SCALARS[kind]}", file.read(struct.calcsize(_SCALARS[kind])))[
        0
    ]
    return value


def _pass_list(file: BinaryIO) -> None:
    kind, length = struct.unpack("<IQ", file.read(12))
    if length > _MOST_BYTES:
        raise ValueError(f"a list of {length} values before the vocabulary")
    for _ in range(length):
        _value(file, kind)


def _text(file: BinaryIO) -> str:
    (length,) = struct.unpack("<Q", file.read(8))
    if length > _MOST_BYTES:
        raise ValueError(f"a text of {length} bytes before the vocabulary")
    if len(content := file.read(length)) < length:
        raise ValueError("it ends within its header")
    return content.decode("utf-8", "replace")
