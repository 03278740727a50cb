"""Clauses that put text somewhere: type, enter, fill, set, replace, clear."""

from __future__ import annotations

import re

from hisa.plugins.matching.grammar import phrase
from hisa.plugins.offline.instruction_records import Type
from hisa.plugins.offline.quotes import Masked
from hisa.plugins.offline.things import address, field, meaning, thing

__all__ = ["read_clearing", "read_setting", "read_typing"]

_SLOT = Masked.SLOT
_INTO = phrase("into", "steps")
_LEAD = rf"(?:{phrase('text', 'steps')}\b:?\s*)*"
_DESCRIBES = re.compile(r"(?:an?|the|some|your|its|their)\s", re.I)
"""How words begin that tell of a text which is still to be thought of."""
_QUOTED = re.compile(
    rf"{_LEAD}(?P<text>{_SLOT})(?:\s*{_INTO}\s+(?P<place>[^\ue000]*(?:{_SLOT})?[^\ue000]*))?", re.I
)
_PLACE_FIRST = re.compile(
    rf"(?:in|into|inside)\s+(?P<place>.+?)[,:]?\s+{_LEAD}(?P<text>{_SLOT})", re.I | re.S
)
_BARE = re.compile(
    rf"(?P<text>[^\ue000]+?)\s+(?:in|into|inside)\s+(?P<place>(?:the\s+|cell\s+|field\s+)[^\ue000]+|[A-Z]{{1,3}}[1-9]\d*|[^\ue000]*{_SLOT}[^\ue000]*)",
    re.S,
)
_SETTING = re.compile(
    r"(?:(?:in|out)\s+)?(?P<place>.+?)\s+(?:to|with|by)\s+(?P<text>.+)", re.I | re.S
)
_CONTENT = re.compile(phrase("content", "steps"), re.I)


def read_typing(
    rest: str, masked: Masked, place: str = "", *, free: bool = False
) -> tuple[Type, ...]:
    """Read the text to type and, where the task names it, the field to type into.

    Args:
        rest: the clause after its verb.
        masked: the task, for quoted strings.
        place: where, if the clause began with it ("In cell B2, type …").
        free: unquoted words are text even where no place is named, but not "a greeting".
    """
    found = _PLACE_FIRST.fullmatch(rest) or _QUOTED.fullmatch(rest)
    if found:
        where = thing(found["place"], masked) if found["place"] else place
        return (Type(masked.value(found["text"]), field(where)),)
    if (found := _BARE.fullmatch(rest)) and (where := field(thing(found["place"], masked))):
        return (Type(found["text"].strip(), where),)
    is_text = free or place or rest.startswith("=")
    if rest and is_text and not re.search(_SLOT, rest) and not _DESCRIBES.match(rest):
        return (Type(rest, field(place)),)
    return ()


def read_setting(rest: str, masked: Masked) -> tuple[Type, ...]:
    """Read "set X to Y", "fill X with Y", "replace the text in X with Y"; and "fill in Y in X"."""
    found = _SETTING.fullmatch(_CONTENT.sub("", rest, count=1))
    if found is None:
        return read_typing(re.sub(r"^in\s+", "", rest, flags=re.I), masked)
    where = thing(found["place"], masked)
    named = re.search(_SLOT, found["text"]) or meaning(where).kind or address(where)
    if not field(where) or not named:
        return ()
    return (Type(masked.value(found["text"]), field(where), replace=not address(where)),)


def read_clearing(rest: str, masked: Masked) -> tuple[Type, ...]:
    """Read "clear X"."""
    where = field(thing(_CONTENT.sub("", rest, count=1), masked))
    return (Type("", where, replace=True),) if where else ()
