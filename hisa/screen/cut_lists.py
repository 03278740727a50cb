"""Describes in words which elements a look lacks: its list can be shorter than the screen's."""

from __future__ import annotations

from collections.abc import Iterator

from hisa.screen.observation import Observation
from hisa.screen.roles import CUT
from hisa.text.prompt_text import excerpt

__all__ = ["cut_lists", "left_out"]

_ROLE_CHARS = 24  # chosen by hand


def cut_lists(observation: Observation) -> str:
    """Returns which lists continue beyond their visible part; empty: none."""
    roles = (excerpt(e.role, _ROLE_CHARS) for e in observation.elements or () if CUT in e.states)
    named = ", ".join(f"the {role}" for role in dict.fromkeys(roles))
    return named and f"of {named} only what shows is known: scroll for the rest"


def left_out(observation: Observation) -> Iterator[str]:
    """Yields the lines that end a list of the elements."""
    if rest := cut_lists(observation):
        yield f"({rest.capitalize()}.)"
    if not observation.complete:
        yield "(Not all elements are known: what is not listed may be there.)"
