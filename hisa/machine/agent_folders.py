"""The folders of this machine in which an agent's commands may write.

Nothing in them is trusted later: ``hisa`` reads no settings from such a folder.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

__all__ = ["fresh_folder", "written_by_agents"]


def _home() -> Path:
    return Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share").expanduser() / "hisa/display"


def fresh_folder() -> Path:
    """Makes a new, empty folder that only this user can enter."""
    home = _home() / "folders"
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix="run-", dir=home)).resolve()


def written_by_agents(path: Path) -> bool:
    """Whether an agent's commands may have written a file at this path."""
    try:  # older versions let the user choose folders
        chosen = (_home() / "chosen").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        chosen = ""
    folders = {_home() / "folders", *map(Path, chosen.splitlines())}
    return any(path.resolve().is_relative_to(folder.resolve()) for folder in folders)
