"""Text from models, tools and screens, made safe to stand in a prompt.

Prompts mark their sections with tags, one on a line, and history lines separate their fields with
`` | Label: ``. Text that comes from outside must not be able to close a section, start a line or
forge a field.
"""

from __future__ import annotations

import re

__all__ = ["SECTION_TAGS", "clean", "excerpt", "field_text", "guard_fields", "one_line"]

SECTION_TAGS = (
    "action",
    "advice",
    "changes",
    "elements",
    "execution_history",
    "lessons",
    "new_steps",
    "notice",
    "outcome",
    "previous_summary",
    "refined_context",
    "requirements",
    "steps",
    "task",
)
"""Every tag that marks a section of a prompt."""

_TAG = re.compile(rf"<(?=[\s/]{{0,8}}(?:{'|'.join(SECTION_TAGS)})\b)", re.IGNORECASE)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_FIELD = re.compile(r"\|(?=\s*(?:Thought|Description|Input|Result)\s*:)", re.IGNORECASE)


def _printable(text: str) -> str:
    """No control characters but newline and tab, and nothing that UTF-8 cannot hold."""
    return _SURROGATE.sub("\ufffd", _CONTROL.sub(" ", text))


def clean(text: str) -> str:
    """Text of several lines without control characters, blank lines and section tags."""
    lines = (" ".join(line.split()) for line in _printable(text).split("\n"))
    return _TAG.sub("‹", "\n".join(line for line in lines if line))


def one_line(text: str) -> str:
    """`clean`, on one line."""
    return _TAG.sub("‹", " ".join(_printable(text).split()))


def guard_fields(text: str) -> str:
    """One line in which a pipe before a field's label is no separator; other pipes stay."""
    return _FIELD.sub("¦", one_line(text))


def field_text(text: str) -> str:
    """One line without pipes, for prose in a history line."""
    return one_line(text).replace("|", "¦")


def excerpt(text: str, chars: int) -> str:
    """The beginning and the end of ``text`` on one line of at most ``chars`` characters.

    Both ends of an output matter: what was asked for stands first, what went wrong last.
    """
    if len(text) > 8 * chars + 8:
        text = f"{text[: 4 * chars]} {text[-4 * chars :]}"
    line = one_line(text)
    if len(line) <= chars:
        return line
    if chars < 8:
        return line[: max(0, chars)]
    tail = chars // 3
    return f"{line[: chars - tail - 3]} … {line[len(line) - tail :]}"
