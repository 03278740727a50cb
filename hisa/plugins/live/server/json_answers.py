"""A route that answers what a function returns; HiSA's errors are left to the application."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

__all__ = ["route"]


def route(path: str, make: Callable[..., Any], *names: str) -> Route:
    """Returns a route that answers what ``make`` returns for these parameters, in a thread.

    A parameter that the address lacks is an empty text.
    """
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    async def endpoint(request: Request) -> Response:
        values = {**request.query_params, **request.path_params}
        answer = await asyncio.to_thread(make, *(values.get(name, "") for name in names))
        return answer if isinstance(answer, Response) else JSONResponse(answer)

    return Route(path, endpoint)
