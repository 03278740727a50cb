"""The settings and folders that every route of the live page uses."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hisa.config import Settings

__all__ = ["ID", "ServerContext", "folders", "is_regular"]

ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
"""The name of a run or bench."""


@dataclass(frozen=True)
class ServerContext:
    """The settings of the server, and the folders in which it looks for runs."""

    settings: Settings
    roots: tuple[Path, ...]
    """Folders of runs, such as ``runs`` and ``benches/first/runs``."""
    benches: tuple[Path, ...] = ()
    """Folders of bench folders, and bench folders themselves."""

    def bench_folders(self) -> Iterator[Path]:
        """Yields the folders of benches."""
        for place in self.benches:
            for folder in (place, *folders(place)):
                if is_regular(folder / "bench.json"):
                    yield folder


def folders(root: Path) -> list[Path]:
    """Returns the folders in a folder that may be runs or benches, without links."""
    with suppress(OSError), os.scandir(root) as entries:
        children = [e for e in entries if ID.fullmatch(e.name) and e.is_dir(follow_symlinks=False)]
        return [root / entry.name for entry in children]
    return []


def is_regular(path: Path) -> bool:
    """Whether a path is a file, and not a link to one."""
    return path.is_file() and not path.is_symlink()
