"""Reads a description of an element in plain English into a `Query`. Pure text work."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Literal

from hisa.grounder.role_words import Kind, find_kind

__all__ = ["Direction", "Query", "Relation", "read_description"]

Direction = Literal["left", "right", "above", "below", "near"]
MAX_DESCRIPTION = 2_000
"""Characters that are read; the rest is ignored."""


@dataclass(frozen=True)
class Relation:
    """The element lies ``direction`` of (or near) another one."""

    direction: Direction
    anchor: Query


@dataclass(frozen=True)
class Query:
    """What to look for. An empty field puts no condition.

    ``name`` is in the words of the description; ``quoted`` tells that it stood in quotation marks
    and is meant literally, ``window_quoted`` the same of ``window``. ``nth`` counts from 1 in
    reading order; -1 is the last.
    """

    name: str = ""
    quoted: bool = False
    kind: Kind | None = None
    labelled: bool = False
    window: str = ""
    window_quoted: bool = False
    inside: Query | None = None
    nth: int | None = None
    where: frozenset[str] = frozenset()
    relation: Relation | None = None


@dataclass
class _Text:
    """Lower-case text whose quoted parts are replaced by marks such as ``"0"``."""

    text: str
    quotes: list[str] = field(default_factory=list)


_QUOTES = re.compile(
    r"\"([^\"]+)\"|“([^”]+)”|‘([^’]+)’|«([^»]+)»|`([^`]+)`|(?<![\w'])'(.+?)'(?![\w'])"
)
_MARK = re.compile(r'"(\d+)"')
_ORDINALS = (
    *("first", "second", "third", "fourth", "fifth"),
    *("sixth", "seventh", "eighth", "ninth", "tenth"),
)
_ORDINAL = re.compile(
    rf"(?:^|(?<=\s))({'|'.join(_ORDINALS)}|last|(\d{{1,3}})(?:st|nd|rd|th))(?=\s|$)"
)
_NUMBERED = re.compile(
    r"(?:^|(?<=\s))(row|line|item|entry|option|tab|result|button|field|link|checkbox)"
    r" (?:number |no\. ?|#)?(\d{1,3})(?=\s|$)"
)
_CELL = re.compile(r"(?:^|(?<=\s))cell ([a-z]{1,3}\d{1,7})(?=\s|$)|^([a-z]{1,3}\d{1,7}) cell$")
_SIDE = r"(?:top|bottom|upper|lower|left|right|centre|center|middle)"
_POSITION = re.compile(
    rf"(?:,\s*)?\b(?:at|in|on|near|towards?|along) (?:the )?(?:very |far )?"
    rf"({_SIDE}(?:[- ](?:hand )?{_SIDE})?)(?: (?:corner|side|part|edge|area|end))?(?=$|[\s,.])"
)
_AFTER_POSITION = re.compile(r"^ (?:of|from) (.+)$")
_RELATIONS: tuple[tuple[re.Pattern[str], Direction | None], ...] = (
    (
        re.compile(
            r"\b(?:to |on |at )?(?:the )?(?:immediate )?(left|right)(?: side)? (?:of|from) "
        ),
        None,
    ),
    (
        re.compile(
            r"\b(?:directly |just |immediately |right )?(?:below|under|underneath|beneath) "
        ),
        "below",
    ),
    (re.compile(r"\b(?:directly |just |immediately |right )?above "), "above"),
    (
        re.compile(r"\b(?:right )?(?:next to|beside|near|adjacent to|close to|by) (?!clicking)"),
        "near",
    ),
)
_PURPOSE = re.compile(
    r",? (?:which|so that|in order to|used (?:to|for)|so (?:we|i) can|that (?:opens|closes|lets|"
    r"allows|will|is used|confirms|starts|saves))\b.*$"
)
_TO_VERB = re.compile(r" to (?!the |left |right |a |an |\")\w+\b.*$")
_WITHIN = re.compile(r" (?:in|inside|within|on|of|from|under) ")
_WINDOW_WORDS = r"dialog(?:ue)?(?: box)?|window|pop-?up|app|application|program|browser"
_VAGUE_WORDS = (
    r"page|screen|display|drop-?down(?: list| menu)?|combo ?box|document|desktop|form|view|editor|"
    r"sheet|spreadsheet"
)
_HOLDER = re.compile(
    rf"\b({_WINDOW_WORDS}|{_VAGUE_WORDS}|menu(?! item| entry| option)(?: bar)?|menubar|tool ?bar|"
    r"panel|pane|side ?bar|side panel|list|table|grid|tab(?! of)|bar|section|row)\b"
)
_WINDOW = re.compile(rf"\b({_WINDOW_WORDS})\b")
_NO_HOLDER = re.compile(rf"\b({_VAGUE_WORDS}|menu)\b")
"""Holders that say nothing about where to look: their boxes are the screen's or unknown."""
_NAMED = re.compile(
    r"\b(labell?ed(?: as| with)?|captioned|with (?:the |a )?label|whose label is|named|called|"
    r"titled|entitled|with (?:the |a )?(?:text|name|title|caption)|that (?:says|reads)|saying|"
    r"reading|showing|containing|marked(?: as| with)?)(?= )"
)
_FOR = re.compile(r"\bfor (?:the |a |an |entering (?:the )?|typing (?:the )?)?")
_DETERMINERS = frozenset({"the", "a", "an", "this", "that", "its", "your", "my", "of", "to", "in"})
_ADJECTIVES = frozenset(
    {"blue", "red", "green", "grey", "gray", "white", "black", "yellow", "orange", "purple"}
    | {"dark", "light", "small", "large", "big", "little", "main", "only", "single", "current"}
    | {"visible", "clickable", "editable", "empty", "blank", "highlighted", "focused", "correct"}
)


def read_description(description: str) -> tuple[Query, ...]:
    """The readings of a description: the most literal first, the usual one last.

    A word for a kind, or an ordinal, may be part of a name: "text files" is what is called so, or
    else the file called "text"; "the first name field" is the field called "first name", or else
    the first field called "name".
    """
    masked = _mask(" ".join(description[:MAX_DESCRIPTION].split()))
    text = masked.text.strip(" .,;:!")
    return tuple(dict.fromkeys(_read(text, masked.quotes, depth=0)))


def _mask(description: str) -> _Text:
    masked = _Text("")

    def mark(match: re.Match[str]) -> str:
        inner = next(group for group in match.groups() if group is not None)
        masked.quotes.append(inner.strip())
        return f' "{len(masked.quotes) - 1}" '

    marked = _QUOTES.sub(mark, description).replace('""', " ").replace("''", " ")
    masked.text = " ".join(re.sub(r"\s+([,.;:])", r"\1", marked).split()).lower()
    return masked


def _read(text: str, quotes: list[str], depth: int) -> list[Query]:
    text = _without_purpose(text)
    text, where = _take_position(text)
    text, relation = _take_relation(text, quotes, depth)
    text, holders = _take_holders(text)
    base = Query(where=where, relation=relation)
    base = _with_holders(base, holders, quotes, depth)
    if cell := _CELL.search(text):
        kind, _ = find_kind("cell")
        return [replace(base, name=cell[1] or cell[2], quoted=True, kind=kind)]
    whole = replace(base, name=_bare(text))
    plain = _named(text, quotes, base)
    rest, nth = _take_ordinal(text)
    readings = [plain] if nth is None else [plain, replace(_named(rest, quotes, base), nth=nth)]
    if _MARK.search(text):
        return readings[-1:]
    return [whole, *readings] if plain.kind is not None else readings


def _without_purpose(text: str) -> str:
    text = _PURPOSE.sub("", text)
    found = _TO_VERB.search(text)
    if found and (
        find_kind(_bare(text[: found.start()]))[0] or _MARK.search(text[: found.start()])
    ):
        text = text[: found.start()]
    return text


def _take_position(text: str) -> tuple[str, frozenset[str]]:
    sides: set[str] = set()
    while found := _POSITION.search(text):
        # "on the right of the Save button" is a relation, not a corner.
        of = _AFTER_POSITION.match(text[found.end() :])
        if of and not _HOLDER.search(of[1]):
            break
        named = found[1].replace("upper", "top").replace("lower", "bottom")
        sides |= {side for side in ("top", "bottom", "left", "right") if side in named}
        text = text[: found.start()] + text[found.end() :]
    return " ".join(text.split()).strip(" ,."), frozenset(sides)


def _take_relation(text: str, quotes: list[str], depth: int) -> tuple[str, Relation | None]:
    if depth >= 2:
        return text, None
    for pattern, fixed in _RELATIONS:
        found = pattern.search(text)
        if found and found.start() > 0:
            side: Direction = fixed or ("left" if found[1] == "left" else "right")
            anchor = _read(text[found.end() :], quotes, depth + 1)[-1]
            if anchor.name or anchor.kind:
                return text[: found.start()].strip(" ,"), Relation(side, anchor)
    return text, None


def _take_holders(text: str) -> tuple[str, list[str]]:
    """Cut "in the Save As dialog" and the like off the end."""
    for found in _WITHIN.finditer(text):
        rest = text[found.end() :]
        only_quotes = not _MARK.sub("", _bare(rest)).strip(" ,.")
        if _HOLDER.search(rest) or only_quotes:
            left, more = text[: found.start()], _take_holders(rest)
            return left.strip(" ,"), [more[0], *more[1]]
    return text, []


def _with_holders(base: Query, holders: list[str], quotes: list[str], depth: int) -> Query:
    for holder in holders:
        if _WINDOW.search(holder) or not _HOLDER.search(holder):
            title, quoted = _words(_WINDOW.sub(" ", holder), quotes)
            if title and not base.window:
                base = replace(base, window=title, window_quoted=quoted)
        elif not _NO_HOLDER.search(holder.replace("menu bar", "menubar")) and depth < 2:
            inside = _read(holder, quotes, depth + 2)[-1]
            if inside.kind is not None and inside.kind.word == "sidebar" and not inside.where:
                inside = replace(inside, where=frozenset({"left"}))
            base = replace(base, inside=base.inside or inside)
    return base


def _take_ordinal(text: str) -> tuple[str, int | None]:
    if found := _NUMBERED.search(text):
        return f"{text[: found.start()]}{found[1]}{text[found.end() :]}", int(found[2])
    found = _ORDINAL.search(text)
    if found is None:
        return text, None
    rest = f"{text[: found.start()]} {text[found.end() :]}"
    if found[1] == "last":
        return rest, -1
    return rest, int(found[2]) if found[2] else _ORDINALS.index(found[1]) + 1


def _named(text: str, quotes: list[str], base: Query) -> Query:
    """Kind and name, from "field labelled X", "X button" or "button X"."""
    text = _bare(text)
    if found := _NAMED.search(text):
        kind, _ = find_kind(_bare(text[: found.start()]))
        name, quoted = _words(text[found.end() :], quotes)
        if kind is not None or not text[: found.start()].strip():
            labelled = "label" in found[1] or found[1] == "captioned"
            return replace(base, name=name, quoted=quoted, kind=kind, labelled=labelled)
    found = _FOR.search(text)
    if found and not _MARK.search(text[: found.start()]):
        kind, rest = find_kind(_bare(text[: found.start()]))
        if kind is not None and not _bare(rest):
            name, quoted = _words(text[found.end() :], quotes)
            return replace(base, name=name, quoted=quoted, kind=kind, labelled=True)
    if mark := _MARK.search(text):
        kind, _ = find_kind(" ".join(_MARK.sub(" ", text).split()))
        return replace(base, name=quotes[int(mark[1])], quoted=True, kind=kind)
    if (found := _WITHIN.search(text)) and not base.window:
        kind, rest = find_kind(_bare(text[: found.start()]))
        if kind is not None and not _bare(rest):
            return replace(base, kind=kind, window=_bare(text[found.end() :]))
    kind, rest = find_kind(text)
    return replace(base, name=_bare(rest), kind=kind)


def _words(text: str, quotes: list[str]) -> tuple[str, bool]:
    """The name in a text: its first quotation, else its words."""
    if mark := _MARK.search(text):
        return quotes[int(mark[1])], True
    return _bare(text), False


def _bare(text: str) -> str:
    """Without leading articles and adjectives."""
    words = text.strip(" ,.:;").split()
    while words and words[0] in _DETERMINERS | _ADJECTIVES:
        words.pop(0)
    return " ".join(words)
