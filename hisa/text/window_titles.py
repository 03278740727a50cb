"""Titles of windows as they read.

The X server's title of a window and the name that its tree tells differ in what nobody sees: marks
of writing direction around a right-to-left title, blanks at an end. The guest of a private desktop
has a copy of this function, because nothing of HiSA can be imported where it runs.
"""

from __future__ import annotations

import unicodedata

__all__ = ["plain_title"]


def plain_title(text: str) -> str:
    """The title without signs that show nothing, with single blanks."""
    if not text.isascii():
        text = "".join(sign for sign in text if unicodedata.category(sign) != "Cf")
    return " ".join(text.split())
