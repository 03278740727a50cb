"""What packages know to be on the screen: the entry-point group ``hisa.lists``."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import EntryPoint
from typing import Protocol, runtime_checkable

from hisa.errors import PluginFailed
from hisa.grounder.thing import Thing
from hisa.machine import plugins
from hisa.screen.observation import Observation

__all__ = ["ThingList", "announced", "with_lists"]


@runtime_checkable
class ThingList(Protocol):
    """Knows things that accessibility does not tell and OCR does not read, or more of them."""

    def listed(
        self, things: Sequence[Thing], observation: Observation, *, parts: bool, drawn: bool
    ) -> list[Thing]:
        """The things and others; what is left out cannot be chosen.

        Args:
            things: what is known so far: what accessibility tells, then what was read.
            observation: the look that they are of; boxes of things are in screen space.
            parts: whether a part of a control may be meant, such as an arrow.
            drawn: whether it is time to look at the picture, which may take some 0.1 s.
        """
        ...


def announced() -> list[tuple[EntryPoint, object]]:
    """What packages announce, HiSA's own first: lists, rankers, or what is both.

    Raises:
        PluginFailed: it cannot be imported, or is neither; names the package.
    """
    by_name: dict[str, EntryPoint] = {}
    for point in plugins.points("lists"):
        by_name.setdefault(point.name, point)
    found = [(point, plugins.load("lists", point)) for point in by_name.values()]
    for point, part in found:
        if not isinstance(part, ThingList) and not hasattr(part, "chances"):
            raise PluginFailed(
                f"{plugins.describe_point('lists', point)}: {part!r} is neither a "
                "hisa.grounder.lists.ThingList nor a hisa.grounder.ranking.Ranker"
            )
    return found


def with_lists(
    things: list[Thing], observation: Observation, *, parts: bool, drawn: bool
) -> list[Thing]:
    """The things and what all lists add, each to what those before it know.

    Raises:
        PluginFailed: a list cannot be imported or raised something; names the package.
    """
    for point, part in announced():
        if isinstance(part, ThingList):
            with plugins.blaming_package("lists", point):
                things = part.listed(things, observation, parts=parts, drawn=drawn)
    return things
