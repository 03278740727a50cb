"""Keeps values beyond the steps in which they were seen: paths, amounts, codes, settings.

A model rewrites the summary every few steps, and what it leaves out once is gone. So rules take
concrete values from thoughts and results, and they are kept beside the summary. If there is no
room for all, the oldest value of the longest series goes first: of the readings of twenty pumps,
the first reading. If there is no series, the value goes that has not been seen for longest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from hisa.models.tokens import estimate_tokens
from hisa.state.base import NewSteps
from hisa.text.prompt_text import field_text

__all__ = ["build_values_line", "without_values"]

_NOTED = "Noted: "
_BETWEEN = "; "
_SHARE = 5, 2
"""At most two fifths of a summary's tokens are values."""
_OF_A_TEXT = {"Thought": 8, "Result": 4}
"""Most values that are taken from a thought or a result; a printed table has any number. Chosen by
hand: three sentences of a thought have two or three values each."""
_SERIES = 3
"""So many similar values are a series; two may be a coincidence. Chosen by hand."""
_MIN_COMMON_SHARE = 0.5
"""Share of their words that the labels of a series have in common; chosen by hand."""
_LABEL = 48
"""Characters before a value that say what it is; chosen by hand: some six words."""
_LONGEST = 100
"""Most characters of a value."""
_MOST = 100
"""Newest items that are considered; about forty have room."""
_READ = 8000
"""Characters of a thought that are read; no reply has more."""

_FIELD = re.compile(r" \| (Thought|Description|Input|Result): ")
_VERDICT = re.compile(r"^(?:Succeeded|No visible change|Unexpected|Failed)\.\s*")
_NOT_FOUND = "Failed. not found: "
"""Beginning of a result that holds no values of the screen, only what was looked for."""
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
"""Counts, cells and seconds: they tell how far the work is, which the summary says anyway."""
_VALUE_LEAD = re.compile(
    r"(?:\b(?:is|are|was|reads?|holds?|shows?|to)|[=:]|;\s*[^\W\d]+(?:\s[^\W\d]+)?)\s*$"
)
"""What makes a small number a value: a verb, a colon, or its place in a list of facts."""
_STEP = re.compile(r"\bsteps?\s*$", re.IGNORECASE)
_START = re.compile(r"[.!?;|“”\"]\s+|\n|:\s+(?=(?:\S+\s+){3})")


def build_values_line(previous: str, steps: NewSteps, tokens: int) -> str:
    """Returns the line of values to put below the summary; empty if there are none.

    Args:
        previous: the summary so far, with its values.
        steps: the steps since then; a value that stands in their notes is left out.
        tokens: limit of the whole summary, of which values get a share.
    """
    items = _read_items(previous)
    for name, text in _texts(steps):
        for label, value in [*_find_values(text)][: _OF_A_TEXT[name]]:
            if not _contains_value(steps.notes, value):
                item = _build_item(label, value)
                items = [o for o in items if o not in item and not _contains_value(o, value)] + [
                    item
                ]
    return _within(items, tokens * _SHARE[1] // _SHARE[0])


def without_values(summary: str) -> str:
    """Returns the summary without the line of values below it."""
    return "\n".join(line for line in summary.split("\n") if not line.startswith(_NOTED))


def _read_items(summary: str) -> list[str]:
    lines = [line for line in summary.split("\n") if line.startswith(_NOTED)]
    return lines[-1].removeprefix(_NOTED).split(_BETWEEN) if lines else []


def _within(items: Sequence[str], room: int) -> str:
    """Returns as many items as fit, on one line: series are thinned first, then the oldest go."""
    items = items[-_MOST:]
    kinds = [_kind(item) for item in items]
    like = [{at for at, other in enumerate(kinds) if _are_similar(kind, other)} for kind in kinds]
    left = [*range(len(items))]
    while left:
        line = _NOTED + _BETWEEN.join(items[at] for at in left)
        if estimate_tokens(line) + 1 <= room:
            return line
        sizes = [len(like[at].intersection(left)) for at in left]
        most = max(sizes)
        left.pop(sizes.index(most) if most >= _SERIES else 0)
    return ""


def _kind(item: str) -> tuple[str, frozenset[str]]:
    """Returns the form of an item's value ("00.0 a"), and the words that say what it is."""
    label, value = next(reversed([*_find_values(item)]), ("", item))
    form = re.sub(r"[^\W\d]+", "a", re.sub(r"\d+", "0", value))
    return form, frozenset(re.findall(r"[^\W\d]+", label.casefold()))


def _are_similar(first: tuple[str, frozenset[str]], second: tuple[str, frozenset[str]]) -> bool:
    """Whether two values may be of one series: the same form, and similar labels."""
    (form, words), (other_form, other_words) = first, second
    every = words | other_words
    short = len(words) == len(other_words) <= 1  # "Ada: 12; Bob: 14"
    return form == other_form and (
        short or len(words & other_words) >= _MIN_COMMON_SHARE * len(every)
    )


def _texts(steps: NewSteps) -> Iterator[tuple[str, str]]:
    """Yields thought and result of each step, without coordinates.

    The thought is the planner's in full; the one in the line may be cut.
    """
    for line, thought in zip_longest(steps.lines, steps.thoughts[: len(steps.lines)], fillvalue=""):
        parts = _FIELD.split(line)
        fields = dict(zip(parts[1::2], parts[2::2], strict=True))
        if thought := field_text(thought[:_READ]) or fields.get("Thought", ""):
            yield "Thought", _PLACE.sub("", thought)
        result = fields.get("Result", "")
        if not result.startswith(_NOT_FOUND):
            yield "Result", _PLACE.sub("", _VERDICT.sub("", result))


def _find_values(text: str) -> Iterator[tuple[str, str]]:
    """Yields values, each after the words before it that say what it is."""
    for match in _VALUE.finditer(text):
        kind = match.lastgroup or ""
        value = match[kind].rstrip(".,:;/-") if kind != "path" else match[kind].rstrip(".")
        at = match.start(kind)
        if kind == "number" and (
            _STEP.search(text[:at]) or (_COUNTED.match(value) and not _VALUE_LEAD.search(text[:at]))
        ):
            continue
        if len(value) > 1 or kind == "set":
            before = _START.split(text[max(0, at - _LABEL) : at])[-1]
            yield (
                before if at <= _LABEL or len(before) < _LABEL else before.partition(" ")[2],
                value[:_LONGEST],
            )


def _build_item(label: str, value: str) -> str:
    quote = '"' if label.endswith(('"', "“")) else ""
    text = " ".join(f"{label}{value}{quote}".replace(";", ",").split())
    return text.lstrip(" ,.:-)”'")


def _contains_value(item: str, value: str) -> bool:
    return re.search(rf"(?<![\w]){re.escape(value)}(?![\w])", item) is not None
