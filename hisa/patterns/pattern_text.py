"""The text of patterns: which text is embedded, and how a model's text is made safe.

A query is the instruction of a task. So the text that is embedded for a pattern is its conditions:
the kinds of tasks that it applies to, worded like an instruction. A lesson says how to do
something, an instruction says what to do, and their vectors are far apart:
`benchmarks/patterns.py --texts` prints how far. An instruction with several steps names several
skills, so each of its clauses is a query too. Two patterns say the same if their *lessons* are
close; see `hisa.patterns.dedup`.
"""

from __future__ import annotations

import re
import unicodedata

from hisa.protocols import Pattern

__all__ = [
    "DOMAIN",
    "LESSON_CHARS",
    "block",
    "clauses",
    "clean",
    "cut",
    "generalise",
    "query_texts",
    "retrieval_texts",
    "same_words",
    "sentences",
    "unbinding",
    "wordings",
]

DOMAIN = re.compile(r"[a-z0-9_]{1,50}")
"""Matches the whole name of a domain."""

LESSON_CHARS = 500
"""Most characters of a lesson, a condition, actions or an expected result."""

_QUOTED = re.compile(r"\"[^\"\n]*\"|“[^”\n]*”|'[^'\n]{2,}'(?!\w)")
_FILE = re.compile(r"(?:~|\.{1,2})?/[\w./~-]+|\b[\w-]+\.[A-Za-z]\w{1,4}\b")
_URL = re.compile(r"\b(?:https?|file)://\S+")
_NUMBER = re.compile(r"(?<![\w])\d+(?:[.:,]\d+)*[.)]?(?![\w])")
_TAG = re.compile(r"</?\w+>")
_CLAUSE_END = re.compile(r"(?<=[.;])\s+|,? and |, |\n+")
_CLAUSES = 12
"""Most clauses of an instruction that are queries; each costs an embedding."""
_MARKED = re.compile(r"\A\W*[Mm]ust\b\s*[:!]|\bMUST\b")
_LEADING = re.compile(r"\A\W*must\b[\s:!,.-]*", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+")


def clean(text: str, limit: int = LESSON_CHARS) -> str:
    """Returns a text on one line, without control characters, of at most ``limit`` characters."""
    printable_chars = (
        " " if unicodedata.category(char)[0] in "CZ" else char for char in text[: limit * 20]
    )
    return cut(" ".join("".join(printable_chars).split()), limit)


def block(text: str, limit: int = 4000) -> str:
    """Returns the lines of a text, cleaned and without tags of prompt sections.

    At most ``limit`` characters.
    """
    lines = (clean(line, limit) for line in text[: limit * 4].splitlines())
    return "\n".join(line for line in lines if line and not _TAG.fullmatch(line))[:limit]


def sentences(text: str) -> list[str]:
    """Returns the sentences of a text; a semicolon ends one too."""
    return [part for part in _SENTENCE_END.split(text.strip()) if part]


def cut(text: str, limit: int) -> str:
    """Returns at most ``limit`` characters: whole sentences, or else whole words and "…"."""
    if len(text) <= limit:
        return text
    beginning = ""
    for sentence in sentences(text):
        longer = f"{beginning} {sentence}".strip()
        if len(longer) > limit:
            break
        beginning = longer
    return beginning or text[: limit - 1].rsplit(" ", 1)[0][: limit - 1] + "…"


def generalise(instruction: str) -> str:
    """Returns the instruction without its values: quotes, files, addresses and numbers."""
    text = _URL.sub("a page", instruction)
    text = _QUOTED.sub("a text", text)
    text = _FILE.sub("a file", text)
    return clean(_NUMBER.sub("", text), 300)


def clauses(instruction: str) -> list[str]:
    """Returns the clauses of an instruction, without its values and without single words."""
    parts = (part.strip(" .;,") for part in _CLAUSE_END.split(generalise(instruction)))
    return [part for part in dict.fromkeys(parts) if len(part.split()) > 1][:_CLAUSES]


def query_texts(instruction: str) -> list[str]:
    """Returns the queries for a task: the instruction, the same without values, its clauses.

    Conditions speak of kinds of tasks. The values of one task ("passport", a path) pull its vector
    away from others of its family; without the values, two tasks of a family read alike.
    """
    return list(dict.fromkeys((instruction, generalise(instruction), *clauses(instruction))))


def retrieval_texts(pattern: Pattern) -> tuple[str, ...]:
    """Returns the texts to embed for a pattern: its conditions, or its lesson if it has none."""
    return pattern.conditions or (pattern.lesson,)


def same_words(first: str, second: str) -> bool:
    """Whether two texts differ only in case, spaces and punctuation."""
    return wordings(first) == wordings(second)


def wordings(text: str) -> str:
    """Returns the words of a text in lower case, without punctuation."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def unbinding(text: str) -> str:
    """Returns the text without the word MUST: only rules that people wrote are binding."""
    plain = unicodedata.normalize("NFKC", text) if not text.isascii() else text
    if not _MARKED.search(plain):
        return text
    bare = _LEADING.sub("", plain)
    bare = _MARKED.sub("must", bare)
    return bare[:1].upper() + bare[1:]
