"""Sees elements on pictures of machines that report none, by what ``hisa.lists`` announces."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hisa.machine import plugins
from hisa.screen.observation import Observation

__all__ = ["GUESSED", "SEEN", "can_see", "is_seen", "knows_places", "see_elements"]

GUESSED = "guessed"
"""The state of a seen element whose name is what its icon may mean; no text says so."""
SEEN = "seen"
"""The state of an element that was seen on the picture; the machine did not report it."""


def can_see() -> bool:
    """Whether an installed package sees elements on pictures, and has what it needs.

    Raises:
        PluginFailed: a part of ``hisa.lists`` cannot be imported; names the package.
    """
    return _load_sight() is not None


def is_seen(observation: Observation) -> bool:
    """Whether the elements of a look were seen on its picture, not reported by the machine."""
    return any(SEEN in element.states for element in observation.elements or ())


def knows_places(observation: Observation) -> bool:
    """Whether the elements of a look say what is on top at a point.

    A complete list does, and so does what was seen: nothing covers it. A list that a machine
    reported in part does not, since what covers an element may be missing.
    """
    return observation.all_elements is not None or is_seen(observation)


def see_elements(observation: Observation) -> Observation:
    """Returns a look without elements with those that are seen on its picture.

    They are never complete: an element that was not seen may still be there. A look with elements
    is returned unchanged, and so is any look if no package sees elements. Takes about a second at
    1280x720: call it from a thread.

    Args:
        observation: the look; its full picture is read, without the pointer if that is known.

    Raises:
        OcrUnavailable: the text on the picture cannot be read.
        PluginFailed: the package failed; names it.
    """
    if observation.elements is not None:
        return observation
    sight = _load_sight()
    if sight is None:
        return observation
    point, part = sight
    with plugins.blaming_package("lists", point):
        elements = part.see_elements(observation)
    return replace(observation, elements=elements, complete=False)


def _load_sight() -> tuple[Any, Any] | None:
    """Returns the announced `hisa.grounder.base.ElementSight` with its entry point, if usable."""
    for point in reversed(plugins.points("lists")):
        if point != plugins.find("lists", point.name) or plugins.is_left_out(point):
            continue  # HiSA's own part has this name, or its plugin is not here
        part = plugins.load("lists", point)
        if hasattr(part, "see_elements") and part.available():
            return point, part
    return None
