"""Reads one clause of English by its verb."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

from hisa.plugins.matching.grammar import phrase, section
from hisa.plugins.offline.apps import find_app
from hisa.plugins.offline.filenames import looks_like_file, read_saving
from hisa.plugins.offline.instruction_records import (
    Click,
    Instruction,
    Open,
    Press,
    Run,
    Scroll,
    Tick,
    Type,
    Wait,
)
from hisa.plugins.offline.keynames import read_number, read_presses
from hisa.plugins.offline.quotes import Masked
from hisa.plugins.offline.things import (
    address,
    field,
    is_listed_choice,
    meaning,
    of_kind,
    path,
    thing,
)

__all__ = ["VERBS", "read_clause"]

Found = Sequence[Instruction]
Reader = Callable[[str, Masked], Found]

_PURPOSE = re.compile(r"(?<!next)(?<!close),?\s+(?:in order )?to\s+(?!the\b)[a-z]+\b.*$", re.S)
"""The purpose of an act: "to confirm it"."""
_WAITED = re.compile(
    r"(?:until|till|for)\s+(?:you (?:can )?see\s+)?(?P<thing>.+?)"
    r"(?:\s+(?:to\s+)?(?:is|are|becomes?|appears?|shows?|comes?|opens?|be|load(?:s|ed)?)\b.*)?",
    re.I | re.S,
)
_SECONDS = re.compile(
    r"(?:for\s+)?(?:(?:about|around)\s+)?(\d{1,4}(?:\.\d{1,3})?|[a-z]+)\s*"
    r"(ms|milliseconds?|m|min|minutes?|s|secs?|seconds?)\b",
    re.I,
)
_MAX_WAIT = 600.0
"""Seconds."""
_TICKED = frozenset({"check box", "list item", "menu item", "push button", "radio button"})
_TIMES = re.compile(
    r"\b(once|twice|(?:\d{1,4}|[a-z]{3,6})(?=\s*(?:times?|clicks?|lines?)\b))", re.I
)
_TO_THE_END = 100
"""Wheel clicks that reach the end of any page."""


# ---------------------------------------------------------------- pointing


def _pointing(
    rest: str,
    masked: Masked,
    *,
    button: Literal["left", "right"] = "left",
    count: Literal[1, 2] = 1,
) -> Found:
    phrases = path(_PURPOSE.sub("", rest), masked)
    if not phrases:
        return ()
    return (*map(Click, phrases[:-1]), Click(phrases[-1], button, count))


def _selecting(rest: str, masked: Masked) -> Found:
    """Reads "all" and "X from the Y list", and otherwise a target to click."""
    if re.fullmatch(r"(?:all|everything)(?:\s+(?:the\s+)?(?:text|contents?|cells))?", rest, re.I):
        return (Press(("ctrl", "a")),)
    listed = re.fullmatch(r"(?P<item>.+?)\s+(?:from|in)\s+(?P<list>.+)", rest, re.I | re.S)
    if listed and is_listed_choice(place := thing(listed["list"], masked)):
        return (Click(place), Click(thing(listed["item"], masked)))
    return _pointing(rest, masked)


def _ticking(rest: str, masked: Masked, *, on: bool = True, strict: bool = False) -> Found:
    """Reads a target to tick; ``strict`` if the verb has other meanings too."""
    phrase = thing(rest, masked)
    kind = meaning(phrase).kind if phrase else None
    names_control = kind is not None and bool(kind.roles & _TICKED)
    if not phrase or (strict and not names_control and masked.first(rest) is None):
        return ()
    return (Tick(phrase if names_control else f"{phrase} checkbox", on),)


def _scrolling(rest: str, masked: Masked) -> Found:
    """Reads "down 3 times" and "to the bottom"."""
    counted = _TIMES.search(rest)
    clicks = min((read_number(counted[1]) if counted else 0) or 5, _TO_THE_END)
    if re.search(r"\bthe\s+(?:very\s+)?(?:top|start|beginning)\b", rest, re.I):
        return (Scroll("up", _TO_THE_END),)
    if re.search(r"\bthe\s+(?:very\s+)?(?:bottom|end)\b", rest, re.I):
        return (Scroll("down", _TO_THE_END),)
    ways = re.findall(r"\b(?:up|left|right)", rest.lower())
    return (Scroll(next(iter(ways), "down"), clicks),)


# ---------------------------------------------------------------- typing

_SLOT = Masked.SLOT
_INTO = phrase("into", "steps")
_LEAD = rf"(?:{phrase('text', 'steps')}\b:?\s*)*"
_DESCRIBES = re.compile(r"(?:an?|the|some|your|its|their)\s", re.I)
"""The beginning of words that describe a text instead of giving it."""
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


def _typing(rest: str, masked: Masked, place: str = "", *, free: bool = False) -> tuple[Type, ...]:
    """Reads the text to type and, if the task names it, the field to type into.

    Args:
        rest: the clause after its verb.
        masked: the task, for quoted strings.
        place: the field, if the clause began with it ("In cell B2, type …").
        free: whether unquoted words are text even if no field is named (but not "a greeting").
    """
    match = _PLACE_FIRST.fullmatch(rest) or _QUOTED.fullmatch(rest)
    if match:
        where = thing(match["place"], masked) if match["place"] else place
        return (Type(masked.value(match["text"]), field(where)),)
    if (match := _BARE.fullmatch(rest)) and (where := field(thing(match["place"], masked))):
        return (Type(match["text"].strip(), where),)
    is_text = free or place or rest.startswith("=")
    if rest and is_text and not re.search(_SLOT, rest) and not _DESCRIBES.match(rest):
        return (Type(rest, field(place)),)
    return ()


def _setting(rest: str, masked: Masked) -> tuple[Type, ...]:
    """Reads "set X to Y", "fill X with Y", "replace the text in X with Y"; and "fill in Y in X"."""
    match = _SETTING.fullmatch(_CONTENT.sub("", rest, count=1))
    if match is None:
        return _typing(re.sub(r"^in\s+", "", rest, flags=re.I), masked)
    where = thing(match["place"], masked)
    named = re.search(_SLOT, match["text"]) or meaning(where).kind or address(where)
    if not field(where) or not named:
        return ()
    return (Type(masked.value(match["text"]), field(where), replace=not address(where)),)


def _clearing(rest: str, masked: Masked) -> tuple[Type, ...]:
    """Reads "clear X"."""
    where = field(thing(_CONTENT.sub("", rest, count=1), masked))
    return (Type("", where, replace=True),) if where else ()


# ---------------------------------------------------------------- keys


def _pressing(rest: str, masked: Masked) -> Found:
    """Reads keys; and "the OK button" and "Submit", which are clicked."""
    presses = read_presses(masked.plain(rest)) or read_presses(masked.plain(_PURPOSE.sub("", rest)))
    if presses or re.search(r"\bkeys?\b", rest, re.I):
        return presses
    phrase = thing(rest, masked)
    if not phrase or meaning(phrase).kind or masked.first(rest) is not None:
        return _pointing(rest, masked)
    name = re.fullmatch(
        r"(?!(?:any|all|it|on|down|hard)\b)(?:[A-Za-z]\w{2,}|[A-Z]{2})(?: [A-Z]\w+)?", phrase
    )
    return (Click(f"{phrase} button"),) if name else ()


def _using(rest: str, masked: Masked) -> Found:
    """Reads "Ctrl+F to search"."""
    return read_presses(re.sub(r"\s+(?:to|for)\s.*$", "", masked.plain(rest), flags=re.S))


def _closing(rest: str, masked: Masked) -> Found:
    lower = masked.plain(rest).lower()
    if re.search(r"\b(?:dialog|dialogue|pop-?up|menu|message)\b", lower):
        return (Press(("esc",)),)
    if re.search(r"\btab$", lower):
        return (Press(("ctrl", "w")),)
    last = lower.rpartition(" ")[2]
    own = last in ("", "window", "it", "app", "application", "program", "document", "file")
    return (Press(("alt", "f4")),) if own or find_app(lower).known else ()


# ---------------------------------------------------------------- applications, files, time


def _opening(rest: str, masked: Masked) -> Found:
    if re.search(r"\bmenu$|>|→|▸", rest, re.I):
        return _pointing(rest, masked)
    if new := re.fullmatch(r"(?:a |an )?new (tab|window|document|file|spreadsheet)", rest, re.I):
        return (Press(("ctrl", "t" if new[1].lower() == "tab" else "n")),)
    subject, _, app = re.sub(r"\s+(?:in|with|using)\s+", "\0", rest, count=1).partition("\0")
    article = re.sub(r"^(?:the|a|an|up)\s+", "", subject, flags=re.I)
    bare = re.sub(r"^(?:file|document|folder|page|site|url|address)\s+", "", article, flags=re.I)
    name = masked.plain(bare)
    if looks_like_file(name) or (masked.is_quoted(bare) and bare != article):
        return (Open(masked.plain(app), name),)
    if meaning(thing(rest, masked)).kind and not find_app(name).known:
        return _pointing(rest, masked, count=2 if rest.endswith("icon") else 1)
    return (Open(name),) if name and len(name.split()) <= 5 else ()


def _starting(rest: str, masked: Masked) -> Found:
    """Reads an application to open, if it is known or quoted; "start" has other meanings too."""
    known = find_app(masked.plain(rest)).known or masked.is_quoted(rest)
    return _opening(rest, masked) if known else ()


def _running(rest: str, masked: Masked) -> Found:
    named = re.match(
        r"(?:the\s+)?(?:following\s+)?(?:bash\s+|shell\s+|terminal\s+)?(?:commands?|script)\b:?\s*",
        rest,
        re.I,
    )
    if not named and find_app(masked.plain(rest)).known:
        return _opening(rest, masked)
    quoted = masked.first(rest)
    command = masked.plain(rest[named.end() :] if named else rest) if quoted is None else quoted
    vague = not named and re.match(r"(?:the|a|an|it|this|that|into)\b", command, re.I)
    return (Run(command),) if command.strip() and (quoted is not None or not vague) else ()


def _going(rest: str, masked: Masked) -> Found:
    """Reads cells, addresses and targets to click: "go to cell B2", "switch to the Notes tab"."""
    bare = re.sub(r"^(?:back\s+)?(?:over\s+)?(?:to|on|into)\s+(?:the\s+)?", "", rest, flags=re.I)
    plain = re.sub(r"^(?:page|site|website|url|address)\s+", "", masked.plain(bare), flags=re.I)
    if re.match(r"(?:https?|file|about):|www\.", plain):
        return (Press(("ctrl", "l")), Type(plain), Press(("enter",)))
    phrase = thing(bare, masked)
    known = phrase and (address(phrase) or meaning(phrase).kind or re.search(r">|→|▸", bare))
    return _pointing(bare, masked) if known else ()


def _switching(rest: str, masked: Masked) -> Found:
    bare = re.sub(r"^(?:back\s+)?(?:over\s+)?to\s+(?:the\s+)?", "", rest, flags=re.I)
    return _going(rest, masked) or ((Open(masked.plain(bare)),) if bare else ())


def _waiting(rest: str, masked: Masked) -> Found:
    if timed := _SECONDS.match(rest):
        unit = timed[2].lower()
        number = float(timed[1]) if timed[1][0].isdigit() else read_number(timed[1]) or 2
        scale = 0.001 if unit.startswith(("ms", "milli")) else 60 if unit.startswith("m") else 1
        return (Wait(min(number * scale, _MAX_WAIT)),)
    until = _WAITED.fullmatch(rest)
    phrase = thing(until["thing"], masked) if until else ""
    named = phrase and (meaning(phrase).kind or masked.first(rest) is not None)
    # Each look waits until the screen is at rest, so waiting for loading needs no target.
    unknown = until is not None and not named and not re.search(r"\bload(?:s|ed)?\b", rest, re.I)
    return () if unknown else (Wait(2.0, phrase if named else ""),)


def _saving(rest: str, masked: Masked) -> Found:
    if by_key := re.search(r"\b(?:with|using|by pressing|via)\s+(?:the\s+)?(.+)$", rest, re.I):
        presses = read_presses(masked.plain(by_key[1]))
        if presses and " as " not in f" {rest} ":
            return presses
    saving = read_saving(rest, masked)
    return (saving,) if saving else ()


# ---------------------------------------------------------------- the table

_READERS: dict[str, Reader] = {
    "free_typing": partial(_typing, free=True),
    "typing": _typing,
    "pointing": _pointing,
    "double_pointing": partial(_pointing, count=2),
    "right_pointing": partial(_pointing, button="right"),
    "selecting": _selecting,
    "opening": _opening,
    "starting": _starting,
    "running": _running,
    "pressing": _pressing,
    "using": _using,
    "setting": _setting,
    "clearing": _clearing,
    "closing": _closing,
    "waiting": _waiting,
    "ticking": _ticking,
    "unticking": partial(_ticking, on=False),
    "enabling": partial(_ticking, strict=True),
    "disabling": partial(_ticking, on=False, strict=True),
    "scrolling": _scrolling,
    "going": _going,
    "switching": _switching,
    "saving": _saving,
}
"""The reader of the rest of a clause, by the grammar's name for its verb."""

_BY_VERB = [(re.compile(phrase(name, "verbs"), re.I), name) for name in section("verbs")]
VERBS = "|".join(phrase(name, "verbs") for name in section("verbs"))
"""The verbs with which an instruction may begin, as a pattern; a word boundary must follow."""

_VERB = re.compile(rf"(?P<verb>{VERBS})\b[:,]?\s*(?P<rest>.*)", re.I | re.S)
_PLACED = re.compile(
    rf"{phrase('place', 'steps')}\s+(?P<place>[^,]+),\s+(?P<clause>(?:{VERBS})\b.*)",
    re.I | re.S,
)
_MENU_PATH = re.compile(r"\s(?:>|→|▸|->|=>)\s")


_AWAITED = re.compile(rf"{phrase('awaited', 'steps')}(?P<thing>.+)", re.I | re.S)
_OPEN_ENDED = re.compile(rf"\b{phrase('open_ended', 'steps')}\b", re.I)
"""Words that make an act conditional, or turn it into many: no instruction can say that."""


def read_clause(text: str, masked: Masked) -> Found:
    """Returns the instructions of one clause; empty if they would not cover all that it asks."""
    if awaited := _AWAITED.fullmatch(text):
        return _waiting(f"until {awaited['thing']}", masked)
    match = _VERB.fullmatch(text)
    reading = _reading(match["verb"]) if match else ""
    if _OPEN_ENDED.search(text) and reading != "waiting":
        return ()
    if placed := _PLACED.fullmatch(text):
        return _in_place(thing(placed["place"], masked), placed["clause"], masked)
    if match is None:
        return _pointing(text, masked) if _MENU_PATH.search(text) else ()
    return _READERS[reading](match["rest"].strip(), masked)


def _reading(verb: str) -> str:
    """Returns the grammar's name for a verb."""
    return next((name for pattern, name in _BY_VERB if pattern.fullmatch(verb)), "")


def _in_place(place: str, clause: str, masked: Masked) -> Found:
    """Reads "In the Name field, type X" and "In the File menu, click Print"."""
    verb, _, rest = clause.partition(" ")
    if _reading(verb) in ("typing", "free_typing"):
        return _typing(rest, masked, place)
    instructions = read_clause(clause, masked)
    kind = meaning(place).kind if place else None
    match instructions:
        case (Click(item, "left", 1),) if kind and kind.word in ("menu", "drop-down"):
            return (
                Click(place),
                Click(of_kind(item, "menu item") if kind.word == "menu" else item),
            )
        case _:
            return instructions
