"""Loads the parts that packages announce in the entry-point group ``hisa.lists``."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import Any

from hisa.errors import PluginFailed
from hisa.grounder.thing import Thing
from hisa.machine import plugins
from hisa.screen.observation import Observation

__all__ = ["load_parts", "with_lists"]

_PARTS = ("list_things", "read_text", "see_elements", "picks", "open_grounder", "chances")
"""Methods by which the kinds of parts are recognised: each part has at least one."""


def load_parts() -> list[tuple[EntryPoint, Any]]:
    """Load the lists, rankers and text readers that packages announce, HiSA's own first.

    Each is a `ThingList`, `TextReader`, `ElementSight` or `SelfTest` of `hisa.grounder.base`, a
    `Matcher` of `hisa.grounder.matchers`, or a ranker, which a matcher asks. One part may be
    several of these.

    Raises:
        PluginFailed: a part cannot be imported or is of no known kind; names the package.
    """
    by_name: dict[str, EntryPoint] = {}
    for point in plugins.points("lists"):
        if not plugins.is_left_out(point):
            by_name.setdefault(point.name, point)
    parts = [(point, plugins.load("lists", point)) for point in by_name.values()]
    for point, part in parts:
        if not any(hasattr(part, name) for name in _PARTS):
            raise PluginFailed(
                f"{plugins.describe_point('lists', point)}: {part!r} is not allowed in this group; "
                "it must be a ThingList, TextReader, ElementSight, SelfTest, Matcher or Ranker"
            )
    return parts


def with_lists(
    things: list[Thing], observation: Observation, *, parts: bool, drawn: bool
) -> list[Thing]:
    """Returns the elements, with those that each announced list adds to the earlier ones.

    Args:
        things: the elements known so far.
        observation: the look that they are from.
        parts: whether a part of a control may be meant, such as an arrow.
        drawn: whether the lists may examine the picture, which can take 0.1 s.

    Raises:
        PluginFailed: a list cannot be imported or raised something; names the package.
    """
    for point, part in load_parts():
        if hasattr(part, "list_things"):
            with plugins.blaming_package("lists", point):
                things = part.list_things(things, observation, parts=parts, drawn=drawn)
    return things
