"""Routes of the view "patterns"."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hisa.errors import UsageError
from hisa.plugins.live.server.json_answers import answer_json, answer_with, whole_number
from hisa.plugins.live.server.pattern_shelf import PatternShelf
from hisa.plugins.live.server.server_context import ServerContext

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

__all__ = ["routes"]


def routes(context: ServerContext) -> list[Route]:
    """Returns the routes of patterns: list and search, show, edit, remove, export."""
    from starlette.responses import Response
    from starlette.routing import Route

    shelf = PatternShelf(context.settings)

    def listed(query: str, domain: str, everything: str, limit: str) -> dict[str, Any]:
        if not query:
            return shelf.every(domain, everything)
        count = whole_number(limit, "limit", context.settings.patterns.top, 1000)
        return shelf.search(query[:4000], domain, count)

    def exported(domain: str, vectors: str) -> Response:
        attachment = {"content-disposition": 'attachment; filename="patterns.jsonl"'}
        text = shelf.export(domain, vectors)
        return Response(text, media_type="application/jsonl", headers=attachment)

    async def edited(request: Request) -> Response:
        body = await request.body()
        return await answer_json(lambda: shelf.edit(request.path_params["name"], _parsed(body)))

    one = "/api/patterns/{name}"
    return [
        Route("/api/patterns", answer_with(listed, "q", "domain", "all", "limit")),
        Route("/api/patterns/export", answer_with(exported, "domain", "vectors")),
        Route(one, answer_with(shelf.one, "name")),
        Route(one, edited, methods=["PATCH"]),
        Route(one, answer_with(shelf.remove, "name", "purge"), methods=["DELETE"]),
    ]


def _parsed(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the body is not JSON: {error}") from error
