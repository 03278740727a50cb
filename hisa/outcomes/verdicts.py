"""The verdict on a step, and the words with which its result begins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

__all__ = ["DIALOG_APPEARED", "VERDICT_WORDS", "StepVerdict", "split_verdict", "verdict_words"]

StepVerdict = Literal["succeeded", "changed", "no_change", "unexpected", "failed"]
"""What is claimed of a step.

* ``succeeded``: the intended effect was seen, or the tool reported it.
* ``changed``: the screen changed, and it was not judged whether as intended; the result says what
  changed.
* ``no_change``: no pixel changed, no file of the user was seen to be written, and the field with
  the focus was not seen to change.
* ``unexpected``: something other than intended was seen, such as a message or a closed window.
* ``failed``: the tool reported a failure, or the intended effect was seen to be missing.
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
"""Part of a result whose surprise is a dialog: the step itself may have worked."""


def verdict_words(verdict: StepVerdict) -> str:
    """Returns ``succeeded``, ``changed``, ``no visible change``, ``unexpected`` or ``failed``."""
    return VERDICT_WORDS[verdict].removesuffix(".").lower()


def split_verdict(result: str) -> tuple[StepVerdict | None, str]:
    """Returns the verdict that a result begins with, None if there is none, and the rest."""
    for verdict, words in VERDICT_WORDS.items():
        if result.startswith(words):
            return verdict, result[len(words) :].strip()
    return None, result
