"""Context refinement by rules: older steps folded into one bounded summary (HiSA, 3.3.2)."""

from __future__ import annotations

import re

from hisa.models.tokens import estimate_tokens
from hisa.plugins.offline.instructions import read_script
from hisa.plugins.offline.script_progress import history_steps, progress_line, read
from hisa.state.context import in_short

__all__ = ["refine_context"]

_MAX_TOKENS = 800
_BETWEEN = "; "
_MARKED = "Thought: Instruction "
_HEAD = re.compile(r"\W*Steps? (?P<first>\d{1,9})(?:~\d+: )?(?:Progress: [^.]{1,100}\. )?")


def refine_context(sections: dict[str, str], *, limit: int | None = None) -> str:
    """``Steps a~b: Progress: …`` and the steps in short.

    The progress comes first, where no later cut can reach it; of the steps the oldest give way.

    Args:
        sections: ``task``, ``new_steps`` and, where there is one, ``previous_summary``.
        limit: most tokens of the answer.
    """
    previous, new = sections.get("previous_summary", ""), sections.get("new_steps", "")
    numbers = [step.number for step in history_steps(new)]
    begun = _HEAD.match(previous)
    first = int(begun["first"]) if begun else min(numbers, default=1)
    head = f"Steps {first}~{max([first, *numbers])}: {_progress(sections, previous, new)}"
    lines = [line for line in new.split("\n") if line.startswith("Step ")]
    most = _MAX_TOKENS if limit is None else min(_MAX_TOKENS, limit)
    earlier = previous[begun.end() :] if begun else previous
    items = earlier.split(_BETWEEN) if earlier else []
    items += [in_short(line) for line in lines]
    while items and estimate_tokens(head + _BETWEEN.join(items)) > most:
        items.pop(0)
    return head + _BETWEEN.join(items)


def _progress(sections: dict[str, str], previous: str, new: str) -> str:
    """The progress of the offline planner; nothing where another planner is at work."""
    if "Progress: instruction" not in previous and _MARKED not in new:
        return ""
    script = read_script(sections.get("task", "")).instructions
    return f"{progress_line(read(previous, new, script), len(script))} "
