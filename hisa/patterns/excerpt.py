"""Shortens the steps of a run to a number of tokens, for a model that learns from them.

Steps that went wrong teach most, with the step before and the step after; then come the end of the
run and its beginning. In place of steps that are left out, a line counts them by their verdicts.
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
"""Most tokens of the steps: with instructions and task a request then stays within 6,000."""
_LINE_TOKENS = 400
"""Most tokens of a line; the limit of a step's line is lower, unless a setting raises it."""
_FIRST, _LAST = 5, 10
_STEP = re.compile(r"\AStep (\d+):")


def step_numbers(lines: Sequence[str]) -> dict[int, str]:
    """Returns the lines of steps by the step number that they begin with."""
    matches = ((_STEP.match(line), line) for line in lines)
    return {int(match[1][:9]): line for match, line in matches if match}


def verdict(line: str) -> StepVerdict | None:
    """Returns the verdict in a step's line; None if the line has none."""
    return split_verdict(line.rpartition(" | Result: ")[2])[0]


def _flat(line: str) -> str:
    """Returns a text on one line; if it is too long, its beginning and its end."""
    text = " ".join(line.split())
    while estimate_tokens(text) > _LINE_TOKENS:
        room = len(text) * 3 // 8
        text = f"{text[:room]} … {text[-room:]}"
    return text


def _by_worth(lines: Sequence[str]) -> Iterator[int]:
    """Yields indices of lines, the most informative first; an index may occur more than once."""
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
    """Returns lines in their order, within ``limit`` tokens; gaps say how many are left out."""
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
