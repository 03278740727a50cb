"""Finds the web addresses that a command line names, and those that a machine does not reach."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import urlsplit

from hisa.environments.clean_commands import python
from hisa.errors import EnvironmentFailed
from hisa.machine.patience import patience
from hisa.protocols import Environment, Task

__all__ = ["Place", "WebNeed", "find_unreached", "place_of", "require_places", "visits", "web_need"]

Place: TypeAlias = tuple[str, int]
"""Host and port."""
_QUIET = frozenset(("echo", "printf", "gsettings", "dconf", "xclip"))
"""Programs that may get an address but do not connect to it."""
_VISITING = frozenset(("clone", "fetch", "pull", "push", "ls-remote", "submodule"))
"""Commands of git that connect to an address; others only store it (``git remote add``)."""
_SECONDS = 40.0
"""Limit for the interpreter and `_REACH`, which ends by itself after 15 s."""
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
"""Runs on the machine. Its own names count as reached: a task may serve its page there."""


@dataclass(frozen=True)
class WebNeed:
    """Places of which a task needs at least one, and the task's address for the first."""

    places: tuple[Place, ...]
    address: str

    @property
    def words(self) -> str:
        """The places as a phrase for messages."""
        named = [f"{host}:{port}" for host, port in self.places]
        more = f" and {len(named) - 3} more" if len(named) > 3 else ""
        return named[0] if len(named) == 1 else f"any of {', '.join(named[:3])}{more}"


def web_need(urls: Iterable[str]) -> WebNeed | None:
    """Returns the need of any one of some addresses; None if all of them are on the machine."""
    pairs = [(place, url) for url in urls if (place := place_of(url)) is not None]
    places = tuple(dict.fromkeys(place for place, _ in pairs))
    return WebNeed(places, pairs[0][1]) if pairs else None


def visits(words: Sequence[str]) -> bool:
    """Whether a program may connect to the addresses among its arguments."""
    program = posixpath.basename(words[0])
    if program == "git":
        return not _VISITING.isdisjoint(words)
    return program not in _QUIET


def place_of(url: str) -> Place | None:
    """Returns host and port of a web address; None if it is none, or is on the machine itself."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return None
    inside = host in ("", "localhost", "::1", "0.0.0.0") or host.startswith("127.")
    if parts.scheme not in ("http", "https") or inside:
        return None
    return host, port or (443 if parts.scheme == "https" else 80)


async def find_unreached(environment: Environment, places: Sequence[Place]) -> dict[Place, str]:
    """Returns the places to which a machine cannot connect, each with the reason.

    One command on the machine probes them all. A server that responds with an error page counts as
    reached. If the machine cannot run the probe, all places are returned.
    """
    if not places:
        return {}
    listed = list(dict.fromkeys(places))
    probed = listed[:_MAX_PLACES]
    result = await environment.execute(
        python(_REACH, json.dumps(probed)), timeout=patience(_SECONDS)
    )
    try:
        answers = json.loads(result.output) if result.exit_code == 0 else None
    except ValueError:
        answers = None
    if not isinstance(answers, list) or len(answers) != len(probed):
        answers = ["the machine cannot probe it: that needs python3"] * len(probed)
    answers += ["too many places"] * (len(listed) - len(probed))
    return {
        place: str(answer)[:200]
        for place, answer in zip(listed, answers, strict=True)
        if answer is not True
    }


async def require_places(task: Task, environment: Environment, needs: Sequence[WebNeed]) -> None:
    """Requires that the machine reaches the web addresses that a task needs, by one command.

    Args:
        task: the task, for the error message.
        environment: the machine.
        needs: the needs of the task; each is met if one of its places is reached.

    Raises:
        EnvironmentFailed: some needs are not met; the message names each with the reason.
    """
    gone = await find_unreached(environment, [place for need in needs for place in need.places])
    lacking = [need for need in needs if all(place in gone for place in need.places)]
    if not lacking:
        return
    text = "; ".join(f"{_name_need(need)} ({gone[need.places[0]]})" for need in lacking[:5])
    more = f"; and {len(lacking) - 5} more" if len(lacking) > 5 else ""
    raise EnvironmentFailed(
        f"task {task.id!r} needs pages that {environment.name} does not reach: {text}{more}",
        fix="use a machine that reaches them (--env)",
    )


def _name_need(need: WebNeed) -> str:
    return need.address[:200] if len(need.places) == 1 else need.words
