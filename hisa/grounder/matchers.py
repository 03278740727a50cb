"""The door of whoever finds what is described in words, in the group ``hisa.lists``."""

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
    """What is on a screen to be listed."""

    @property
    def things(self) -> Sequence[Thing]:
        """Everything that can be seen."""
        ...

    def around(self, thing: Thing) -> frozenset[str]:
        """The words on the line of a thing, and those of what holds it."""
        ...


@dataclass(frozen=True)
class FinderParts:
    """What a grounder that finds described things is made of.

    Attributes:
        emit: gets its events.
        min_score: how sure a place must be, 0..1.
        read: reads the text on a picture.
        reader: takes a look with elements where those that it is given are old or lacking; None:
            the looks are taken as they are.
        picker: the model that picks from lists where the elements are not sure; None: none is
            asked.
        trust: how often that model is right.
        seer: the model that points where the elements are not sure; None: none is asked.
        points_right: the chance that it points at what is meant.
    """

    emit: Emit
    min_score: float = 0.86
    read: ReadText = read_text
    reader: ElementsReader | None = None
    picker: Model | None = None
    trust: Trust = Trust(PICKS_RIGHT)  # noqa: RUF009
    seer: Seer | None = None
    points_right: float = POINTS_RIGHT


@runtime_checkable
class Matcher(Protocol):
    """Finds what is described in words; a package announces it in ``hisa.lists``.

    A package's goes before HiSA's own.
    """

    def open_scenery(self, observation: Observation) -> Scenery:
        """Returns what can be seen on a screen, with labels and without what is covered."""
        ...

    def open_grounder(self, parts: FinderParts) -> Grounder:
        """Returns the grounder of these parts: the elements, and the models that there are."""
        ...


def find_matcher() -> Matcher | None:
    """Returns the announced matcher; None where there is none.

    Raises:
        PluginFailed: a part of the group cannot be imported, or is none of its kinds.
    """
    return next((part for _, part in reversed(load_parts()) if isinstance(part, Matcher)), None)
