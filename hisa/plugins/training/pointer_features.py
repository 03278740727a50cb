"""Numbers of a look: its words and its elements, as a pointer network reads them.

Nothing here needs torch. Looks are frozen, so that their numbers are kept and made once.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from hisa.errors import UsageError
from hisa.plugins.training.episodes import Act, Item, Look
from hisa.plugins.training.instruction_words import instruction_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["GRAMS", "MOST_ITEMS", "NUMBERS", "ROLES", "Features", "features", "grams"]

GRAMS = 4096
"""Buckets of character n-grams; two collide rarely among the few hundred words of the pages."""
ROLES = 64
"""Buckets of roles; the trees of Chromium and GTK name about forty between them."""
NUMBERS = 9
"""Columns of `Features.numbers`."""
MOST_ITEMS = 256
"""Elements that count, in reading order; small pages have up to 60, a whole desktop thousands."""
_MOST_GRAMS = 60
"""Of one text, the shorter ones first: those of 20 characters whole."""
_MOST_CHARACTERS = 200
"""Of a name or value that are read."""


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """One look in numbers, of W words and E elements.

    Args:
        words: of the instruction, [W].
        names: of the elements, [E].
        numbers: float32 [E, 9]: left, top, width and height as shares of the screen; checked;
            focused; whether text was typed into it; whether its name, and whether its value, is
            in the instruction.
        roles: bucket of the role, int64 [E].
        takes_text: bool [E].
    """

    words: tuple[str, ...]
    names: tuple[str, ...]
    numbers: NDArray[np.float32]
    roles: NDArray[np.int64]
    takes_text: NDArray[np.bool_]

    def require(self, act: Act) -> None:
        """Refuse an act that this look does not allow.

        Raises:
            UsageError: its element or its word is not there, or the element takes no text.
        """
        item, word = act.item, act.word
        if act.kind == "done":
            allowed = item == word == -1
        elif not 0 <= item < len(self.names):
            allowed = False
        elif act.kind == "click":
            allowed = word == -1
        else:
            allowed = bool(self.takes_text[item]) and 0 <= word < len(self.words)
        if not allowed:
            typable_items = np.flatnonzero(self.takes_text).tolist()
            raise UsageError(
                f"{act}: this look allows done, click on items 0 to {len(self.names) - 1}, and "
                f"type into items {typable_items} of words 0 to {len(self.words) - 1}",
                fix="hisa train sft, on episodes that were recorded with this version's looks",
            )


@lru_cache(maxsize=4096)
def features(look: Look) -> Features:
    """Returns the numbers of a look; elements beyond the 256th are left out."""
    words = instruction_words(look.instruction)
    items = look.items[:MOST_ITEMS]
    instruction = _spaced(words)
    numbers = np.zeros((len(items), NUMBERS), np.float32)
    for row, item in enumerate(items):
        numbers[row] = _numbers(item, instruction)
    return Features(
        words,
        tuple(item.name[:_MOST_CHARACTERS] for item in items),
        numbers,
        np.array([zlib.crc32(item.role.encode()) % ROLES for item in items], np.int64),
        np.array([item.takes_text for item in items], np.bool_),
    )


@lru_cache(maxsize=1 << 16)
def grams(text: str) -> tuple[int, ...]:
    """Returns the buckets of a text's character n-grams, n up to 3, and of a short text itself."""
    bounded = f"^{text.lower()}$"
    pieces = [bounded] if len(bounded) < 30 else []
    for n in (1, 2, 3):
        pieces += [bounded[i : i + n] for i in range(len(bounded) - n + 1)]
    return tuple(
        zlib.crc32(piece.encode("utf-8", "replace")) % GRAMS for piece in pieces[:_MOST_GRAMS]
    )


def _numbers(item: Item, instruction: str) -> tuple[float, ...]:
    filled = bool(item.value) and item.takes_text
    named, valued = (_occurs(text, instruction) for text in (item.name, item.value))
    return (*item.box, item.checked, item.focused, filled, named, valued)


@lru_cache(maxsize=1 << 16)
def _occurs(text: str, instruction: str) -> bool:
    words = instruction_words(text[:_MOST_CHARACTERS])
    return bool(words) and _spaced(words) in instruction


def _spaced(words: Sequence[str]) -> str:
    return f" {' '.join(words)} ".lower()
