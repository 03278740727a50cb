"""Reads file names and folders in clauses about saving and opening."""

from __future__ import annotations

import posixpath
import re

from hisa.plugins.offline.instruction_records import Save
from hisa.plugins.offline.quotes import Masked

__all__ = ["looks_like_file", "read_saving"]

_VALUE = rf"(?P<value>{Masked.SLOT}|[^\s,]+)"
_NAME = re.compile(
    rf"\b(?:as|under|named|called)\s+(?:(?:the|a|an)\s+)?(?:(?:file\s+)?name\s+|file\s+)?{_VALUE}",
    re.I,
)
_FOLDER = re.compile(
    r"\b(?:in|into|inside|to|at)\s+(?:(?:the|my)\s+)?(?P<before>(?:folder|directory)\s+)?"
    rf"{_VALUE}(?P<after>\s+(?:folder|directory))?",
    re.I,
)
_SAME = re.compile(
    r"|it|this|that|(?:(?:the|your|all|my)\s+)?(?:new\s+)?(?:file|document|changes?|work|spreadsheet|workbook"
    r"|text|sheet|presentation|again|progress)",
    re.I,
)
_FORMAT = re.compile(r"\b(?:in|with)\s+(?:(?:the|a|an)\s+)?\S+\s+(?:format|encoding)\b", re.I)
_FILE = re.compile(r"(?:~|\.{1,2})?/\S.*|[a-z][a-z0-9+.-]*://\S+|[^\s/]+\.[A-Za-z][A-Za-z0-9]{0,5}")
_HOME_FOLDERS = frozenset({"documents", "desktop", "downloads", "pictures", "music", "videos"})


def looks_like_file(text: str) -> bool:
    """Whether a text is a path, an address or a file name with an extension."""
    return _FILE.fullmatch(text.strip()) is not None


def read_saving(rest: str, masked: Masked) -> Save | None:
    """Reads "save …" with a new name, or with the old one (an empty path).

    Returns None if it cannot be read, or says more than where to save.
    """
    named = _NAME.search(rest)
    name = _read_value(named, masked)
    folder = ""
    rest = rest[: named.start()] + rest[named.end() :] if named else rest
    for match in _FOLDER.finditer(rest):
        value = _read_value(match, masked)
        is_folder = match["before"] or match["after"] or value.lower() in _HOME_FOLDERS
        if is_folder or value.startswith(("/", "~")):
            folder = value
            rest = rest[: match.start()] + rest[match.end() :]
            break
    if not name and (quoted := masked.first(rest)):
        name = quoted
        rest = re.sub(rf"(?:\b(?:as|to|under)\s+)?{Masked.SLOT}", "", rest, count=1)
    if (name or folder) and not _SAME.fullmatch(_FORMAT.sub("", rest).strip(" ,")):
        return None
    if name:
        return Save(_join_path(folder, name))
    if "." in posixpath.basename(folder):
        return Save(folder)
    return Save() if _SAME.fullmatch(masked.plain(rest).strip(" .")) else None


def _read_value(match: re.Match[str] | None, masked: Masked) -> str:
    if match is None:
        return ""
    value = masked.value(match["value"])
    return value if masked.is_quoted(match["value"]) else value.rstrip(".,;:!?")


def _join_path(folder: str, name: str) -> str:
    """Returns one path; folders such as "documents" are in the home folder."""
    if not folder or name.startswith(("/", "~")):
        return name
    if folder.lower() in _HOME_FOLDERS:
        folder = f"~/{folder.capitalize()}"
    return f"{folder.rstrip('/')}/{name}"
