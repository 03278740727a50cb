"""A model that is a user's function: it takes a request and returns the text of the reply."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable

from hisa.errors import DeveloperError
from hisa.protocols import ModelReply, ModelRequest

__all__ = ["AnswerFunction", "OwnModel"]

AnswerFunction = Callable[[ModelRequest], Awaitable[str]]
"""An async function from a request to the text of the reply; it may ask any model."""


class OwnModel:
    """Replies with what a function returns; see `hisa.protocols.Model`.

    Args:
        function: takes the request and returns text. Its exceptions propagate; it should raise
            `hisa.errors.ModelUnavailable` if its model cannot be asked.
    """

    def __init__(self, function: AnswerFunction) -> None:
        self.name = getattr(function, "__name__", type(function).__name__)
        self._function = function

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        """Call the function, and return its text as a reply.

        Raises:
            DeveloperError: the function did not return text.
        """
        answer: object = self._function(request)
        text = await answer if inspect.isawaitable(answer) else answer
        if not isinstance(text, str):
            raise DeveloperError(
                f"the model {self.name!r} returned {type(text).__name__}; it must return text"
            )
        return ModelReply(text=text)
