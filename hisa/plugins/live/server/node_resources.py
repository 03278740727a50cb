"""What the machines that runs are made on have, and what of it is taken."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from hisa.plugins.live.server.bench_shelf import BenchShelf
from hisa.plugins.live.server.server_context import ServerContext

__all__ = ["NodeResources"]

_FRESH = 5.0
_RAY_FRESH = 30.0
_RAY_LIMIT = 20.0
_RAY_CODE = """
import json, ray
ray.init(address=%r, log_to_driver=False, configure_logging=False)
from ray._private.state import available_resources_per_node
free = available_resources_per_node()
print(json.dumps([[n["NodeManagerHostname"], n["NodeManagerAddress"], n["Resources"],
                   free.get(n["NodeID"], {})] for n in ray.nodes() if n["Alive"]]))
"""


class NodeResources:
    """Reads this machine's, and those of the nodes of Ray where RAY_ADDRESS names a cluster.

    A slot is a processor; of this machine as many are taken as runs and machines are at work on
    it, of Ray's nodes as its own books say. The queue is what running benches have still to make.

    Args:
        context: of the server.
    """

    def __init__(self, context: ServerContext) -> None:
        self._context = context
        self._at = self._ray_at = -_RAY_FRESH
        self._benches = BenchShelf(context)
        self._before = 0, 0
        self._own: dict[str, Any] = {}
        self._ray: list[dict[str, Any]] = []
        self._ray_task: asyncio.Task[None] | None = None

    async def nodes(self, taken: int) -> list[dict[str, Any]]:
        """Returns a row a node, this machine first; a number that is not known is None.

        Args:
            taken: machines and runs at work here.
        """
        if time.monotonic() - self._at >= _FRESH:
            self._at = time.monotonic()
            self._ask_ray()
            self._own = await asyncio.to_thread(self._measure, taken)
        return [self._own, *self._ray]

    def _measure(self, taken: int) -> dict[str, Any]:
        slots = os.cpu_count() or 1
        busy, idle = _processor_time()
        spent = (busy - self._before[0], idle - self._before[1])
        self._before = busy, idle
        memory = _memory()
        folder = next((root for root in self._context.roots if root.is_dir()), Path.cwd())
        disk = shutil.disk_usage(folder)
        return {
            "name": socket.gethostname(),
            "slots": slots,
            "slots_free": max(0, slots - taken),
            "cpu": round(spent[0] / sum(spent), 2) if sum(spent) else None,
            "memory": {"total": memory.get("MemTotal"), "free": memory.get("MemAvailable")},
            "disk": {"total": disk.total, "free": disk.free},
            "queue": self._benches.queue(),
        }

    def _ask_ray(self) -> None:
        address = os.environ.get("RAY_ADDRESS", "")
        waiting = self._ray_task is not None and not self._ray_task.done()
        if address and not waiting and time.monotonic() - self._ray_at >= _RAY_FRESH:
            self._ray_at = time.monotonic()
            self._ray_task = asyncio.create_task(self._read_ray(address))

    async def _read_ray(self, address: str) -> None:
        """Asks in a process of its own: a driver of Ray has threads and state that stay."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", _RAY_CODE % address,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        self._ray = []
        try:
            out, _ = await asyncio.wait_for(process.communicate(), _RAY_LIMIT)
            rows = json.loads(out.splitlines()[-1])
            own = socket.gethostname()
            self._ray = [_ray_node(row) for row in rows if row[0] != own]
        except (TimeoutError, ValueError, IndexError, TypeError, KeyError):
            return  # no cluster there, or no Ray here
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


def _ray_node(row: list[Any]) -> dict[str, Any]:
    host, address, has, free = row
    memory = {"total": has.get("memory"), "free": free.get("memory")}
    return {
        "name": f"{host} ({address})", "slots": has.get("CPU"), "slots_free": free.get("CPU"),
        "cpu": None, "memory": memory, "disk": None, "queue": None,
    }  # fmt: skip


def _processor_time() -> tuple[int, int]:
    """Ticks since the machine was started in which its processors were busy, and idle."""
    with suppress(OSError, ValueError):
        first = Path("/proc/stat").read_text("ascii").partition("\n")[0]
        ticks = [int(field) for field in first.split()[1:9]]
        return sum(ticks) - sum(ticks[3:5]), sum(ticks[3:5])
    return 0, 0


def _memory() -> dict[str, int]:
    """Bytes by name, as /proc/meminfo has them."""
    with suppress(OSError, ValueError):
        rows = [line.split() for line in Path("/proc/meminfo").read_text("ascii").splitlines()]
        return {row[0].rstrip(":"): int(row[1]) * 1024 for row in rows}
    return {}
