"""Picks one of several attempts by rules: the ends and verdicts that are told, and counting.

The rules know an attempt that says itself that it failed, or whose last act was seen to fail.
Beyond that they count: the texts that the task puts in quotes and the attempt has in its steps, the
other attempts that came to the same, the steps that went wrong. Nothing else of the task is read.
Where no attempt ended well they say that they cannot tell.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field

from hisa.plugins.offline.quotes import mask
from hisa.plugins.offline.script_progress import HistoryStep, history_steps

__all__ = ["pick_attempt"]

_ATTEMPT = re.compile(r"Attempt (\d{1,2})")
_ENDED = re.compile(r"Ended: (\w+)(?:: .*)?")
_END_TOOLS = ("termination", "infeasible")


@dataclass
class _Told:
    """The facts of one attempt, as the judge reads them."""

    number: int
    lines: list[str] = field(default_factory=list)

    @property
    def steps(self) -> list[HistoryStep]:
        return list(history_steps("\n".join(self.lines)))

    @property
    def ended(self) -> str:
        found = (_ENDED.fullmatch(line) for line in reversed(self.lines))
        return next((match[1] for match in found if match), "")

    @property
    def wrong(self) -> int:
        return sum(not step.ok for step in self.steps)

    @property
    def outcome(self) -> tuple[str, ...]:
        """Its files, what it typed, and the result of the last act before the end."""
        files = [line for line in self.lines if line.startswith(("Files ", "Brought ", "Not "))]
        typed = sorted(step.source for step in self.steps if ".write(" in step.source)
        return (*files, *typed, self.last.result if self.last else "")

    def found(self, texts: list[str]) -> int:
        """Counts the texts that its acts have as whole words, the words of its end apart."""
        acts = (f"{s.description} {s.source} {s.result}" for s in self.steps if _is_act(s))
        told = " ".join(acts)
        return sum(bool(re.search(rf"(?<!\w){re.escape(text)}(?!\w)", told)) for text in texts)

    @property
    def last(self) -> HistoryStep | None:
        acts = [step for step in self.steps if _is_act(step)]
        return acts[-1] if acts else None

    @property
    def well(self) -> bool:
        """Whether it says that it succeeded, and nothing that is told speaks against that."""
        missed = any(line.startswith("Not brought home: ") for line in self.lines)
        return self.ended == "succeeded" and not missed and (self.last is None or self.last.ok)


def pick_attempt(sections: dict[str, str]) -> str:
    """Returns the pick as JSON: ``explaining``, and the number of an attempt, or null for none."""
    told = _attempts(sections.get("attempts", ""))
    well = [each for each in told if each.well]
    if not well:
        words = "no attempt ended with 'succeeded' and without a failed last step"
        return _said(f"By rules: {words}; the rules cannot tell more.", None)
    quoted = mask(sections.get("task", "")).quoted
    alike = Counter(each.outcome for each in well)

    def rank(each: _Told) -> tuple[int, int, int]:
        return -each.found(quoted), -alike[each.outcome], each.wrong

    best = min(well, key=rank)
    why = [f"{len(well)} of {len(told)} attempts ended with 'succeeded' and a sound last step"]
    if quoted:
        seen = best.found(quoted)
        why.append(f"attempt {best.number} has {seen} of the {len(quoted)} texts in quotes")
    if len(well) > 1:
        why.append(f"{alike[best.outcome]} of them came to the same as attempt {best.number}")
        why.append(f"{best.wrong} of its steps went wrong")
    return _said(f"By rules, which do not understand the task: {'; '.join(why)}.", best.number)


def _is_act(step: HistoryStep) -> bool:
    return step.tool not in _END_TOOLS


def _attempts(text: str) -> list[_Told]:
    found: list[_Told] = []
    for line in text.split("\n"):
        if (match := _ATTEMPT.fullmatch(line)) is not None:
            found.append(_Told(int(match[1])))
        elif found:
            found[-1].lines.append(line)
    return found


def _said(words: str, index: int | None) -> str:
    return json.dumps({"explaining": words, "index": index}, ensure_ascii=False)
