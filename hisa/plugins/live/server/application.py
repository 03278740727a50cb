"""The web application: one table of addresses, and the answers to those of runs."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from hisa.errors import HisaError, UsageError
from hisa.plugins.live.server.json_answers import route, whole_number
from hisa.plugins.live.server.run_client import RunLines
from hisa.plugins.live.server.run_feed import is_regular, run_stream
from hisa.plugins.live.server.run_folders import RunFolders, RunMissing
from hisa.plugins.live.server.run_input import serve_input
from hisa.plugins.live.server.security import Guard
from hisa.plugins.live.server.server_context import ServerContext
from hisa.plugins.live.server.started_runs import RunOrder, StartedRuns
from hisa.plugins.live.watched.run_socket import socket_path
from hisa.runs.read import IMAGES, Run

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute
    from starlette.websockets import WebSocket

__all__ = ["application"]

_VIEWS = "views_tiles", "views_benches", "views_patterns", "views_tools"
_PAGE = Path(__file__).parent / "page"
_REPORT_CSS = Path(__file__).parents[3] / "runs" / "report.css"
_FILE = re.compile(r"[a-z0-9_-]{1,60}\.(?:js|css|html|svg)")
_TYPES = {"js": "text/javascript", "css": "text/css", "html": "text/html", "svg": "image/svg+xml"}
_STEERING = {"pause": "pause", "resume_agent": "resume", "stop": "stop", "answer": "answer"}
_TEXTS = TypeAdapter(dict[str, str])
_WIDTHS = (320, 640, 960, 1280, 1920)  # pixels: a picture is made in the next larger one


def application(
    context: ServerContext, started: StartedRuns, token: str, hosts: Iterable[str]
) -> Guard:
    """Builds the guarded application; for ``token`` and ``hosts`` see `Guard`."""
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.routing import Route, WebSocketRoute

    lines, run = RunLines(), "/api/runs/{run}"
    context = replace(context, ask_run=lines.ask)
    runs = _RunAnswers(context, started, lines)
    table: list[BaseRoute] = [
        route("/", _page),
        route("/static/{name}", _page, "name"),
        route("/api/runs", runs.newest, "limit", "before"),
        Route("/api/runs", runs.start, methods=["POST"]),
        route(run, runs.whole, "run"),
        route(f"{run}/view", runs.view, "run", "after"),
        route(f"{run}/picture/{{sha}}", runs.picture, "run", "sha", "width"),
        Route(f"{run}/events", runs.events),
        Route(f"{run}/resume", runs.resume, methods=["POST"]),
        *(Route(f"{run}/{name}", runs.steer, methods=["POST"]) for name in _STEERING),
        WebSocketRoute(f"{run}/input", runs.take_input),
    ]
    for name in _VIEWS:
        table += import_module(f"hisa.plugins.live.server.{name}").routes(context)
    refused = dict.fromkeys((HTTPException, HisaError, ValidationError), _refused)
    return Guard(Starlette(routes=table, exception_handlers=refused), token, hosts)


class _RunAnswers:
    def __init__(self, context: ServerContext, started: StartedRuns, lines: RunLines) -> None:
        from starlette.responses import JSONResponse

        self._json, self._folders = JSONResponse, RunFolders(context)
        self._started, self._lines = started, lines
        self._dropped: Counter[str] = Counter()

    def newest(self, limit: str, before: str) -> dict[str, Any]:
        records = self._folders.newest(whole_number(limit, "limit", 50, 500), before)
        return {"runs": [self._live(record) for record in records]}

    def whole(self, run_id: str) -> dict[str, Any]:
        folder, bench = self._folders.find(run_id)
        record = self._live(self._folders.record(folder, bench))
        record["dropped"] = self._dropped[run_id]
        record["error"] = self._started.error(run_id) or ""
        fields = ("number", "tool", "verdict", "seconds")
        steps = self._folders.run(folder).steps
        record["steps"] = [{name: getattr(step, name) for name in fields} for step in steps]
        return record

    def view(self, run_id: str, after: str) -> Response:
        from starlette.responses import HTMLResponse

        from hisa.runs.report import render_steps

        run, pictures = self._folders.run(self._folder(run_id)), f"/api/runs/{run_id}/picture/"
        return HTMLResponse(render_steps(run, _number(after), lambda sha: pictures + sha))

    def picture(self, run_id: str, sha: str, width: str) -> Response:
        from starlette.responses import Response

        folder, least = self._folder(run_id), _number(width)
        inside = not (folder / IMAGES).is_symlink()
        path = Run(folder, self._folders.manifest(folder), ()).image(sha) if inside else None
        chosen = next((size for size in _WIDTHS if size >= least > 0), 0)
        made = _scaled(path, chosen) if path and chosen else path and path.read_bytes()
        if not made:
            return self._json({"error": "no such picture"}, 404)
        return Response(made, media_type=f"image/{'webp' if chosen else 'png'}")

    async def start(self, request: Request) -> Response:
        order = RunOrder.model_validate_json(await request.body())
        return self._json({"id": await self._started.start(order)})

    async def resume(self, request: Request) -> Response:
        folder = self._folder(request.path_params["run"])
        return self._json({"id": await self._started.resume(folder)})

    async def events(self, request: Request) -> Response:
        from sse_starlette.sse import EventSourceResponse

        folder = self._folder(request.path_params["run"])

        async def status() -> dict[str, Any]:
            state = self._folders.state(folder)
            known = {"state": state, "question": None, "can_ask": False}
            if state == "running":
                known |= (await self._lines.ask(folder.name, {"do": "status"}, "status"))[0]
            return known

        after = _number(request.headers.get("last-event-id", ""))
        return EventSourceResponse(run_stream(folder, after, status), ping=15)

    async def steer(self, request: Request) -> Response:
        name = self._folder(request.path_params["run"]).name
        wish = {"do": _STEERING[request.url.path.rpartition("/")[2]]}
        if wish["do"] == "answer":
            wish = _TEXTS.validate_json(await request.body()) | wish
        answer = (await self._lines.ask(name, wish, "steer"))[0]
        if wish["do"] == "stop" and not answer.get("ok"):  # it may have no socket yet
            answer = {"ok": True} if self._started.stop(name) else answer
        return self._json(answer, 200 if answer.get("ok") else 409)

    async def take_input(self, socket: WebSocket) -> None:
        try:
            name = self._folder(socket.path_params["run"]).name
        except UsageError:
            await socket.close(4404)
        else:
            await serve_input(socket, name, self._dropped)

    def _folder(self, run_id: str) -> Path:
        return self._folders.find(run_id)[0]

    def _live(self, record: dict[str, Any]) -> dict[str, Any]:
        there = record["state"] == "running" and socket_path(record["id"]).is_socket()
        return record | {"socket": there, "mine": self._started.error(record["id"]) is not None}


def _page(name: str = "index.html") -> Response:
    """Answers a file of the page, by its bare name."""
    from starlette.responses import JSONResponse, Response

    path = _REPORT_CSS if name == "report.css" else _PAGE / name
    if not _FILE.fullmatch(name) or not is_regular(path):
        return JSONResponse({"error": "no such file of the page"}, 404)
    return Response(path.read_bytes(), media_type=_TYPES[path.suffix[1:]])


@lru_cache(maxsize=64)
def _scaled(path: Path, width: int) -> bytes | None:
    """A PNG as WebP of so many pixels at most; None where it is no picture."""
    from PIL import Image

    buffer = io.BytesIO()
    try:
        with Image.open(path, formats=("PNG",)) as file:
            picture = file.convert("RGB")
    except Exception:  # noqa: BLE001 - anything may lie there
        return None
    picture.thumbnail((width, picture.height))
    picture.save(buffer, "WEBP", quality=80, method=1)
    return buffer.getvalue()


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
