"""Values that outlive the steps they were seen in: paths, amounts, codes, settings.

A summary is rewritten every few steps by a model, and what it leaves out once is gone. So concrete
values are taken from the lines by rules and kept beside it, those that the planner wrote into its
thoughts (``Noted:``) before those that only a result told (``Seen:``). Where there is no room for
all, what was not met for longest goes first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from hisa.models.tokens import estimate_tokens, longest

__all__ = ["kept_values", "without_values"]

_NOTED = "Noted: "
_SEEN = "Seen: "
_BETWEEN = "; "
_SHARE = 5, 2
"""Of the tokens of a summary two fifths at most are values."""
_NOTED_SHARE = 4, 3
"""Of these three quarters at most are noted ones; what they leave is for those that were seen."""
_OF_A_LINE = 4
"""Values taken from a thought or a result; a printed table has any number."""
_LABEL = 48
"""Characters before a value that say what it is; chosen by hand: some six words."""
_LONGEST = 100
"""Characters of a value."""

_FIELD = re.compile(r" \| (Thought|Description|Input|Result): ")
_VERDICT = re.compile(r"^(?:Succeeded|No visible change|Unexpected|Failed)\.\s*")
_NOT_FOUND = "Failed. not found: "
"""What was not found has a line of its own below the summary."""
_PLACE = re.compile(r"\(-?\d+(?:\.\d+)?, -?\d+(?:\.\d+)?\)(?: to \(-?\d+, -?\d+\))?")
_VALUE = re.compile(
    r"""
    (?P<url>\b[a-z][a-z0-9+.-]{1,9}://[^\s"'“”,;|)]+)
  | (?P<mail>\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+)
  | (?P<path>(?<![\w<])(?:~|\.{1,2})?/[\w.@+-]+(?:/[\w.@+-]*)*)
  | (?P<file>\b[\w-]+(?:\.[\w-]+)*\.(?!\d)[A-Za-z][A-Za-z0-9]{1,5}\b(?!\())
  | (?:\b(?:is|are|was|to|reads?|holds?|shows?|named|called|contains?)|=|:)\ *
    (?P<mark>["“'‘])(?P<quoted>[^"“”‘’\n]{1,100}?)["”'’](?=[\s,.;)]|$)
  | (?:\b(?:set|switched|changed)\ to|\bchosen\ as|=)\ +
    (?P<set>[\w%+-]+(?:\.\w+)*(?:\ [A-Z0-9][\w-]*)*)
  | (?:\b(?:is|are|was|reads|named|called)|:)\ +
    (?P<name>[A-Z][\w-]*(?:\ [A-Z0-9][\w-]*){0,3})(?=[,.;)]|\s*$|\ (?:and|in|on|by|for))
  | (?P<number>(?<![\w.,])[#$€£]?[A-Za-z_-]{0,12}\d[\w.,:/-]*(?:\ ?[%€]|\ [A-Z]{2,3}\b)?)
    """,
    re.VERBOSE,
)
_COUNTED = re.compile(r"\d{1,3}$|[A-Z]{1,3}\d{1,4}$|\d\.\d+$")
"""Counts, cells and seconds: they tell where the work stands, which the summary does."""
_PLAIN = re.compile(r"[\d.,:%]*")
_SAID = re.compile(r"(?:\b(?:is|are|was|reads?|holds?|shows?|to)|[=:])\s*$")
_STEP = re.compile(r"\bsteps?\s*$", re.IGNORECASE)
_START = re.compile(r"[.!?;|“”\"]\s+|\n|:\s+(?=(?:\S+\s+){3})")


def kept_values(previous: str, lines: Iterable[str], tokens: int) -> str:
    """The lines of values below a summary of ``tokens``; empty where there are none.

    Args:
        previous: the summary before, with its values.
        lines: of the steps since.
        tokens: of the whole summary.
    """
    noted, seen = (_listed(previous, head) for head in (_NOTED, _SEEN))
    for line in lines:
        for name, text in _fields(line):
            for label, value in [*_values(text)][:_OF_A_LINE]:
                item = _item(label, value)
                known = any(_tells(other, value) for other in noted)
                noted, seen = (
                    [other for other in items if not _replaces(item, other, value)]
                    for items in (noted, seen)
                )
                (noted if known or name == "Thought" else seen).append(item)
    room = tokens * _SHARE[1] // _SHARE[0]
    told = _latest(_NOTED, noted, room * _NOTED_SHARE[1] // _NOTED_SHARE[0])
    rest = _latest(_SEEN, seen, room - estimate_tokens(told) if told else room)
    return "\n".join(filter(None, (told, rest)))


def without_values(summary: str) -> str:
    """The summary without the lines of values below it."""
    lines = summary.split("\n")
    return "\n".join(line for line in lines if not line.startswith((_NOTED, _SEEN)))


def _listed(summary: str, head: str) -> list[str]:
    found = [line for line in summary.split("\n") if line.startswith(head)]
    return found[-1].removeprefix(head).split(_BETWEEN) if found else []


def _latest(head: str, items: Sequence[str], room: int) -> str:
    """As many of the latest items as fit, on one line."""

    def told(count: int) -> str:
        return head + _BETWEEN.join(items[len(items) - count :])

    count = longest(len(items), lambda count: estimate_tokens(told(count)) + 1 <= room)
    return told(count) if count else ""


def _fields(line: str) -> Iterator[tuple[str, str]]:
    """The thought and the result of a line, without places on the screen."""
    parts = _FIELD.split(line)
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        if name == "Thought" or (name == "Result" and not text.startswith(_NOT_FOUND)):
            yield name, _PLACE.sub("", _VERDICT.sub("", text))


def _values(text: str) -> Iterator[tuple[str, str]]:
    """Values and the words before each, that say what it is."""
    for found in _VALUE.finditer(text):
        kind = found.lastgroup or ""
        value = found[kind].rstrip(".,:;/-") if kind != "path" else found[kind].rstrip(".")
        at = found.start(kind)
        if kind == "number" and (
            _STEP.search(text[:at]) or (_COUNTED.match(value) and not _SAID.search(text[:at]))
        ):
            continue
        if len(value) > 1 or kind == "set":
            before = _START.split(text[max(0, at - _LABEL) : at])[-1]
            yield (
                before if at <= _LABEL or len(before) < _LABEL else before.partition(" ")[2],
                value[:_LONGEST],
            )


def _item(label: str, value: str) -> str:
    quote = '"' if label.endswith(('"', "“")) else ""
    told = " ".join(f"{label}{value}{quote}".replace(";", ",").split())
    return told.lstrip(" ,.:-)”'")


def _replaces(item: str, other: str, value: str) -> bool:
    """Whether an item tells the value of another one, or the same quantity anew."""
    label = item.removesuffix(value)
    again = len(label.split()) > 1 and other.startswith(label)
    return _tells(other, value) or (
        again and all(map(_PLAIN.fullmatch, (value, other[len(label) :])))
    )


def _tells(item: str, value: str) -> bool:
    return re.search(rf"(?<![\w]){re.escape(value)}(?![\w])", item) is not None
