"""Protocols of a grounder's parts: formats that models answer in, and what is in ``hisa.lists``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

from hisa.events import Event
from hisa.grounder.thing import Thing
from hisa.grounder.trust import Key, Trust
from hisa.protocols import Emit, Message
from hisa.screen.geometry import BoundingBox, Point, Size
from hisa.screen.observation import Observation, Screenshot
from hisa.screen.ocr import Line

__all__ = [
    "GroundingFormat",
    "SelfTest",
    "TextReader",
    "ThingList",
]


class GroundingFormat(Protocol):
    """A prompt and an answer syntax."""

    @property
    def name(self) -> str:
        """As in the setting ``grounder.format``."""
        ...

    @property
    def max_tokens(self) -> int:
        """Longest answer worth having."""
        ...

    def prepare(self, screenshot: Screenshot, description: str) -> tuple[Size, tuple[Message, ...]]:
        """The messages, and the size that the screenshot has in the picture they hold.

        Raises:
            NotFound: the picture cannot be used by this model.
        """
        ...

    def parse(self, text: str, shown: Size) -> Point:
        """The point of an answer, in pixels of the screenshot as it was shown (space "image").

        Raises:
            NotFound: the answer is not exactly one point inside the picture.
        """
        ...


@runtime_checkable
class ThingList(Protocol):
    """Knows things that accessibility does not tell and OCR does not read, or more of them."""

    def list_things(
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


@runtime_checkable
class TextReader(Protocol):
    """Reads text off pictures; a package announces it in ``hisa.lists``.

    A package's goes before HiSA's own. Whoever reads calls `hisa.screen.ocr`, which asks it.
    """

    def available(self) -> bool:
        """Whether all that it needs is installed; nothing is read to know it."""
        ...

    def read_text(
        self, screenshot: Screenshot, box: BoundingBox | None, *, least: float
    ) -> tuple[Line, ...]:
        """Read the text of ``screenshot`` within ``box``, of words at least as sure as ``least``.

        See `hisa.screen.ocr.read_text`; it is called from several threads.
        """
        ...


@runtime_checkable
class SelfTest(Protocol):
    """Knows how often models are right; a package announces it in ``hisa.lists``.

    A package's goes before HiSA's own. It asks no model: a run does not wait for a measurement.
    What it knows is told in the log, and taken from the ``events`` of a run that goes on.
    """

    def picks(self, key: Key, emit: Emit, events: Iterable[Event], *, command: str) -> Trust:
        """Returns the trust in a model that picks; an unmeasured one is noted with ``command``.

        Args:
            key: names the model.
            emit: takes the note for the log.
            events: events of a resumed run so far.
            command: the command that measures the model.
        """
        ...

    def points_right(self, key: Key, emit: Emit, events: Iterable[Event]) -> float | None:
        """Returns the probability that a model points correctly; None if it should not be asked.

        Args:
            key: names the model.
            emit: takes the note for the log.
            events: events of a resumed run so far.
        """
        ...
