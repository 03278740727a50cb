"""Takes quoted strings out of English text, so that splitting and matching ignore them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

__all__ = ["Masked", "mask"]

_OPEN, _CLOSE = "\ue000", "\ue001"
_CLOSERS = {'"': r'(?<!\\)"', "„": "[“”]", "'": r"'(?!\w)", "“": "”", "«": "»", "‘": "’"}
_CLOSERS |= {mark: mark for mark in ("```", "`")}
"""Patterns of the closing marks."""
_OPENER = re.compile(r"```|[\"“„«`‘']")
_FENCE_LANGUAGE = re.compile(r"(?:bash|sh|shell|console|text)?[ \t]*\n")
_SLOT = re.compile(f"{_OPEN}(\\d+){_CLOSE}")
_BLANKS = re.compile(r"[^\S\n]+")


@dataclass
class Masked:
    """Text whose quoted strings are numbered slots.

    ``SLOT`` is the pattern of one slot, for use inside other patterns.
    """

    text: str
    quoted: list[str] = field(default_factory=list)

    SLOT = f"{_OPEN}\\d+{_CLOSE}"

    def first(self, part: str) -> str | None:
        """Returns the first quoted string of a part of the text; None if there is none."""
        match = _SLOT.search(part)
        return self.quoted[int(match[1])] if match else None

    def words(self, part: str) -> str:
        """Returns a part with its quoted strings restored, each in quotation marks."""
        return _SLOT.sub(lambda slot: _requote(self.quoted[int(slot[1])]), part).strip()

    def plain(self, part: str) -> str:
        """Returns a part with its quoted strings restored, without quotation marks."""
        return _SLOT.sub(lambda slot: self.quoted[int(slot[1])], part).strip()

    def value(self, part: str) -> str:
        """Returns the value of a part: a quoted string verbatim, or else its words."""
        return (self.first(part) or "") if self.is_quoted(part) else self.plain(part)

    def is_quoted(self, part: str) -> bool:
        """Whether the part is one quoted string and nothing else."""
        return _SLOT.fullmatch(part.strip()) is not None


def mask(text: str) -> Masked:
    r"""Takes quoted strings out: straight, curly, angle and back quotes, and fenced blocks.

    Quoted text stays verbatim, except that ``\"`` inside straight double quotes is a quotation
    mark. An unpaired quotation mark is an ordinary character, and so is an apostrophe.
    Takes time linear in the length of the text.
    """
    text = text.replace("\r\n", "\n")
    finder = _Finder(text)
    masked = Masked("")
    pieces: list[str] = []
    position = 0
    while opener := _OPENER.search(text, position):
        end = finder.end(opener)
        if end is None:
            pieces.append(_clean(text[position : opener.end()]))
            position = opener.end()
            continue
        pieces.append(_clean(text[position : opener.start()]))
        pieces.append(f"{_OPEN}{len(masked.quoted)}{_CLOSE}")
        masked.quoted.append(_content(opener.group(), text[opener.end() : end[0]]))
        position = end[1]
    pieces.append(_clean(text[position:]))
    masked.text = "".join(pieces)
    return masked


def _requote(text: str) -> str:
    return f"“{text}”" if '"' in text else f'"{text}"'


def _clean(text: str) -> str:
    """Removes slot characters from a text, since only `mask` may add slots, and extra blanks."""
    return _BLANKS.sub(" ", text.replace(_OPEN, " ").replace(_CLOSE, " "))


def _content(mark: str, inner: str) -> str:
    if mark == "```":
        return _FENCE_LANGUAGE.sub("", inner, count=1).strip("\n")
    return inner.replace('\\"', '"') if mark == '"' else inner


class _Finder:
    """Finds the closing mark of a quotation mark; the next one of each kind is cached."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._known: dict[str, int] = {}

    def end(self, opener: re.Match[str]) -> tuple[int, int] | None:
        """Returns start and end of the closing mark; None if there is none."""
        mark, after = opener.group(), opener.end()
        if mark == "'" and opener.start() and self._text[opener.start() - 1].isalnum():
            return None
        at = self._find_next(_CLOSERS[mark], after)
        if at < 0 or (mark == "'" and 0 <= self._find_next("\n", after) < at):
            return None
        return at, at + (3 if mark == "```" else 1)

    def _find_next(self, closer: str, after: int) -> int:
        known = self._known.get(closer)
        if known is None or 0 <= known < after:
            match = re.compile(closer).search(self._text, after)
            known = self._known[closer] = match.start() if match else -1
        return known
