"""Routes of the view "benches"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hisa.plugins.live.server.bench_shelf import BenchShelf
from hisa.plugins.live.server.json_answers import answer_with
from hisa.plugins.live.server.server_context import ServerContext

if TYPE_CHECKING:
    from starlette.routing import Route

__all__ = ["routes"]


def routes(context: ServerContext) -> list[Route]:
    """Returns the routes of benches: all, one, and two side by side in pairs."""
    from starlette.routing import Route

    shelf = BenchShelf(context)

    def every() -> dict[str, Any]:
        return {"benches": shelf.rows()}

    return [
        Route("/api/benches", answer_with(every)),
        Route("/api/benches/compare", answer_with(shelf.report, "a", "b")),
        Route("/api/benches/{name}", answer_with(shelf.report, "name")),
    ]
