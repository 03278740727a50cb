"""Lists the files that a run made on a machine, and those that match patterns.

It runs on that machine, with Python alone. It only reads names and sizes, and the numbers of files
and folders that it reads are limited.
"""

from __future__ import annotations

import glob
import itertools
import json
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["MAX_FILES", "listing"]

MAX_FILES = 200
"""Most files that are listed of the home folder, and of each pattern: more than a person reads."""
_MAX_FOLDERS = 1000  # chosen by hand
_MAX_DEPTH = 8  # chosen by hand


def listing(since: int | None, patterns: Iterable[str]) -> dict[str, Any]:
    """Returns lists of files as JSON data.

    Args:
        since: nanoseconds since 1970: files of the home folder that were made or changed later
            are listed, except in hidden folders. None: no such list.
        patterns: file names as a shell has them, with ``**`` for any folders. A folder stands for
            all files below it; a relative name is below the home folder.
    """
    home = os.path.expanduser("~")
    changed_files = (
        [] if since is None else list(itertools.islice(_find_changed(home, since), MAX_FILES + 1))
    )
    files_by_pattern = {}
    for pattern in patterns:
        matches = list(itertools.islice(_find_matches(home, pattern), MAX_FILES + 1))
        files_by_pattern[pattern] = {"files": matches[:MAX_FILES], "more": len(matches) > MAX_FILES}
    return {
        "home": home,
        "made": {"files": changed_files[:MAX_FILES], "more": len(changed_files) > MAX_FILES},
        "wanted": files_by_pattern,
    }


def _find_changed(home: str, since: int) -> Iterator[dict[str, Any]]:
    for path in _below(home, hidden=False):
        about = _plain(path)
        if about is not None and max(about.st_mtime_ns, about.st_ctime_ns) > since:
            yield _describe_file(path, about.st_size)


def _is_own(place: str, name: str) -> bool:
    """Whether a folder belongs to the home: not hidden, and not a mounted folder of the host."""
    return not name.startswith(".") and not os.path.ismount(os.path.join(place, name))


def _find_matches(home: str, pattern: str) -> Iterator[dict[str, Any]]:
    full = os.path.join(home, os.path.expanduser(pattern))
    paths = [full] if os.path.lexists(full) else sorted(glob.iglob(full, recursive=True))
    known_paths = set()
    for path in paths:
        if path != full and os.path.islink(path) and os.path.isdir(path):
            continue  # a linked folder was not asked for
        for file_path in _below(path, hidden=True) if os.path.isdir(path) else [path]:
            about = _plain(file_path)
            if about is not None and file_path not in known_paths:
                known_paths.add(file_path)
                yield _describe_file(file_path, about.st_size)


def _describe_file(path: str, size: int) -> dict[str, Any]:
    """Returns a file as JSON data; if its name is not valid text, its bytes are escaped."""
    shown = os.fsencode(path).decode("utf-8", "backslashreplace")
    return {"path": shown, "size": size, "text": shown == path}


def _plain(path: str) -> os.stat_result | None:
    try:
        about = os.stat(path)
    except (OSError, ValueError):
        return None
    return about if stat.S_ISREG(about.st_mode) else None


def _below(root: str, *, hidden: bool) -> Iterator[str]:
    for folders, (place, inside, files) in enumerate(os.walk(root)):
        if folders >= _MAX_FOLDERS:
            return
        deep = place.count(os.sep) - root.count(os.sep) >= _MAX_DEPTH
        inside[:] = [] if deep else sorted(n for n in inside if hidden or _is_own(place, n))
        for name in sorted(files):
            if hidden or not name.startswith("."):
                yield os.path.join(place, name)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(listing(*json.loads(sys.argv[1]))))
