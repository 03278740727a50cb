"""JSON answers, and HiSA's errors as such: a sentence and the command that mends it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from hisa.errors import HisaError, OperatorError, StoreError, UsageError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["answer_json", "answer_with", "whole_number"]

Endpoint = Callable[["Request"], Awaitable["Response"]]
_STATUS = ((UsageError, 400), (StoreError, 503), (OperatorError, 500), (HisaError, 500))


def answer_with(make: Callable[..., Any], *names: str) -> Endpoint:
    """Returns an endpoint that answers what ``make`` returns for these parameters of the address.

    It is called in a thread; a parameter of the query that is not there is an empty text.
    """

    async def endpoint(request: Request) -> Response:
        values = {**request.query_params, **request.path_params}
        return await answer_json(make, *(str(values.get(name, "")) for name in names))

    return endpoint


async def answer_json(make: Callable[..., Any], *arguments: object) -> Response:
    """Calls ``make`` in a thread, and returns the result or HiSA's error as JSON.

    A result that is a response already stays as it is.
    """
    from starlette.responses import JSONResponse, Response

    try:
        found = await asyncio.to_thread(make, *arguments)
    except HisaError as error:
        status = next(number for kind, number in _STATUS if isinstance(error, kind))
        told = {"error": str(error), "fix": getattr(error, "fix", "") or ""}
        return JSONResponse(told, status_code=status)
    return found if isinstance(found, Response) else JSONResponse(found)


def whole_number(text: str, name: str, default: int, most: int) -> int:
    """Returns the number that a query holds, from 1 to ``most``; of an empty text ``default``.

    Raises:
        UsageError: it is none.
    """
    if not text:
        return default
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:9]) <= most:
        raise UsageError(f"{name} {text[:40]!r}: want a number from 1 to {most}")
    return int(text)
