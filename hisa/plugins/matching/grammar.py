"""Reads ``grammar.toml``, the English with which descriptions and tasks are parsed."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["phrase", "section", "words"]

_SIGN = re.compile(
    r"<(?P<kept>\w+)=|\{(?P<entry>\w+)\}|(?P<sign>[\[\]()|>%# ])|(?P<text>[^\[\]()|>%# <{]+)"
)
_SIGNS = {
    "[": "(?:", "]": ")?", "(": "(?:", ")": ")", ">": ")",
    "|": "|", "%": r"[\w-]+", "#": r"\d+", " ": r"\s+",
}  # fmt: skip


@cache
def _grammar() -> dict[str, Any]:
    text = (files("hisa.plugins.matching") / "grammar.toml").read_text("utf-8")
    return tomllib.loads(text)


def section(name: str) -> dict[str, Any]:
    """Returns the entries of a section, in the order of the file."""
    entries: dict[str, Any] = _grammar()[name]
    return entries


def words(name: str) -> frozenset[str]:
    """Returns the words of a list in the section ``words``."""
    return frozenset(section("words")[name])


def phrase(name: str, part: str = "") -> str:
    """Returns the pattern of an entry as a group, for use in other patterns.

    Args:
        name: of the entry.
        part: the section that it is in; empty: the part before all sections.
    """
    entries = section(part) if part else _grammar()
    return _build_pattern(entries[name], entries)


def _build_pattern(entry: str | list[str], entries: dict[str, Any]) -> str:
    phrases = [entry] if isinstance(entry, str) else entry
    return f"(?:{'|'.join(_translate_phrase(text, entries) for text in phrases)})"


def _translate_phrase(text: str, entries: dict[str, Any]) -> str:
    pieces = []
    for match in _SIGN.finditer(text):
        if match["kept"]:
            pieces.append(f"(?P<{match['kept']}>")
        elif match["entry"]:
            known = entries if match["entry"] in entries else _grammar()
            pieces.append(_build_pattern(known[match["entry"]], known))
        else:
            pieces.append(_SIGNS[match["sign"]] if match["sign"] else re.escape(match["text"]))
    return "".join(pieces)
