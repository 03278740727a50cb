"""One clause of English, read by its verb."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from hisa.offline.apps import find_app
from hisa.offline.clauses import NO_NOUN, VERBS
from hisa.offline.filenames import looks_like_file, read_saving
from hisa.offline.keynames import read_number, read_presses
from hisa.offline.pointing_verbs import (
    MEANS,
    PURPOSE,
    checking,
    clicking,
    read_pressing,
    read_scrolling,
    read_selecting,
    read_using,
)
from hisa.offline.quotes import Masked
from hisa.offline.records import (
    Click,
    Close,
    GoTo,
    Instruction,
    Open,
    Press,
    Reveal,
    Run,
    Target,
    Wait,
)
from hisa.offline.remarks import without_asides
from hisa.offline.sheet_verbs import (
    read_adding,
    read_colouring,
    read_dragging,
    read_ensuring,
    read_expanding,
    read_making,
    read_moving,
    read_sheet_click,
)
from hisa.offline.sheets import is_sheet, read_range, select
from hisa.offline.targets import is_context, read_target
from hisa.offline.typing_verbs import read_clearing, read_setting, read_typing

__all__ = ["read_clause"]

_VERB = re.compile(rf"(?P<verb>{VERBS})\b[:,]?\s*(?P<rest>.*)", re.I | re.S)
_IN_PLACE = re.compile(
    rf"(?P<how>in|inside|into|on|at|from|under|for)\s+(?P<place>.+?)\s*,?\s+"
    rf"(?P<clause>(?:(?-i:{VERBS})|(?<=, )(?:{VERBS}))\b{NO_NOUN}.*)",
    re.I | re.S,
)
_SECONDS = re.compile(
    r"(?:for\s+)?(?:(?:about|around)\s+)?(\d+(?:\.\d+)?|\w+)\s*(ms|milliseconds?|m|min|minutes?|s|secs?|seconds?)\b",
    re.I,
)
_UNTIL = re.compile(
    r"(?:until|till|for)\s+(?P<thing>.+?)(?:\s+(?:to\s+)?(?:is|are|becomes?|appears?|shows?|opens?|be|load(?:s|ed)?|visible|ready|come)\b.*)?",
    re.I | re.S,
)
_STEP_ARROW = re.compile(r"\s(?:>|→|▸|->|=>)\s|^(?:>|→|▸|->|=>)\s")
_ALTERNATIVE = re.compile(rf"^(?P<verb>{VERBS})\s+or\s+(?:{VERBS})\b", re.I)
_OR_PRESS = re.compile(r"\bor (?:just |simply )?(?:press|hit)\s+(.+)$", re.I)
_TYPING = frozenset(["type", "enter", "write", "input", "insert", "put"])

Found = Sequence[Instruction]
Reader = Callable[[str, Masked], Found]


def read_clause(text: str, masked: Masked) -> Found:
    """The instructions of one clause; empty where it is none."""
    place = _IN_PLACE.fullmatch(text)
    if place:
        return _in_place(place["how"].lower(), place["place"], place["clause"], masked)
    found = _VERB.fullmatch(_ALTERNATIVE.sub(r"\g<verb>", text))
    if found is None or _STEP_ARROW.match(found["rest"]):
        return clicking()(text, masked) if _STEP_ARROW.search(text) else ()
    verb = re.sub(r"[ -]", "", found["verb"].lower())
    rest = found["rest"].strip()
    if verb not in _TYPING:
        rest = without_asides(rest)
        if keys := _by_key(rest):
            return keys
    return _READERS[verb](rest, masked)


def _by_key(rest: str) -> Found:
    """Read "click the tick or press Enter": the key, which needs no finding."""
    key = _OR_PRESS.search(rest)
    return read_presses(PURPOSE.sub("", key[1])) if key else ()


def _in_place(how: str, place: str, clause: str, masked: Masked) -> Found:
    """Read "In the Name field, type X", "Under Y, choose X" and "In Sheet1, select A1 to B3"."""
    _, comma, last = place.rpartition(", ")
    if comma and re.match(r"(?:in|on|for|under|at)\s", last, re.I):
        # "In the window, for Chart Type, choose X": the last place is the nearest.
        how, _, place = last.partition(" ")
    target = read_target(place, masked)
    if target is None or is_context(place):
        return read_clause(clause, masked)
    if not target.kind:
        return _on_page(how.lower(), target, clause, masked)
    verb = clause.split(maxsplit=1)
    if verb[0].lower() in _TYPING and len(verb) > 1 and target.kind not in ("menu", "tab"):
        return read_typing(verb[1], masked, target)
    found = read_clause(clause, masked)
    match found:
        case (Click(item, "left", 1),) if target.kind in ("menu", "combo box"):
            kind = item.kind or ("menu item" if target.kind == "menu" else "list item")
            return (Click(target), Click(Target(item.name, kind)))
        case _ if target.kind == "tab" and found:
            return (Click(target), *found) if is_sheet(target.name) else found
        case _:
            return found


def _on_page(how: str, place: Target, clause: str, masked: Masked) -> Found:
    """Read "For Data Range, type X", which may be a page, and "Under Destination, choose X"."""
    found = read_clause(clause, masked)
    name = re.sub(r"\s+(?:split|section|part|group|heading|area)$", "", place.name)
    match found:
        case (Click(item, "left", 1),) if how == "under" and not item.near:
            return (Click(Target(item.name, item.kind, f'below "{name}"')),)
        case _:
            return (Reveal(name), *found) if found and how in ("for", "on", "in") else found


# ---------------------------------------------------------------- applications, files, time


def _opening(rest: str, masked: Masked) -> Found:
    if re.search(r"\bmenu$", rest, re.I) or re.search(r">|→|▸", rest):
        return clicking()(rest, masked)
    if new := re.fullmatch(r"(?:a |an )?new (tab|window|document|file|spreadsheet)", rest, re.I):
        return (Press(("ctrl", "t" if new[1].lower() == "tab" else "n")),)
    with_app = re.fullmatch(r"(.+?)\s+(?:in|with|using)\s+(.+)", rest, re.I | re.S)
    first = masked.first(with_app[1] if with_app else rest)
    plain = masked.plain(with_app[1] if with_app else rest)
    bare = re.sub(
        r"^(?:the\s+)?(?:file|document|folder|page|site|website|url|address)\s+",
        "",
        plain,
        flags=re.I,
    )
    if looks_like_file(first or bare) or (first and bare != plain):
        return (Open(masked.plain(with_app[2]) if with_app else "", (first or bare).strip()),)
    target = read_target(rest, masked)
    if target and target.kind and target.kind not in ("text",):
        return (Click(target, count=2 if target.kind == "icon" else 1),)
    name = re.sub(r"^(?:the|a|an|up)\s+", "", plain, flags=re.I)
    return (Open(name),) if name and len(name.split()) <= 5 else ()


def _starting(rest: str, masked: Masked) -> Found:
    """Open an application that is known or quoted; "start" and "run" mean other things too."""
    known = find_app(masked.plain(rest)).known or masked.is_quoted(rest)
    return _opening(rest, masked) if known else ()


def _running(rest: str, masked: Masked) -> Found:
    quoted = masked.first(rest)
    named = re.match(
        r"(?:the\s+)?(?:following\s+)?(?:bash\s+|shell\s+|terminal\s+)?(?:commands?|script)\b:?\s*",
        rest,
        re.I,
    )
    if quoted is not None and (named or not find_app(quoted).known):
        return (Run(quoted),) if quoted.strip() else ()
    if find_app(masked.plain(rest)).known:
        return _opening(rest, masked)
    command = masked.plain(rest[named.end() :] if named else rest)
    if not command or (not named and re.match(r"(?:the|a|an|it|this|that|into)\b", command, re.I)):
        return ()
    return (Run(command),)


def _switching(rest: str, masked: Masked) -> Found:
    bare = re.sub(r"^(?:back\s+)?(?:to|over to)\s+", "", MEANS.sub("", rest), flags=re.I)
    target = read_target(bare, masked)
    if target and target.kind:
        return (Click(target),)
    return (Open(masked.plain(re.sub(r"^the\s+", "", bare, flags=re.I))),) if bare else ()


def _going(rest: str, masked: Masked) -> Found:
    bare = re.sub(r"^(?:back\s+)?(?:to|on|into)\s+(?:the\s+)?", "", rest, flags=re.I)
    bare = MEANS.sub("", bare)
    if idiom := read_sheet_click(bare, masked):
        return idiom
    plain = re.sub(r"^(?:page|site|website|url|address)\s+", "", masked.plain(bare), flags=re.I)
    cells = read_range(plain)
    if cells:
        return select(cells)
    if re.match(r"(?:https?|file|about):|www\.", plain):
        return (GoTo(plain, "address"),)
    if re.search(r">|→|▸", bare):
        return clicking()(bare, masked)
    target = read_target(bare, masked)
    return (Click(target),) if target and target.kind else ()


def _waiting(rest: str, masked: Masked) -> Found:
    timed = _SECONDS.match(rest)
    if timed:
        unit = timed[2].lower()
        number = float(timed[1]) if timed[1][0].isdigit() else read_number(timed[1])
        if number is None:
            return (Wait(),)
        scale = 0.001 if unit.startswith(("ms", "milli")) else 60 if unit.startswith("m") else 1
        return (Wait(min(number * scale, 600.0)),)
    until = _UNTIL.fullmatch(rest)
    thing = read_target(until["thing"], masked) if until else None
    named = thing is not None and (thing.kind or masked.first(rest) is not None)
    return (Wait(2.0, thing if named else None),)


def _saving(rest: str, masked: Masked) -> Found:
    if by_key := re.search(r"\b(?:with|using|by pressing|via)\s+(.+)$", rest, re.I):
        presses = read_presses(re.sub(r"^(?:the\s+)", "", masked.plain(by_key[1]), flags=re.I))
        if presses and " as " not in f" {rest} ":
            return presses
    saving = read_saving(rest, masked)
    return (saving,) if saving else ()


def _closing(rest: str, masked: Masked) -> Found:
    lower = masked.plain(rest).lower()
    if re.search(r"\b(?:dialog|dialogue|pop-?up|menu|message)\b", lower):
        return (Close("dialog"),)
    if re.search(r"\btab$", lower):
        return (Close("tab"),)
    if not lower or re.search(
        r"\b(?:window|it|app|application|program|editor|document|file)$", lower
    ):
        return (Close("window"),)
    return (Close("application"),) if find_app(lower).known else ()


def _by_shortcut(key: str) -> Reader:
    """Read "copy" and "paste it" as the shortcut; more than that would be a selection."""

    def read(rest: str, masked: Masked) -> Found:
        bare = re.fullmatch(r"(?:it|them|(?:the )?(?:selection|selected \w+))?", rest, re.I)
        return (Press(("ctrl", key)),) if bare else ()

    return read


def _nothing(rest: str, masked: Masked) -> Found:
    return ()


_click = clicking()
_READERS: dict[str, Reader] = {
    "doubleclick": clicking(count=2),
    "tripleclick": clicking(count=3),
    "rightclick": clicking("right"),
    "leftclick": _click,
    "middleclick": clicking("middle"),
    "click": _click,
    "tap": _click,
    "open": _opening,
    "launch": _opening,
    "start": _starting,
    "run": _running,
    "execute": _running,
    "select": read_selecting,
    "choose": read_selecting,
    "pick": read_selecting,
    "type": lambda rest, masked: read_typing(rest, masked, free=True),
    "enter": read_typing,
    "write": read_typing,
    "input": read_typing,
    "insert": lambda rest, masked: read_adding(rest, masked) or read_typing(rest, masked),
    "put": read_typing,
    "fill": read_setting,
    "set": lambda rest, masked: read_colouring(rest, masked) or read_setting(rest, masked),
    "replace": read_setting,
    "clear": read_clearing,
    "press": read_pressing,
    "hit": read_pressing,
    "push": read_pressing,
    "use": read_using,
    "scroll": read_scrolling,
    "drag": read_dragging,
    "move": read_moving,
    "ensure": read_ensuring,
    "make": read_making,
    "bold": lambda rest, masked: read_making(f"{rest} bold", masked),
    "expand": read_expanding,
    "collapse": read_expanding,
    "add": read_adding,
    "create": read_adding,
    "append": read_adding,
    "change": lambda rest, masked: read_colouring(rest, masked) or read_setting(rest, masked),
    "copy": _by_shortcut("c"),
    "paste": _by_shortcut("v"),
    "hold": _nothing,
    "release": _nothing,
    "wait": _waiting,
    "pause": _waiting,
    "save": _saving,
    "close": _closing,
    "quit": _closing,
    "exit": _closing,
    "check": checking(True, strict=True),
    "tick": checking(True, strict=False),
    "enable": checking(True, strict=True),
    "uncheck": checking(False, strict=False),
    "untick": checking(False, strict=False),
    "disable": checking(False, strict=True),
    "focus": _going,
    "go": _going,
    "switch": _switching,
}
