"""The table of models that can be fetched by a short name: ``weights.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["TABLE", "Weights", "read_table"]


@dataclass(frozen=True)
class Weights:
    """One model of the table.

    Args:
        title: what it is, for people.
        licence: its SPDX name.
        file: the name of its file.
        sha256: of the whole file.
        size: its bytes.
        package: the packages that hold its parts; ``{}`` stands for the number, from 1.
        version: of each package.
        part_size: bytes of each part but the last.
        parts: the SHA-256 of each part.
    """

    title: str
    licence: str
    file: str
    sha256: str
    size: int
    package: str
    version: str
    part_size: int
    parts: tuple[str, ...]

    def bytes_of(self, number: int) -> int:
        """Returns the bytes of a part; the first is number 1."""
        return min(self.part_size, self.size - (number - 1) * self.part_size)

    def requirement(self, number: int) -> str:
        """Returns the requirement that names the package of a part."""
        return f"{self.package.format(number)}=={self.version}"


def read_table(text: str) -> Mapping[str, Weights]:
    """Models by short name, from TOML with a table for each."""
    rows: dict[str, dict[str, Any]] = tomllib.loads(text)
    return {name: Weights(**{**row, "parts": tuple(row["parts"])}) for name, row in rows.items()}


TABLE = read_table(Path(__file__).with_name("weights.toml").read_text("utf-8"))
