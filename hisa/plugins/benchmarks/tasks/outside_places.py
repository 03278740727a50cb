"""Which places of the web a task names, and whether the machine reaches them.

A run and `hisa bench coverage` ask here, so that both say the same. Where a task file only says in
words that something is to be found on the web, nothing is known of it.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from hisa.config import TaskSettings
from hisa.errors import EnvironmentFailed
from hisa.machine.patience import patience
from hisa.plugins.benchmarks.tasks.benchmark import PROXY
from hisa.plugins.benchmarks.tasks.getters.chrome_state import PREFERENCES
from hisa.plugins.benchmarks.tasks.needs import asked_getters, command_lines, needed_apps
from hisa.plugins.benchmarks.tasks.setup.by_proxy import named_proxy
from hisa.protocols import Environment, Task
from hisa.tasks.clean import python

__all__ = [
    "Place", "WebNeed", "opened_places", "require_places", "unreached", "web_needs",
]  # fmt: skip

Place: TypeAlias = tuple[str, int]
"""Host and port."""
_SEARCH_ENGINES = ("https://www.bing.com", "https://www.google.com")
"""What stands in a browser that a task starts for something else; the benchmark goes on without."""
_QUIET = frozenset(("echo", "printf", "gsettings", "dconf", "xclip"))
"""Programs that an address is given to and that do not go there."""
_VISITING = frozenset(("clone", "fetch", "pull", "push", "ls-remote", "submodule"))
"""Commands of git that go to an address; others write it down (``git remote add``)."""
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
_SECONDS = 40.0
"""For the slowest answer to `_REACH`, which ends by itself after 15 s, and its interpreter."""
_MAX_PLACES = 300
_REACH = """
import json, os, socket, sys
from concurrent.futures import ThreadPoolExecutor, wait
def reached(place):
    host, port = place
    try:
        socket.create_connection((host, port), 5).close()
        return True
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
        socket.socket(family, kind).bind(address)
        return True
    except (OSError, UnicodeError):
        return why
pool = ThreadPoolExecutor(64)
asked = [pool.submit(reached, place) for place in json.loads(sys.argv[1])]
wait(asked, 15)
print(json.dumps([one.result() if one.done() else "no answer within 15 s" for one in asked]))
sys.stdout.flush()
os._exit(0)
"""
"""Runs in the machine. A name of the machine itself counts: a task may serve its page there."""


@dataclass(frozen=True)
class WebNeed:
    """Places of which a task needs one, and the address that it gives for the first."""

    places: tuple[Place, ...]
    address: str

    @property
    def words(self) -> str:
        """The places in words."""
        named = [f"{host}:{port}" for host, port in self.places]
        more = f" and {len(named) - 3} more" if len(named) > 3 else ""
        return named[0] if len(named) == 1 else f"any of {', '.join(named[:3])}{more}"


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
    found = [_need([url]) for url in [*_opened(task), *_in_words(task)]]
    found += [_need(urls) for urls in _compared(task)]
    if not any(found) and any(step.get("type") == PROXY for step in task.setup):
        found.append(_need(_SEARCH_ENGINES))
    known = {need.places: need for need in reversed(found) if need is not None}
    return tuple(known[places] for places in dict.fromkeys(n.places for n in found if n))


def _need(urls: Iterable[str]) -> WebNeed | None:
    found = [(place, url) for url in urls if (place := place_of(url)) is not None]
    places = tuple(dict.fromkeys(place for place, _ in found))
    return WebNeed(places, found[0][1]) if found else None


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
            if words and _visits(words):
                yield from words


def _visits(words: Sequence[str]) -> bool:
    """Whether a program may go to the addresses that it is given."""
    program = posixpath.basename(words[0])
    if program == "git":
        return not _VISITING.isdisjoint(words)
    return program not in _QUIET


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


def place_of(url: str) -> Place | None:
    """Host and port of an address of the web; None where it is none, or of the machine itself."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return None
    inside = host in ("", "localhost", "::1", "0.0.0.0") or host.startswith("127.")
    if parts.scheme not in ("http", "https") or inside:
        return None
    return host, port or (443 if parts.scheme == "https" else 80)


async def unreached(environment: Environment, places: Sequence[Place]) -> dict[Place, str]:
    """The places to which a machine cannot connect, each with the reason; all where it cannot tell.

    A server that answers with an error page is reached. Asked in one command, from the machine.
    """
    if not places:
        return {}
    listed = list(dict.fromkeys(places))
    asked = listed[:_MAX_PLACES]
    said = await environment.execute(python(_REACH, json.dumps(asked)), timeout=patience(_SECONDS))
    try:
        answers = json.loads(said.output) if said.exit_code == 0 else None
    except ValueError:
        answers = None
    if not isinstance(answers, list) or len(answers) != len(asked):
        answers = ["the machine cannot say: it needs python3 for that"] * len(asked)
    answers += ["too many places"] * (len(listed) - len(asked))
    return {
        place: str(answer)[:200]
        for place, answer in zip(listed, answers, strict=True)
        if answer is not True
    }


async def require_places(
    task: Task, environment: Environment, settings: TaskSettings | None = None
) -> None:
    """See that the machine reaches what a task needs of the web, in one command.

    Raises:
        EnvironmentFailed: it does not reach some; each is named with the reason.
    """
    needs = web_needs(task, settings)
    gone = await unreached(environment, [place for need in needs for place in need.places])
    lacking = [need for need in needs if all(place in gone for place in need.places)]
    if not lacking:
        return
    told = "; ".join(f"{_shown(need)} ({gone[need.places[0]]})" for need in lacking[:5])
    more = f"; and {len(lacking) - 5} more" if len(lacking) > 5 else ""
    raise EnvironmentFailed(
        f"task {task.id!r} needs pages that {environment.name} does not reach: {told}{more}",
        fix="name a machine that reaches them (--env), or leave such tasks out:"
        " hisa bench run SUITE --only ready",
    )


def _shown(need: WebNeed) -> str:
    return need.address[:200] if len(need.places) == 1 else need.words
