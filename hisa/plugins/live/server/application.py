"""The web application: one table of addresses, and the answers to those of runs."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hisa.errors import HisaError
from hisa.plugins.live.server.run_feed import run_stream
from hisa.plugins.live.server.run_folders import RunFolders, RunMissing, is_regular
from hisa.plugins.live.server.security import Guard
from hisa.plugins.live.server.server_context import ServerContext

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

__all__ = ["LiveParts", "application"]

_VIEWS = ("views_tiles", "views_benches", "views_patterns", "views_tools")
_PAGE = Path(__file__).parent / "page"
_REPORT_CSS = Path(__file__).parents[3] / "runs" / "report.css"
_FILE = re.compile(r"[a-z0-9_-]{1,60}\.(js|css|html|svg)")
_TYPES = {
    "js": "text/javascript", "css": "text/css", "html": "text/html", "svg": "image/svg+xml"
}  # fmt: skip
_MOST_RUNS = 500


@dataclass(frozen=True)
class LiveParts:
    """Parts that the addresses share."""

    context: ServerContext
    folders: RunFolders


def application(parts: LiveParts, token: str, hosts: Iterable[str]) -> Guard:
    """Builds the guarded application.

    Args:
        parts: see `LiveParts`.
        token: that requests have to show.
        hosts: see `hisa.plugins.live.server.security.Guard`.
    """
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException

    handlers: Mapping[Any, Any] = {HTTPException: _refused, HisaError: _refused}
    app = Starlette(routes=_routes(parts), exception_handlers=handlers)
    return Guard(app, token, hosts)


def _routes(parts: LiveParts) -> list[BaseRoute]:
    from starlette.routing import Route

    runs = _RunAnswers(parts)
    table: list[BaseRoute] = [
        Route("/", _page),
        Route("/static/{name}", _page),
        Route("/api/runs", runs.newest, methods=["GET"]),
        Route("/api/runs/{run}", runs.whole, methods=["GET"]),
        Route("/api/runs/{run}/events", runs.events, methods=["GET"]),
    ]
    for name in _VIEWS:
        if importlib.util.find_spec(f"hisa.plugins.live.server.{name}") is None:
            continue
        module = importlib.import_module(f"hisa.plugins.live.server.{name}")
        table += module.routes(parts.context)
    return table


class _RunAnswers:
    def __init__(self, parts: LiveParts) -> None:
        self._parts = parts

    async def newest(self, request: Request) -> Response:
        """Answers the list of runs."""
        from starlette.responses import JSONResponse

        limit = _number(request.query_params.get("limit", ""), default=50, most=_MOST_RUNS)
        before = request.query_params.get("before", "")
        records = await asyncio.to_thread(self._parts.folders.newest, limit, before)
        return JSONResponse({"runs": records})

    async def whole(self, request: Request) -> Response:
        """Answers one run, with its steps."""
        from starlette.responses import JSONResponse

        folder, bench = self._found(request)
        return JSONResponse(await asyncio.to_thread(self._parts.folders.record, folder, bench))

    async def events(self, request: Request) -> Response:
        """Answers a stream of what the run does."""
        from sse_starlette.sse import EventSourceResponse

        folder, _ = self._found(request)
        after = _number(request.headers.get("last-event-id", ""), default=0, most=1 << 40)

        async def status() -> dict[str, Any] | None:
            return {"state": self._parts.folders.state(folder)}

        return EventSourceResponse(run_stream(folder, after, status), ping=15)

    def _found(self, request: Request) -> tuple[Path, str]:
        return self._parts.folders.find(request.path_params["run"])


async def _page(request: Request) -> Response:
    """Answers a file of the page, by its bare name."""
    from starlette.responses import JSONResponse, Response

    name = request.path_params.get("name", "index.html")
    path = _REPORT_CSS if name == "report.css" else _PAGE / name
    if not _FILE.fullmatch(name) or not is_regular(path):
        return JSONResponse({"error": "no such file of the page"}, status_code=404)
    return Response(path.read_bytes(), media_type=_TYPES[name.rpartition(".")[2]])


async def _refused(_: Request, error: Exception) -> Response:
    from starlette.exceptions import HTTPException
    from starlette.responses import JSONResponse

    if isinstance(error, HTTPException):
        return JSONResponse({"error": error.detail}, status_code=error.status_code)
    status = 404 if isinstance(error, RunMissing) else 400
    fix = getattr(error, "fix", "") or ""
    return JSONResponse({"error": str(error), "fix": fix}, status_code=status)


def _number(text: str, *, default: int, most: int) -> int:
    """Returns the number in a text of a viewer, within 0 to ``most``; else the default."""
    return min(int(text), most) if text.isascii() and text.isdigit() and text[:20] else default
