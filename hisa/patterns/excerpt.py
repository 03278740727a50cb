"""A run's steps within a number of tokens, for a model that learns from them.

What went wrong teaches most, with the step before it and the one after; then how the run ended
and how it began. What is left out is counted by how it ended, in its place.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence

from hisa.models.tokens import estimate_tokens
from hisa.outcomes.verdicts import StepVerdict, split_verdict, verdict_words

__all__ = ["STEPS_TOKENS", "excerpt", "step_numbers", "verdict"]

STEPS_TOKENS = 3500
"""Tokens of the steps, so that with instructions and task a request stays within 6,000."""
_LINE_TOKENS = 400
"""Longest line; a step's own limit is lower unless raised by a setting."""
_FIRST, _LAST = 5, 10
_STEP = re.compile(r"\AStep (\d+):")


def step_numbers(lines: Sequence[str]) -> dict[int, str]:
    """Lines of steps, keyed by the step number that they begin with."""
    matches = ((_STEP.match(line), line) for line in lines)
    return {int(match[1][:9]): line for match, line in matches if match}


def verdict(line: str) -> StepVerdict | None:
    """Returns the verdict in a step's line; None where the line has none."""
    return split_verdict(line.rpartition(" | Result: ")[2])[0]


def _flat(line: str) -> str:
    """One line; one that is too long keeps its beginning and its end."""
    text = " ".join(line.split())
    while estimate_tokens(text) > _LINE_TOKENS:
        room = len(text) * 3 // 8
        text = f"{text[:room]} … {text[-room:]}"
    return text


def _by_worth(lines: Sequence[str]) -> Iterator[int]:
    """Indices of lines, the most informative first; an index may occur more than once."""
    count = len(lines)
    wrong = [place for place in range(count) if verdict(lines[place]) != "succeeded"]
    yield from range(count - 1, max(-1, count - 4), -1)
    yield from reversed(wrong)
    yield from range(min(_FIRST, count))
    yield from range(count - 1, max(-1, count - 1 - _LAST), -1)
    for place in reversed(wrong):
        yield from (near for near in (place + 1, place - 1) if 0 <= near < count)
    yield from range(count - 1, -1, -1)


def excerpt(lines: Sequence[str], limit: int) -> list[str]:
    """The lines in their order, within ``limit`` tokens; gaps say what is left out."""
    flat = [_flat(line) for line in lines]
    order = list(dict.fromkeys(_by_worth(flat)))

    def tokens(most: int) -> int:
        return estimate_tokens("\n".join(_with_gaps(flat, set(order[:most]))))

    most = bisect_right(range(len(order)), limit, key=lambda place: tokens(place + 1))
    while most and tokens(most) > limit:
        most -= 1
    return _with_gaps(flat, set(order[:most]))


def _with_gaps(lines: Sequence[str], places: set[int]) -> list[str]:
    shown: list[str] = []
    gap: Counter[str] = Counter()
    for place, line in enumerate([*lines, ""]):
        if place == len(lines) or place in places:
            if gap:
                counts = ", ".join(f"{number} {verdict}" for verdict, number in gap.items())
                shown.append(f"({gap.total()} steps are left out here: {counts})")
                gap = Counter()
            shown += [line] if place < len(lines) else []
        else:
            ended = verdict(line)
            gap[verdict_words(ended) if ended else "without a verdict"] += 1
    return shown
