"""Routes of the view "tools and policy": what may be called, and what was asked and decided."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from hisa.errors import UsageError
from hisa.events import PersonActed, PersonAsked
from hisa.plugins.live.server.json_answers import Routes, route, whole_number
from hisa.plugins.live.server.server_context import ServerContext
from hisa.runs.audit_view import audit_json
from hisa.runs.read import EVENTS, is_running, list_runs, load_run

__all__ = ["routes"]

_RUNS, _MOST = 20, 60
_LARGEST = 1 << 26  # bytes of a log that is read for it


def routes(context: ServerContext) -> Routes:
    """Returns the route of tools and of what was asked and decided in the newest runs."""

    def tools(limit: str) -> dict[str, Any]:
        count = whole_number(limit, "limit", _RUNS, _MOST)
        folders = [folder for root in context.roots for folder in list_runs(root)[:count]]
        newest = sorted(folders, key=lambda folder: folder.name, reverse=True)[:count]
        return {**_tools(context), "runs": [_decided(folder) for folder in newest]}

    return [route("/api/tools", tools, "limit")]


def _tools(context: ServerContext) -> dict[str, Any]:
    """Returns the tools that are installed, those that failed to load, and the rules."""
    from hisa.tools.registry import discover

    tools, broken = discover()
    names = ("name", "kit", "title", "summary", "source", "always")
    rows = [{name: getattr(tool, name) for name in names} for tool in tools]
    failed = [{"name": b.name, "error": b.traceback.strip().splitlines()[-1]} for b in broken]
    rules = context.settings.model_dump(mode="json", include={"tools", "policy"})
    return {"tools": rows, "broken": failed, "settings": rules["tools"], "policy": rules["policy"]}


def _decided(folder: Path) -> dict[str, Any]:
    """Returns decisions, questions and a person's deeds; ``error`` where the log is not read."""
    try:
        return {**_audit(folder, (folder / EVENTS).stat().st_size), "running": is_running(folder)}
    except (OSError, UsageError) as error:
        return {"run": folder.name, "error": str(error)}


@lru_cache(_MOST)
def _audit(folder: Path, size: int) -> dict[str, Any]:
    if size > _LARGEST:
        raise UsageError(f"the log of {folder.name} is too long: {size >> 20} MB")
    run = load_run(folder)
    people = [e.model_dump() for e in run.events if isinstance(e, PersonAsked | PersonActed)]
    return {**audit_json(run), "task": run.manifest.task.id, "person": people}
