"""What every route of the live page stands on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hisa.config import Settings

__all__ = ["ServerContext"]


@dataclass(frozen=True)
class ServerContext:
    """Settings of the server, and where it looks."""

    settings: Settings
    roots: tuple[Path, ...]
    """Folders of runs, such as ``runs`` and ``benches/first/runs``."""
    benches: tuple[Path, ...] = ()
    """Folders of bench folders, and bench folders themselves."""
