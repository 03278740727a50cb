"""File names and folders in clauses about saving and opening."""

from __future__ import annotations

import posixpath
import re

from hisa.offline.quotes import Masked
from hisa.offline.records import Save, SaveAs

__all__ = ["looks_like_file", "read_saving"]

_VALUE = rf"(?P<value>{Masked.SLOT}|[^\s,]+)"
_PIECE = re.compile(
    r"\b(?P<how>as|under|named|called|in|into|inside|to|at)\b\s+"
    r"(?:(?:the|a|an|my)\s+)?(?:(?:file\s+)?(?:name|path)\s+|file\s+(?:named\s+|called\s+)?"
    rf"|(?:folder|directory|location)\s+)?{_VALUE}(?P<after>\s+(?:folder|directory))?",
    re.I,
)
_SAME = re.compile(
    r"|it|this|that|(?:the|your|all|my)?\s*(?:file|document|changes?|work|spreadsheet|workbook|text"
    r"|sheet|presentation|again|and|progress)(?:\s+(?:changes?|again|now))?",
    re.I,
)
_FILE = re.compile(r"(?:~|\.{1,2})?/\S.*|[a-z][a-z0-9+.-]*://\S+|[^\s/]+\.[A-Za-z][A-Za-z0-9]{0,5}")
_FORMAT = re.compile(
    r"(?:it|(?:the\s+)?(?:file|document|spreadsheet|workbook|sheet|presentation))\s+"
    r"(?:using|in|with|as)\s+(?:the\s+|an?\s+)?(?P<format>.+?)\s+(?:file\s+)?format",
    re.I,
)
_ENDINGS = (
    ("excel 97", ".xls"),
    ("xlsx", ".xlsx"),
    ("excel", ".xlsx"),
    ("csv", ".csv"),
    ("ods", ".ods"),
    ("odf", ".ods"),
    ("docx", ".docx"),
    ("word", ".docx"),
    ("powerpoint", ".pptx"),
)
"""What a format's name holds, and the ending of its files."""
_HOME_FOLDERS = frozenset(["documents", "desktop", "downloads", "pictures", "music", "videos"])
_WORDS = frozenset(
    [
        "csv",
        "pdf",
        "txt",
        "text",
        "ods",
        "odt",
        "xlsx",
        "docx",
        "html",
        "format",
        "a",
        "an",
        "the",
        "new",
        "plain",
        "usual",
    ]
)


def looks_like_file(text: str) -> bool:
    """Whether a text is a path, an address or a file name with an extension."""
    return _FILE.fullmatch(text.strip()) is not None


def read_saving(rest: str, masked: Masked) -> Save | SaveAs | None:
    """What "save …" asks for: a new name, the old one, or nothing that can be read."""
    name = folder = ""
    for piece in _PIECE.finditer(rest):
        quoted = masked.is_quoted(piece["value"])
        value = masked.plain(piece["value"])
        if not quoted:
            value = value.rstrip(".,;:!?")
            if value.lower() in _WORDS:
                continue
        if _is_folder(piece, value, quoted=quoted, named=bool(name)):
            folder = folder or value
        elif not name and (
            quoted or looks_like_file(value) or piece["how"].lower() in ("as", "named", "called")
        ):
            name = value
    if not name and (first := masked.first(rest)) is not None and first != folder:
        name = first
    if name:
        return SaveAs(_joined(folder, name))
    if folder and looks_like_file(folder) and "." in posixpath.basename(folder):
        return SaveAs(folder)
    if form := _FORMAT.fullmatch(masked.plain(rest).strip(" .")):
        ending = next((end for name, end in _ENDINGS if name in form["format"].lower()), "")
        return Save(ending) if ending else None
    return Save() if _SAME.fullmatch(masked.plain(rest).strip(" .")) else None


def _is_folder(piece: re.Match[str], value: str, *, quoted: bool, named: bool) -> bool:
    """After "as" stands a name; elsewhere a folder is one by its look or by the word."""
    how = piece["how"].lower()
    if how in ("as", "named", "called", "under"):
        return False
    if piece["after"] or re.search(r"\b(?:folder|directory)\b", piece.group(), re.I):
        return True
    if value.endswith("/") or value.lower() in _HOME_FOLDERS:
        return True
    return value.startswith(("/", "~")) and ("." not in posixpath.basename(value) or named)


def _joined(folder: str, name: str) -> str:
    """One path; a folder known by name alone is in the home folder."""
    if not folder or name.startswith(("/", "~")):
        return name
    if folder.lower() in _HOME_FOLDERS:
        folder = f"~/{folder.capitalize()}"
    return f"{folder.rstrip('/')}/{name}"
