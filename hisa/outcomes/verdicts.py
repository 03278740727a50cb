"""The verdict on a step: what was seen of it, and the words with which its line begins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

__all__ = ["DIALOG_APPEARED", "VERDICT_WORDS", "StepVerdict", "split_verdict", "verdict_words"]

StepVerdict = Literal["succeeded", "changed", "no_change", "unexpected", "failed"]
"""What was seen of a step.

* ``succeeded``: the effect that was intended was seen, or reported by the tool.
* ``changed``: the screen changed, and nobody judged whether as intended: its facts are told.
* ``no_change``: no pixel changed, no file of the user was seen to be written, nor the field with
  the focus to change.
* ``unexpected``: something else than intended was seen: a message, a window that is gone.
* ``failed``: the tool reported a failure, or the intended effect was seen not to come.
"""

VERDICT_WORDS: Mapping[StepVerdict, str] = {
    "succeeded": "Succeeded.",
    "changed": "Changed.",
    "no_change": "No visible change.",
    "unexpected": "Unexpected.",
    "failed": "Failed.",
}
"""The beginning of a step's result, by verdict."""


DIALOG_APPEARED = "that came up"
"""How a result says that a dialog was what was not expected: the step itself may have worked."""


def verdict_words(verdict: StepVerdict) -> str:
    """``succeeded``, ``changed``, ``no visible change``, ``unexpected`` or ``failed``."""
    return VERDICT_WORDS[verdict].removesuffix(".").lower()


def split_verdict(result: str) -> tuple[StepVerdict | None, str]:
    """The verdict that a result begins with, and what follows it; None where there is none."""
    for verdict, words in VERDICT_WORDS.items():
        if result.startswith(words):
            return verdict, result[len(words) :].strip()
    return None, result
