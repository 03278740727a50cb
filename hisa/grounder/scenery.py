"""Lists the elements of a screen: by the matcher if one is installed, else by accessibility."""

from __future__ import annotations

from collections.abc import Sequence

from hisa.grounder.announced_parts import with_lists
from hisa.grounder.matchers import Scenery, find_matcher
from hisa.grounder.thing import Thing, lines
from hisa.machine.lazy_property import lazy_property
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Element, Observation
from hisa.text.words import tokens

__all__ = ["open_scenery"]

_SHOWING = frozenset({"showing", "visible"})
_BEHIND = 0.5
"""How usable an element is that is behind the window in front."""


def open_scenery(observation: Observation) -> Scenery:
    """Returns the elements of a screen that can be listed.

    Raises:
        PluginFailed: a package's part cannot be imported or raised an error; names it.
    """
    matcher = find_matcher()
    return matcher.open_scenery(observation) if matcher else _ElementScenery(observation)


class _ElementScenery:
    """The visible elements of accessibility; see `hisa.grounder.matchers.Scenery`.

    Elements without a name get no label, and covered elements are not recognised.
    """

    def __init__(self, observation: Observation) -> None:
        self._look = observation

    @lazy_property
    def things(self) -> Sequence[Thing]:
        """See `hisa.grounder.matchers.Scenery`."""
        elements = self._look.elements or ()
        reports_showing = any(_SHOWING & element.states for element in elements)
        size = self._look.screen
        screen = BoundingBox(0, 0, size.width, size.height, "screen")
        shown = [
            Thing(element, box, front=self._front(element), number=number)
            for number, element in enumerate(elements)
            if (_SHOWING & element.states or not reports_showing)
            and (box := element.box.intersection(screen))
        ]
        return with_lists(shown, self._look, parts=False, drawn=False)

    def _front(self, element: Element) -> float:
        active = self._look.active
        return 1.0 if active is None or element.window in ("", active.title) else _BEHIND

    def around(self, thing: Thing) -> frozenset[str]:
        """See `hisa.grounder.matchers.Scenery`."""
        row = next((row for row in lines(self.things) if thing in row), [])
        return tokens(" ".join(other.element.name for other in row))
