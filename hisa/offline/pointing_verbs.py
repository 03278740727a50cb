"""Clauses that point at things: click, select, press, use, tick, scroll."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from hisa.offline.keynames import read_number, read_presses
from hisa.offline.quotes import Masked
from hisa.offline.records import Click, Instruction, Press, Scroll, Target, Tick
from hisa.offline.sheet_verbs import read_sheet_click
from hisa.offline.sheets import is_cell, read_range, select
from hisa.offline.targets import is_context, read_path, read_target

__all__ = [
    "MEANS",
    "PURPOSE",
    "checking",
    "clicking",
    "read_pressing",
    "read_scrolling",
    "read_selecting",
    "read_using",
]

_FROM_LIST = re.compile(r"(?P<item>.+?)\s+(?:from|in|on)\s+(?P<list>.+)", re.I | re.S)
MEANS = re.compile(
    r"\s+(?:by|via|through)\s+(?:(?:double|right|left)-)?"
    r"(?:clicking|pressing|typing|selecting|choosing|dragging|using)\b.*$",
    re.I | re.S,
)
"""How a thing is done: "by clicking it"."""
PURPOSE = re.compile(
    r",?\s+(?:in order )?to\s+(?:confirm|create|apply|make|close|open|select|overwrite|replace"
    r"|finish|complete|continue|start|see|show|display|insert|add|copy|paste|switch|return|accept"
    r"|save|edit|enter|go back)\b.*$",
    re.I | re.S,
)
"""What a thing is done for: "to confirm it"."""
_CHECKABLE = frozenset({"check box", "option", "menu item", "radio button", "box"})
_DIRECTION = re.compile(r"\b(up|down|left|right)(?:wards?)?\b", re.I)
_SCROLL_TIMES = re.compile(
    r"\b(?:by\s+)?(\d{1,4}|once|twice|one|two|three|four|five|six|seven|eight|nine|ten)\b(?:\s*(?:times?|clicks?|lines?|notches|steps|x))?",
    re.I,
)
_LONGEST_SCROLL = 100

Found = Sequence[Instruction]
Reader = Callable[[str, Masked], Found]


def clicking(button: str = "left", count: int = 1) -> Reader:
    """A reader of clicks with a button, so many times."""

    def read(rest: str, masked: Masked) -> Found:
        bare = re.sub(r"^(?:once\s+)?(?:on|at|into)\s+", "", MEANS.sub("", rest), flags=re.I)
        bare = PURPOSE.sub("", bare)
        cells = _cells(bare, masked) if button == "left" and count == 1 else None
        if cells and not is_cell(cells):
            return select(cells)
        idiom = read_sheet_click(bare, masked) if button == "left" and count == 1 else ()
        return idiom or _clicks(read_path(bare, masked), button, count)

    return read


def _cells(phrase: str, masked: Masked) -> str | None:
    """Cells, unless words in quotes name something else: the entry "Column A" of a list."""
    entry = masked.is_quoted(phrase) and " " in masked.plain(phrase)
    return None if entry else read_range(masked.plain(phrase))


def _clicks(path: Sequence[Target], button: str, count: int) -> Found:
    if not path:
        return ()
    last = {
        "left": Click(path[-1], "left", count),
        "right": Click(path[-1], "right", count),
        "middle": Click(path[-1], "middle", count),
    }[button]
    return (*(Click(target) for target in path[:-1]), last)


def read_selecting(rest: str, masked: Masked) -> Found:
    """Read "all", "cells A1 to B3", "X from the Y list" and what is clicked."""
    if re.fullmatch(
        r"all(?:\s+(?:of\s+)?(?:the\s+)?(?:text|content|contents|cells|everything))?|everything",
        rest,
        re.I,
    ):
        return (Press(("ctrl", "a")),)
    rest = MEANS.sub("", rest)
    cells = _cells(rest, masked)
    if cells:
        return select(cells)
    listed = _FROM_LIST.fullmatch(rest)
    if listed and not is_context(listed["list"]):
        place = read_target(listed["list"], masked)
        item = read_target(listed["item"], masked)
        if place and item and place.kind == "combo box":
            return (Click(place), Click(Target(item.name, item.kind or "list item")))
    return clicking()(rest, masked)


_BUTTON_NAME = re.compile(r"(?!(?:any|all|it|on|down|hard)\b)(?:[A-Za-z]\w{2,})(?: [A-Z]\w+)?[.!]?")
"""What is pressed and is no key: "press Submit", "hit login"."""


def read_pressing(rest: str, masked: Masked) -> Found:
    """Read keys, and "the OK button"."""
    plain = re.sub(r"\s+(?:to|in order to)\s+\w.*$", "", masked.plain(rest), flags=re.S)
    presses = read_presses(masked.plain(rest)) or read_presses(plain)
    if presses or re.search(r"\bkeys?\b", rest, re.I):
        return presses
    target = read_target(rest, masked)
    if target is None:
        return ()
    if target.kind or masked.first(rest) is not None:
        return clicking()(rest, masked)
    return (Click(Target(target.name, "button")),) if _BUTTON_NAME.fullmatch(rest.strip()) else ()


def read_using(rest: str, masked: Masked) -> Found:
    """Read "Ctrl+F to search"."""
    plain = re.sub(r"\s+(?:to|for|in order to)\s+\w.*$", "", masked.plain(rest), flags=re.S)
    return read_presses(plain)


def checking(on: bool, *, strict: bool) -> Reader:
    """A reader of ticks; ``strict`` where the verb means other things too."""

    def read(rest: str, masked: Masked) -> Found:
        if re.match(r"(?:that|whether|if|for|your|it|out)\b", rest, re.I):
            return ()
        target = read_target(rest, masked)
        if target is None or (
            strict and target.kind not in _CHECKABLE and masked.first(rest) is None
        ):
            return ()
        kind = "check box" if target.kind in ("", "box", "option") else target.kind
        names = masked.all(rest) if target.name == masked.first(rest) else [target.name]
        return tuple(Tick(Target(name, kind), on) for name in names)

    return read


def read_scrolling(rest: str, masked: Masked) -> Found:
    """Read "down 3 times", "to the end", "until X shows"."""
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
