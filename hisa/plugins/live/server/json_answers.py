"""What a function returns, as an answer; HiSA's errors are left to the application."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from hisa.errors import UsageError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["answer_with", "whole_number"]


def answer_with(make: Callable[..., Any], *names: str) -> Callable[[Request], Awaitable[Response]]:
    """Returns an endpoint that answers what ``make`` returns for these parameters, in a thread.

    A parameter that the address lacks is an empty text; ``body`` is the body's bytes.
    """

    async def endpoint(request: Request) -> Response:
        from starlette.responses import JSONResponse, Response

        values = {**request.query_params, **request.path_params}
        if "body" in names:
            values["body"] = await request.body()
        found = await asyncio.to_thread(make, *(values.get(name, "") for name in names))
        return found if isinstance(found, Response) else JSONResponse(found)

    return endpoint


def whole_number(text: str, name: str, default: int, most: int) -> int:
    """Returns the number of a query, from 1 to ``most``; raises UsageError where it is none."""
    if text and not (text.isdecimal() and text.isascii() and 1 <= int(text[:9]) <= most):
        raise UsageError(f"{name} {text[:40]!r}: want a number from 1 to {most}")
    return int(text or default)
