"""Prints every value that this machine keeps below the home folder, as JSON.

Runs on the machine by itself: the system's Python, the standard library, and nothing of ours.
Files are hostile: a damaged one, a bomb or a pipe costs its own facts and ends nothing.
"""

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

from hisa.plugins.synthesis.guest_documents import LONGEST, Cut, attribute, document, parsed

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
BROWSER_KEEPS = ("Preferences", "Bookmarks")
"""Of a browser's folder, which holds a file "Local State"; the rest is its own book-keeping."""


def spend(seconds):
    """Let the processor work so long from now on, and no longer."""
    signal.setitimer(signal.ITIMER_PROF, seconds)


def stop(*_):
    raise Cut("time")


def content(path, most=READ):
    """The bytes of a plain file."""
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise Cut("no plain file")
        data = file.read(most + 1)
    if len(data) > most:
        raise Cut("size")
    return data


def text_of(data):
    """The text of a small file; None where it is none."""
    if len(data) > 4 * LONGEST or b"\0" in data:
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return text if len(text) <= LONGEST else None


# Settings


def settings():
    """The rows of `gsettings`: schema, key, value."""
    try:
        done = subprocess.run(
            ["gsettings", "list-recursively"], stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, timeout=30, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return
    for line in done.stdout.decode("utf-8", "replace").splitlines():
        words = line.split(" ", 2)
        if len(words) == 3:
            yield "gsettings", words[0], words[1], words[2]


def ini(data):
    """Keys of a file of sections; None where most of its lines are something else."""
    text, section, odd, pairs = data.decode("utf-8", "replace"), "", 0, {}
    for line in text.splitlines():
        line = line.strip()
        if not line or line[0] in "#;":
            continue
        key, equals, value = line.partition("=")
        head = re.match(r"\[([^\]]*)\]\s*([#;].*)?$", line)
        if head:
            section = head.group(1)
        elif equals and len(key) < 200 and "<" not in key:
            pairs["[%s] %s" % (section, key.strip())] = value.strip()
        else:
            odd += 1
    return pairs if pairs and odd * 10 <= len(pairs) else None


def flat(node, pointer=""):
    """Leaves of JSON by their pointers; a list of plain values is one leaf."""
    children = ()
    if isinstance(node, dict):
        children = node.items()
    elif isinstance(node, list) and any(isinstance(one, (dict, list)) for one in node):
        children = enumerate(node)
    if not children:
        yield pointer, json.dumps(node, ensure_ascii=False, sort_keys=True)
    for key, child in children:
        yield from flat(child, pointer + "/" + str(key).replace("~", "~0").replace("/", "~1"))


def registry(node, path=""):
    """Properties of an office program's changed settings, by their path."""
    for child in node:
        if child.tag == "item":
            yield from registry(child, attribute(child, "path"))
        elif child.tag == "node":
            yield from registry(child, path + "/" + attribute(child, "name"))
        elif child.tag == "prop":
            parts = [it.text or "" for it in child.iter("it")]
            value = "".join(v.text or "" for v in child.iter("value"))
            yield path + "/" + attribute(child, "name"), ";".join(parts) if parts else value


def rows(path):
    """Columns of a database's rows, each row by its primary key."""
    with tempfile.TemporaryDirectory() as folder:
        for end in ("", "-wal"):  # a copy: looking at one must not leave files beside it
            if os.path.exists(path + end):
                with open(folder + "/db" + end, "wb") as copy:
                    copy.write(content(path + end, DATABASE))
        base = sqlite3.connect(folder + "/db", timeout=1)
        base.text_factory = lambda raw: raw.decode("utf-8", "replace")
        turns = iter(range(4000))
        base.set_progress_handler(lambda: next(turns, None) is None, 10_000)
        base.execute("PRAGMA trusted_schema=OFF")
        base.execute("PRAGMA query_only=ON")
        made = base.execute("SELECT name, sql FROM sqlite_master WHERE type='table'").fetchall()
        for table, sql in made:
            if not str(sql).upper().startswith("CREATE TABLE") or table.startswith("sqlite_"):
                continue
            yield from table_rows(base, table)
        base.close()


def table_rows(base, table):
    named = '"' + table.replace('"', '""') + '"'
    columns = base.execute("PRAGMA table_info(%s)" % named).fetchall()
    keys = [c[1] for c in sorted(columns, key=lambda c: c[5]) if c[5]] or ["rowid"]
    picked = ", ".join('"' + k.replace('"', '""') + '"' for k in keys) if keys != ["rowid"] else "rowid"
    yield json.dumps([table]), ", ".join(str(c[1]) for c in columns)
    for row in base.execute("SELECT %s, * FROM %s" % (picked, named)):
        for column, value in zip(columns, row[len(keys) :]):
            if isinstance(value, bytes):
                value = "sha256:" + hashlib.sha256(value).hexdigest()
            address = json.dumps([table, list(map(str, row[: len(keys)])), column[1]])
            yield address, "NULL" if value is None else str(value)


# The whole home


def of_file(path, name, hidden):
    """Facts of a file's content: kind, item, value; None: it has none that is known here."""
    end = name.rpartition(".")[2].lower()
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW), "rb") as file:
        head = file.read(16)
    if head == b"SQLite format 3\0":
        return [("row", item, value) for item, value in rows(path)]
    data = content(path)
    if end in ("ods", "odt", "ots", "ott") and head[:2] == b"PK":
        return [("document", item, value) for item, value in document(data)]
    if end == "xcu":
        return [("xcu", item, value) for item, value in registry(parsed(data))]
    if hidden and b"\0" not in data:
        if data[:1] in (b"{", b"["):
            return [("json", item, value) for item, value in flat(json.loads(data))]
        pairs = ini(data)
        if pairs is not None:
            return [("ini", item, value) for item, value in pairs.items()]
    text = text_of(data)
    return None if text is None else [("text", "", text)]


def fingerprint(path, size):
    """The size of a file without facts, the hash of its bytes, and the first of them."""
    try:
        data = content(path, DATABASE)
    except (OSError, Cut):
        return "file %d" % size
    return "file %d %s %s" % (size, hashlib.sha256(data).hexdigest()[:16], data[:4].hex())


def entries():
    """Paths below home in order; nothing behind a link."""
    number = 0
    for folder, folders, files in os.walk(HOME):
        under = os.path.relpath(folder, HOME)
        browser = "Local State" in files or os.path.exists(os.path.join(folder, "../Local State"))
        folders[:] = sorted(f for f in folders if not SKIPPED_FOLDERS.search(os.path.normpath(under + "/" + f)))
        for name in sorted(folders) + sorted(files):
            path = os.path.join(folder, name)
            short = os.path.normpath(os.path.join(under, name))
            if SKIPPED.search(short) or (browser and name not in BROWSER_KEEPS):
                continue
            number += 1
            if number > MOST_FILES:
                return
            yield path, short, os.lstat(path)


def facts():
    """Every fact, with its kind, place, item and value."""
    yield from settings()
    for path, short, status in entries():
        place = "~/" + short
        if stat.S_ISDIR(status.st_mode):
            yield "file", place, "", "folder"
        elif stat.S_ISLNK(status.st_mode):
            yield "file", place, "", "link " + os.readlink(path)
        elif stat.S_ISREG(status.st_mode):
            known, left = None, signal.getitimer(signal.ITIMER_PROF)[0]
            hidden = short.startswith(".") or "/." in short
            try:
                spend(min(SECONDS_OF_ONE, left))
                known = of_file(path, os.path.basename(path), hidden)
            except (Exception, RecursionError):
                known = None
            used = min(SECONDS_OF_ONE, left) - signal.getitimer(signal.ITIMER_PROF)[0]
            spend(max(0.01, left - used))
            if known is None or len(known) > MOST_OF_ONE:
                yield "file", place, "", fingerprint(path, status.st_size)
                continue
            yield "file", place, "", "file"
            for kind, item, value in known:
                yield kind, place, item, value


def main():
    """Print the facts, and why where not all are there."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGPROF, stop)
    spend(SECONDS)
    found, cut = [], ""
    try:
        for kind, place, item, value in facts():
            if len(value) > LONGEST:
                value = "… %d %s" % (len(value), hashlib.sha256(value.encode("utf-8", "replace")).hexdigest())
            if len(place) + len(item) < 2000:
                found.append((kind, place, item, value))
            if len(found) >= MOST:
                cut = "more than %d facts" % MOST
                break
    except Cut as error:
        cut = str(error)
    spend(0)
    found = [[x.encode("utf-8", "replace").decode("utf-8") for x in row] for row in found]
    json.dump({"facts": found, "cut": cut}, sys.stdout, ensure_ascii=True)


if __name__ == "__main__":
    main()
