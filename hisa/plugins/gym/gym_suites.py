"""Lists the tasks that an installed suite of BrowserGym announces; needs no network."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
from pathlib import Path
from typing import Any

from hisa.errors import EnvironmentFailed, UsageError
from hisa.machine.parts import install_command

__all__ = ["suite_of", "suite_tasks"]

_NAME = re.compile(r"[a-z_][a-z0-9_]*([.-][A-Za-z0-9_.-]+)?")
_PREFIX = "browsergym/"
_PAGES = "MINIWOB_URL"
"""The variable that tells BrowserGym where the pages of MiniWoB++ are."""


def suite_of(task: str) -> str:
    """Returns the suite of a task: "miniwob" for "miniwob.click-test".

    Raises:
        UsageError: not a name.
    """
    if not _NAME.fullmatch(task):
        raise UsageError(f"BrowserGym task {task!r}: give SUITE.NAME, or openended")
    return re.split(r"[.-]", task, maxsplit=1)[0]


def suite_tasks(suite: str) -> tuple[str, ...]:
    """Returns the names of a suite's tasks, sorted: "miniwob.click-test".

    Raises:
        UsageError: the suite is not installed.
        EnvironmentFailed: BrowserGym itself is not installed.
    """
    registry = _registry()
    if suite != "openended":
        try:
            importlib.import_module(f"browsergym.{suite_of(suite)}")
        except ImportError as error:
            raise UsageError(
                f"suite {suite!r} of BrowserGym is not installed: {error}",
                fix=f"pip install browsergym-{suite}",
            ) from error
    if suite == "miniwob":
        _show_pages()
    begins = re.compile(rf"{_PREFIX}{re.escape(suite)}(?=$|[.-])")
    return tuple(sorted(name.removeprefix(_PREFIX) for name in registry if begins.match(name)))


def _registry() -> Any:
    try:
        import browsergym.core  # registers "openended"
        import gymnasium
    except ImportError as error:
        raise EnvironmentFailed(
            f"BrowserGym is not installed: {error}", fix=install_command("browsergym")
        ) from error
    del browsergym
    return gymnasium.registry


def _show_pages() -> None:
    """Point BrowserGym to the pages of the installed MiniWoB++, unless the variable is set."""
    spec = importlib.util.find_spec("miniwob")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        pages = Path(place, "html", "miniwob")
        if _PAGES not in os.environ and pages.is_dir():
            os.environ[_PAGES] = f"{pages.as_uri()}/"
