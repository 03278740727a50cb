"""A model that is a function of a script: it takes a request and returns the text of the answer."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable

from hisa.errors import DeveloperError
from hisa.protocols import ModelReply, ModelRequest

__all__ = ["AnswerFunction", "OwnModel"]

AnswerFunction = Callable[[ModelRequest], Awaitable[str]]
"""An async function from a request to the text of the answer; it may ask any model."""


class OwnModel:
    """Answers with what a function returns; see `hisa.protocols.Model`.

    Args:
        function: takes the request and returns text. What it raises comes through: let it raise
            `hisa.errors.ModelUnavailable` where its model cannot be asked.
    """

    def __init__(self, function: AnswerFunction) -> None:
        self.name = getattr(function, "__name__", type(function).__name__)
        self._function = function

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        """The function's answer.

        Raises:
            DeveloperError: it is no text.
        """
        answer: object = self._function(request)
        text = await answer if inspect.isawaitable(answer) else answer
        if not isinstance(text, str):
            raise DeveloperError(
                f"the model {self.name!r} answered {type(text).__name__}; it has to answer text"
            )
        return ModelReply(text=text)
