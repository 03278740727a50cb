"""Finds the tools and the initial state that an argument of ``hisa tools`` names."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hisa.cli.tools import refuse_path
from hisa.errors import UsageError
from hisa.tools.base import BaseTool
from hisa.tools.registry import BrokenPlugin, discover

if TYPE_CHECKING:
    from hisa.config import Settings
    from hisa.protocols import Task

__all__ = ["load_initial_task", "parse_object", "require_tool", "select_tools", "with_kind"]

_OURS = "hisa-agent"


def require_tool(name: str) -> BaseTool:
    """Returns the installed tool of a name.

    Raises:
        UsageError: there is none, or it failed to load.
    """
    refuse_path(name)
    tools, broken = discover()
    for tool in tools:
        if tool.name == name:
            return tool
    if any(plugin.name == name for plugin in broken):
        raise UsageError(f"tool {name!r} failed to load", fix=f"hisa tools show {name}")
    from difflib import get_close_matches

    near = get_close_matches(name, [tool.name for tool in tools], n=5, cutoff=0.5)
    like = f"; similar names: {', '.join(near)}" if near else ""
    raise UsageError(f"no tool {name[:80]!r}{like}", fix="hisa tools ls")


def select_tools(which: str) -> tuple[Sequence[BaseTool], Sequence[BrokenPlugin]]:
    """Returns the installed tools that a name, a toolkit or a pattern means, and the broken ones.

    Without any, these are all tools that are not HiSA's own.

    Raises:
        UsageError: there are none.
    """
    tools, broken = discover()
    if not which:
        return [tool for tool in tools if tool.source != _OURS], broken
    chosen = [t for t in tools if t.kit == which or fnmatchcase(t.name, which)]
    failed = [plugin for plugin in broken if fnmatchcase(plugin.name, which)]
    if not chosen and not failed:
        refuse_path(which)
        raise UsageError(f"no tool or toolkit {which[:80]!r}", fix="hisa tools ls")
    return chosen, failed


def load_initial_task(file: str) -> Task:
    """Reads a task file; the task's setup brings a machine to its initial state.

    Raises:
        UsageError: the file cannot be read, or is not a task file.
    """
    from hisa.tasks.taskfile import load_task

    path = Path(file)
    if not path.is_file():
        raise UsageError(f"no task file {file!r}", fix="--task FILE.yaml")
    return load_task(path)


def with_kind(settings: Settings, kind: str | None) -> Settings:
    """Returns the settings with another kind of environment, if one is named."""
    environment = settings.environment.model_copy(update={"kind": kind} if kind else {})
    return settings.model_copy(update={"environment": environment})


def parse_object(text: str) -> dict[str, Any] | None:
    """Parses a text as a JSON object; returns None if it is not one."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
