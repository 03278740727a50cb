"""Which places of the web a task names, and whether the machine reaches them.

A run and `hisa bench coverage` ask here, so that both say the same. Where a task file only says in
words that something is to be found on the web, nothing is known of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hisa.config import TaskSettings
from hisa.plugins.benchmarks.tasks.benchmark import PROXY
from hisa.plugins.benchmarks.tasks.getters.chrome_state import PREFERENCES
from hisa.plugins.benchmarks.tasks.needs import asked_getters, command_lines, needed_apps
from hisa.plugins.benchmarks.tasks.setup.by_proxy import named_proxy
from hisa.plugins.machines.reached_places import Place, WebNeed, place_of, visits, web_need
from hisa.plugins.machines.reached_places import require_places as require
from hisa.protocols import Environment, Task

__all__ = ["opened_places", "require_places", "web_needs"]

_SEARCH_ENGINES = ("https://www.bing.com", "https://www.google.com")
"""What stands in a browser that a task starts for something else; the benchmark goes on without."""
_LOOKS_AT_PAGES = frozenset(
    (
        *("open_tabs_info", "active_tab_info", "active_url_from_accessTree", "bookmarks"),
        *("active_tab_url_parse", "active_tab_html_parse", "url_dashPart", "url_path_parse"),
    )
)
"""Getters whose expected addresses the agent has to find; those of settings it only writes down."""
_ADDRESS = re.compile(
    r"https?://[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+(?::\d{1,5})?(?=[/?#\s\"'<>),;]|\.?$|\.\s)"
)


def opened_places(task: Task) -> tuple[Place, ...]:
    """Host and port of each page outside the machine that the setup opens, each once."""
    found = dict.fromkeys(place_of(url) for url in _opened(task))
    return tuple(place for place in found if place is not None)


def web_needs(task: Task, settings: TaskSettings | None = None) -> tuple[WebNeed, ...]:
    """Returns what a task needs of the web, by what its file names.

    Each page that the setup opens; each address in the words of a benchmark's task about the
    browser; the addresses that the agent's pages are compared with, one of which is enough: they
    may be several ways to say the same. A task that wants a proxy and names no address needs a
    search engine. None where its pages are opened by a proxy, which is looked at by itself.

    Args:
        task: whose file is looked at.
        settings: what the user allows and gives; None: no proxy.
    """
    if settings is not None and named_proxy(task, settings):
        return ()
    found = [web_need([url]) for url in [*_opened(task), *_in_words(task)]]
    found += [web_need(urls) for urls in _compared(task)]
    if not any(found) and any(step.get("type") == PROXY for step in task.setup):
        found.append(web_need(_SEARCH_ENGINES))
    known = {need.places: need for need in reversed(found) if need is not None}
    return tuple(known[places] for places in dict.fromkeys(n.places for n in found if n))


def _opened(task: Task) -> Iterator[str]:
    for raw in task.setup:
        given = raw.get("parameters")
        if not isinstance(given, Mapping):
            continue
        idle = _SEARCH_ENGINES if raw.get("type") == "google_chrome_browser" else ()
        for key in ("urls_to_open", "urls"):
            listed = given.get(key)
            listed = listed if isinstance(listed, list | tuple) else ()
            yield from (u for u in listed if isinstance(u, str) and u.rstrip("/") not in idle)
        for words in command_lines(raw):
            if words and visits(words):
                yield from words


def _scored(task: Task) -> bool:
    """Whether the agent has something to do by which a benchmark scores it."""
    func = task.check.get("func") if task.check else None
    return func is not None and func not in ("infeasible", ["infeasible"])


def _in_words(task: Task) -> Iterator[str]:
    """Addresses in the instruction; what is only to be written into a setting is not visited."""
    kinds = {str(getter.get("type")) for getter in asked_getters(task.check, "result")}
    only_settings = bool(kinds) and kinds <= {*PREFERENCES, "bookmarks"}
    if not _scored(task) or only_settings:
        return
    if any(app.title == "Chromium" for app in needed_apps(task)):
        yield from _ADDRESS.findall(task.instruction)


def _compared(task: Task) -> Iterator[list[str]]:
    """Addresses of the rules, of each result that is a page of the browser; and what is asked."""
    if not _scored(task) or task.check is None:
        return
    for getter in asked_getters(task.check):
        if isinstance(url := getter.get("url"), str):
            yield [url]
    results, rules = task.check.get("result"), task.check.get("expected")
    results = results if isinstance(results, list | tuple) else [results]
    rules = rules if isinstance(rules, list | tuple) else [rules]
    for result, rule in zip(results, rules, strict=False):
        kind = result.get("type") if isinstance(result, Mapping) else None
        if kind in _LOOKS_AT_PAGES and isinstance(rule, Mapping):
            found = list(_addresses(rule.get("rules")))
            given = {place_of(url) for url in _ADDRESS.findall(task.instruction)}
            if kind != "bookmarks" or not given.intersection(map(place_of, found)):
                yield found


def _addresses(tree: Any) -> Iterator[str]:
    """Addresses in the texts of a rule; a regular expression's dots and slashes are plain ones."""
    if isinstance(tree, str):
        yield from _ADDRESS.findall(re.sub(r"\\([./-])", r"\1", tree))
    below = tree.values() if isinstance(tree, Mapping) else tree
    for one in below if not isinstance(tree, str) and isinstance(below, Iterable) else ():
        yield from _addresses(one)


async def require_places(
    task: Task, environment: Environment, settings: TaskSettings | None = None
) -> None:
    """See that the machine reaches what a task needs of the web.

    Raises:
        EnvironmentFailed: it does not reach some; each is named with the reason.
    """
    await require(task, environment, web_needs(task, settings))
