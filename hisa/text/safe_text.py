"""Makes text of models, screens and tasks safe to show in a terminal.

A terminal obeys escape sequences, and a reader trusts what a line looks like. So every character
that controls a terminal, reorders a line or is invisible is shown as its number: ``\\x1b``. Markup
of `rich` is left as it is: print the result as a `rich.text.Text` or with ``click.echo``.
"""

from __future__ import annotations

import re

__all__ = ["encodable", "safe_json", "safe_line", "safe_name", "safe_text"]

_UNSAFE = re.compile(
    "["
    "\x00-\x08\x0b-\x1f"  # controls, without tab and newline; the escape character is one
    "\x7f-\x9f"  # delete, and the controls that terminals read as escape sequences of one letter
    "\ud800-\udfff"  # half of a pair: cannot be written at all
    "\u2028\u2029\ufff9-\ufffb"  # separators of lines and paragraphs, and of annotations
    # Unicode's Default_Ignorable_Code_Point: no visible form, the marks that turn the direction of
    # text among them. The two that choose between an emoji and its text form stay.
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufff8"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "]"
)


_HALVES = re.compile("[\ud800-\udfff]")


def _number(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _in_json(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


def encodable(text: str, /) -> str:
    """Replaces each lone half of a surrogate pair, which UTF-8 cannot encode, by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return _HALVES.sub("\ufffd", text)
    return text


def safe_text(text: str, /) -> str:
    """Returns the whole text; unsafe characters are shown as numbers, tabs and line breaks stay."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE.sub(_number, text.replace("\r\n", "\n"))


def safe_line(text: str, /, limit: int | None = None) -> str:
    """Returns the text on one line, with single blanks, of at most ``limit`` characters."""
    line = safe_text(" ".join(text.split()))
    return line if limit is None or len(line) <= limit else line[: limit - 1] + "…"


def safe_name(name: str, /) -> str:
    """Returns a file name on one line; all its blanks stay, tab and line break as numbers."""
    return _UNSAFE.sub(_number, name).replace("\t", "\\x09").replace("\n", "\\x0a")


def safe_json(document: str, /) -> str:
    """Returns a JSON document with unsafe characters as ``\\uXXXX``; its meaning is the same.

    Such characters occur only in strings, so nothing else changes.
    """
    return _UNSAFE.sub(_in_json, document)
