"""Values that outlive the steps they were seen in: paths, amounts, codes, settings.

A summary is rewritten every few steps by a model, and what it leaves out once is gone. So concrete
values are taken from thoughts and results by rules and kept beside it. If there is no room for all,
the oldest of the longest series goes first, as of the readings of twenty pumps; among what is in no
series, what was not met for longest.
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
"""Of the tokens of a summary two fifths at most are values."""
_OF_A_TEXT = {"Thought": 8, "Result": 4}
"""Values taken from a thought or a result; a printed table has any number. Chosen by hand: three
sentences of a thought have two or three each."""
_SERIES = 3
"""Like values from which on they are a series: two of a kind are a coincidence. Chosen by hand."""
_MIN_COMMON_SHARE = 0.5
"""Words that the labels of a series have in common, of all of theirs; chosen by hand."""
_LABEL = 48
"""Characters before a value that say what it is; chosen by hand: some six words."""
_LONGEST = 100
"""Characters of a value."""
_MOST = 100
"""Items of which those are chosen that stay: some forty have room."""
_READ = 8000
"""Characters of a thought that are looked at, which no reply has more of."""

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
_VALUE_LEAD = re.compile(
    r"(?:\b(?:is|are|was|reads?|holds?|shows?|to)|[=:]|;\s*[^\W\d]+(?:\s[^\W\d]+)?)\s*$"
)
"""What makes a small number a value: a verb, a colon, or its place in a list of facts."""
_STEP = re.compile(r"\bsteps?\s*$", re.IGNORECASE)
_START = re.compile(r"[.!?;|“”\"]\s+|\n|:\s+(?=(?:\S+\s+){3})")


def build_values_line(previous: str, steps: NewSteps, tokens: int) -> str:
    """The line of values below a summary of ``tokens``; empty if there are none.

    Args:
        previous: the summary before, with its values.
        steps: those since; what their notes tell is kept there.
        tokens: of the whole summary.
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
    """The summary without the line of values below it."""
    return "\n".join(line for line in summary.split("\n") if not line.startswith(_NOTED))


def _read_items(summary: str) -> list[str]:
    lines = [line for line in summary.split("\n") if line.startswith(_NOTED)]
    return lines[-1].removeprefix(_NOTED).split(_BETWEEN) if lines else []


def _within(items: Sequence[str], room: int) -> str:
    """As many of the items as fit, on one line: series give way, then what is oldest."""
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
    """The form of an item's value, and the words that say what it is."""
    label, value = next(reversed([*_find_values(item)]), ("", item))
    form = re.sub(r"[^\W\d]+", "a", re.sub(r"\d+", "0", value))
    return form, frozenset(re.findall(r"[^\W\d]+", label.casefold()))


def _are_similar(first: tuple[str, frozenset[str]], second: tuple[str, frozenset[str]]) -> bool:
    """Whether two values may be of one series: the same form, and much the same said of them."""
    (form, words), (other_form, other_words) = first, second
    every = words | other_words
    short = len(words) == len(other_words) <= 1  # "Ada: 12; Bob: 14"
    return form == other_form and (
        short or len(words & other_words) >= _MIN_COMMON_SHARE * len(every)
    )


def _texts(steps: NewSteps) -> Iterator[tuple[str, str]]:
    """Thought and result of each step, without places on the screen.

    The thought as it was thought, which a line may have cut.
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
    """Values and the words before each, that say what it is."""
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
