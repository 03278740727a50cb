"""The limits of actions: those of `hisa.actions.values`, which a test compares with these.

They are repeated because the guest runs where nothing else of HiSA is, and because a client may
send it anything.
"""

from __future__ import annotations

__all__ = [
    "MAX_ACTIONS",
    "MAX_CLICKS",
    "MAX_COORDINATE",
    "MAX_INTERVAL",
    "MAX_KEYS",
    "MAX_PRESSES",
    "MAX_SCROLL",
    "MAX_SECONDS",
    "MAX_TEXT",
]

MAX_COORDINATE = 100_000  # chosen by hand
MAX_TEXT = 10_000  # chosen by hand
MAX_SECONDS = 60.0  # chosen by hand
MAX_INTERVAL = 1.0  # chosen by hand
MAX_CLICKS = 10  # chosen by hand
MAX_PRESSES = 200  # chosen by hand
MAX_SCROLL = 1_000  # chosen by hand
MAX_KEYS = 6  # chosen by hand
MAX_ACTIONS = 200  # chosen by hand
