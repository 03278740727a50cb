"""The socket by which a run is steered."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["socket_path"]


def socket_path(run_id: str) -> Path:
    """The socket of a run."""
    base = Path(os.environ.get("XDG_RUNTIME_DIR") or "/tmp") / f"hisa-{os.getuid()}"
    return base / "live" / f"{run_id}.sock"
