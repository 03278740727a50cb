"""The size of a text caret, which blinks even on an idle screen.

The guest imports nothing from HiSA and has separate limits for the time until a screen settles.
"""

from __future__ import annotations

__all__ = ["CARET_HEIGHT", "CARET_WIDTH"]

CARET_WIDTH = 3
"""Widest caret, in image pixels."""
CARET_HEIGHT = (6, 40)
"""Least and greatest height of a caret, in image pixels: a dot is lower, a border higher."""
