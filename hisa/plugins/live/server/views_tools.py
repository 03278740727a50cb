"""Routes of the view "tools and policy": what may be called, and what was asked and decided."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from hisa.errors import UsageError
from hisa.events import PersonActed, PersonAsked
from hisa.plugins.live.server.json_answers import answer_with, whole_number
from hisa.plugins.live.server.server_context import ServerContext
from hisa.runs.audit_view import audit_json
from hisa.runs.read import EVENTS, is_running, list_runs, load_run

if TYPE_CHECKING:
    from starlette.routing import Route

    from hisa.tools.base import BaseTool

__all__ = ["routes"]

_RUNS = 20
_KEPT = 60
_LARGEST = 1 << 26
"""Bytes of a log that is read for it."""


def routes(context: ServerContext) -> list[Route]:
    """Returns the route of tools and of what was asked and decided in the newest runs."""
    from starlette.routing import Route

    audits = _Audits(context)

    def tools(limit: str) -> dict[str, Any]:
        count = whole_number(limit, "limit", _RUNS, _KEPT)
        return {**_tools(context), "runs": audits.newest(count)}

    return [Route("/api/tools", answer_with(tools, "limit"))]


def _tools(context: ServerContext) -> dict[str, Any]:
    """Returns the tools that are installed, those that failed to load, and the rules."""
    from hisa.tools.registry import discover

    found, broken = discover()
    failed = [
        {"name": b.name, "source": b.source, "error": b.traceback.strip().splitlines()[-1]}
        for b in broken
    ]
    settings = context.settings
    return {
        "tools": [_tool(tool) for tool in found],
        "broken": failed,
        "settings": settings.tools.model_dump(mode="json"),
        "policy": settings.policy.model_dump(mode="json"),
    }


def _tool(tool: BaseTool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "kit": tool.kit,
        "title": tool.title,
        "summary": tool.summary,
        "source": tool.source,
        "always": tool.always,
        "effects": list(tool.traits.effects),
    }


class _Audits:
    """Keeps what was decided in runs; a log that did not grow is not read again."""

    def __init__(self, context: ServerContext) -> None:
        self._roots = context.roots
        self._lock = Lock()
        self._kept: OrderedDict[tuple[Path, int], dict[str, Any]] = OrderedDict()

    def newest(self, count: int) -> list[dict[str, Any]]:
        """Returns the decisions, questions and deeds of a person in the newest runs."""
        folders = [folder for root in self._roots for folder in list_runs(root)[:count]]
        newest = sorted(folders, key=lambda folder: folder.name, reverse=True)[:count]
        with self._lock:
            return [audit for folder in newest if (audit := self._of(folder)) is not None]

    def _of(self, folder: Path) -> dict[str, Any] | None:
        try:
            size = (folder / EVENTS).stat().st_size
            key = folder, size
            if size > _LARGEST:
                raise UsageError(f"the log of {folder.name} has {size >> 20} MB", fix="hisa runs")
            if key not in self._kept:
                self._kept[key] = _audit(folder)
        except (OSError, UsageError):
            return None
        self._kept.move_to_end(key)
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return {**self._kept[key], "running": is_running(folder)}


def _audit(folder: Path) -> dict[str, Any]:
    run = load_run(folder)
    people = [e.model_dump() for e in run.events if isinstance(e, PersonAsked | PersonActed)]
    return {**audit_json(run), "task": run.manifest.task.id, "person": people}
