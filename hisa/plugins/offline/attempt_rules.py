"""Picks one of several attempts by rules: from their ends and verdicts, and by counting.

The rules exclude an attempt that says that it failed, or whose last act failed. Of the others they
pick the one with the fewest failed steps; they do not read the task. If no attempt ended well, they
say that they cannot tell.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from hisa.plugins.offline.script_progress import HistoryStep, read_history

__all__ = ["pick_attempt"]

_ATTEMPT = re.compile(r"^Attempt (\d{1,2})$", re.M)
_ENDED = re.compile(r"^Ended: (\w+)(?:: .*)?$", re.M)
_MISSED = re.compile(r"^Not brought home: ", re.M)
_END_TOOLS = ("termination", "infeasible")


def pick_attempt(sections: dict[str, str]) -> str:
    """Returns the pick as JSON: ``explaining``, and ``index``, the number of an attempt or null."""
    _, *pieces = _ATTEMPT.split(sections.get("attempts", ""))
    numbers, texts = map(int, pieces[::2]), pieces[1::2]
    attempts = [(n, text, list(read_history(text))) for n, text in zip(numbers, texts, strict=True)]
    well = [(_wrong(steps), n) for n, text, steps in attempts if _ended_well(text, steps)]
    if not well:
        words = "no attempt ended with 'succeeded' and without a failed last step"
        return _reply(f"By rules: {words}; the rules cannot tell more.", None)
    wrong, number = min(well)
    why = (
        f"{len(well)} of {len(attempts)} attempts ended with 'succeeded' and a sound last step; "
        f"{wrong} steps of attempt {number} went wrong"
    )
    return _reply(f"By rules, which do not understand the task: {why}.", number)


def _ended_well(text: str, steps: Sequence[HistoryStep]) -> bool:
    """Whether an attempt says that it succeeded, and nothing in its text contradicts that."""
    ended = _ENDED.findall(text)[-1:]
    acts = [step for step in steps if step.tool not in _END_TOOLS]
    return ended == ["succeeded"] and not _MISSED.search(text) and (not acts or acts[-1].ok)


def _wrong(steps: Sequence[HistoryStep]) -> int:
    return sum(not step.ok for step in steps)


def _reply(words: str, index: int | None) -> str:
    return json.dumps({"explaining": words, "index": index}, ensure_ascii=False)
