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
from itertools import islice
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from hisa.plugins.synthesis.guest_documents import Cut, document, parsed

__all__ = ["main"]

HOME = os.path.realpath(os.path.expanduser("~"))
MOST, MOST_OF_ONE, MOST_FILES, LONGEST = 60_000, 8_000, 4_000, 4_000
READ, DATABASE, MEMORY, SECONDS_OF_ONE = 4_000_000, 20_000_000, 1_500_000_000, 4.0
SKIPPED = re.compile(
    r"(?i)(^|/)(\.(cache|dbus|gvfs|git|xauthority|iceauthority|nfs.*|trash-\d+|xsession-errors.*"
    r"|goutputstream-.*|~lock\..*|lock|local/share/(gvfs-metadata|tracker.*|session)"
    r"|config/(dconf|pulse|glib-2\.0|libreoffice/\d+/user/(?!registrymodifications\.xcu).*))"
    r"|[^/]*(cache|~|\.(log|lock|pid|sock|socket|tmp|bak|swp|part|crdownload)|-(wal|shm|journal))"
    r"|[^/]*(autosave|crash|singleton|recently[-_]?used)[^/]*|lock|__pycache__)$"
)
"""Paths that say nothing on any machine."""
BROWSER = {"Local State", "First Run", "SingletonLock", "profiles.ini"}
"""Files that tell a browser's own folder: of what it holds only what a person sets is read."""
BROWSER_SETTINGS = re.compile(
    r"/(roots/.*/(name|url)|homepage.*|browser/(show_home_button|theme/.*)|bookmark_bar/.*"
    r"|session/(restore_on_startup|startup_urls)|(webkit/webprefs|download|translate)/.*|savefile/"
    r"default_directory|partition/default_zoom_level/.*|enable_do_not_track|safebrowsing/enabled"
    r"|credentials_enable_service|profile/default_content_setting_values/(?!has_migrated).*)$"
)
Row = tuple[str, str, str, str]
"""Kind, place, item, value."""


def stop(*_: object) -> None:
    """End the reading of a file that takes too long.

    Raises:
        Cut: always.
    """
    raise Cut("time")


def content(path: str, most: int = READ) -> bytes:
    """The bytes of a plain file.

    Raises:
        Cut: there are more.
    """
    with open(path, "rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise Cut("size")
    return data


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
            yield from registry(child, child.get("path", ""))
        elif child.tag == "node":
            yield from registry(child, f"{path}/{child.get('name', '')}")
        elif child.tag == "prop":
            parts = [part.text or "" for part in child.iter("it")]
            value = "".join(part.text or "" for part in child.iter("value"))
            yield f"{path}/{child.get('name', '')}", ";".join(parts) if parts else value


def rows(path: str) -> Iterator[tuple[str, str]]:
    """Columns of a database's rows, each row by its primary key, and those of its tables."""
    with tempfile.TemporaryDirectory() as folder:
        for end in ("", "-wal"):  # a copy: looking at one must not leave files beside it
            with contextlib.suppress(FileNotFoundError), open(f"{folder}/db{end}", "wb") as copy:
                copy.write(content(path + end, DATABASE))
        with contextlib.closing(sqlite3.connect(f"{folder}/db")) as base:
            base.text_factory = lambda raw: raw.decode("utf-8", "replace")
            base.set_progress_handler(lambda: 0, 10_000)  # lets the time run out
            base.execute("PRAGMA trusted_schema=OFF")
            made = "SELECT name FROM sqlite_master WHERE type='table' AND sql LIKE 'CREATE TABLE%'"
            for (table,) in base.execute(made).fetchall():
                columns = base.execute("SELECT name, pk FROM pragma_table_info(?)", [table])
                keys: dict[str, int] = dict(columns.fetchall())
                yield json.dumps([table]), ", ".join(keys)
                named = [quoted(n) for n in sorted(keys, key=keys.__getitem__) if keys[n]]
                picked, many = ", ".join(named or ["rowid"]), len(named) or 1
                for row in base.execute(f"SELECT {picked}, * FROM {quoted(table)}"):
                    for column, value in zip(keys, row[many:], strict=True):
                        if isinstance(value, bytes):
                            value = f"sha256:{hashlib.sha256(value).hexdigest()}"
                        item = json.dumps([table, [*map(str, row[:many])], column])
                        yield item, "NULL" if value is None else str(value)


def quoted(name: str) -> str:
    """A name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def of_file(path: str, hidden: bool) -> Iterator[tuple[str, str, str]]:
    """Facts of a file's content: kind, item, value; none where nothing is known of it."""
    end = path.rpartition(".")[2].lower()
    data = content(path, DATABASE)
    if data.startswith(b"SQLite format 3\0"):
        yield from (("row", *row) for row in rows(path))
    elif len(data) > READ:
        return
    elif end in ("ods", "odt", "ots", "ott") and data.startswith(b"PK"):
        yield from (("document", *row) for row in document(data))
    elif end == "xcu":
        yield from (("xcu", *row) for row in registry(parsed(data)))
    elif b"\0" not in data:
        text = data.decode("utf-8", "replace" if hidden else "strict")
        with contextlib.suppress(ValueError):
            if hidden and text[:1] in ("{", "["):
                tree = json.loads(text)
                yield from (("json", *row) for row in flat(tree))
                return
        pairs = ini(text) if hidden else {}
        yield from (("ini", *row) for row in pairs.items())
        if not pairs and len(text) <= LONGEST:
            yield "text", "", text


def known_of(path: str, hidden: bool) -> list[tuple[str, str, str]]:
    """As `of_file`, within limits of time and number, whatever the file is."""
    facts: list[tuple[str, str, str]] = []
    with contextlib.suppress(Exception):
        try:
            signal.setitimer(signal.ITIMER_PROF, SECONDS_OF_ONE)
            facts = list(islice(of_file(path, hidden), MOST_OF_ONE + 1))
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    return facts if len(facts) <= MOST_OF_ONE else []


def browser(folder: str, place: str) -> Iterator[Row]:
    """Settings and bookmarks that a person made, of each of a browser's profiles."""
    for path in sorted([*Path(folder).glob("*/Preferences"), *Path(folder).glob("*/Bookmarks")]):
        for kind, item, value in known_of(str(path), True):
            if BROWSER_SETTINGS.match(item):
                yield kind, f"{place}/{path.relative_to(folder)}", item, value


def of_path(path: str, place: str) -> Iterator[Row]:
    """Facts of a folder, a link or a plain file."""
    status = os.lstat(path)
    if stat.S_ISDIR(status.st_mode):
        yield "file", place, "", "folder"
    elif stat.S_ISLNK(status.st_mode):
        yield "file", place, "", f"link {os.readlink(path)}"
    elif stat.S_ISREG(status.st_mode):
        if known := known_of(path, "/." in place):
            yield "file", place, "", "file"
            yield from ((kind, place, item, value) for kind, item, value in known)
            return
        seen = f"file {status.st_size}"
        with contextlib.suppress(OSError, Cut):
            data = content(path, DATABASE)
            seen += f" {hashlib.sha256(data).hexdigest()[:16]} {data[:4].hex()}"
        yield "file", place, "", seen


def facts_below() -> Iterator[Row]:
    """Every fact: settings, and what is below home, nothing behind a link."""
    yield from settings()
    left = MOST_FILES
    for folder, folders, files in os.walk(HOME):
        under = os.path.relpath(folder, HOME)
        if BROWSER & {*files, *folders}:
            folders.clear()
            yield from browser(folder, f"~/{under}")
            continue
        folders[:] = sorted(
            f for f in folders if not SKIPPED.search(os.path.normpath(f"{under}/{f}"))
        )
        for name in (*folders, *sorted(files)):
            short = os.path.normpath(f"{under}/{name}")
            if left > 0 and not SKIPPED.search(short):
                left -= 1
                with contextlib.suppress(OSError):
                    yield from of_path(os.path.join(folder, name), f"~/{short}")


def main() -> None:
    """Print the facts, and why where not all are there."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGPROF, stop)
    kept = []
    for row in islice(facts_below(), MOST + 1):
        texts = [text.encode("utf-8", "replace").decode() for text in row]
        if len(texts[3]) > LONGEST:
            digest = hashlib.sha256(texts[3].encode()).hexdigest()
            texts[3] = f"… {len(texts[3])} {digest}"
        if len(texts[1]) + len(texts[2]) < 2000:
            kept.append(texts)
    cut = f"more than {MOST} facts" if len(kept) > MOST else ""
    json.dump({"facts": kept, "cut": cut}, sys.stdout)


if __name__ == "__main__":
    main()
