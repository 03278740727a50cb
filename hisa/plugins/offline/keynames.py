"""Reads keys named in English: "Ctrl+S", "the Enter key three times", "Page Down"."""

from __future__ import annotations

import re

from hisa.actions.keys import MODIFIERS, normalise_key
from hisa.actions.values import MAX_PRESSES
from hisa.errors import ActionRefused
from hisa.plugins.offline.instruction_records import Press

__all__ = ["read_number", "read_presses"]

_COUNTED = "zero one two three four five six seven eight nine ten eleven twelve"
_NUMBERS = {word: number for number, word in enumerate(_COUNTED.split())}
_NUMBERS |= {"once": 1, "twice": 2, "thrice": 3}
_TIMES = re.compile(
    rf"\s+(?:(once|twice|thrice)|(\d{{1,4}}|{'|'.join(_NUMBERS)})\s*(?:times|x))$", re.I
)
_WORDS = re.compile(r"\b(?:the|keys?|keyboard|shortcut|combination|hotkey|on|your|arrow)\b", re.I)
_SYMBOLS = {"plus": "+", "minus": "-", "comma": ",", "period": ".", "slash": "/", "dot": "."}


def read_number(word: str) -> int | None:
    """Reads a number in digits, or in words up to twelve; None for other words."""
    lower = word.lower()
    if lower.isascii() and lower.isdigit():
        return min(int(lower[:6]), MAX_PRESSES)
    return _NUMBERS.get(lower)


def read_presses(text: str) -> tuple[Press, ...]:
    """Returns the keys that a phrase names, in order; empty if it names anything else."""
    if len(text) > 200:
        return ()
    presses = []
    for part in re.split(
        r"\s*,\s*(?:and\s+|then\s+)?|\s+(?:and|then|followed by)\s+", text.strip()
    ):
        press = _read_press(part)
        if press is None:
            return ()
        presses.append(press)
    return tuple(presses)


def _read_press(text: str) -> Press | None:
    times = 1
    times_match = _TIMES.search(text)
    if times_match:
        times = read_number(times_match[1] or times_match[2]) or 1
        text = text[: times_match.start()]
    if re.fullmatch(r"\S", text.strip()):
        pieces = [text.strip()]
    else:
        bare = " ".join(_WORDS.sub(" ", text).split())
        pieces = [piece for piece in re.split(r"\s*\+\s*", bare) if piece]
    if len(pieces) == 1:
        pieces = _pressed_together(pieces[0])
    keys = [_key(piece, alone=len(pieces) == 1) for piece in pieces]
    known = tuple(key for key in keys if key is not None)
    if not known or len(known) != len(keys):
        return None
    if len(known) > 1 and not all(key in MODIFIERS for key in known[:-1]):
        return None
    return Press(known, times)


def _pressed_together(text: str) -> list[str]:
    """Reads "ctrl-s" and "ctrl shift s" as their keys, and anything else as one key."""
    parts = re.split(r"[\s-]+", text)
    if len(parts) > 1 and all(_key(part, alone=False) in MODIFIERS for part in parts[:-1]):
        return parts
    return [text]


def _key(name: str, *, alone: bool) -> str | None:
    """Returns one key; a letter with others is lower case, since Shift is named separately."""
    name = _SYMBOLS.get(name.lower(), name)
    try:
        key = normalise_key(name)
    except ActionRefused:
        return None
    return key if alone or len(key) > 1 else key.lower()
