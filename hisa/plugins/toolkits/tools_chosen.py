"""The tools and the initial state that an argument of ``hisa tools`` names."""

from __future__ import annotations

import json
import sys
import tomllib
import traceback
from collections.abc import Sequence
from fnmatch import fnmatchcase
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hisa.cli.tools import refuse_path
from hisa.errors import PluginFailed, UsageError
from hisa.tools.base import BaseTool
from hisa.tools.registry import BrokenPlugin, discover, load_tools

if TYPE_CHECKING:
    from hisa.config import Settings
    from hisa.protocols import Task

__all__ = ["as_object", "chosen_tools", "initial_task", "one_tool", "with_kind"]

Chosen = tuple[Sequence[BaseTool], Sequence[BaseTool], Sequence[BrokenPlugin]]

_OURS = "hisa-agent"


def one_tool(name: str) -> BaseTool:
    """Returns the installed tool of a name.

    Raises:
        UsageError: there is none, or it failed to load.
    """
    refuse_path(name)
    found, broken = discover()
    for tool in found:
        if tool.name == name:
            return tool
    if any(plugin.name == name for plugin in broken):
        raise UsageError(f"tool {name!r} failed to load", fix=f"hisa tools show {name}")
    from difflib import get_close_matches

    near = get_close_matches(name, [tool.name for tool in found], n=5, cutoff=0.5)
    like = f"; there are {', '.join(near)}" if near else ""
    raise UsageError(f"no tool {name[:80]!r}{like}", fix="hisa tools ls")


def chosen_tools(which: str) -> Chosen:
    """Returns the tools of a name, a pattern or a folder, those of other packages, and broken ones.

    Raises:
        UsageError: there are none.
    """
    if "/" in which or which == "." or (Path(which) / "pyproject.toml").is_file():
        return _of_folder(Path(which))
    found, broken = discover()
    if not which:
        foreign = [tool for tool in found if tool.source != _OURS]
        return foreign, [], broken
    chosen = [t for t in found if t.kit == which or fnmatchcase(t.name, which)]
    failed = [plugin for plugin in broken if fnmatchcase(plugin.name, which)]
    if not chosen and not failed:
        raise UsageError(
            f"no tool, toolkit or folder {which[:80]!r}", fix="hisa tools ls, or a folder's path"
        )
    return chosen, [], failed


def _of_folder(folder: Path) -> Chosen:
    """The tools that the package in a folder announces, loaded from there."""
    announced, name = _announced(folder)
    for place in (folder / "src", folder):
        if place.is_dir():
            sys.path.insert(0, str(place.resolve()))
    tools: list[BaseTool] = []
    broken = []
    for point in announced:
        try:
            tools += load_tools(point)
        except PluginFailed as error:
            text = "".join(traceback.format_exception(error.__cause__ or error))
            broken.append(BrokenPlugin(point.name, point.value, text))
    for tool in tools:
        tool.source = name
    others = [tool for tool in discover()[0] if tool.source != name]
    return tools, others, broken


def _announced(folder: Path) -> tuple[list[EntryPoint], str]:
    path = folder / "pyproject.toml"
    try:
        project = tomllib.loads(path.read_text("utf-8")).get("project", {})
    except OSError as error:
        raise UsageError(
            f"{path}: {error.strerror}", fix="name a folder with a package, or a tool"
        ) from error
    except ValueError as error:
        raise UsageError(f"{path}: not valid TOML: {error}", fix=f"edit {path}") from error
    named = project.get("entry-points", {}).get("hisa.tools", {})
    if not named:
        raise UsageError(
            f'{path} announces no tools: it has no [project.entry-points."hisa.tools"]',
            fix="hisa tools new NAME writes a package that does",
        )
    return [EntryPoint(n, v, "hisa.tools") for n, v in named.items()], project.get("name", "")


def initial_task(file: str) -> Task:
    """Returns the task of a file, whose setup brings a machine to its initial state.

    Raises:
        UsageError: it cannot be read, or is no task file.
    """
    from hisa.tasks.taskfile import load_task

    path = Path(file)
    if not path.is_file():
        raise UsageError(f"no task file {file!r}", fix="--task FILE.yaml")
    return load_task(path)


def with_kind(settings: Settings, kind: str | None) -> Settings:
    """Returns the settings with another kind of environment, where one is named."""
    environment = settings.environment.model_copy(update={"kind": kind} if kind else {})
    return settings.model_copy(update={"environment": environment})


def as_object(text: str) -> dict[str, Any] | None:
    """Returns the JSON object that a text is; None where it is none."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
