"""Protocols of a matcher, which finds elements by a description, in the group ``hisa.lists``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from hisa.grounder.announced_parts import load_parts
from hisa.grounder.elements_reader import ElementsReader
from hisa.grounder.thing import Thing
from hisa.grounder.trust import PICKS_RIGHT, POINTS_RIGHT, Trust
from hisa.grounder.vision import Seer
from hisa.protocols import Emit, Grounder, Model
from hisa.screen.observation import Observation
from hisa.screen.ocr import ReadText, read_text

__all__ = ["NO_MATCHER", "FinderParts", "Matcher", "Scenery", "find_matcher"]

NO_MATCHER = (
    "what finds things by a description in words is not installed: no package announces a matcher "
    "in hisa.lists, as HiSA's own plugin matching does"
)


class Scenery(Protocol):
    """The elements of a screen that can be listed."""

    @property
    def things(self) -> Sequence[Thing]:
        """All visible elements."""
        ...

    def around(self, thing: Thing) -> frozenset[str]:
        """Returns the words on the line of an element, and those of its containers."""
        ...


@dataclass(frozen=True)
class FinderParts:
    """The parts of a grounder that finds described elements.

    Attributes:
        emit: gets its events.
        min_score: least score of a place, 0..1.
        min_score_seen: the same where elements were seen on the picture.
        read: reads the text on a picture.
        reader: takes a look with elements if those of a given look are old or missing; None: the
            looks are used as they are.
        picker: the model that picks from lists if the elements leave doubt; None: no model is
            asked.
        trust: how often that model is right.
        seer: the model that points if the elements leave doubt; None: no model is asked.
        points_right: the probability that this model points at the target.
    """

    emit: Emit
    min_score: float = 0.86
    min_score_seen: float = 0.55
    read: ReadText = read_text
    reader: ElementsReader | None = None
    picker: Model | None = None
    trust: Trust = Trust(PICKS_RIGHT)  # noqa: RUF009
    seer: Seer | None = None
    points_right: float = POINTS_RIGHT


@runtime_checkable
class Matcher(Protocol):
    """Finds elements by a description; a package announces it in ``hisa.lists``.

    A package's matcher takes precedence over HiSA's own.
    """

    def open_scenery(self, observation: Observation) -> Scenery:
        """Returns the visible elements of a screen, with labels and without covered ones."""
        ...

    def open_grounder(self, parts: FinderParts) -> Grounder:
        """Returns a grounder that uses the elements and the models among these parts."""
        ...


def find_matcher() -> Matcher | None:
    """Returns the announced matcher; None if there is none.

    Raises:
        PluginFailed: a part of the group cannot be imported, or is of no known kind.
    """
    return next((part for _, part in reversed(load_parts()) if isinstance(part, Matcher)), None)
