"""What every route of the live page stands on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hisa.config import Settings

__all__ = ["AskRun", "ServerContext"]

AskRun = Callable[[str, Mapping[str, Any]], Awaitable[tuple[dict[str, Any], bytes]]]
"""Asks the socket of the run with this id one request; its answer, and the raw bytes after it. An
answer with ``ok`` false where nobody listens there, or it takes too long."""


async def _nobody(run: str, request: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
    return {"ok": False, "error": f"nobody listens for run {run}"}, b""


@dataclass(frozen=True)
class ServerContext:
    """Settings of the server, where it looks, and how a run is asked."""

    settings: Settings
    roots: tuple[Path, ...]
    """Folders of runs, such as ``runs`` and ``benches/first/runs``."""
    benches: tuple[Path, ...] = ()
    """Folders of bench folders, and bench folders themselves."""
    ask_run: AskRun = _nobody
