"""Prints every value that a machine keeps below the home folder, as JSON.

Runs on the machine, after `guest_documents`: the system's Python and the standard library alone.
Files are hostile: a damaged one, a bomb or a pipe costs its own facts and ends nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import resource
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice

from hisa.plugins.synthesis.guest_documents import Cut, document

__all__ = ["main", "plain"]

HOME = os.path.realpath(os.path.expanduser("~"))
MOST, MOST_OF_ONE, MOST_FILES, LONGEST = 60_000, 8_000, 4_000, 4_000
MEMORY, SECONDS_OF_ONE = 1_500_000_000, 4.0
SKIPPED = re.compile(
    r"(?i)(^|/)(\.(cache|dbus|gvfs|git|xauthority|iceauthority|nfs.*|trash-\d+|xsession-errors.*"
    r"|goutputstream-.*|~lock\..*|lock|local/share/(gvfs-metadata|tracker.*|session)"
    r"|config/(dconf|pulse|glib-2\.0|libreoffice))"
    r"|[^/]*(cache|~|\.(log|lock|pid|sock|socket|tmp|bak|swp|part|crdownload)|-(wal|shm|journal))"
    r"|[^/]*(autosave|crash|singleton|recently[-_]?used)[^/]*|lock|__pycache__)$"
)
"""Paths that say nothing on any machine."""
BROWSER = {"Local State", "First Run", "SingletonLock", "profiles.ini"}
"""Files that tell a browser's own folder: its book-keeping changes with every page."""
Row = tuple[str, str, str, str]  # kind, place, item, value


def stop(*_: object) -> None:
    """End the reading of a file that takes too long, by `Cut`."""
    raise Cut("time")


def content(path: str, most: int = 20_000_000) -> bytes:
    """The bytes of a plain file. Raises: Cut where there are more."""
    with open(path, "rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise Cut("size")
    return data


def plain(value: str) -> str:
    """A value in the form that others of the same meaning have too: a truth, a whole number."""
    if value.lower() in ("true", "false"):
        return value.lower()
    return re.sub(r"^(-?[0-9]+)[.]0+$", r"\1", value)


def settings() -> Iterator[Row]:
    """Every key of the settings that have a fixed place."""
    words, quiet = ["gsettings", "list-recursively"], subprocess.DEVNULL
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        printed = subprocess.check_output(words, stdin=quiet, stderr=quiet, timeout=60)
        for line in printed.decode("utf-8", "replace").splitlines():
            if len(parts := line.split(" ", 2)) == 3:
                yield "gsettings", parts[0], parts[1], parts[2]


def ini(text: str) -> dict[str, str]:
    """Keys of a file of sections; empty where its lines are something else."""
    section, odd, pairs = "", 0, {}
    for line in map(str.strip, text.splitlines()):
        if not line or line[0] in "#;":
            continue
        key, equals, value = line.partition("=")
        if head := re.match(r"\[([^\]]*)\]\s*([#;].*)?$", line):
            section = head.group(1)
        elif equals and len(key) < 200 and "<" not in key:
            pairs[f"[{section}] {key.strip()}"] = value.strip()
        else:
            odd += 1
    return pairs if odd * 10 <= len(pairs) else {}


def of_content(path: str, place: str) -> Iterator[Row]:
    """Facts of a file's content; none where nothing is known of it."""
    end, hidden = path.rpartition(".")[2].lower(), "/." in place
    data = content(path)
    if end in ("ods", "odt", "ots", "ott") and data.startswith(b"PK"):
        yield from (("document", place, *row) for row in document(data))
    elif b"\0" not in data:
        text = data.decode("utf-8", "replace" if hidden else "strict")
        pairs = ini(text) if hidden else {}
        yield from (("ini", place, *row) for row in pairs.items())
        if not pairs and len(text) <= LONGEST:
            yield "text", place, "", text


def of_file(path: str, place: str) -> Iterator[Row]:
    """Facts of a plain file, within limits of time and number; else its size, hash and start."""
    known: list[Row] = []
    with contextlib.suppress(Exception):
        try:
            signal.setitimer(signal.ITIMER_PROF, SECONDS_OF_ONE)
            known = list(islice(of_content(path, place), MOST_OF_ONE + 1))
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    if 0 < len(known) <= MOST_OF_ONE:
        yield "file", place, "", "file"
        yield from known
        return
    summary = f"file {os.path.getsize(path)}"
    with contextlib.suppress(OSError, Cut):
        data = content(path)
        summary += f" {hashlib.sha256(data).hexdigest()[:16]} {data[:4].hex()}"
    yield "file", place, "", summary


def of_path(path: str, place: str) -> Iterator[Row]:
    """Facts of a folder, a link or a plain file; a pipe or a device has none."""
    mode = os.lstat(path).st_mode
    if stat.S_ISDIR(mode):
        yield "file", place, "", "folder"
    elif stat.S_ISLNK(mode):
        yield "file", place, "", f"link {os.readlink(path)}"
    elif stat.S_ISREG(mode):
        yield from of_file(path, place)


def facts_below() -> Iterator[Row]:
    """Every fact: settings, and what is below home, nothing behind a link."""
    yield from settings()
    left = MOST_FILES
    for folder, folders, files in os.walk(HOME):
        names = {*folders, *files}
        if BROWSER & names:
            folders.clear()
            continue
        under = "" if folder == HOME else f"{os.path.relpath(folder, HOME)}/"
        names = {name for name in names if not SKIPPED.search(under + name)}
        folders[:] = sorted(names.intersection(folders))
        for name in sorted(names)[:left]:
            with contextlib.suppress(OSError):
                yield from of_path(os.path.join(folder, name), f"~/{under}{name}")
        left = max(0, left - len(names))


def main() -> None:
    """Print the facts, and why where not all are there."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGPROF, stop)
    rows = []
    for row in islice(facts_below(), MOST + 1):
        texts = [text.encode("utf-8", "replace").decode() for text in row]
        if len(texts[3]) > LONGEST:
            digest = hashlib.sha256(texts[3].encode()).hexdigest()
            texts[3] = f"… {len(texts[3])} {digest}"
        if len(texts[1]) + len(texts[2]) < 2000:
            rows.append(texts)
    cut = f"more than {MOST} facts" if len(rows) > MOST else ""
    json.dump({"facts": rows, "cut": cut}, sys.stdout)


if __name__ == "__main__":
    main()
