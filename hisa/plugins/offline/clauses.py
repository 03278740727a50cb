"""Splits English text into clauses of one instruction each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from hisa.plugins.matching.grammar import phrase
from hisa.plugins.offline.quotes import Masked
from hisa.plugins.offline.verbs import VERBS

__all__ = ["Clause", "split_clauses"]

MAX_CLAUSE = 5000
"""Most characters of an instruction, without quoted strings."""
_MARKER = re.compile(
    r"[ \t]*(?:(?P<number>(?:step[ \t]*)?\d{1,3}[.):]|\(\d{1,3}\))|[-*•·–])[ \t]+", re.I
)
_SENTENCE = re.compile(
    rf"(?<=[.!?;])\s+|;|\n{{2,}}|(?<={Masked.SLOT[-1]})\s+(?=(?=[A-Z])(?i:{VERBS})\b)"
)
"""A sentence ends at its mark, or after a quoted string if a capitalised verb follows."""
_THEN = re.compile(
    rf"(?<!\bthe)[,;]?\s+(?:and\s+)?(?:{phrase('then', 'steps')}|(?-i:next)(?!\s+to\b))\s*,?\s+",
    re.I,
)
_AND_VERB = re.compile(rf"(?:,\s*(?:and\s+)?|\s+and\s+)(?=(?:{VERBS})\b(?!-))")
_FILLER = re.compile(
    rf"(?:{phrase('filler', 'steps')}|(?:we|you|i)(?=\s+(?:{VERBS})\b))\b[,:]?(?:\s+|$)", re.I
)
_REMARK = re.compile(
    rf"{phrase('thanks', 'steps')}\b(?!.*,)"
    rf"|{phrase('before_remark', 'steps')}"
    rf"(?:{phrase('remark', 'steps')}|(?:we|i|they)(?!\s+(?:{VERBS})\b))\b"
    rf"(?!.*(?:\b{phrase('demand', 'steps')}\b"
    r"|\bshould (?!(?:now )?see\b)|\b(?:has|have|is|are) to\b|n't\b|'d\b))",
    re.I | re.S,
)
"""A sentence that only informs: "You will see a list", but not "It must be red"."""
_PLACE = re.compile(
    rf"\s*(?:(?:then|and|now|next|please),?\s+)?{phrase('place', 'steps')}\b"
    rf"(?!.*,\s(?:{VERBS})\b)",
    re.I,
)
_STARTS = re.compile(rf"\s*(?:{_FILLER.pattern})*(?:{VERBS})\b", re.I)


@dataclass(frozen=True, slots=True)
class Clause:
    """A piece of masked text.

    ``item`` is the number of an item of a numbered list, from 1; such a clause is certainly a step,
    even if its words are not understood. It is 0 for prose. ``remark`` is set for a sentence that
    asks for nothing.
    """

    text: str
    item: int = 0
    remark: bool = False


def split_clauses(masked: Masked) -> Iterator[Clause]:
    """Yields the clauses in order, without fillers such as "please" and "then"."""
    items = 0
    for body, numbered in _items(masked.text):
        items += numbered
        for sentence in _SENTENCE.split(body):
            yield from _sentence(sentence, items if numbered else 0)


def _sentence(text: str, item: int) -> Iterator[Clause]:
    if _REMARK.match(text.strip()):
        yield Clause(text.strip(), item, remark=True)
        return
    for part in _THEN.split(text):
        for clause in _clauses(part):
            bare = _bare(clause) if len(clause) <= MAX_CLAUSE else f"… {clause[:200]}"
            if bare:
                yield Clause(bare, item)


def _clauses(part: str) -> Iterator[str]:
    """Splits before verbs; "In the File menu," belongs to the clause after it."""
    place = ""
    for piece in _AND_VERB.split(part):
        if _PLACE.match(piece):
            place += piece + ", "
        else:
            yield place + piece
            place = ""
    yield place


def _items(text: str) -> Iterator[tuple[str, bool]]:
    """Yields list items and paragraphs, and whether each is numbered."""
    for line in _join_lines(text):
        marker = _MARKER.match(line)
        yield line[marker.end() :] if marker else line, bool(marker and marker["number"])


def _join_lines(text: str) -> Iterator[str]:
    """Yields lines; a line that starts no list item or instruction is joined to the one before."""
    pieces: list[str] = []
    for line in text.split("\n"):
        starts = not line.strip() or _MARKER.match(line) or _STARTS.match(line)
        if starts and pieces:
            yield " ".join(pieces)
            pieces = []
        if line.strip():
            pieces.append(line if starts else line.strip())
    if pieces:
        yield " ".join(pieces)


def _bare(clause: str) -> str:
    text = clause.strip().strip(",:").strip()
    while text and (filler := _FILLER.match(text)):
        text = text[filler.end() :].lstrip(" ,:")
    return text.rstrip(" .!?;,:") if not text.endswith("..") else text
