"""Which command opens a file where no desktop environment chooses one."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

__all__ = ["opener_of"]

_OPENERS: Mapping[str, str] = {
    "xlsx xls ods csv tsv": "libreoffice --calc",
    "docx doc odt rtf": "libreoffice --writer",
    "pptx ppt odp": "libreoffice --impress",
    "html htm pdf svg": "google-chrome",
    "txt md json py sh log yaml yml": "gedit",
}
"""Commands that open a file where no desktop environment chooses one, by its extension."""


def opener_of(path: str) -> str:
    """The command that opens a file of that extension, without the file; empty: none known."""
    ending = posixpath.splitext(path)[1].lstrip(".").lower()
    return next((line for ends, line in _OPENERS.items() if ending in ends.split()), "")
