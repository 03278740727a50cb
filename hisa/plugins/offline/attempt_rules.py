"""Picks one of several attempts by rules: the ends and verdicts that are told, and counting.

The rules know an attempt that says itself that it failed, or whose last act was seen to fail. Of
those that are left they take the one of whose steps fewest went wrong; the task is not read. Where
no attempt ended well they say that they cannot tell.
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
    """Returns the pick as JSON: ``explaining``, and the number of an attempt, or null for none."""
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
    """Whether it says that it succeeded, and nothing that is told speaks against that."""
    ended = _ENDED.findall(text)[-1:]
    acts = [step for step in steps if step.tool not in _END_TOOLS]
    return ended == ["succeeded"] and not _MISSED.search(text) and (not acts or acts[-1].ok)


def _wrong(steps: Sequence[HistoryStep]) -> int:
    return sum(not step.ok for step in steps)


def _reply(words: str, index: int | None) -> str:
    return json.dumps({"explaining": words, "index": index}, ensure_ascii=False)
