"""One line on what a person changed: the agent reads it when it has the machine again."""

from __future__ import annotations

from hisa.screen.observation import Observation
from hisa.state.changes import describe_changes
from hisa.state.roi import whole_pair
from hisa.state.token_limits import cut_at_sentence
from hisa.text.prompt_text import clean, field_text

__all__ = ["change_line"]


def change_line(before: Observation, after: Observation) -> str:
    """Returns what is other in two looks, by the elements, else by the pictures' changed part."""
    pair = whole_pair(before, after)
    box = pair.box if pair else None
    changes = " ".join((describe_changes(before, after, box) or ())[:4])
    seen = cut_at_sentence(field_text(clean(changes)), 120)  # sentences and tokens: chosen by hand
    if seen or box is None:
        return seen or "Nothing on the screen is other than before."
    (left, top), (right, bottom) = (box.left, box.top), (box.right, box.bottom)
    return f"The screen changed between ({left:.0f}, {top:.0f}) and ({right:.0f}, {bottom:.0f})."
