"""Context refinement by rules: older steps folded into one bounded summary (HiSA, 3.3.2)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hisa.models.tokens import estimate_tokens, prefix_within
from hisa.offline.instructions import read_script
from hisa.offline.progress import HistoryStep, history_steps, progress_line, read
from hisa.verdicts import split_verdict

__all__ = ["refine_context"]

MAX_TOKENS = 800
_MARKED = re.compile(r"Instruction \d+ of \d+[^:]{0,60}")
_NOTE = re.compile(r" \((?:advice: |loop noticed|instruction \d+ was).*$")
_PLACE = re.compile(
    r"(?:\w*[cC]lick|moveTo|dragTo|scroll)\([^()]*?(?P<x>-?\d+)(?:\.\d+)?, *(?:y=)?(?P<y>-?\d+)"
)
_OWN = re.compile(
    r"Steps (?P<first>\d+)~\d+: (?:Progress: [^.]*\. )?(?P<items>.*?)\.? Suggestion: ", re.S
)
_HEAD = re.compile(r"\W*Steps? (?P<first>\d+)")
_ITEM = re.compile(r"; (?=\d+\) )")


def refine_context(sections: dict[str, str], *, limit: int | None = None) -> str:
    """``Steps a~b: Progress: … 1) …; 2) …. Suggestion: …``.

    The progress comes first, where no later cut can reach it; of the steps the oldest give way.

    Args:
        sections: ``task``, ``new_steps`` and, where there is one, ``previous_summary``.
        limit: most tokens of the answer.
    """
    previous, new = sections.get("previous_summary", ""), sections.get("new_steps", "")
    steps = list(history_steps(new))
    first = _HEAD.match(previous)
    start = int(first["first"]) if first else (steps[0].number if steps else 1)
    end = max([start, *(step.number for step in steps)])
    head = f"Steps {start}~{end}: {_progress(sections, previous, steps)}"
    tail = f" Suggestion: {_suggestion(steps)}"
    items = [*_earlier(previous), *(item for step in steps if (item := _item(step)))]
    most = MAX_TOKENS if limit is None else min(MAX_TOKENS, limit)
    return head + _fitting(items, most - estimate_tokens(head + tail) - 1) + tail


def _progress(sections: dict[str, str], previous: str, steps: Sequence[HistoryStep]) -> str:
    """The progress of the offline planner; nothing where another planner is at work."""
    if "Progress: instruction" not in previous and not any(
        _MARKED.match(step.thought) for step in steps
    ):
        return ""
    script = read_script(sections.get("task", "")).instructions
    position = read(previous, sections.get("new_steps", ""), script)
    return progress_line(position, len(script)) + " "


def _earlier(previous: str) -> list[str]:
    """The items of an earlier summary; a summary of another model is one item."""
    text = previous.partition("\nCoordinates: ")[0].strip()
    own = _OWN.match(text)
    if own is not None:
        items = (item.strip().rstrip(".") for item in _ITEM.split(own["items"]))
        return [item for item in items if item]
    flat = " ".join(text.split())
    return [f"earlier: {flat[:600]}"] if flat else []


def _item(step: HistoryStep) -> str:
    """One step in short; waiting that led to nothing new is left out."""
    if ", look " in step.thought[:80] and (step.tool == "wait" or not step.ok):
        return ""
    what = _NOTE.sub("", _MARKED.sub("", step.thought, count=1).lstrip(": ")) or step.source
    places = ", ".join(f"click({x}, {y})" for x, y in _PLACE.findall(step.source))
    where = f" [{places}{' ' + _flat(step.description, 50) if step.description else ''}]"
    proven = places and step.verdict == "succeeded"
    return f"{step.number}) {_flat(what, 90)}{where if proven else ''} - {_verdict(step)}"


def _verdict(step: HistoryStep) -> str:
    match step.verdict:
        case "succeeded":
            return "succeeded"
        case "no_change":
            return "no visible change"
        case verdict:
            return f"{verdict}: {_flat(_reason(step.result), 80)}"


def _reason(result: str) -> str:
    return split_verdict(result)[1].rstrip(".") or "no reason given"


def _suggestion(steps: Sequence[HistoryStep]) -> str:
    failed = 0
    for step in reversed(steps):
        if step.ok:
            break
        failed += 1
    if failed >= 2:
        reason = _flat(_reason(steps[-1].result), 80)
        return f"The last {failed} tries failed ({reason}); do it another way."
    same = 0
    for step in reversed(steps):
        if not step.source or step.source != steps[-1].source:
            break
        same += 1
    if same >= 3 and steps[-1].tool != "wait":
        return f"The same action ran {same} times; do something else."
    return "Continue."


def _fitting(items: Sequence[str], room: int) -> str:
    """The newest items that fit into so many tokens, in order."""
    kept: list[str] = []
    for item in reversed(items):
        size = estimate_tokens(item) + 2
        if size > room:
            break
        kept.append(item)
        room -= size
    if not kept and items:
        kept = [prefix_within(items[-1], max(0, room - 1))]
    return "; ".join(reversed(kept)) + "." if any(kept) else ""


def _flat(text: str, chars: int) -> str:
    """One line without the separators of a summary."""
    flat = " ".join(text.split()).replace(";", ",").replace("|", "/")
    return flat if len(flat) <= chars else flat[: chars - 1] + "…"
