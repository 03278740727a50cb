"""Clauses that put text somewhere: type, enter, fill, set, replace, clear."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from hisa.offline.quotes import Masked
from hisa.offline.records import Press, Target, Type
from hisa.offline.sheets import EDIT, cells_of, is_cell, is_input_line
from hisa.offline.targets import is_context, read_target

__all__ = ["read_clearing", "read_setting", "read_typing"]

_SLOT = Masked.SLOT
_INTO = r"(?:in|into|to|inside|at|for|under|as)"
_AFTER = re.compile(
    rf"(?P<lead>[^\ue000]*?)(?P<text>{_SLOT})\s*(?:{_INTO}\s+(?P<place>.+))?", re.I | re.S
)
_BEFORE = re.compile(
    r"(?:in|into|inside)\s+(?P<place>.+?)[,:]?\s+"
    rf"(?:the (?:text|words?|value|line)s?:?\s+)?(?P<text>{_SLOT})",
    re.I | re.S,
)
_UNQUOTED = re.compile(
    r"(?P<text>.+?)\s+(?:in|into|to|inside)\s+(?P<place>(?:the\s+|cell\s+|field\s+).+|[A-Z]{1,3}[1-9]\d*|[^\ue000]*\ue000\d+\ue001[^\ue000]*)",
    re.S,
)
_LEADS = re.compile(
    r"(?:(?:in|the|a|an|following|text|words?|value|number|name|line|lines|sentence|phrase|string"
    r"|title|message|letters?|that|which|says|saying|reads|reading|with|containing|content|contents"
    r"|formula|position|code|address|headers?|date|new|exactly|exact|of|:)\s*)*:?\s*",
    re.I,
)
_SETTING = re.compile(
    r"(?:(?:in|out)\s+)?(?P<place>.+?)\s+(?:to|into|with|by)\s+(?P<text>.+)", re.I | re.S
)
_CONTENT = re.compile(r"(?:the\s+)?(?:text|contents?|value|words?)\s+(?:in|of|inside)\s+", re.I)
_LABEL = rf"the\s+([a-z][\w-]*)\s+({_SLOT})"
_LABELLED = re.compile(
    rf"{_LABEL}(?:(?:,|,?\s+and)\s+{_LABEL})+(?:\s+{_INTO}\s+(?:the|their)\s+[\w ]*fields?)?", re.I
)
_FIELDS = frozenset({"field", "cell", "combo box", "box", "text area", "slider"})
_ANYWHERE = frozenset({"it", "there", "the text area", "the text", "the document", "the file"})

_OVERWRITE = re.compile(r"\s+to\s+(?:overwrite|replace)\b.*$", re.I | re.S)
_LIST_PLACE = re.compile(
    r"(?:the\s+)?(?:\w+\s+)?(?:cells?\s+)?(?P<cells>[$A-Z0-9:, ]+?)(?:\s+cells?)?"
    r"(?:\s+respectively)?",
    re.I,
)

Found = Sequence[Type | Press]


def read_typing(
    rest: str, masked: Masked, place: Target | None = None, *, free: bool = False
) -> Found:
    """What to type and, where it is said, into what.

    Args:
        rest: the clause after its verb.
        masked: the task, for quoted strings.
        place: where, if the clause began with it ("In cell B2, type …").
        free: unquoted words are text even where no place is named.
    """
    bare = _OVERWRITE.sub("", rest)
    if bare != rest:
        return tuple(_over(step) for step in read_typing(bare, masked, place, free=free))
    if listed := _listed(rest, masked) or _labelled(rest, masked):
        return listed
    before = _BEFORE.fullmatch(rest)
    if before and is_input_line(before["place"]):
        return (EDIT, Type(masked.first(before["text"]) or ""))
    if before and not _LEADS.fullmatch(before["place"]):
        return (Type(masked.first(before["text"]) or "", _place(before["place"], masked)),)
    after = _AFTER.fullmatch(rest)
    if after and _LEADS.fullmatch(after["lead"]):
        target = _place(after["place"], masked) if after["place"] else place
        return (Type(masked.first(after["text"]) or "", target),)
    if re.search(_SLOT, rest) and not _UNQUOTED.fullmatch(rest):
        return ()
    return _unquoted(rest, masked, place, free)


def _over(step: Type | Press) -> Type | Press:
    return replace(step, replace=True) if isinstance(step, Type) else step


def _listed(rest: str, masked: Masked) -> Found:
    """Read "X", "Y" and "Z" in the cells A1:C1: a text for each cell."""
    texts = re.findall(_SLOT, rest)
    head, _, tail = rest.rpartition(texts[-1]) if len(texts) > 1 else ("", "", "")
    words = re.sub(rf"{_SLOT}|,|\band\b|\b(?:two|three|four|five|six)\b", " ", head)
    placed = re.fullmatch(rf"\s*{_INTO}\s+(?P<place>.+)", tail, re.I | re.S)
    place = _LIST_PLACE.fullmatch(placed["place"]) if placed else None
    cells = cells_of(place["cells"].strip(" ,")) if place else ()
    if len(cells) != len(texts) or not texts or not _LEADS.fullmatch(words):
        return ()
    pairs = zip(texts, cells, strict=True)
    return tuple(Type(masked.plain(text), Target(cell, "cell")) for text, cell in pairs)


def _labelled(rest: str, masked: Masked) -> Found:
    """Read the username "X" and the password "Y" into the fields: each into its own."""
    if not _LABELLED.fullmatch(rest):
        return ()
    pairs = re.findall(_LABEL, rest, re.I)
    return tuple(Type(masked.first(text) or "", Target(name, "field")) for name, text in pairs)


def _unquoted(rest: str, masked: Masked, place: Target | None, free: bool) -> Found:
    split = _UNQUOTED.fullmatch(rest)
    if split and re.search(_SLOT, split["text"]):
        return ()
    if split and (target := _place(split["place"], masked)) and _takes_text(target, masked, rest):
        return (Type(split["text"].strip(), target),)
    if (free or place or rest.startswith("=")) and rest and not re.search(_SLOT, rest):
        return (Type(rest, place),)
    return ()


def _takes_text(target: Target, masked: Masked, rest: str) -> bool:
    return target.kind in _FIELDS or masked.first(rest) is not None


def _place(text: str, masked: Masked) -> Target | None:
    """The thing typed into; None where it is only said to be in front ("the editor")."""
    if text.strip().lower() in _ANYWHERE or is_context(text):
        return None
    if is_input_line(text):
        return None
    target = read_target(text, masked)
    if target is None or target.kind in ("text area", "cell", "field"):
        return target
    return Target(target.name, "field" if target.kind in ("", "box", "text") else target.kind)


def read_setting(rest: str, masked: Masked) -> Found:
    """Read "set X to Y", "fill X with Y", "replace the text in X with Y"; and "fill in Y in X"."""
    found = _SETTING.fullmatch(_CONTENT.sub("", rest, count=1))
    if found is None:
        return read_typing(re.sub(r"^in\s+", "", rest, flags=re.I), masked)
    target = _place(found["place"], masked)
    quoted = masked.is_quoted(found["text"])
    text = (masked.first if quoted else masked.plain)(found["text"])
    named = masked.first(found["text"]) is not None or (target and target.kind in _FIELDS)
    if target is None or not text or not named:
        return ()
    kind = "cell" if is_cell(target.name) else target.kind
    return (Type(text, Target(target.name, kind), replace=kind != "cell"),)


def read_clearing(rest: str, masked: Masked) -> Found:
    """Read "clear X"."""
    target = _place(_CONTENT.sub("", rest, count=1), masked)
    return (Type("", target, replace=True),) if target else ()
