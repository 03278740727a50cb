"""Models without a network: one follows a script, and one calls a function."""

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
        value: the tool's input; X_COORD and Y_COORD stand for a place that is to be found.
        description: the description of that place.
        thought: why the planner makes the call.
    """
    reply = {"thought": thought, "tool": tool, "input": value}
    return json.dumps({**reply, "description": description} if description else reply)


def _reply(answer: str | ModelReply, name: str) -> ModelReply:
    return ModelReply(answer, model=name) if isinstance(answer, str) else answer


class ScriptedModel:
    """Returns prepared replies, one for each call, in order.

    Args:
        replies: a string or a reply is returned, an exception is raised.
        name: the name that outputs print.

    ``requests`` has all requests so far, including those for which an exception was raised.
    """

    def __init__(
        self, replies: Iterable[str | ModelReply | Exception], name: str = "scripted"
    ) -> None:
        self.name = name
        self.requests: list[ModelRequest] = []
        self._replies = iter(replies)

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        """Returns the next prepared reply.

        Raises:
            ScriptExhausted: no prepared reply is left.
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
    """Returns what a function returns for the request.

    Args:
        function: takes a `ModelRequest`; returns text or a reply, or an awaitable of one.
        name: the name that outputs print.
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
        """Returns the function's reply; raises what the function raises."""
        self.requests.append(request)
        answer = self._function(request)
        if inspect.isawaitable(answer):
            answer = await answer
        return _reply(answer, self.name)
