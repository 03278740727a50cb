"""Normalises window titles.

The title of a window in the X server and in its accessibility tree may differ in what nobody sees:
marks of writing direction around a right-to-left title, or blanks at an end. The guest of a private
desktop has a copy of this function, because it cannot import HiSA.
"""

from __future__ import annotations

import unicodedata

__all__ = ["plain_title"]


def plain_title(text: str) -> str:
    """Returns the title without invisible characters, with single blanks."""
    if not text.isascii():
        text = "".join(sign for sign in text if unicodedata.category(sign) != "Cf")
    return " ".join(text.split())
