"""A look as policies read it: the words to type, and its elements as numbers. Needs no torch."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from hisa.errors import UsageError
from hisa.plugins.training.base import Act, Item, Look

__all__ = ["GRAMS", "MAX_WORDS", "NUMBERS", "Features", "features", "grams", "instruction_words"]

GRAMS = 4096
"""Buckets of character n-grams; collisions are rare among the few hundred words of the pages."""
NUMBERS = 9
"""Columns of `Features.numbers`."""
MAX_WORDS = 40
"""Most words of an instruction; chosen by hand."""
_WORD = re.compile(r"[A-Za-z0-9\-_@#]+(?:\.[A-Za-z0-9\-_@#]+)*|[^\sA-Za-z0-9]")
_MOST_ITEMS = 256
"""Most elements, in reading order; small pages have up to 60, a whole desktop thousands."""
_MOST_GRAMS = 60
"""Most n-grams of one text, the shorter ones first; a text of 20 characters has all of its own."""


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """One look as numbers, with W words and E elements.

    The columns of ``numbers`` are left, top, width and height as shares of the screen; checked;
    focused; holds typed text; whether its name, and whether its value, is in the instruction, 0.5
    if only in other letter case.
    """

    words: tuple[str, ...]  # of the instruction, [W]
    names: tuple[str, ...]  # of the elements, [E]
    numbers: NDArray[np.float32]  # [E, 9]
    roles: tuple[str, ...]  # of the elements, [E]
    takes_text: NDArray[np.bool_]  # [E]

    def allows(self, act: Act) -> bool:
        """Whether an act's element and word exist, and the element takes text if some is typed."""
        if act.kind == "done":
            return act.item == act.word == -1
        if not 0 <= act.item < len(self.names):
            return False
        typable = bool(self.takes_text[act.item]) and 0 <= act.word < len(self.words)
        return typable if act.kind == "type" else act.word == -1

    def require(self, act: Act) -> None:
        """Refuses an act that this look does not allow.

        Raises:
            UsageError: the act is not allowed, see `allows`.
        """
        if not self.allows(act):
            fields = np.flatnonzero(self.takes_text).tolist()
            items, words = f"items 0 to {len(self.names) - 1}", f"words 0 to {len(self.words) - 1}"
            raise UsageError(
                f"{act}: this look allows done, click on {items}, and type {words} into {fields}",
                fix="hisa train sft --help",
            )


def instruction_words(text: str) -> tuple[str, ...]:
    """Returns the words of a text in order, at most `MAX_WORDS`; `Act.word` is an index into them.

    Letters, digits, ``-_@#`` and full stops between them make a word. Any other sign is a separate
    word, so that quotes around a text to type, and a full stop after it, are not part of it.
    """
    return tuple(match.group() for match in islice(_WORD.finditer(text), MAX_WORDS))


@lru_cache(maxsize=4096)
def features(look: Look) -> Features:
    """Returns the numbers of a look; elements beyond the 256th are left out."""
    words, items = instruction_words(look.instruction), look.items[:_MOST_ITEMS]
    instruction = _join_words(words)
    numbers = [_numbers(item, instruction) for item in items]
    return Features(
        words,
        tuple(item.name for item in items),
        np.array(numbers, np.float32).reshape(-1, NUMBERS),
        tuple(item.role for item in items),
        np.array([item.takes_text for item in items], np.bool_),
    )


@lru_cache(maxsize=1 << 16)
def grams(text: str) -> tuple[int, ...]:
    """Returns the buckets of a text's character n-grams, n up to 3, and of a short text itself."""
    bounded = f"^{text[:200].lower()}$"
    pieces = [bounded] if len(bounded) < 30 else []
    for n in (1, 2, 3):
        pieces += [bounded[i : i + n] for i in range(len(bounded) - n + 1)]
    first_pieces = pieces[:_MOST_GRAMS]
    return tuple(zlib.crc32(piece.encode("utf-8", "replace")) % GRAMS for piece in first_pieces)


def _numbers(item: Item, instruction: str) -> tuple[float, ...]:
    filled = bool(item.value) and item.takes_text
    shown = (_rate_words(item.name, instruction), _rate_words(item.value, instruction))
    return (*item.box, item.checked, item.focused, filled, *shown)


def _rate_words(text: str, instruction: str) -> float:
    """Returns 1 if an instruction has the words of a text, 0.5 if only in other letter case."""
    words = _join_words(instruction_words(text))
    if words == "  ":
        return 0
    return 1 if words in instruction else 0.5 * (words.lower() in instruction.lower())


def _join_words(words: tuple[str, ...]) -> str:
    return f" {' '.join(words)} "
