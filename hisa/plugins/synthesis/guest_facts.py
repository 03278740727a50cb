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
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import Element

from hisa.plugins.synthesis.guest_documents import LONGEST, Cut, attribute, document, parsed

__all__ = ["main"]

HOME = os.path.realpath(os.path.expanduser("~"))
MOST, MOST_OF_ONE, MOST_FILES = 60_000, 8_000, 4_000
READ, DATABASE = 4_000_000, 20_000_000
SECONDS_OF_ONE, SECONDS, MEMORY = 4.0, 40.0, 1_500_000_000
SKIPPED_FOLDERS = re.compile(
    r"(^|/)(\.cache|\.dbus|\.gvfs|\.git|\.Trash-\d+|\.local/share/(gvfs-metadata|tracker.*)"
    r"|\.config/(dconf|pulse|glib-2\.0)|[^/]*[Cc]ache|Crashpad|__pycache__)$"
)
SKIPPED = re.compile(
    r"(^|/)(\.Xauthority|\.ICEauthority|\.xsession-errors.*|\.goutputstream-.*|\.~lock\..*"
    r"|[^/]*\.(log|lock|pid|swp|part|crdownload)|lock|\.lock|[Ss]ingleton[^/]*"
    r"|[^/]*-(wal|shm|journal)|recently-used\.xbel[^/]*|\.nfs.*)$"
)
BROWSER_KEEPS = ("Preferences", "Bookmarks", "Default")
"""Of a browser's folder, which holds a file "Local State"; the rest is its own book-keeping."""
Row = tuple[str, str, str, str]
"""Kind, place, item, value."""


def stop(*_: object) -> None:
    """End the reading of a file that takes too long.

    Raises:
        Cut: always.
    """
    raise Cut("time")


def opened(path: str) -> Any:
    """A plain file to read; no pipe, device or link is waited for or followed."""
    file = open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW), "rb")  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise Cut("no plain file")
    return file


def content(path: str, most: int = READ) -> bytes:
    """The bytes of a plain file.

    Raises:
        Cut: there are more.
    """
    with opened(path) as file:
        data: bytes = file.read(most + 1)
    if len(data) > most:
        raise Cut("size")
    return data


def settings() -> Iterator[Row]:
    """Every key of the settings that have a fixed place."""
    words = ["gsettings", "list-recursively"]
    try:
        done = subprocess.run(
            words, capture_output=True, stdin=subprocess.DEVNULL, timeout=60, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return
    for line in done.stdout.decode("utf-8", "replace").splitlines():
        schema, _, rest = line.partition(" ")
        key, _, value = rest.partition(" ")
        if value:
            yield "gsettings", schema, key, value


def ini(data: bytes) -> dict[str, str]:
    """Keys of a file of sections; empty where its lines are something else."""
    section, odd, pairs = "", 0, {}
    for line in map(str.strip, data.decode("utf-8", "replace").splitlines()):
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


def flat(node: Any, pointer: str = "") -> Iterator[tuple[str, str]]:
    """Leaves of JSON by their pointers; a list of plain values is one leaf."""
    children: list[tuple[Any, Any]] = []
    if isinstance(node, dict):
        children = list(node.items())
    elif isinstance(node, list) and any(isinstance(one, (dict, list)) for one in node):
        children = list(enumerate(node))
    if not children:
        yield pointer, json.dumps(node, ensure_ascii=False, sort_keys=True)
    for key, child in children:
        yield from flat(child, f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}")


def registry(node: Element, path: str = "") -> Iterator[tuple[str, str]]:
    """Properties of an office program's changed settings, by their path."""
    for child in node:
        if child.tag == "item":
            yield from registry(child, attribute(child, "path"))
        elif child.tag == "node":
            yield from registry(child, f"{path}/{attribute(child, 'name')}")
        elif child.tag == "prop":
            parts = [part.text or "" for part in child.iter("it")]
            value = "".join(part.text or "" for part in child.iter("value"))
            yield f"{path}/{attribute(child, 'name')}", ";".join(parts) if parts else value


def quoted(name: str) -> str:
    """A name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def rows(path: str) -> Iterator[tuple[str, str]]:
    """Columns of a database's rows, each row by its primary key."""
    with tempfile.TemporaryDirectory() as folder:
        for end in ("", "-wal"):  # a copy: looking at one must not leave files beside it
            with contextlib.suppress(FileNotFoundError), open(f"{folder}/db{end}", "wb") as copy:
                copy.write(content(path + end, DATABASE))
        turns = iter(range(4000))
        with contextlib.closing(sqlite3.connect(f"{folder}/db")) as base:
            base.text_factory = lambda raw: raw.decode("utf-8", "replace")
            base.set_progress_handler(lambda: next(turns, None) is None, 10_000)
            base.execute("PRAGMA trusted_schema=OFF")
            made = "SELECT name FROM sqlite_master WHERE type='table' AND sql LIKE 'CREATE TABLE%'"
            for (table,) in base.execute(made).fetchall():
                if not table.startswith("sqlite_"):
                    yield from table_rows(base, table)


def table_rows(base: sqlite3.Connection, table: str) -> Iterator[tuple[str, str]]:
    """The columns of a table, and its values."""
    columns = base.execute(f"PRAGMA table_info({quoted(table)})").fetchall()
    keys = [column[1] for column in sorted(columns, key=lambda c: c[5]) if column[5]]
    picked = ", ".join(map(quoted, keys)) or "rowid"
    yield json.dumps([table]), ", ".join(column[1] for column in columns)
    for row in base.execute(f"SELECT {picked}, * FROM {quoted(table)}"):
        own = list(map(str, row[: len(keys) or 1]))
        for column, value in zip(columns, row[len(own) :], strict=True):
            if isinstance(value, bytes):
                value = f"sha256:{hashlib.sha256(value).hexdigest()}"
            yield json.dumps([table, own, column[1]]), "NULL" if value is None else str(value)


def of_file(path: str, hidden: bool) -> list[tuple[str, str, str]]:
    """Facts of a file's content: kind, item, value; none where nothing is known of it."""
    end = path.rpartition(".")[2].lower()
    with opened(path) as file:
        head = file.read(16)
    if head == b"SQLite format 3\0":
        return [("row", *row) for row in rows(path)]
    data = content(path)
    if end in ("ods", "odt", "ots", "ott") and head[:2] == b"PK":
        return [("document", *row) for row in document(data)]
    if end == "xcu":
        return [("xcu", *row) for row in registry(parsed(data))]
    if hidden and data[:1] in (b"{", b"["):
        with contextlib.suppress(ValueError):
            return [("json", *row) for row in flat(json.loads(data))]
    if hidden and b"\0" not in data and (pairs := ini(data)):
        return [("ini", *row) for row in pairs.items()]
    if len(data) > 4 * LONGEST or b"\0" in data:
        return []
    text = data.decode("utf-8")
    return [("text", "", text)] if len(text) <= LONGEST else []


def known_of(path: str, hidden: bool) -> list[tuple[str, str, str]]:
    """As `of_file`, within limits of time and number, whatever the file is."""
    left = signal.getitimer(signal.ITIMER_PROF)[0]
    here = min(SECONDS_OF_ONE, left)
    signal.setitimer(signal.ITIMER_PROF, here)
    facts: list[tuple[str, str, str]] = []
    with contextlib.suppress(Exception):
        facts = of_file(path, hidden)
    spent = here - signal.getitimer(signal.ITIMER_PROF)[0]
    signal.setitimer(signal.ITIMER_PROF, max(0.01, left - spent))
    return facts if len(facts) <= MOST_OF_ONE else []


def fingerprint(path: str, size: int) -> str:
    """The size of a file without facts, the hash of its bytes, and the first of them."""
    try:
        data = content(path, DATABASE)
    except (OSError, Cut):
        return f"file {size}"
    return f"file {size} {hashlib.sha256(data).hexdigest()[:16]} {data[:4].hex()}"


def entries() -> Iterator[tuple[str, str]]:
    """Paths below home in order, absolute and from there; nothing behind a link."""
    number = 0
    for folder, folders, files in os.walk(HOME):
        under = os.path.relpath(folder, HOME)
        state = os.path.join(os.path.dirname(folder), "Local State")
        browser = "Local State" in files or (folder != HOME and os.path.exists(state))
        if browser:
            folders[:] = [name for name in folders if name in BROWSER_KEEPS]
        kept = (f for f in folders if not SKIPPED_FOLDERS.search(os.path.normpath(f"{under}/{f}")))
        folders[:] = sorted(kept)
        for name in (*folders, *sorted(files)):
            short = os.path.normpath(os.path.join(under, name))
            if SKIPPED.search(short) or (browser and name not in BROWSER_KEEPS):
                continue
            number += 1
            if number > MOST_FILES:
                return
            yield os.path.join(folder, name), short


def facts_below() -> Iterator[Row]:
    """Every fact."""
    yield from settings()
    for path, short in entries():
        place = f"~/{short}"
        try:
            status = os.lstat(path)
        except OSError:
            continue
        if stat.S_ISDIR(status.st_mode):
            yield "file", place, "", "folder"
        elif stat.S_ISLNK(status.st_mode):
            yield "file", place, "", f"link {os.readlink(path)}"
        elif stat.S_ISREG(status.st_mode):
            known = known_of(path, short.startswith(".") or "/." in short)
            yield "file", place, "", "file" if known else fingerprint(path, status.st_size)
            yield from ((kind, place, item, value) for kind, item, value in known)


def main() -> None:
    """Print the facts, and why where not all are there."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    rows_, cut = [], ""
    try:
        for kind, place, item, value in facts_below():
            if len(value) > LONGEST:
                digest = hashlib.sha256(value.encode("utf-8", "replace")).hexdigest()
                value = f"… {len(value)} {digest}"
            if len(place) + len(item) < 2000:
                row = (kind, place, item, value)
                rows_.append([one.encode("utf-8", "replace").decode() for one in row])
            if len(rows_) >= MOST:
                raise Cut(f"more than {MOST} facts")
    except Cut as error:
        cut = str(error)
    signal.setitimer(signal.ITIMER_PROF, 0)
    json.dump({"facts": rows_, "cut": cut}, sys.stdout)


if __name__ == "__main__":
    main()
