"""Routes of the view "desktops": tiles, their pictures, and the nodes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from hisa.plugins.live.server.node_resources import NodeResources
from hisa.plugins.live.server.server_context import ServerContext
from hisa.plugins.live.server.tiles import TileBoard

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

__all__ = ["routes"]

_PAUSE = 1.0
"""Seconds between two looks of a stream."""


def routes(context: ServerContext) -> list[Route]:
    """Returns the routes of tiles and nodes."""
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    board, resources = TileBoard(context), NodeResources(context)

    async def desktops(_: Request) -> Response:
        tiles = await board.tiles()
        nodes = await resources.nodes(len(tiles))
        return JSONResponse({"tiles": list(tiles.values()), "nodes": nodes})

    async def stream(_: Request) -> Response:
        from sse_starlette import EventSourceResponse

        return EventSourceResponse(_changes(board, resources), ping=15)

    async def picture(request: Request) -> Response:
        made = await board.picture(
            request.path_params["name"], request.query_params.get("since", "")
        )
        if made is None:
            return JSONResponse({"error": "no such tile, or it has no picture"}, status_code=404)
        return Response(made, 200 if made else 304, media_type="image/webp")

    return [
        Route("/api/desktops", desktops),
        Route("/api/desktops/stream", stream),
        Route("/api/tiles/{name}", picture),
    ]


async def _changes(board: TileBoard, resources: NodeResources) -> AsyncIterator[dict[str, str]]:
    """Yields all tiles first, then those that changed and the ids of those that are gone.

    ``nodes`` is there whenever one of them changed.
    """
    sent: dict[str, dict[str, Any]] = {}
    nodes: list[dict[str, Any]] | None = None
    first = True
    while True:
        tiles = await board.tiles()
        changed = [tile for name, tile in tiles.items() if sent.get(name) is not tile]
        gone = [name for name in sent if name not in tiles]
        data: dict[str, Any] = {"tiles": changed, "gone": gone, "whole": first}
        if (now := await resources.nodes(len(tiles))) != nodes:
            data["nodes"] = nodes = now
        if first or changed or gone or "nodes" in data:
            yield {"event": "tiles", "data": json.dumps(data)}
        sent, first = tiles, False
        await asyncio.sleep(_PAUSE)
