"""Step abstraction by rules: what an action changed, in one or two sentences (HiSA, 3.3.1)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hisa.models.tokens import estimate_tokens, prefix_within
from hisa.outcomes.verdicts import VERDICT_WORDS, StepVerdict
from hisa.text.prompt_text import short

__all__ = ["abstract_step"]

_MAX_CHARS = 300
_MIN_TOKENS = 20
"""What a verdict and a few words take, whatever limit is asked for."""
_FAILED = re.compile(r"(?:failed|failure|error|refused|not found|timed out)\b", re.I)
_PLACE = re.compile(r"^changed: (.+)$", re.M)
_STATUS = re.compile(r"\bexit(?: code| status)?:?\s*(\d+)")
_ERROR = re.compile(r"^\s*(?:error|failed|reason):\s*(.+)$", re.M | re.I)


def abstract_step(sections: dict[str, str], *, limit: int | None = None) -> str:
    """One or two sentences that begin with a verdict; see `hisa.outcomes.verdicts`.

    Args:
        sections: ``action``, ``outcome`` and, where known, ``changes``.
        limit: most tokens of the answer.
    """
    outcome = sections.get("outcome", "").strip()
    lines = [line.strip() for line in sections.get("changes", "").split("\n") if line.strip()]
    said = [short(line, _MAX_CHARS) for line in lines]
    status = _STATUS.search(outcome)
    verdict: StepVerdict = "succeeded"
    if _FAILED.match(outcome) or (status and status[1] != "0"):
        verdict, said = "failed", [_error(outcome), *said]
    elif _only_focused(lines) and "click(" in sections.get("action", "").lower():
        verdict = "no_change"
    elif not said and (place := _PLACE.search(outcome)):
        said = [f"The picture changed in {place[1]}."]
    elif not said and not status:
        verdict = "no_change"
    return _cut(" ".join((VERDICT_WORDS[verdict], *said[:2])), limit)


def _only_focused(lines: Sequence[str]) -> bool:
    """Whether a button or the page took the focus and did nothing else that shows."""
    taken = r"The focus is on (?:(?:push |toggle )?button|document [a-z]+) "
    return len(lines) == 1 and re.match(taken, lines[0]) is not None


def _error(outcome: str) -> str:
    """Returns the tool's error message as a sentence, else its exit status."""
    if found := _ERROR.search(outcome):
        text = short(found[1], 180)
        return text if text.endswith((".", "!", "?", "…")) else f"{text}."
    status = _STATUS.search(outcome)
    return f"Exit status {status[1]}." if status else "The tool reported a failure."


def _cut(text: str, limit: int | None) -> str:
    """The beginning of a text within its limits."""
    text = text if len(text) <= _MAX_CHARS else text[: _MAX_CHARS - 1] + "…"
    if limit is None or estimate_tokens(text) <= max(_MIN_TOKENS, limit):
        return text
    return prefix_within(text, max(_MIN_TOKENS, limit), end="…").rstrip() + "…"
