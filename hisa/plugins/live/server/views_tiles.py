"""Routes of the view "desktops": tiles and their pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hisa.plugins.live.server.server_context import ServerContext
from hisa.plugins.live.server.tiles import TileBoard

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

__all__ = ["routes"]


def routes(context: ServerContext) -> list[Route]:
    """Returns the routes of tiles."""
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    board = TileBoard(context)

    async def desktops(_: Request) -> Response:
        return JSONResponse({"tiles": await board.tiles()})

    async def picture(request: Request) -> Response:
        made = await board.picture(request.path_params["name"])
        if made is None:
            return JSONResponse({"error": "no such tile, or it has no picture"}, status_code=404)
        return Response(made, media_type="image/webp")

    return [Route("/api/desktops", desktops), Route("/api/tiles/{name}", picture)]
