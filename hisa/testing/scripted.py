"""Models without a network: one follows a script, one asks a function; and what they may say."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Iterable

from hisa.errors import ScriptExhausted
from hisa.protocols import ModelReply, ModelRequest

__all__ = ["FunctionModel", "ScriptedModel", "tool_call"]


def tool_call(tool: str, value: object, description: str = "", *, thought: str = "Go on.") -> str:
    """Returns a planner's reply, as a model would write it.

    Args:
        tool: a tool's name, such as "gui_action" or "termination".
        value: its input; with X_COORD, Y_COORD where a place has to be found.
        description: of that place.
        thought: why.
    """
    reply = {"thought": thought, "tool": tool, "input": value}
    return json.dumps({**reply, "description": description} if description else reply)


def _reply(answer: str | ModelReply, name: str) -> ModelReply:
    return ModelReply(answer, model=name) if isinstance(answer, str) else answer


class ScriptedModel:
    """Gives prepared replies, one a call, in order.

    Args:
        replies: a string or reply is answered, an exception is raised.
        name: as printed.

    ``requests`` holds every request that came, those answered by an exception included.
    """

    def __init__(
        self, replies: Iterable[str | ModelReply | Exception], name: str = "scripted"
    ) -> None:
        self.name = name
        self.requests: list[ModelRequest] = []
        self._replies = iter(replies)

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        """The next prepared reply.

        Raises:
            ScriptExhausted: every prepared reply was given.
        """
        self.requests.append(request)
        try:
            answer = next(self._replies)
        except StopIteration:
            count = len(self.requests)
            raise ScriptExhausted(
                f"model {self.name!r}: call {count} (role {request.role!r}, step {request.step}) "
                f"but the script holds {count - 1} replies"
            ) from None
        if isinstance(answer, Exception):
            raise answer
        return _reply(answer, self.name)


class FunctionModel:
    """Answers with what a function makes of the request.

    Args:
        function: takes a `ModelRequest`; returns text or a reply, or an awaitable of one.
        name: as printed.
    """

    def __init__(
        self,
        function: Callable[[ModelRequest], str | ModelReply | Awaitable[str | ModelReply]],
        name: str = "function",
    ) -> None:
        self.name = name
        self.requests: list[ModelRequest] = []
        self._function = function

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        """The function's answer; what it raises comes through."""
        self.requests.append(request)
        answer = self._function(request)
        if inspect.isawaitable(answer):
            answer = await answer
        return _reply(answer, self.name)
