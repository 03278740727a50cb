"""One clause of English, read by its verb."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from hisa.models.offline.apps import find_app
from hisa.models.offline.clauses import VERBS
from hisa.models.offline.filenames import looks_like_file, read_saving
from hisa.models.offline.keynames import read_number, read_presses
from hisa.models.offline.quotes import Masked
from hisa.models.offline.records import (
    Click,
    Close,
    Drag,
    GoTo,
    Instruction,
    Open,
    Press,
    Run,
    Scroll,
    Target,
    Tick,
    Wait,
)
from hisa.models.offline.targets import is_context, read_path, read_range, read_target
from hisa.models.offline.typing_verbs import read_clearing, read_setting, read_typing

__all__ = ["read_clause"]

_VERB = re.compile(rf"(?P<verb>{VERBS})\b[:,]?\s*(?P<rest>.*)", re.I | re.S)
_IN_PLACE = re.compile(
    rf"(?:in|inside|into|on|at|from|under)\s+(?P<place>.+?)\s*,?\s+(?P<clause>(?:{VERBS})\b.*)",
    re.I | re.S,
)
_FROM_LIST = re.compile(r"(?P<item>.+?)\s+(?:from|in|on)\s+(?P<list>.+)", re.I | re.S)
_SECONDS = re.compile(
    r"(?:for\s+)?(?:(?:about|around)\s+)?(\d+(?:\.\d+)?|\w+)\s*(ms|milliseconds?|m|min|minutes?|s|secs?|seconds?)\b",
    re.I,
)
_UNTIL = re.compile(
    r"(?:until|till|for)\s+(?P<thing>.+?)(?:\s+(?:to\s+)?(?:is|are|becomes?|appears?|shows?|opens?|be|load(?:s|ed)?|visible|ready|come)\b.*)?",
    re.I | re.S,
)
_CHECKABLE = frozenset({"check box", "option", "menu item", "radio button", "box"})
_DIRECTION = re.compile(r"\b(up|down|left|right)(?:wards?)?\b", re.I)
_SCROLL_TIMES = re.compile(
    r"\b(?:by\s+)?(\d{1,4}|once|twice|one|two|three|four|five|six|seven|eight|nine|ten)\b(?:\s*(?:times?|clicks?|lines?|notches|steps|x))?",
    re.I,
)
_LONGEST_SCROLL = 100
_TYPING = frozenset(["type", "enter", "write", "input", "insert", "put"])

Found = Sequence[Instruction]
Reader = Callable[[str, Masked], Found]


def read_clause(text: str, masked: Masked) -> Found:
    """The instructions of one clause; empty where it is none."""
    place = _IN_PLACE.fullmatch(text)
    if place:
        return _in_place(place["place"], place["clause"], masked)
    found = _VERB.fullmatch(text)
    if found is None:
        return ()
    verb = re.sub(r"[ -]", "", found["verb"].lower())
    return _READERS[verb](found["rest"].strip(), masked)


def _in_place(place: str, clause: str, masked: Masked) -> Found:
    """Read "In the Name field, type X" and "From the Country dropdown, select X"."""
    target = read_target(place, masked)
    if target is None or is_context(place) or not target.kind:
        return read_clause(clause, masked)
    verb = clause.split(maxsplit=1)
    if verb[0].lower() in _TYPING and len(verb) > 1 and target.kind not in ("menu", "tab"):
        return read_typing(verb[1], masked, target)
    found = read_clause(clause, masked)
    match found:
        case (Click(item, "left", 1),) if target.kind in ("menu", "combo box"):
            kind = item.kind or ("menu item" if target.kind == "menu" else "list item")
            return (Click(target), Click(Target(item.name, kind)))
        case _:
            return found


# ---------------------------------------------------------------- pointing


def _clicking(button: str = "left", count: int = 1) -> Reader:
    def read(rest: str, masked: Masked) -> Found:
        path = read_path(re.sub(r"^(?:once\s+)?(?:on|at)\s+", "", rest, flags=re.I), masked)
        return _clicks(path, button, count)

    return read


def _clicks(path: Sequence[Target], button: str, count: int) -> Found:
    if not path:
        return ()
    last = {
        "left": Click(path[-1], "left", count),
        "right": Click(path[-1], "right", count),
        "middle": Click(path[-1], "middle", count),
    }[button]
    return (*(Click(target) for target in path[:-1]), last)


def _selecting(rest: str, masked: Masked) -> Found:
    if re.fullmatch(
        r"all(?:\s+(?:of\s+)?(?:the\s+)?(?:text|content|contents|cells|everything))?|everything",
        rest,
        re.I,
    ):
        return (Press(("ctrl", "a")),)
    cells = read_range(masked.plain(rest))
    if cells:
        return (GoTo(cells),) if ":" in cells else (Click(Target(cells, "cell")),)
    listed = _FROM_LIST.fullmatch(rest)
    if listed and not is_context(listed["list"]):
        place = read_target(listed["list"], masked)
        item = read_target(listed["item"], masked)
        if place and item and place.kind == "combo box":
            return (Click(place), Click(Target(item.name, item.kind or "list item")))
    return _clicking()(rest, masked)


def _pressing(rest: str, masked: Masked) -> Found:
    plain = re.sub(r"\s+(?:to|in order to)\s+\w.*$", "", masked.plain(rest), flags=re.S)
    presses = read_presses(masked.plain(rest)) or read_presses(plain)
    if presses or re.search(r"\bkeys?\b", rest, re.I):
        return presses
    target = read_target(rest, masked)
    pointed = target and (target.kind or masked.first(rest) is not None)
    return _clicking()(rest, masked) if pointed else ()


def _using(rest: str, masked: Masked) -> Found:
    plain = re.sub(r"\s+(?:to|for|in order to)\s+\w.*$", "", masked.plain(rest), flags=re.S)
    return read_presses(plain)


def _checking(on: bool, *, strict: bool) -> Reader:
    def read(rest: str, masked: Masked) -> Found:
        if re.match(r"(?:that|whether|if|for|your|it|out)\b", rest, re.I):
            return ()
        target = read_target(rest, masked)
        if target is None or (
            strict and target.kind not in _CHECKABLE and masked.first(rest) is None
        ):
            return ()
        kind = "check box" if target.kind in ("", "box", "option") else target.kind
        return (Tick(Target(target.name, kind), on),)

    return read


def _dragging(rest: str, masked: Masked) -> Found:
    ends = re.fullmatch(
        r"(?:and drop\s+)?(.+?)\s+(?:and drop it\s+)?(?:to|onto|into|on top of|over)\s+(.+)",
        rest,
        re.I | re.S,
    )
    if ends is None:
        return ()
    source, target = read_target(ends[1], masked), read_target(ends[2], masked)
    return (Drag(source, target),) if source and target else ()


def _scrolling(rest: str, masked: Masked) -> Found:
    until = re.search(
        r"\b(?:until|till)\s+(?:you (?:can )?see\s+)?(?P<thing>.+?)"
        r"(?:\s+(?:is|are|becomes?|appears?|shows?|comes?)\b.*)?$",
        rest,
        re.I | re.S,
    )
    wanted = read_target(until["thing"], masked) if until else None
    head = rest[: until.start()] if until else rest
    found = _DIRECTION.search(head)
    name = found[1].lower() if found else "down"
    over = re.search(r"\b(?:in|on|inside|over)\s+(.+)$", head, re.I | re.S)
    place = read_target(over[1], masked) if over and not is_context(over[1]) else None
    head = head[: over.start()] if over else head
    counted = _SCROLL_TIMES.search(head)
    clicks = read_number(counted[1]) if counted else None
    if re.search(
        r"\b(?:to|at)\s+the\s+(?:very\s+)?(?:bottom|top|end|start|beginning)\b", head, re.I
    ):
        name = "up" if re.search(r"\b(?:top|start|beginning)\b", head, re.I) else "down"
        clicks = _LONGEST_SCROLL
    clicks = min(clicks or 5, _LONGEST_SCROLL)
    return {
        "up": (Scroll("up", clicks, place, wanted),),
        "down": (Scroll("down", clicks, place, wanted),),
        "left": (Scroll("left", clicks, place, wanted),),
        "right": (Scroll("right", clicks, place, wanted),),
    }[name]


# ---------------------------------------------------------------- applications, files, time


def _opening(rest: str, masked: Masked) -> Found:
    if re.search(r"\bmenu$", rest, re.I) or re.search(r">|→|▸", rest):
        return _clicking()(rest, masked)
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
    bare = re.sub(r"^(?:back\s+)?(?:to|over to)\s+", "", rest, flags=re.I)
    target = read_target(bare, masked)
    if target and target.kind:
        return (Click(target),)
    return (Open(masked.plain(re.sub(r"^the\s+", "", bare, flags=re.I))),) if bare else ()


def _going(rest: str, masked: Masked) -> Found:
    bare = re.sub(r"^(?:back\s+)?(?:to|on|into)\s+(?:the\s+)?", "", rest, flags=re.I)
    plain = re.sub(r"^(?:page|site|website|url|address)\s+", "", masked.plain(bare), flags=re.I)
    cells = read_range(plain)
    if cells:
        return (GoTo(cells) if ":" in cells else Click(Target(cells, "cell")),)
    if re.match(r"(?:https?|file|about):|www\.", plain):
        return (GoTo(plain, "address"),)
    if re.search(r">|→|▸", bare):
        return _clicking()(bare, masked)
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


_click = _clicking()
_READERS: dict[str, Reader] = {
    "doubleclick": _clicking(count=2),
    "tripleclick": _clicking(count=3),
    "rightclick": _clicking("right"),
    "leftclick": _click,
    "middleclick": _clicking("middle"),
    "click": _click,
    "tap": _click,
    "open": _opening,
    "launch": _opening,
    "start": _starting,
    "run": _running,
    "execute": _running,
    "select": _selecting,
    "choose": _selecting,
    "pick": _selecting,
    "type": lambda rest, masked: read_typing(rest, masked, free=True),
    "enter": read_typing,
    "write": read_typing,
    "input": read_typing,
    "insert": read_typing,
    "put": read_typing,
    "fill": read_setting,
    "set": read_setting,
    "replace": read_setting,
    "clear": read_clearing,
    "press": _pressing,
    "hit": _pressing,
    "push": _pressing,
    "use": _using,
    "scroll": _scrolling,
    "drag": _dragging,
    "wait": _waiting,
    "pause": _waiting,
    "save": _saving,
    "close": _closing,
    "quit": _closing,
    "exit": _closing,
    "check": _checking(True, strict=True),
    "tick": _checking(True, strict=False),
    "enable": _checking(True, strict=True),
    "uncheck": _checking(False, strict=False),
    "untick": _checking(False, strict=False),
    "disable": _checking(False, strict=True),
    "focus": _going,
    "go": _going,
    "switch": _switching,
}
