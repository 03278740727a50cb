"""The table of models that can be fetched by a short name: ``weights.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

__all__ = ["TABLE", "Weights"]


@dataclass(frozen=True)
class Weights:
    """One model of the table; sizes are in bytes."""

    title: str
    licence: str
    file: str
    sha256: str
    size: int
    package: str
    """The packages of its parts; ``{}`` stands for the number, from 1."""
    version: str
    part_size: int
    """Bytes of each part but the last."""
    parts: tuple[str, ...]
    """The SHA-256 of each."""

    def bytes_of(self, number: int) -> int:
        """Returns the bytes of a part; the first is number 1."""
        return min(self.part_size, self.size - (number - 1) * self.part_size)


_ROWS = tomllib.loads(Path(__file__).with_name("weights.toml").read_text("utf-8"))
TABLE = {name: Weights(**{**row, "parts": tuple(row["parts"])}) for name, row in _ROWS.items()}
"""Models by short name."""
