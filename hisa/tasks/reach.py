"""The addresses outside a machine that a task needs, and whether the machine reaches them.

A page that cannot be opened is never the agent's failure: such a task is not begun, and where the
page is gone by the time of scoring, what was left behind is not scored. What an agent has to look
up in a place that the task file does not name, nobody can tell before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any
from urllib.parse import urlsplit

from hisa.config import TaskSettings
from hisa.errors import EnvironmentFailed
from hisa.machine.patience import patience
from hisa.protocols import Environment, Task
from hisa.tasks.clean import python
from hisa.tasks.needs import command_lines
from hisa.tasks.setup.by_proxy import named_proxy

__all__ = ["Place", "outside_places", "reached", "require_places", "unreached"]

Place = tuple[str, int]
"""A host and a port."""

_FIRST_PAGES = frozenset(("https://www.bing.com", "https://www.google.com"))
"""What stands in a browser that a task starts for something else; the benchmark goes on without."""
_SHOWN = frozenset(
    (
        *("active_tab_info", "active_tab_html_parse", "active_tab_url_parse", "bookmarks"),
        *("active_url_from_accessTree", "open_tabs_info", "page_info", "url_dashPart"),
        "url_path_parse",
    )
)
"""Getters of what the agent opened or kept in the browser."""
_HOST = re.compile(r"[\w.:-]+")
"""A pattern that a check searches for is no host."""
_SECONDS = 60.0
"""For 32 connections at a time, each given up after 5 s, of some hundred hosts."""
_AT_ONCE = 300
"""Places that one command asks for, whose line must not become too long."""
_PROBE = """
import json, socket, sys
from concurrent.futures import ThreadPoolExecutor
def reached(place):
    try:
        socket.create_connection(tuple(place), 5).close()
    except (OSError, UnicodeError):
        return False
    return True
with ThreadPoolExecutor(32) as pool:
    print(json.dumps(list(pool.map(reached, json.loads(sys.argv[1])))))
"""
"""Runs in the machine."""


def outside_places(task: Task, settings: TaskSettings | None = None) -> tuple[Place, ...]:
    """Host and port of each page outside the machine that a task is about, each once.

    They are those that its setup opens, and those that its check expects in the browser.

    Args:
        task: none are told of one that a proxy of the settings opens pages for.
        settings: what the user allows and gives; None: the defaults.
    """
    if settings is not None and named_proxy(task, settings):
        return ()
    return tuple(dict.fromkeys((*_places(_opened(task)), *_places(_expected(task)))))


def unreached(
    task: Task, beyond: Set[Place], settings: TaskSettings | None = None
) -> tuple[Place, ...]:
    """The places without which a task cannot be done, of those ``beyond`` a machine.

    Each page that the setup opens is one. Of those that the check expects one is enough: they may
    be alternatives.
    """
    named = outside_places(task, settings)
    opened = set(_places(_opened(task)))
    expected = set(_places(_expected(task)))
    lost = expected if expected <= beyond else set()
    return tuple(place for place in named if place in beyond and place in opened | lost)


def _opened(task: Task) -> Iterator[str]:
    for raw in task.setup:
        given: Any = raw.get("parameters")
        if isinstance(given, Mapping):
            yield from _listed(raw, given)
            for words in command_lines(raw):
                yield from words


def _listed(raw: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[str]:
    idle = _FIRST_PAGES if raw.get("type") == "google_chrome_browser" else ()
    for key in ("urls_to_open", "urls"):
        urls = given.get(key)
        for url in urls if isinstance(urls, list | tuple) else ():
            if isinstance(url, str) and url.rstrip("/") not in idle:
                yield url


def _expected(task: Task) -> Iterator[str]:
    """Addresses among what the check expects of the browser's pages."""
    check: Any = task.check or {}
    results, expected = ((v if isinstance(v, list | tuple) else [v]) for v in
                         (check.get("result"), check.get("expected")))  # fmt: skip
    for result, wanted in zip(results, expected, strict=False):
        if isinstance(result, Mapping) and result.get("type") in _SHOWN:
            yield from _strings(wanted)


def _strings(tree: Any) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, Mapping | list | tuple):
        for below in tree.values() if isinstance(tree, Mapping) else tree:
            yield from _strings(below)


def _places(urls: Iterable[str]) -> Iterator[Place]:
    yield from (place for url in urls if (place := _place(url)) is not None)


def _place(url: str) -> Place | None:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return None
    inside = host in ("", "localhost", "::1", "0.0.0.0") or host.startswith("127.")
    if parts.scheme not in ("http", "https") or inside or not _HOST.fullmatch(host):
        return None
    return host, port or (443 if parts.scheme == "https" else 80)


async def reached(environment: Environment, places: Iterable[Place]) -> frozenset[Place] | None:
    """The places to which a machine can connect; None: it cannot tell.

    Raises:
        EnvironmentFailed: the machine does not answer.
    """
    listed, found = list(places), set[Place]()
    for begin in range(0, len(listed), _AT_ONCE):
        some = listed[begin : begin + _AT_ONCE]
        command = python(_PROBE, json.dumps(some))
        said = await environment.execute(command, timeout=patience(_SECONDS))
        try:
            answers = json.loads(said.output) if said.exit_code == 0 else None
        except ValueError:
            answers = None
        if not isinstance(answers, list) or len(answers) != len(some):
            return None
        found |= {place for place, yes in zip(some, answers, strict=True) if yes is True}
    return frozenset(found)


async def require_places(task: Task, environment: Environment, settings: TaskSettings) -> None:
    """Look for the pages that a task needs, in one command.

    Raises:
        EnvironmentFailed: the machine does not reach some, or cannot tell; each is named.
    """
    places = outside_places(task, settings)
    found = await reached(environment, places)
    if found is None:
        names = ", ".join(f"{host}:{port}" for host, port in places)
        raise EnvironmentFailed(
            f"{environment.name} cannot tell whether it reaches {names}, which task {task.id!r} "
            "needs",
            fix="install Python 3 in the machine",
        )
    if missing := unreached(task, set(places) - found, settings):
        names = ", ".join(f"{host}:{port}" for host, port in missing)
        raise EnvironmentFailed(
            f"task {task.id!r} needs {names}, which {environment.name} does not reach",
            fix="give a machine with a network: --env guest=HOST",
        )
