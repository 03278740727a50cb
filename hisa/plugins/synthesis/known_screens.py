"""Screens of an exploration read back as looks, and the frontier that follows from them."""

from __future__ import annotations

from hisa.plugins.synthesis.exploration import Exploration
from hisa.plugins.synthesis.frontier import Frontier, Key
from hisa.plugins.synthesis.offers import offered_keys, program_of
from hisa.plugins.synthesis.records import State
from hisa.screen.geometry import Size
from hisa.screen.observation import Observation, Screenshot, Window

__all__ = ["look_of", "restored"]

_TOPS = frozenset({"frame", "dialog", "alert", "window", "file chooser"})


def look_of(exploration: Exploration, state: State) -> Observation:
    """A state's look: its picture and elements. Of its windows it knows which was in front.

    Raises:
        OSError, ValueError: a file is gone or damaged.
    """
    elements = exploration.elements(state)
    screenshot = Screenshot.from_png(exploration.picture(state).read_bytes())
    tops = [one for one in elements if one.role in _TOPS and one.parent in (-1, None)]
    active = {one.name for one in tops if "active" in one.states}
    windows = [
        Window(id=str(at), title=title, app="", active=title in active)
        for at, title in enumerate(state.windows)
    ]
    width = max([screenshot.size.width, *(round(one.box.right) for one in tops)])
    height = max([screenshot.size.height, *(round(one.box.bottom) for one in tops)])
    return Observation(screenshot, Size(width, height), tuple(windows), elements)


def restored(exploration: Exploration) -> Frontier:
    """The frontier as it was when the last triple was written.

    Raises:
        OSError, ValueError: a file of a state is gone or damaged.
    """
    frontier, offered = Frontier(), dict[str, list[Key]]()
    for state in exploration.states.values():
        look = look_of(exploration, state)
        frontier.program = frontier.program or program_of(look, exploration.subject)
        offered[state.id] = offered_keys(look, exploration.subject, frontier.program)
    frontier.root = frozenset(offered.get(exploration.root, ()))
    for triple in exploration.triples:
        frontier.begin(exploration.states[triple.before].screen, triple.act.key)
        if not triple.failed:
            frontier.learn(triple.act.key, offered.get(triple.after, ()))
    return frontier
