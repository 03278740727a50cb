"""Phrases for things on the screen: "the Save button", "File > Save As", "cell B2"."""

from __future__ import annotations

import re

from hisa.plugins.matching.description import Query, read_description
from hisa.plugins.matching.grammar import phrase
from hisa.plugins.offline.quotes import Masked

__all__ = ["address", "field", "is_listed_choice", "meaning", "of_kind", "path", "thing"]

_LEAD = re.compile(rf"(?:{phrase('lead', 'steps')}\s+)+", re.I)
_ARROW = re.compile(r"\s*(?:>|→|▸|➔|⟶|›|->|=>)\s*")
_IN_MENU = re.compile(
    r"(?P<item>.+?)\s+(?:in|from|under|inside|of)\s+(?:the\s+)?"
    r"(?:menu\s+(?P<after>.+)|(?P<before>.+?)\s+menu)",
    re.I | re.S,
)
_ONE = r"\$?[A-Z]{1,3}\$?[1-9]\d{0,6}"
_CELLS = re.compile(
    rf"(?P<word>(?:cells?|range)\s+)?(?P<first>{_ONE})(?:\s*(?::|to)\s*(?P<last>{_ONE}))?", re.I
)
_VALUES = frozenset({"entry", "combo box", "spin button", "slider"})
"""Roles of fields that take a value, as opposed to a page or document."""
_NOWHERE = frozenset({"it", "them", "there", "this"})


def thing(text: str, masked: Masked) -> str:
    """Returns a phrase for the grounder, without leading words; empty if nothing is left."""
    bare = text.strip(" ,.:;")
    lead = _LEAD.match(bare)
    return masked.words(bare[lead.end() :] if lead else bare)


def path(text: str, masked: Masked) -> tuple[str, ...]:
    """Returns one phrase per click: "File > Save As" and "Save As in the File menu" give two."""
    plain = masked.plain(text)
    parts = _ARROW.split(plain if masked.is_quoted(text) else masked.words(text))
    if len(parts) > 1:
        names = [thing(part, masked) for part in parts]
        return _menu(*names) if all(names) else ()
    if match := _IN_MENU.fullmatch(text.strip()):
        menu = thing(match["after"] or match["before"], masked)
        return _menu(menu, thing(match["item"], masked))
    phrase = thing(text, masked)
    return (phrase,) if phrase else ()


def _menu(menu: str, *items: str) -> tuple[str, ...]:
    return (of_kind(menu, "menu"), *(of_kind(item, "menu item") for item in items))


def of_kind(phrase: str, word: str) -> str:
    """Returns a phrase, with the word for its kind of element added if it has none."""
    query = meaning(phrase)
    return phrase if query.kind and query.name else f"{phrase} {word}"


def meaning(phrase: str) -> Query:
    """Returns the grounder's usual reading of a phrase."""
    return read_description(phrase)[-1]


def field(phrase: str) -> str:
    """Returns the target to click before typing; empty for "the editor", which has the focus."""
    if not phrase or phrase.lower() in _NOWHERE:
        return ""
    if address(phrase):
        return phrase
    kind = meaning(phrase).kind
    if kind is None:
        return f"{phrase} field"
    return phrase if kind.word == "cell" or kind.roles & _VALUES else ""


def is_listed_choice(phrase: str) -> bool:
    """Whether a phrase names a list that opens: "the Country dropdown"."""
    kind = meaning(phrase).kind
    return kind is not None and kind.word == "drop-down"


def address(phrase: str) -> str:
    """Returns cells of a spreadsheet as ``B2`` or ``A1:B3``; empty if the phrase names none."""
    match = _CELLS.fullmatch(phrase)
    if match is None or not (match["word"] or match["first"].isupper()):
        return ""
    return ":".join(filter(None, (match["first"], match["last"]))).upper().replace("$", "")
