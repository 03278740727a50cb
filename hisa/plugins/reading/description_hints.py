"""What a description asks for beside names and relations: order, place, size, colour, state.

Words of a whole description, each a hint of its own; nothing has to be understood.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from hisa.plugins.matching.description import Query
from hisa.text.words import tokens

__all__ = ["COLOURS", "Hints", "read_extremes", "read_hints"]

COLOURS = (
    *("red", "orange", "yellow", "green", "blue", "purple"),
    *("black", "white", "grey", "pink"),
)
_COLOUR_WORDS = {"gray": "grey", "violet": "purple", "gold": "yellow", "golden": "yellow"} | {
    colour: colour for colour in COLOURS
}
_ORDINALS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5,
    "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10,
}  # fmt: skip
_ORDINAL = re.compile(
    rf"\b(?P<back>second[- ]to[- ]last|next[- ]to[- ]last|last but one|penultimate|second last)\b|"
    rf"\b(?P<last>last|final)\b(?! (?:days?|weeks?|months?|years?|name))|"
    rf"\b(?P<word>{'|'.join(_ORDINALS)})\b(?! name)|\b(?P<digits>\d{{1,3}})(?:st|nd|rd|th)\b"
)
_EXTREMES = {
    "left": r"left-?most|furthest left|far left|very left|left(?:-hand)? one",
    "right": r"right-?most|furthest right|far right|very right|right(?:-hand)? one",
    "top": r"top-?most|upper-?most|highest|upper|top(?= (?:one|of the|\w+ (?:icon|button|entry)))",
    "bottom": r"bottom-?most|lower-?most|lowest|lower|bottom(?= (?:one|of the))|bottom(?= \w+box)",
    "middle": r"middle|central|in the centre|in the center",
}
_EXTREME = {side: re.compile(rf"\b(?:{words})\b") for side, words in _EXTREMES.items()}
_NEGATED = re.compile(r"[\s,;(–—-]*\bnot (?:the|that|in|on|from|of)\b[^,;)]*")
_STATES = {
    "selected": r"selected|highlighted|active|current|chosen|pressed|marked|coloured|focused",
    "ticked": r"ticked|checked|switched on|turned on|\(on\b|, on\b|\bis on\b|filled",
    "unticked": (
        r"unticked|unchecked|not (?:yet )?(?:ticked|checked|selected|chosen|switched on|turned on)|"
        r"unselected|deselected|switched off|turned off|\boff\b"
    ),
    "disabled": r"greyed(?:[- ]out)?|grayed(?:[- ]out)?|disabled|inactive|dimmed",
    "open": r"open|opened|expanded|unfolded",
}
_STATE = {name: re.compile(rf"(?<![\w-])(?:{words})(?![\w-])") for name, words in _STATES.items()}
_SMALL = re.compile(r"\b(?:tiny|small|little|narrow|short|shortest|thin)\b")
_LARGE = re.compile(r"\b(?:large|big|long|longest|wide|widest|huge|tall|biggest|largest)\b")
_PLACE_WORDS = (
    "left right top bottom upper lower middle centre center corner side edge end above below "
    "under beneath between next beside near front behind before after first second third fourth "
    "fifth sixth seventh eighth ninth tenth last leftmost rightmost topmost lowest row column "
    "line page screen window dialog bar area section list table group panel showing shows "
    "labelled labeled named called current currently selected highlighted active ticked unticked "
    "checked unchecked greyed grey only directly just immediately inside within containing "
    "value set reading reads says empty disabled open opened now whose where has have about far "
    "very two three four five button icon field box checkbox check tick drop-down dropdown menu "
    "entry item tab link text number slider handle arrow symbol label small tiny large big "
    "round blue red green yellow orange purple black white same one ones them its their other "
    "input option switch toggle radio combo heading header title cell"
)
"""Words that say where and of what kind a thing is, and seldom what it is called."""
_PLACE_TOKENS = frozenset(token for word in _PLACE_WORDS.split(" ") for token in tokens(word))


@dataclass(frozen=True)
class Hints:
    """Hints in the words of a description.

    ``nth`` counts from 1, negative ones from the end; ``extremes`` are sides of which the
    outermost is meant.
    """

    words: frozenset[str]
    """Tokens of the description without what it excludes."""
    head: frozenset[str]
    """Tokens of the first clause."""
    telling: frozenset[str]
    """Tokens that do not merely say where or of what kind a thing is."""
    numbers: frozenset[str]
    nth: int | None
    extremes: frozenset[str]
    colours: frozenset[str]
    states: frozenset[str]
    small: bool
    large: bool


def read_hints(query: Query) -> Hints:
    """The hints of a description that was read."""
    text = _NEGATED.sub(" ", query.context.casefold())
    plain = text
    for quote in query.literals:
        plain = plain.replace(quote.casefold(), " ")
    head = query.head.casefold() or text
    words = tokens(text) if text.strip() else frozenset()
    colours = {_COLOUR_WORDS[w] for w in re.findall(r"[a-z]+", plain) if w in _COLOUR_WORDS}
    return Hints(
        words=words,
        head=tokens(head),
        telling=words - _PLACE_TOKENS,
        numbers=frozenset(w for w in words if any(map(str.isdigit, w))),
        nth=_read_nth(plain, query.nth),
        extremes=read_extremes(plain),
        colours=frozenset(colours),
        states=_read_states(plain),
        small=bool(_SMALL.search(plain)),
        large=bool(_LARGE.search(plain)),
    )


def _read_states(text: str) -> frozenset[str]:
    """Returns the states that are asked for, of which "not ticked" is one of its own."""
    rest = _STATE["unticked"].sub(" ", text)
    names = {name for name, pattern in _STATE.items() if pattern.search(rest)}
    return frozenset(names | {"unticked"} if rest != text else names)


def read_extremes(text: str) -> frozenset[str]:
    """The sides of which the outermost is meant."""
    return frozenset(side for side, pattern in _EXTREME.items() if pattern.search(text))


def _read_nth(text: str, known: int | None) -> int | None:
    if known is not None:
        return known
    match = _ORDINAL.search(text)
    if match is None:
        return None
    if match["back"]:
        return -2
    if match["last"]:
        return -1
    return int(match["digits"]) if match["digits"] else _ORDINALS[match["word"]]
