"""Text from models, tools and screens, made safe to stand in a prompt.

Prompts mark their sections with tags, one on a line, and history lines separate their fields with
`` | Label: ``. Text that comes from outside must not be able to close a section, start a line or
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
"""Every tag that marks a section of a prompt."""

_TAG = re.compile(rf"<(?=[\s/]{{0,8}}(?:{'|'.join(SECTION_TAGS)})\b)", re.IGNORECASE)
_TAG_LINE = re.compile(r"\s*<[^<>]*>\s*$")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
OBJECT_CHARACTER = "\ufffc"
"""Stands in a text of accessibility for what is in it and no text, as a link or a picture."""
_LONGEST_WORD = 200
"""Characters of a word that is left out where a cut goes through it: longer than most tokens."""
_FIELD = re.compile(r"\|(?=\s*(?:Thought|Description|Input|Result)\s*:)", re.IGNORECASE)


def sections(texts: Mapping[str, str]) -> str:
    """The texts in sections of a prompt, by their tags; one without text is left out."""
    return "\n".join(
        f"<{tag}>\n{text}\n</{tag.split(maxsplit=1)[0]}>" for tag, text in texts.items() if text
    )


def speaks_of(text: str, words: Iterable[str]) -> bool:
    """Whether some word of a text, in small letters, begins as one of these."""
    return any(re.search(rf"(?<!\w){re.escape(word)}", text) for word in words)


def mark_untrusted(tag: str) -> str:
    """The tag of a section whose text is the screen's, a file's or a tool's: nobody's orders."""
    return f"{tag} untrusted"


def by_number(texts: Iterable[str], *, between: str = " ") -> str:
    """The texts in one, each with its number; an empty one is left out, its number too."""
    return between.join(f"{at}) {text}" for at, text in enumerate(texts, 1) if text.strip())


def printable(text: str) -> str:
    """The text with control characters, but newline and tab, and lone surrogates replaced."""
    return _SURROGATE.sub("\ufffd", _CONTROL.sub(" ", text))


def broken_character(text: str) -> str:
    """The first character that `printable` replaces, as ``U+D800``; empty where there is none.

    A carriage return passes: it is a key, and a line's end in files.
    """
    match = _SURROGATE.search(text) or _CONTROL.search(text.replace("\r", " "))
    return f"U+{ord(match[0]):04X}" if match else ""


def guard_tags(text: str) -> str:
    """Text as it is, but for control characters and for lines that are a section's tag."""
    lines = printable(text.replace("\r\n", "\n")).split("\n")
    return "\n".join(_TAG.sub("‹", line) if _TAG_LINE.match(line) else line for line in lines)


def without_tags(text: str) -> str:
    """Text with its white space, and without control characters and section tags anywhere."""
    return _TAG.sub("‹", printable(text))


def clean(text: str, *, laid_out: bool = False) -> str:
    """Text of several lines without control characters, blank lines and section tags.

    Nor has it the characters that stand for objects inside a text, as a browser's texts do. Tabs
    stay, for a table's cells may be empty; other blanks in a row only if it is ``laid_out``.
    """
    lines = (line.rstrip() for line in _words(text).split("\n"))
    if not laid_out:
        lines = ("\t".join(" ".join(c.split()) for c in line.split("\t")) for line in lines)
    return _TAG.sub("‹", "\n".join(line for line in lines if line))


def one_line(text: str) -> str:
    """`clean`, on one line."""
    return _TAG.sub("‹", " ".join(_words(text).split()))


def _words(text: str) -> str:
    return printable(text).replace(OBJECT_CHARACTER, " ")


def guard_fields(text: str) -> str:
    """One line in which a pipe before a field's label is no separator; other pipes stay."""
    return _FIELD.sub("¦", one_line(text))


def field_text(text: str) -> str:
    """One line without pipes, for prose in a history line."""
    return one_line(text).replace("|", "¦")


_GAP = re.compile(r"\n… (\d{1,12}) characters left out …\n")
"""What `ends` puts in the place of what it leaves out."""


def _halves(before: str, after: str) -> tuple[int, int]:
    """Returns the lengths of a word's parts around a cut; (0, 0) for a cut between words."""
    if not before or not after or before[-1].isspace() or after[0].isspace():
        return 0, 0
    first, last = len(before.rsplit(maxsplit=1)[-1]), len(after.split(maxsplit=1)[0])
    return (first, last) if first + last < _LONGEST_WORD else (0, 0)


def _start(text: str, chars: int) -> str:
    """Its first ``chars`` characters, less half a word at their end, but for the first word.

    Half of a key or a token would not be recognised as one where secrets are looked for.
    """
    beginning = text[:chars]
    half, _ = _halves(beginning[-_LONGEST_WORD:], text[chars : chars + _LONGEST_WORD])
    return beginning[: len(beginning) - half] or beginning


def _end(text: str, chars: int) -> str:
    """Its last ``chars`` characters, less half a word at their beginning."""
    at = len(text) - chars
    _, half = _halves(text[max(0, at - _LONGEST_WORD) : at], text[at : at + _LONGEST_WORD])
    return text[at + half :]


def ends(text: str, chars: int) -> str:
    """Beginning and end of a text of several lines, about ``chars`` characters of it in all."""
    if len(text) <= chars:
        return text
    tail = chars // 3
    first, last = _start(text, chars - tail), _end(text, tail)
    count = _count_left_out(text[len(first) : len(text) - len(last)])
    return f"{first}\n… {count} characters left out …\n{last}"


def _count_left_out(part: str) -> int:
    """Returns the characters that are gone with a part, an earlier cut's among them."""
    earlier = (int(match[1]) - len(match[0]) for match in _GAP.finditer(part))
    return len(part) + sum(earlier)


def short(text: str, chars: int) -> str:
    """One line of at most ``chars`` characters, without the separators of a history line."""
    flat = " ".join(text.split()).replace("|", "/")
    return flat if len(flat) <= chars else flat[: chars - 1] + "…"


def excerpt(text: str, chars: int) -> str:
    """The beginning and the end of ``text`` on one line of at most ``chars`` characters.

    Both ends of an output matter: what was asked for stands first, what went wrong last.
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
