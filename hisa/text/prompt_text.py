"""Makes text from models, tools and screens safe to be part of a prompt.

Prompts mark their sections with tags, each on a line of its own, and step lines separate their
fields with `` | Label: ``. Text from outside must not be able to close a section, start a line or
forge a field.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

__all__ = [
    "OBJECT_CHARACTER",
    "SECTION_TAGS",
    "broken_character",
    "by_number",
    "clean",
    "ends",
    "excerpt",
    "field_text",
    "guard_fields",
    "guard_tags",
    "mark_untrusted",
    "one_line",
    "printable",
    "sections",
    "short",
    "speaks_of",
    "without_tags",
]

SECTION_TAGS = (
    "action",
    "advice",
    "attempts",
    "candidates",
    "changes",
    "common_steps",
    "elements",
    "execution_history",
    "last_output",
    "lessons",
    "new_steps",
    "notes",
    "notice",
    "outcome",
    "previous_summary",
    "programs",
    "refined_context",
    "requirements",
    "results",
    "steps",
    "task",
    "to_do",
    "tools",
    "windows",
)
"""All tags that mark sections of prompts."""

_TAG = re.compile(rf"<(?=[\s/]{{0,8}}(?:{'|'.join(SECTION_TAGS)})\b)", re.IGNORECASE)
_TAG_LINE = re.compile(r"\s*<[^<>]*>\s*$")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
OBJECT_CHARACTER = "\ufffc"
"""Accessibility puts this into a text in place of an object, such as a link or a picture."""
_LONGEST_WORD = 200
"""A word of fewer characters that a cut goes through is left out; most tokens are shorter."""
_FIELD = re.compile(r"\|(?=\s*(?:Thought|Description|Input|Result)\s*:)", re.IGNORECASE)


def sections(texts: Mapping[str, str]) -> str:
    """Returns texts as sections of a prompt, by their tags; empty texts are left out."""
    return "\n".join(
        f"<{tag}>\n{text}\n</{tag.split(maxsplit=1)[0]}>" for tag, text in texts.items() if text
    )


def speaks_of(text: str, words: Iterable[str]) -> bool:
    """Whether a word of a text in lower case begins with one of these words."""
    return any(re.search(rf"(?<!\w){re.escape(word)}", text) for word in words)


def mark_untrusted(tag: str) -> str:
    """Returns the tag for text of the screen, a file or a tool, which is no instruction."""
    return f"{tag} untrusted"


def by_number(texts: Iterable[str], *, between: str = " ") -> str:
    """Joins texts, each with its number from 1 on; empty texts are left out with their number."""
    return between.join(f"{at}) {text}" for at, text in enumerate(texts, 1) if text.strip())


def printable(text: str) -> str:
    """Replaces lone surrogates, and control characters except newline and tab."""
    return _SURROGATE.sub("\ufffd", _CONTROL.sub(" ", text))


def broken_character(text: str) -> str:
    """Returns the first character that `printable` replaces, as ``U+D800``; empty if none.

    A carriage return is allowed: it is a key, and the end of a line in files.
    """
    match = _SURROGATE.search(text) or _CONTROL.search(text.replace("\r", " "))
    return f"U+{ord(match[0]):04X}" if match else ""


def guard_tags(text: str) -> str:
    """Returns the text with control characters, and lines that are a section's tag, replaced."""
    lines = printable(text.replace("\r\n", "\n")).split("\n")
    return "\n".join(_TAG.sub("‹", line) if _TAG_LINE.match(line) else line for line in lines)


def without_tags(text: str) -> str:
    """Returns the text without control characters and section tags; its white space stays."""
    return _TAG.sub("‹", printable(text))


def clean(text: str, *, laid_out: bool = False) -> str:
    """Returns a text of several lines without control characters, blank lines and section tags.

    The characters that stand for objects, as in a browser's texts, are removed too. Tabs stay,
    since cells of a table may be empty. Other runs of blanks stay only if ``laid_out`` is True.
    """
    lines = (line.rstrip() for line in _words(text).split("\n"))
    if not laid_out:
        lines = ("\t".join(" ".join(c.split()) for c in line.split("\t")) for line in lines)
    return _TAG.sub("‹", "\n".join(line for line in lines if line))


def one_line(text: str) -> str:
    """Returns the text as `clean` does, but on one line."""
    return _TAG.sub("‹", " ".join(_words(text).split()))


def _words(text: str) -> str:
    return printable(text).replace(OBJECT_CHARACTER, " ")


def guard_fields(text: str) -> str:
    """Returns one line in which only pipes that could begin a field are replaced."""
    return _FIELD.sub("¦", one_line(text))


def field_text(text: str) -> str:
    """Returns one line without pipes, for prose in a step line."""
    return one_line(text).replace("|", "¦")


_GAP = re.compile(r"\n… (\d{1,12}) characters left out …\n")
"""The line that `ends` puts in place of the text that it leaves out."""


def _halves(before: str, after: str) -> tuple[int, int]:
    """Returns the lengths of a word's parts around a cut; (0, 0) for a cut between words."""
    if not before or not after or before[-1].isspace() or after[0].isspace():
        return 0, 0
    first, last = len(before.rsplit(maxsplit=1)[-1]), len(after.split(maxsplit=1)[0])
    return (first, last) if first + last < _LONGEST_WORD else (0, 0)


def _start(text: str, chars: int) -> str:
    """Returns the first ``chars`` characters, without half a word at the end.

    The search for secrets would not recognise half of a key or token. A first word that is cut is
    kept.
    """
    beginning = text[:chars]
    half, _ = _halves(beginning[-_LONGEST_WORD:], text[chars : chars + _LONGEST_WORD])
    return beginning[: len(beginning) - half] or beginning


def _end(text: str, chars: int) -> str:
    """Returns the last ``chars`` characters, without half a word at their beginning."""
    at = len(text) - chars
    _, half = _halves(text[max(0, at - _LONGEST_WORD) : at], text[at : at + _LONGEST_WORD])
    return text[at + half :]


def ends(text: str, chars: int) -> str:
    """Returns beginning and end of a text of several lines, about ``chars`` characters in all."""
    if len(text) <= chars:
        return text
    tail = chars // 3
    first, last = _start(text, chars - tail), _end(text, tail)
    count = _count_left_out(text[len(first) : len(text) - len(last)])
    return f"{first}\n… {count} characters left out …\n{last}"


def _count_left_out(part: str) -> int:
    """Returns the number of characters that a cut removes, including those of earlier cuts."""
    earlier = (int(match[1]) - len(match[0]) for match in _GAP.finditer(part))
    return len(part) + sum(earlier)


def short(text: str, chars: int) -> str:
    """Returns one line of at most ``chars`` characters, without the separator of step lines."""
    flat = " ".join(text.split()).replace("|", "/")
    return flat if len(flat) <= chars else flat[: chars - 1] + "…"


def excerpt(text: str, chars: int) -> str:
    """Returns beginning and end of a text on one line of at most ``chars`` characters.

    Both ends of an output matter: the beginning says what was asked for, the end what went wrong.
    """
    if len(text) > 8 * chars + 8:
        text = f"{_start(text, 4 * chars)} {_end(text, 4 * chars)}"
    line = one_line(text)
    if len(line) <= chars:
        return line
    if chars < 8:
        return line[: max(0, chars)]
    tail = chars // 3
    return f"{_start(line, chars - tail - 3).rstrip()} … {_end(line, tail).lstrip()}"
