"""Routes of the view "desktops": tiles, their pictures, and the nodes."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hisa.plugins.live.server.server_context import ServerContext
from hisa.plugins.live.server.tiles import TileBoard
from hisa.plugins.live.server.views_benches import waiting_attempts

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

__all__ = ["routes"]

_PAUSE, _FRESH, _RAY_FRESH = 0.5, 5.0, 30.0
"""Seconds between two looks of a stream, at this machine, and at Ray."""
_RAY = """
import json, sys, ray
from ray._private.state import available_resources_per_node
ray.init(address=sys.argv[1], log_to_driver=False, configure_logging=False)
free, rows = available_resources_per_node(), []
for node in ray.nodes():
    has, left = node["Resources"], free.get(node["NodeID"], {})
    if node["Alive"] and node["NodeManagerHostname"] != sys.argv[2]:
        taken = round(1 - left.get("memory", 0) / has["memory"], 2) if has.get("memory") else None
        rows.append({"name": node["NodeManagerHostname"], "slots": has.get("CPU", 0), "cpu": None,
            "slots_free": left.get("CPU", 0), "memory": taken, "disk": None, "queue": None})
print(json.dumps(rows))
"""
"""Prints the rows of a cluster's nodes but this one."""


def routes(context: ServerContext) -> list[Route]:
    """Returns the routes of tiles and nodes."""
    from sse_starlette import EventSourceResponse
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    board, nodes = TileBoard(context), _Nodes(context)

    async def desktops(_: Request) -> Response:
        tiles = await board.tiles()
        return JSONResponse({"tiles": list(tiles.values()), "nodes": await nodes.rows(len(tiles))})

    async def stream(_: Request) -> Response:
        return EventSourceResponse(_changes(board, nodes), ping=15)

    async def picture(request: Request) -> Response:
        since = request.query_params.get("since", "")
        made = await board.picture(request.path_params["name"], since)
        if made is None:
            return JSONResponse({"error": "no such tile, or it has no picture"}, status_code=404)
        return Response(made, 200 if made else 304, media_type="image/webp")

    return [
        Route("/api/desktops", desktops),
        Route("/api/desktops/stream", stream),
        Route("/api/tiles/{name}", picture),
    ]


async def _changes(board: TileBoard, nodes: _Nodes) -> AsyncIterator[dict[str, str]]:
    """Yields all tiles, ``whole``, then what changed, ids that are ``gone``, new ``nodes``."""
    sent, rows, first = dict[str, dict[str, Any]](), list[dict[str, Any]](), True
    while True:
        tiles = await board.tiles()
        changed = [tile for name, tile in tiles.items() if sent.get(name) is not tile]
        data = {"tiles": changed, "gone": [name for name in sent if name not in tiles]}
        if (now := await nodes.rows(len(tiles))) != rows:
            data["nodes"] = rows = now
        if first or any(data.values()):
            yield {"event": "tiles", "data": json.dumps({**data, "whole": first})}
        sent, first = tiles, False
        await asyncio.sleep(_PAUSE)


class _Nodes:
    """Reads what this machine has, and Ray's other nodes where RAY_ADDRESS names a cluster.

    A slot is a processor; of this machine as many are taken as runs and machines are at work, of
    Ray's nodes as its books say. The queue is what benches at work have still to make; ``cpu``,
    memory and disk are shares taken, the first by the load of the last minute.
    """

    def __init__(self, context: ServerContext) -> None:
        self._context = context
        self._at = self._ray_at = -_RAY_FRESH
        self._own, self._ray = dict[str, Any](), list[dict[str, Any]]()

    async def rows(self, taken: int) -> list[dict[str, Any]]:
        """Returns a row a node, this machine first; what is not known is None."""
        now, address = time.monotonic(), os.environ.get("RAY_ADDRESS", "")
        if now - self._at >= _FRESH:
            self._at = now
            self._own = await asyncio.to_thread(self._measure, taken)
        if address and now - self._ray_at >= _RAY_FRESH:
            self._ray_at = now
            asyncio.get_running_loop().run_in_executor(None, self._ask_ray, address)
        return [self._own, *self._ray]

    def _measure(self, taken: int) -> dict[str, Any]:
        lines = [line.split() for line in Path("/proc/meminfo").read_text("ascii").splitlines()]
        memory = {line[0]: int(line[1]) for line in lines}
        disk = shutil.disk_usage(next(filter(Path.is_dir, self._context.roots), Path.cwd()))
        slots = os.cpu_count() or 1
        return {
            "name": socket.gethostname(),
            "slots": slots,
            "slots_free": max(0, slots - taken),
            "cpu": round(os.getloadavg()[0] / slots, 2),
            "memory": round(1 - memory["MemAvailable:"] / memory["MemTotal:"], 2),
            "disk": round(1 - disk.free / disk.total, 2),
            "queue": waiting_attempts(self._context),
        }

    def _ask_ray(self, address: str) -> None:
        """Asks in a process of its own: a driver of Ray has threads and state that stay."""
        command = [sys.executable, "-c", _RAY, address, socket.gethostname()]
        with suppress(subprocess.TimeoutExpired, ValueError, IndexError):
            done = subprocess.run(command, capture_output=True, timeout=20, check=False)
            self._ray = []  # no cluster there, or no Ray here
            self._ray = json.loads(done.stdout.splitlines()[-1])
