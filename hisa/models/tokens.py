"""Deterministic upper estimates of tokens, for hard limits and for servers that report no usage.

No tokenizer is loaded: the estimate has to be the same for every model and cheap, and a limit kept
by it has to be kept in real tokens too. So each kind of character costs what the worst of nine
vocabularies takes for it (GPT-4, GPT-4o, Qwen, Llama 3 and 4, Claude, DeepSeek, both of Mistral's):
a digit is a token, a letter of a script that some vocabulary does not know its bytes. English comes
out at about 1.3 times the worst count; ``benchmarks/tokens.py`` measures it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise

from hisa.protocols import ModelRequest, TextPart

__all__ = ["estimate_input", "estimate_tokens", "longest", "prefix_within"]

_UNIT = 20
"""Costs are counted in twentieths of a token, so that sums are exact."""

_COMMON = (
    "abcdgiklmnprstuvy baeilorsu cacehiklortu daeiosu eabcdefgilmnprstvwxy faefioru gehinoru "
    "haeiort iabcdefglmnoprstv keis ladeilostuy maeilmops nacdefgikostu obcdfglmnoprstuvw "
    "paeiloprstuy qu racdegimnorstuy sacehikopstuy tacehilorstuy uabcegilmnprst vaei waehio xpt yps"
)
"""The 220 pairs of letters that make up 92% of English text: a first letter, then its seconds.

Noise is recognised by its uncommon pairs, and costs nearly a token for each.
"""
_PAIRS = frozenset(group[0] + second for group in _COMMON.split() for second in group[1:])

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_BLANK = re.compile(r" (?=[^\sA-Za-z!-/:-@\[-`{-~])")
"""A blank before a digit or a character outside ASCII, which seldom joins what follows."""
_BLANKS = re.compile(r"  +")
_FREE = frozenset(" ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")

_RANGES = (
    (0x0080, 0x00FF, 28),  # Latin-1
    (0x0370, 0x03FF, 35),  # Greek
    (0x0400, 0x045F, 24),  # Cyrillic
    (0x05D0, 0x05FF, 31),  # Hebrew
    (0x0600, 0x06FF, 28),  # Arabic
    (0x0900, 0x097F, 38),  # Devanagari
    (0x0E00, 0x0E7F, 40),  # Thai
    (0x3040, 0x30FF, 33),  # Kana
)
"""Measured costs of scripts that cost less than their bytes, even in random order."""


def estimate_tokens(text: str, /) -> int:
    """An upper estimate of the tokens of a text.

    A prefix never has more tokens than the whole, so a text can be cut by bisection.
    """
    return -(-_cost(text) // _UNIT)


def _cost(text: str) -> int:
    """Returns the cost of a text: the sum over its lines and line breaks."""
    lines = text.split("\n")
    costs = (_known_line(line) if len(line) <= _SHORT else _line(line) for line in lines)
    return sum(costs) + _UNIT * (len(lines) - 1)


def _line(text: str) -> int:
    cost = sum(map(_word, _WORD.findall(text)))
    cost += sum(_char(char) * times for char, times in Counter(text).items() if char not in _FREE)
    cost += _UNIT * len(_BLANK.findall(text))
    return cost + sum(_UNIT + 2 * len(run) for run in _BLANKS.findall(text))


_SHORT = 1_000
"""Characters of a line whose cost is kept."""
_known_line = lru_cache(maxsize=1 << 12)(_line)
"""Most lines of a request, the history's above all, are in the next one too."""
_known_cost = lru_cache(maxsize=32)(_cost)
"""Caches texts that every request repeats, above all the prompts of the roles."""


@lru_cache(maxsize=1 << 14)
def _word(word: str) -> int:
    """The cost of letters that stand together: capitals, or one at most and small letters."""
    if len(word) > 1 and word[1].isupper():
        return _UNIT + 15 * (len(word) - 1)  # less than a token for each
    letters = word.lower()
    uncommon = sum(first + second not in _PAIRS for first, second in pairwise(letters))
    return min(_UNIT * len(word), _UNIT + 18 * uncommon + 6 * max(0, len(word) - 4))


@lru_cache(maxsize=1 << 14)
def _char(char: str) -> int:
    """The cost of a character that is no ASCII letter."""
    if char.isascii():
        return _UNIT
    number = ord(char)
    for first, last, cost in _RANGES:
        if first <= number <= last:
            return cost
    size = len(char.encode("utf-8", "surrogatepass"))
    return _UNIT * size if not 0x4E00 <= number <= 0x9FFF else _hanzi(char)


def _hanzi(char: str) -> int:
    """Less than their bytes for the 3,755 characters that simplified Chinese uses most."""
    try:
        common = char.encode("gb2312")[0] <= 0xD7
    except UnicodeEncodeError:
        common = False
    return 45 if common else 3 * _UNIT


def estimate_input(request: ModelRequest, /, *, image_tokens: int) -> int:
    """Tokens of a request: text and tools, ``image_tokens`` a picture, 4 a message."""
    texts = [
        part.text for turn in request.messages for part in turn.parts if isinstance(part, TextPart)
    ]
    texts += [str(dict(tool)) for tool in request.tools]
    cost = sum(map(_known_cost, texts)) + _UNIT * max(0, len(texts) - 1)
    return -(-cost // _UNIT) + request.images * image_tokens + 4 * len(request.messages)


def prefix_within(text: str, tokens: int, *, end: str = "") -> str:
    """The longest beginning of ``text`` that has, with ``end`` after it, at most ``tokens``."""
    return text[: longest(len(text), lambda size: estimate_tokens(text[:size] + end) <= tokens)]


def longest(most: int, fits: Callable[[int], bool]) -> int:
    """The largest size in 0..``most`` that fits, 0 where none does; ``fits`` must be monotone.

    The size is doubled before it is halved, so that a huge text costs no more than what fits.
    """
    high = 1
    while high < most and fits(high):
        high *= 2
    low, high = 0, min(high, most)
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low
