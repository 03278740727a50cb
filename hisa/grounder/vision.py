"""Finds elements with a vision-language model, one request for each place."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from hisa.errors import NotFound
from hisa.grounder.base import GroundingFormat
from hisa.grounder.common import resolve
from hisa.models.correction import with_correction
from hisa.protocols import (
    Emit,
    GroundedCall,
    Message,
    Model,
    ModelReply,
    ModelRequest,
    Place,
    ToolCall,
)
from hisa.screen.geometry import Point, Size, convert
from hisa.screen.observation import Observation, Screenshot

__all__ = ["Seer", "Unreadable", "VisionGrounder"]


class Unreadable(NotFound):
    """A model's answer is not one point inside the picture.

    Args:
        message: what is wrong with it.
        answer: the model's reply.
    """

    def __init__(self, message: str, answer: ModelReply) -> None:
        super().__init__(message)
        self.answer = answer


class Seer:
    """A model that points at elements on a picture, one request at a time.

    Args:
        model: serves the role ``grounder``.
        format: its prompt and answer syntax.
    """

    def __init__(self, model: Model, format: GroundingFormat) -> None:  # noqa: A002
        self._model = model
        self._format = format

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.name

    async def ask(
        self, screenshot: Screenshot, description: str, *, after: Unreadable | None = None
    ) -> Point:
        """Ask for the place of a description; returns pixels of the picture (space "image").

        Args:
            screenshot: the picture.
            description: the planner's words for the target.
            after: an earlier, unusable answer to the same question, which is shown to the model.

        Raises:
            Unreadable: the answer is not one point inside the picture.
            NotFound: the picture cannot be used by this model.
            ModelUnavailable, BudgetExceeded: from the model.
        """
        shown, messages = await asyncio.to_thread(self._prepare, screenshot, description)
        request = ModelRequest(
            "grounder", messages, max_tokens=self._format.max_tokens, temperature=0.0
        )
        if after is not None:
            demand = f"{after}. Answer in the form that was asked for, and with nothing else."
            answer = replace(after.answer, text=after.answer.text.strip())
            request = with_correction(request, answer, demand, shown=200)
        answer = await self._model.complete(request)
        try:
            point = self._format.parse(answer.text, shown)
        except NotFound as error:
            raise Unreadable(str(error), answer) from error
        # The picture as shown takes the role of the screen: one conversion, whatever its size.
        at = Point(point.x, point.y, "screen")
        return convert(at, "image", screen=shown, image=screenshot.size)

    def _prepare(
        self, screenshot: Screenshot, description: str
    ) -> tuple[Size, tuple[Message, ...]]:
        """Build the messages and encode their pictures, in one visit to a thread."""
        shown, messages = self._format.prepare(screenshot, description)
        for picture in ModelRequest("grounder", messages).pictures:
            picture.sha256, picture.data_url  # noqa: B018
        return shown, messages


class VisionGrounder:
    """Resolves descriptions with a model that answers in points.

    Args:
        model: serves the role ``grounder``.
        format: its prompt and answer syntax.
        emit: gets `hisa.events.Grounded` and `hisa.events.GroundingFailed`.
    """

    def __init__(self, model: Model, format: GroundingFormat, *, emit: Emit) -> None:  # noqa: A002
        self._seer = Seer(model, format)
        self._emit = emit

    async def resolve(self, call: ToolCall, observation: Observation) -> GroundedCall:
        """Fill the slots of a call; a call without slots is returned unchanged.

        Raises:
            NotFound: no answer was exactly one point inside the picture.
            ModelUnavailable, BudgetExceeded: from the model.
        """
        return await resolve(call, observation, locate=self._locate, emit=self._emit)

    async def _locate(self, description: str, observation: Observation) -> Place:
        try:
            point = await self._point(description, observation.screenshot)
        except NotFound as error:
            raise NotFound(f"not found: {description[:200]!r}: {error}") from error
        return Place(description, point, None, self._seer.name)

    async def _point(self, description: str, screenshot: Screenshot) -> Point:
        """Returns the model's point; if it is unusable, asks once more, with the error."""
        try:
            return await self._seer.ask(screenshot, description)
        except Unreadable as error:
            return await self._seer.ask(screenshot, description, after=error)
