"""The control that is only drawn beside the words that name it.

Pages make switches and boxes of pictures that tell nothing, with their name beside them. The name
is then the likeliest thing that a description fits, and a click on it does nothing.
"""

from __future__ import annotations

from hisa.grounder.thing import Thing, gaps
from hisa.plugins.matching.description import Query
from hisa.plugins.matching.evidence import lacks_control
from hisa.plugins.matching.scene import Scene

__all__ = ["drawn_control", "named_control"]

_FAR = 400
"""Pixels of the screen between a name and its control: those at a line's end are meant too."""
_HIGHER = 2.5
"""How many times higher than its name a control is drawn, at most."""
_ON_LINE = 0.5
"""The share of the lower one's height that both have in common on one line."""


def drawn_control(query: Query, chosen: Thing, scene: Scene) -> Thing | None:
    """The drawn control that the words of a choice name, where a control is asked for.

    None where the choice is a control itself, where nothing is drawn on its line, or where other
    words stand between the two, which then name what is drawn.

    Args:
        query: what is described.
        chosen: the likeliest thing.
        scene: its screen, with what is drawn.
    """
    if not lacks_control(query, chosen):
        return None
    level = [t for t in scene.things if t is not chosen and _on_line(chosen, t)]
    drawn = [t for t in level if t.role == "image" and t.drawn is not None]
    near = [t for t in drawn if gaps(chosen.box, t.box)[0] <= _FAR]
    clear = [t for t in near if not any(_between(chosen, other, t) for other in level)]
    return min(clear, key=lambda t: gaps(chosen.box, t.box)[0], default=None)


def named_control(query: Query, scene: Scene) -> Thing | None:
    """The one drawn control beside words that are, to the letter, the name asked for."""
    name = query.name.strip().casefold()
    named = [t for t in scene.things if t.element.name.strip().casefold() == name != ""]
    if any(query.kind and t.role in query.kind.roles for t in named):
        return None
    found = {control for t in named if (control := drawn_control(query, t, scene))}
    return found.pop() if len(found) == 1 else None


def _on_line(words: Thing, other: Thing) -> bool:
    _, down = gaps(words.box, other.box)
    least = min(words.box.height, other.box.height)
    return -down >= _ON_LINE * least and other.box.height <= _HIGHER * words.box.height


def _between(words: Thing, other: Thing, drawn: Thing) -> bool:
    """Whether other words or controls stand between two things of a line."""
    part = words.box.contains(other.box.centre) or drawn.box.contains(other.box.centre)
    if other is drawn or part or other.box.contains(words.box.centre):
        return False
    left, right = sorted((words.box.centre.x, drawn.box.centre.x))
    return left < other.box.centre.x < right
