"""The folders of this machine in which the commands of an agent may write.

Nothing that lies there is believed later: ``hisa`` reads no settings from such a folder. A folder
in which something is that programs of this machine run or obey is never taken.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hisa.errors import UsageError

__all__ = ["checked_folder", "fresh_folder", "remember", "written_by_agents"]

_OBEYED = {
    "hisa.toml": "settings of HiSA",
    ".git": "a Git repository",
    "pyvenv.cfg": "a virtual environment",
    "run.json": "runs of HiSA, with their settings",
    "bench.json": "a bench of HiSA, with its settings",
}
"""Names of what the next program of this machine obeys, and what they are."""
_MOST = 200_000
"""Files that are looked through: about a second."""
_FIX = "--set environment.display.folder=AN-EMPTY-FOLDER, or leave it out: a fresh one is made"


def _home() -> Path:
    return Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share").expanduser() / "hisa/display"


def fresh_folder() -> Path:
    """A new, empty folder of this user alone."""
    home = _home() / "folders"
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix="run-", dir=home)).resolve()


def checked_folder(folder: Path) -> Path:
    """Returns a folder that was chosen, as its real path; makes it if it is missing.

    Raises:
        UsageError: it holds what this machine obeys, or lies in such.
    """
    path = folder.expanduser().resolve()
    for own, what in ((Path.home(), "your home"), (Path.cwd(), "the present folder")):
        if own.resolve().is_relative_to(path):
            raise _refused(path, f"it is or holds {what}, where settings lie")
    for above in (path, *path.parents):
        if above.name == ".git" or (above / "pyvenv.cfg").exists():
            raise _refused(path, f"it lies in {above}, which programs of this machine obey")
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise _refused(path, str(error.strerror)) from error
    seen = 0
    for place, folders, names in os.walk(path):
        seen += len(folders) + len(names)
        for name in sorted({*folders, *names} & _OBEYED.keys()):
            raise _refused(path, f"{Path(place, name)} is {_OBEYED[name]}")
        if seen > _MOST:
            raise _refused(path, f"it holds more than {_MOST} files, too many to look through")
    return path


def _refused(path: Path, why: str) -> UsageError:
    return UsageError(f"environment.display.folder = {str(path)!r}: {why}", fix=_FIX)


def remember(folder: Path) -> None:
    """Write down that commands of an agent may write in a folder."""
    _home().mkdir(mode=0o700, parents=True, exist_ok=True)
    with (_home() / "chosen").open("a", encoding="utf-8", errors="surrogateescape") as file:
        file.write(f"{folder}\n")


def written_by_agents(path: Path) -> bool:
    """Whether a file lies where the commands of an agent may once have written it."""
    try:
        chosen = (_home() / "chosen").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        chosen = ""
    folders = {_home() / "folders", *map(Path, chosen.splitlines())}
    return any(path.resolve().is_relative_to(folder.resolve()) for folder in folders)
