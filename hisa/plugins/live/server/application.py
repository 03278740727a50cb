"""The web application: its table of routes, and the answers of the routes on runs."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from hisa.errors import HisaError
from hisa.plugins.live.server.run_client import RunLines
from hisa.plugins.live.server.run_feed import run_stream
from hisa.plugins.live.server.run_folders import RunFolders, RunMissing
from hisa.plugins.live.server.run_input import serve_input
from hisa.plugins.live.server.server_context import ServerContext, is_regular
from hisa.plugins.live.watched.run_socket import socket_path
from hisa.runs.run_reader import Run

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route
    from starlette.types import ASGIApp
    from starlette.websockets import WebSocket

__all__ = ["application"]

_PAGE = Path(__file__).parent / "page"
_REPORT_CSS = Path(__file__).parents[3] / "runs" / "report.css"
_FILE = re.compile(r"[a-z0-9_-]{1,60}\.(?:js|css|html|svg)")
_TYPES = {"js": "text/javascript", "css": "text/css", "html": "text/html", "svg": "image/svg+xml"}
_STEERING = {"pause": "pause", "resume_agent": "resume", "stop": "stop", "answer": "answer"}
_STEP = "number", "tool", "verdict", "seconds"


def application(context: ServerContext) -> ASGIApp:
    """Builds the application, without the `Guard` around it."""
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.routing import Route, WebSocketRoute

    run = "/api/runs/{run}"
    runs = _RunAnswers(context)
    table = [
        _route("/", _page),
        _route("/static/{name}", _page, "name"),
        _route("/api/runs", runs.newest, "limit", "before"),
        _route(run, runs.run_details, "run"),
        _route(f"{run}/view", runs.view, "run", "after"),
        _route(f"{run}/picture/{{sha}}", runs.picture, "run", "sha"),
        Route(f"{run}/events", runs.events),
        *(Route(f"{run}/{name}", runs.steer, methods=["POST"]) for name in _STEERING),
        WebSocketRoute(f"{run}/input", runs.take_input),
        _route("/api/desktops", runs.desktops),
    ]
    refused = dict.fromkeys((HTTPException, HisaError, ValidationError), _answer_refusal)
    return Starlette(routes=table, exception_handlers=refused)


def _route(path: str, make: Callable[..., Any], *names: str) -> Route:
    """Returns a route that answers with the result of ``make``, which is called in a thread.

    ``names`` are the parameters that it takes; one that the address lacks is an empty text.
    """
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    async def endpoint(request: Request) -> Response:
        values = {**request.query_params, **request.path_params}
        answer = await asyncio.to_thread(make, *(values.get(name, "") for name in names))
        return answer if isinstance(answer, Response) else JSONResponse(answer)

    return Route(path, endpoint)


class _RunAnswers:
    def __init__(self, context: ServerContext) -> None:
        self._folders, self._lines = RunFolders(context), RunLines()

    def newest(self, limit: str, before: str) -> dict[str, Any]:
        records = self._folders.newest(min(_number(limit) or 50, 500), before)
        return {"runs": [self._live(record) for record in records]}

    def run_details(self, run_id: str) -> dict[str, Any]:
        folder, bench = self._folders.find(run_id)
        record = self._live(self._folders.record(folder, bench))
        steps = self._folders.run(folder).steps
        return record | {"steps": [{name: getattr(s, name) for name in _STEP} for s in steps]}

    def view(self, run_id: str, after: str) -> Response:
        from starlette.responses import HTMLResponse

        from hisa.runs.report import render_steps

        run, pictures = self._folders.run(self._folder(run_id)), f"/api/runs/{run_id}/picture/"
        return HTMLResponse(render_steps(run, _number(after), lambda sha: pictures + sha))

    def picture(self, run_id: str, sha: str) -> Response:
        from starlette.responses import Response

        folder = self._folder(run_id)
        path = Run(folder, self._folders.manifest(folder), ()).image(sha)
        with suppress(OSError):
            if path is not None and not path.parent.is_symlink():
                return Response(path.read_bytes(), media_type="image/png")
        return _json({"error": "no such picture"}, 404)

    async def events(self, request: Request) -> Response:
        from sse_starlette.sse import EventSourceResponse

        folder = self._folder(request.path_params["run"])

        async def status() -> dict[str, Any]:
            known, answer = {"state": self._folders.state(folder), "question": None}, {}
            if known["state"] == "running":
                answer = (await self._lines.ask(folder.name, {"do": "status"}, "status"))[0]
            return known | (answer if answer.get("ok") else {})

        after = _number(request.headers.get("last-event-id", ""))
        return EventSourceResponse(run_stream(folder, after, status), ping=15)

    async def steer(self, request: Request) -> Response:
        name = self._folder(request.path_params["run"]).name
        wish = {"do": _STEERING[request.url.path.rpartition("/")[2]]}
        if wish["do"] == "answer":
            wish = TypeAdapter(dict[str, str]).validate_json(await request.body()) | wish
        answer = (await self._lines.ask(name, wish, "steer"))[0]
        return _json(answer, 200 if answer.get("ok") else 409)

    async def take_input(self, socket: WebSocket) -> None:
        with suppress(RunMissing):
            name = self._folder(socket.path_params["run"]).name
            await serve_input(socket, name)
            return
        await socket.close(4404)

    def desktops(self) -> dict[str, Any]:
        return {"runs": self._folders.list_running()}

    def _folder(self, run_id: str) -> Path:
        return self._folders.find(run_id)[0]

    def _live(self, record: dict[str, Any]) -> dict[str, Any]:
        has_socket = record["state"] == "running" and socket_path(record["id"]).is_socket()
        return record | {"socket": has_socket}


def _page(name: str = "index.html") -> Response:
    from starlette.responses import Response

    path = _REPORT_CSS if name == "report.css" else _PAGE / name
    if not _FILE.fullmatch(name) or not is_regular(path):
        return _json({"error": "no such file of the page"}, 404)
    return Response(path.read_bytes(), media_type=_TYPES[path.suffix[1:]])


async def _answer_refusal(_: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 404 if isinstance(error, RunMissing) else 400)
    message = getattr(error, "detail", str(error))
    if isinstance(error, ValidationError):
        message = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
    return _json({"error": message[:2_000], "fix": getattr(error, "fix", "") or ""}, status)


def _json(value: object, status: int = 200) -> Response:
    from starlette.responses import JSONResponse

    return JSONResponse(value, status)


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0
