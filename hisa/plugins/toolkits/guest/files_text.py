"""Reads and writes text files; runs inside the machine."""

from __future__ import annotations

import codecs
import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .files_common import Refused, path_of, serve, to_bin

LARGEST = 64 << 20
"""Bytes of the largest file that is read: nobody writes larger texts."""
MOST_CHARACTERS = 200_000
"""Most characters that an answer holds; the tool keeps fewer of them."""
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def _find_encoding(data: bytes, requested: str) -> str:
    if requested:
        try:
            return codecs.lookup(requested).name
        except LookupError as error:
            raise Refused(f"no encoding {requested!r}; try utf-8, utf-16 or latin-1") from error
    for mark, name in MARKS:
        if data.startswith(mark):
            return name
    if b"\0" in data[:8192]:
        raise Refused("it is not text: it has zero bytes")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def _load(path: Path, requested: str) -> tuple[str, str]:
    """Returns the text of a file and its encoding."""
    if not path.is_file():
        raise Refused(f"there is no file {str(path)!r}")
    if path.stat().st_size > LARGEST:
        raise Refused(
            f"{str(path)!r} has {path.stat().st_size:,} bytes; at most {LARGEST:,} are read"
        )
    data = path.read_bytes()
    try:
        encoding = _find_encoding(data, requested)
        return data.decode(encoding), encoding
    except Refused as error:
        raise Refused(f"{str(path)!r}: {error}") from error
    except UnicodeDecodeError:
        if requested:
            raise Refused(f"{str(path)!r} is not in {requested}") from None
        return data.decode("latin-1"), "latin-1"


def read(path: str, first: int, last: int, encoding: str) -> dict[str, Any]:
    """Returns lines of a text file; numbers below 0 count from its end.

    Args:
        path: absolute, or from the home folder on.
        first: number of the first line, from 1; -20: the twentieth from the end.
        last: number of the last line; -1: the last of the file.
        encoding: a codec of Python; empty: found from the file's bytes.
    """
    target = path_of(path)
    text, used = _load(target, encoding)
    lines = text.splitlines()
    count = len(lines)
    begin = max(1, first if first > 0 else count + 1 + first)
    end = min(count, last if last > 0 else count + 1 + last)
    part = "\n".join(lines[begin - 1 : end])
    half = MOST_CHARACTERS // 2
    if len(part) > MOST_CHARACTERS:
        part = (
            f"{part[:half]}\n… {len(part) - MOST_CHARACTERS} characters left out …\n{part[-half:]}"
        )
    return {
        "path": str(target),
        "text": part,
        "first": begin,
        "last": max(end, begin - 1),
        "lines": count,
        "encoding": used,
    }


def _store(path: Path, text: str, encoding: str) -> dict[str, Any]:
    """Puts a text in a file's place in one step, and reads it back."""
    try:
        data = text.encode(encoding)
    except UnicodeEncodeError as error:
        raise Refused(f"{encoding} has no {text[error.start]!r}; nothing was written") from error
    real = Path(os.path.realpath(path))
    mode = real.stat().st_mode & 0o7777 if real.exists() else 0o666 & ~_mask()
    number, name = tempfile.mkstemp(dir=real.parent, prefix=".writing-")
    try:
        with os.fdopen(number, "wb") as file:
            file.write(data)
        os.chmod(name, mode)
        os.replace(name, real)
    except OSError:
        os.unlink(name)
        raise
    if real.read_bytes() != data:
        raise Refused(f"{str(path)!r} does not read back as it was written")
    return {
        "path": str(path),
        "lines": len(text.splitlines()),
        "bytes": len(data),
        "encoding": encoding,
    }


def _mask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write(path: str, text: str, encoding: str, overwrite: bool) -> dict[str, Any]:
    """Writes a whole file; an earlier one goes to the bin.

    Args:
        path: absolute, or from the home folder on; missing folders are made.
        text: the whole contents.
        encoding: a codec of Python; empty: UTF-8.
        overwrite: whether a file may be there already.
    """
    target = path_of(path)
    used = _find_encoding(b"", encoding or "utf-8")
    note = ""
    if os.path.lexists(target):
        if target.is_dir():
            raise Refused(f"{str(target)!r} is a folder")
        if not overwrite:
            raise Refused(f"{str(target)!r} already exists; with overwrite it goes to the bin")
        text.encode(used, "strict" if used.startswith("utf") else "replace")
        to_bin(target)
        note = "the earlier file is in the bin"
    target.parent.mkdir(parents=True, exist_ok=True)
    return {**_store(target, text, used), "note": note}


def replace(path: str, find: str, replacement: str, *, regex: bool) -> dict[str, Any]:
    """Replaces text in a file; its encoding and line ends stay.

    Args:
        path: absolute, or from the home folder on.
        find: the text, or a regular expression in which ^ and $ mean a line's ends.
        replacement: the new text; of a regular expression, with groups such as "\\1".
        regex: whether `find` is a regular expression.
    """
    target = path_of(path)
    before, used = _load(target, "")
    if "\r\n" in before and "\r\n" not in find and not regex:
        find, replacement = (text.replace("\n", "\r\n") for text in (find, replacement))
    try:
        pattern = re.compile(find if regex else re.escape(find), re.MULTILINE)
        new = replacement if regex else replacement.replace("\\", r"\\")
        after, count = pattern.subn(new, before)
    except (re.error, IndexError) as error:
        raise Refused(f"{find!r} with {replacement!r}: {error}") from error
    if not find or not count:
        raise Refused(f"{find!r} is not in {str(target)!r}; nothing was changed")
    changed = _list_changed_lines(before, after)
    return {**_store(target, after, used), "made": count, "changed": changed}


def _list_changed_lines(before: str, after: str) -> list[str]:
    """Returns the first lines that changed, with their numbers."""
    old = set(before.splitlines())
    lines = enumerate(after.splitlines(), 1)
    return [f"{number}: {line[:200]}" for number, line in lines if line not in old][:10]


FUNCTIONS: dict[str, Callable[..., dict[str, Any]]] = {
    "read": read,
    "write": write,
    "replace": replace,
}


if __name__ == "__main__":
    serve(FUNCTIONS, {UnicodeError: ""})
