"""Protocols of a grounder's parts: answer formats, and the parts in the group ``hisa.lists``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

from hisa.events import Event
from hisa.grounder.thing import Thing
from hisa.grounder.trust import Key, Trust
from hisa.protocols import Emit, Message
from hisa.screen.geometry import BoundingBox, Point, Size
from hisa.screen.observation import Element, Observation, Screenshot
from hisa.screen.ocr import Line

__all__ = [
    "ElementSight",
    "GroundingFormat",
    "SelfTest",
    "TextReader",
    "ThingList",
]


class GroundingFormat(Protocol):
    """A prompt and an answer syntax."""

    @property
    def name(self) -> str:
        """The name, as in the setting ``grounder.format``."""
        ...

    @property
    def max_tokens(self) -> int:
        """Length of the longest useful answer."""
        ...

    def prepare(self, screenshot: Screenshot, description: str) -> tuple[Size, tuple[Message, ...]]:
        """Returns the size of the screenshot in the picture that is sent, and the messages.

        Raises:
            NotFound: the picture cannot be used by this model.
        """
        ...

    def parse(self, text: str, shown: Size) -> Point:
        """Returns the point of an answer, in pixels of the screenshot as shown (space "image").

        Raises:
            NotFound: the answer is not exactly one point inside the picture.
        """
        ...


@runtime_checkable
class ThingList(Protocol):
    """Adds elements that neither accessibility nor OCR reports, or details of known ones."""

    def list_things(
        self, things: Sequence[Thing], observation: Observation, *, parts: bool, drawn: bool
    ) -> list[Thing]:
        """Returns the elements and further ones; an element left out cannot be chosen.

        Args:
            things: the elements known so far: those of accessibility, then lines read by OCR.
            observation: the look that they are from; boxes of elements are in screen space.
            parts: whether a part of a control may be meant, such as an arrow.
            drawn: whether the picture may be examined, which can take 0.1 s.
        """
        ...


@runtime_checkable
class TextReader(Protocol):
    """Reads text off pictures; a package announces it in ``hisa.lists``.

    A package's reader takes precedence over HiSA's own. Callers use `hisa.screen.ocr`, which asks
    the reader.
    """

    def available(self) -> bool:
        """Whether all that it needs is installed; checks without reading anything."""
        ...

    def read_text(
        self, screenshot: Screenshot, box: BoundingBox | None, *, least: float
    ) -> tuple[Line, ...]:
        """Read the words of ``screenshot`` within ``box`` with a confidence of at least ``least``.

        See `hisa.screen.ocr.read_text`; called from several threads.
        """
        ...


@runtime_checkable
class ElementSight(Protocol):
    """Sees elements on pictures of machines that report none; announced in ``hisa.lists``.

    A package's sight takes precedence over HiSA's own. Callers use `hisa.screen.sight`.
    """

    def available(self) -> bool:
        """Whether all that it needs is installed; checks without examining a picture."""
        ...

    def see_elements(self, observation: Observation) -> tuple[Element, ...]:
        """Returns the elements on the picture of ``observation``, in screen space.

        They have the roles that accessibility reports and the state `hisa.screen.sight.SEEN`.
        Called from several threads.

        Raises:
            OcrUnavailable: the text cannot be read.
        """
        ...


@runtime_checkable
class SelfTest(Protocol):
    """Knows how often models are right; a package announces it in ``hisa.lists``.

    A package's self-test takes precedence over HiSA's own. It asks no model: a run does not wait
    for a measurement. The values are written to the log, and read from the ``events`` of a
    resumed run.
    """

    def picks(self, key: Key, emit: Emit, events: Iterable[Event], *, command: str) -> Trust:
        """Returns the trust in a model that picks; notes ``command`` if it was not measured.

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
