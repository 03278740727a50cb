"""Finds the faults by which lines of a run's history have misled planners.

It reads what a run wrote and nothing of the code that wrote it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from hisa.events import Abstracted, Event, Planned, Refined

__all__ = ["line_faults", "run_faults"]

_TITLE = re.compile(
    r"\b(?:frame|root pane|window|document [a-z]+) “[^”]*” (?:and [^;.]* )?now reads?\b", re.I
)
_ITSELF = re.compile(r"“(?P<one>[^”]+)” now reads “(?P=one)”")
_LIST = re.compile(r"(?:New text|Text gone): (?P<items>(?:“[^”]*”(?:, )?)+)")
_JOINED = re.compile(r"“[^”]* … [^”]*“")
_WORD = re.compile(r"[^\W_]{2}|\d")
_CLICK = re.compile(r"\b\w*[cC]lick(?:ed at)?\s*\((?:x=)?(-?\d+),\s*(?:y=)?(-?\d+)")
_VERBATIM = re.compile(r"\bclicked\b", re.I)
_SCROLLED = re.compile(r"\| Input: (?:(?!click|mouse|drag)[^|])*\bh?scroll\((?:(?!click)[^|])*\|")
_NUMBER = re.compile(r"\d[\d.,]*\d|\d")
_CLOSEST = re.compile(r"\| Result: Failed\. not found: .*?Closest: (?P<first>[^;…]+)")
_UNVERIFIED = re.compile(r"\| Result: No visible change\.(?!.*(?:The focus is on|was written))")
_SHORT = 80
"""Characters of a last sentence that has room in every line."""


def line_faults(line: str) -> list[str]:
    """What misleads in one line or summary; each fault by its name."""
    found = []
    if "\ufffc" in line:
        found.append("an object replacement character")
    if _TITLE.search(line):
        found.append("a window's title told as a value")
    if _ITSELF.search(line):
        found.append("a thing that now reads what it is called")
    items = (item for told in _LIST.finditer(line) for item in told["items"].split(", "))
    if any(item and not _WORD.search(item) for item in items):
        found.append("noise read as text")
    if _JOINED.search(line):
        found.append("two quotations made one")
    if _SCROLLED.search(line) and _VERBATIM.search(line.partition("| Result: ")[2]):
        found.append("a scroll told as a click")
    return found


def run_faults(events: Iterable[Event]) -> list[str]:
    """The faults of a run's lines and summaries, each with the text that has it."""
    return [f"{fault}: {text}" for fault, text in _faults(events)]


def _faults(events: Iterable[Event]) -> Iterator[tuple[str, str]]:
    thought, closest, typed = "", "", False
    clicked: set[tuple[str, ...]] = set()
    for event in events:
        match event:
            case Planned():
                thought, typed = event.thought, "write(" in str(event.input)
            case Abstracted():
                yield from ((fault, event.line) for fault in line_faults(event.line))
                if typed and _UNVERIFIED.search(event.line):
                    yield "typing without a visible change was not verified", event.line
                if _lost_value(thought, event.line):
                    yield "a value in the thought's tail is cut away", event.line
                clicked |= set(_CLICK.findall(event.line))
                missed = _CLOSEST.search(event.line)
                hit = "| Description: " in event.line and "| Result: Succeeded." in event.line
                closest = missed["first"] if missed else "" if hit else closest
            case Refined():
                yield from ((fault, event.text) for fault in line_faults(event.text))
                if not set(_CLICK.findall(event.text)) <= clicked:
                    yield "a click that no step made", event.text
                if closest not in event.text:
                    yield "the candidates of a failed grounding are lost", event.text


def _lost_value(thought: str, line: str) -> bool:
    """Whether the last sentence of a thought ends with numbers that its line does not have."""
    last = re.split(r"(?<=[.!?;…])\s+", thought.strip())[-1]
    shown = line.partition("| Thought: ")[2].partition(" | ")[0]
    numbers = _NUMBER.findall(last)
    return bool(shown and numbers) and len(last) <= _SHORT and numbers[-1] not in shown
