"""The web application: one table of addresses, and the answers to those of runs."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hisa.errors import HisaError, UsageError
from hisa.plugins.live.server.run_client import RunLines
from hisa.plugins.live.server.run_feed import run_stream
from hisa.plugins.live.server.run_folders import RunFolders, RunMissing, is_regular
from hisa.plugins.live.server.run_input import serve_input
from hisa.plugins.live.server.run_pages import picture_bytes, step_record, steps_html
from hisa.plugins.live.server.security import Guard
from hisa.plugins.live.server.server_context import ServerContext
from hisa.plugins.live.server.started_runs import RunOrder, StartedRuns
from hisa.runs.read import Run

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute
    from starlette.websockets import WebSocket

__all__ = ["application"]

_VIEWS = ("views_tiles", "views_benches", "views_patterns", "views_tools")
_PAGE = Path(__file__).parent / "page"
_REPORT_CSS = Path(__file__).parents[3] / "runs" / "report.css"
_FILE = re.compile(r"[a-z0-9_-]{1,60}\.(?:js|css|html|svg)")
_TYPES = {"js": "text/javascript", "css": "text/css", "html": "text/html", "svg": "image/svg+xml"}
_STEERING = {"pause": "pause", "resume_agent": "resume", "stop": "stop", "answer": "answer"}


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid")
    question: Annotated[str, Field(max_length=100)]
    kind: Literal["once", "kind", "stop", "refuse"] | None = None
    text: Annotated[str, Field(max_length=4_000)] = ""


def application(
    context: ServerContext, started: StartedRuns, lines: RunLines, token: str, hosts: Iterable[str]
) -> Guard:
    """Builds the guarded application; for ``token`` and ``hosts`` see `Guard`."""
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.routing import Route, WebSocketRoute

    runs, run = _RunAnswers(context, started, lines), "/api/runs/{run}"
    table: list[BaseRoute] = [
        Route("/", _page),
        Route("/static/{name}", _page),
        Route("/api/runs", runs.newest),
        Route("/api/runs", runs.start, methods=["POST"]),
        Route(run, runs.whole),
        Route(f"{run}/view", runs.view),
        Route(f"{run}/events", runs.events),
        Route(f"{run}/picture/{{sha}}", runs.picture),
        Route(f"{run}/resume", runs.resume, methods=["POST"]),
        *(Route(f"{run}/{name}", runs.steer, methods=["POST"]) for name in _STEERING),
        WebSocketRoute(f"{run}/input", runs.take_input),
    ]
    modules = [f"hisa.plugins.live.server.{name}" for name in _VIEWS]
    for module in filter(find_spec, modules):
        table += import_module(module).routes(context)
    refused = dict.fromkeys((HTTPException, HisaError, ValidationError), _refused)
    return Guard(Starlette(routes=table, exception_handlers=refused), token, hosts)


class _RunAnswers:
    def __init__(self, context: ServerContext, started: StartedRuns, lines: RunLines) -> None:
        from starlette.responses import JSONResponse

        self._json, self._folders = JSONResponse, RunFolders(context)
        self._started, self._lines = started, lines
        self._dropped: Counter[str] = Counter()

    async def newest(self, request: Request) -> Response:
        limit = min(_number(request.query_params.get("limit", "")) or 50, 500)
        before = request.query_params.get("before", "")
        records = await asyncio.to_thread(self._folders.newest, limit, before)
        return self._json({"runs": [self._live(record) for record in records]})

    async def start(self, request: Request) -> Response:
        order = RunOrder.model_validate_json(await request.body())
        return self._json({"id": await self._started.start(order)})

    async def resume(self, request: Request) -> Response:
        return self._json({"id": await self._started.resume(self._folder(request))})

    async def whole(self, request: Request) -> Response:
        folder, bench = self._folders.find(request.path_params["run"])
        run = await asyncio.to_thread(self._folders.run, folder)
        record = self._live(self._folders.record(folder, bench))
        record["steps"] = [step_record(step) for step in run.steps]
        record["dropped"] = self._dropped[folder.name]
        record["error"] = self._started.error(folder.name) or ""
        return self._json(record)

    async def view(self, request: Request) -> Response:
        from starlette.responses import HTMLResponse

        run = await asyncio.to_thread(self._folders.run, self._folder(request))
        after = _number(request.query_params.get("after", ""))
        return HTMLResponse(await asyncio.to_thread(steps_html, run, after))

    async def picture(self, request: Request) -> Response:
        from starlette.responses import Response

        folder, width = self._folder(request), _number(request.query_params.get("width", ""))
        run = Run(folder, self._folders.manifest(folder), ())
        made = await asyncio.to_thread(picture_bytes, run, request.path_params["sha"], width)
        if made is None:
            return self._json({"error": "no such picture"}, 404)
        return Response(made, media_type=f"image/{'png' if made[1:4] == b'PNG' else 'webp'}")

    async def events(self, request: Request) -> Response:
        from sse_starlette.sse import EventSourceResponse

        folder = self._folder(request)

        async def status() -> dict[str, Any]:
            state = self._folders.state(folder)
            found = await self._lines.status(folder.name) if state == "running" else None
            return found or {"state": state, "question": None, "can_ask": False}

        after = _number(request.headers.get("last-event-id", ""))
        return EventSourceResponse(run_stream(folder, after, status), ping=15)

    async def steer(self, request: Request) -> Response:
        name = self._folder(request).name
        wish = {"do": _STEERING[request.url.path.rpartition("/")[2]]}
        if wish["do"] == "answer":
            body = _Answer.model_validate_json(await request.body())
            wish |= body.model_dump(exclude_none=True)
        answer = await self._lines.steer(name, wish)
        if wish["do"] == "stop" and not answer.get("ok") and self._started.error(name) is not None:
            await self._started.stop(name)  # it has no socket yet
            answer = {"ok": True}
        return self._json(answer, 200 if answer.get("ok") else 409)

    async def take_input(self, socket: WebSocket) -> None:
        try:
            folder, _ = self._folders.find(socket.path_params["run"])
        except UsageError:
            await socket.close(4404)
            return
        await serve_input(socket, folder.name, self._dropped)

    def _folder(self, request: Request) -> Path:
        return self._folders.find(request.path_params["run"])[0]

    def _live(self, record: dict[str, Any]) -> dict[str, Any]:
        there = record["state"] == "running" and self._lines.is_there(record["id"])
        return record | {"socket": there, "mine": self._started.error(record["id"]) is not None}


async def _page(request: Request) -> Response:
    """Answers a file of the page, by its bare name."""
    from starlette.responses import JSONResponse, Response

    name = request.path_params.get("name", "index.html")
    path = _REPORT_CSS if name == "report.css" else _PAGE / name
    if not _FILE.fullmatch(name) or not is_regular(path):
        return JSONResponse({"error": "no such file of the page"}, 404)
    return Response(path.read_bytes(), media_type=_TYPES[path.suffix[1:]])


async def _refused(_: Request, error: Exception) -> Response:
    """Answers an error as a sentence, and the command that mends it."""
    from starlette.exceptions import HTTPException
    from starlette.responses import JSONResponse

    if isinstance(error, HTTPException):
        return JSONResponse({"error": error.detail}, error.status_code)
    if isinstance(error, ValidationError):
        places = (f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        return JSONResponse({"error": "; ".join(places)[:1000]}, 400)
    status = 404 if isinstance(error, RunMissing) else 400
    return JSONResponse({"error": str(error), "fix": getattr(error, "fix", "") or ""}, status)


def _number(text: str) -> int:
    """Returns the number in a text of a viewer; 0 where it is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0
