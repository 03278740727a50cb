"""The state manager's jobs by rules: abstraction of a step (HiSA, 3.3.1), refinement (3.3.2)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hisa.models.tokens import estimate_tokens, prefix_within
from hisa.outcomes.verdicts import VERDICT_WORDS, StepVerdict
from hisa.plugins.offline.instructions import read_script
from hisa.plugins.offline.script_progress import progress_line, read_history, read_position
from hisa.state.context import shorten_line
from hisa.text.prompt_text import short

__all__ = ["abstract_step", "refine_context"]

_MAX_CHARS = 300
_MIN_TOKENS = 20
"""Least tokens of an answer, whatever limit is asked for: a verdict and a few words."""
_FAILED = re.compile(r"(?:failed|failure|error|refused|not found|timed out)\b", re.I)
_PLACE = re.compile(r"^changed: (.+)$", re.M)
_STATUS = re.compile(r"\bexit(?: code| status)?:?\s*(\d+)")
_ERROR = re.compile(r"^\s*(?:error|failed|reason):\s*(.+)$", re.M | re.I)


def abstract_step(sections: dict[str, str], *, limit: int | None = None) -> str:
    """Returns one or two sentences that begin with a verdict; see `hisa.outcomes.verdicts`.

    Args:
        sections: ``action``, ``outcome`` and, if known, ``changes``.
        limit: most tokens of the answer.
    """
    outcome = sections.get("outcome", "").strip()
    lines = [line.strip() for line in sections.get("changes", "").split("\n") if line.strip()]
    sentences = [short(line, _MAX_CHARS) for line in lines]
    status = _STATUS.search(outcome)
    verdict: StepVerdict = "succeeded"
    if _FAILED.match(outcome) or (status and status[1] != "0"):
        verdict, sentences = "failed", [_error(outcome), *sentences]
    elif _only_focused(lines) and "click(" in sections.get("action", "").lower():
        verdict = "no_change"
    elif not sentences and (place := _PLACE.search(outcome)):
        sentences = [f"The picture changed in {place[1]}."]
    elif not sentences and not status:
        verdict = "no_change"
    return _cut(" ".join((VERDICT_WORDS[verdict], *sentences[:2])), limit)


def _only_focused(lines: Sequence[str]) -> bool:
    """Whether the only change is that a button or the page took the focus."""
    taken = r"The focus is on (?:(?:push |toggle )?button|document [a-z]+) "
    return len(lines) == 1 and re.match(taken, lines[0]) is not None


def _error(outcome: str) -> str:
    """Returns the tool's error message as a sentence, or else its exit status."""
    if match := _ERROR.search(outcome):
        text = short(match[1], 180)
        return text if text.endswith((".", "!", "?", "…")) else f"{text}."
    status = _STATUS.search(outcome)
    return f"Exit status {status[1]}." if status else "The tool reported a failure."


def _cut(text: str, limit: int | None) -> str:
    """Returns a text, cut to its limits."""
    text = text if len(text) <= _MAX_CHARS else text[: _MAX_CHARS - 1] + "…"
    if limit is None or estimate_tokens(text) <= max(_MIN_TOKENS, limit):
        return text
    return prefix_within(text, max(_MIN_TOKENS, limit), end="…").rstrip() + "…"


# ---------------------------------------------------------------- the summary

_MAX_TOKENS = 800
_BETWEEN = "; "
_MARKED = "Thought: Instruction "
_HEAD = re.compile(r"\W*Steps? (?P<first>\d{1,9})(?:~\d+: )?(?:Progress: [^.]{1,100}\. )?")


def refine_context(sections: dict[str, str], *, limit: int | None = None) -> str:
    """Returns ``Steps a~b: Progress: …`` and the steps in short.

    The progress comes first, where no later cut can reach it; the oldest steps are dropped first.

    Args:
        sections: ``task``, ``new_steps`` and, if there is one, ``previous_summary``.
        limit: most tokens of the answer.
    """
    previous, new = sections.get("previous_summary", ""), sections.get("new_steps", "")
    numbers = [step.number for step in read_history(new)]
    begun = _HEAD.match(previous)
    first = int(begun["first"]) if begun else min(numbers, default=1)
    head = f"Steps {first}~{max([first, *numbers])}: {_progress(sections, previous, new)}"
    lines = [line for line in new.split("\n") if line.startswith("Step ")]
    most = _MAX_TOKENS if limit is None else min(_MAX_TOKENS, limit)
    earlier = previous[begun.end() :] if begun else previous
    items = earlier.split(_BETWEEN) if earlier else []
    items += [shorten_line(line) for line in lines]
    while items and estimate_tokens(head + _BETWEEN.join(items)) > most:
        items.pop(0)
    return head + _BETWEEN.join(items)


def _progress(sections: dict[str, str], previous: str, new: str) -> str:
    """Returns the progress of the offline planner; empty if the steps are another planner's."""
    if "Progress: instruction" not in previous and _MARKED not in new:
        return ""
    script = read_script(sections.get("task", "")).instructions
    return f"{progress_line(read_position(previous, new, script), len(script))} "
