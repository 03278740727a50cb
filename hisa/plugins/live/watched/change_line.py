"""One line on what a person changed: the agent reads it when it has the machine again."""

from __future__ import annotations

from itertools import islice

from hisa.screen.observation import Observation
from hisa.state.changes import describe_changes
from hisa.state.roi import whole_pair
from hisa.state.sentences import change_sentences
from hisa.state.token_limits import cut_at_sentence
from hisa.text.prompt_text import clean, field_text

__all__ = ["change_line"]

_SENTENCES, _TOKENS = 4, 80  # chosen by hand


def change_line(before: Observation, after: Observation, seconds: float) -> str:
    """Returns the line: how long the person had the machine, and what is seen to be other.

    Args:
        before: the look when it was taken over, with elements where the machine tells them.
        after: that when it was given back.
        seconds: between the two.
    """
    pair = whole_pair(before, after)
    sentences = change_sentences(describe_changes(before, after, pair.box if pair else None) or ())
    seen = cut_at_sentence(field_text(clean(" ".join(islice(sentences, _SENTENCES)))), _TOKENS)
    if not seen and pair is None:
        seen = "Nothing on the screen is other than before."
    elif not seen and pair is not None:
        box = pair.box
        seen = (
            f"The screen changed between ({box.left:.0f}, {box.top:.0f}) and "
            f"({box.right:.0f}, {box.bottom:.0f})."
        )
    return f"a person had the machine for {seconds:.0f} s and gave it back. {seen}"
