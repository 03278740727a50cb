"""Which of Chrome's experiments (``chrome://flags``) a task asks for, and which a browser lacks.

They come and go with versions: one that is gone cannot be set, and its task cannot be done. Each
name stands in the browser's program as it is written in a task's rules.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from hisa.environments.clean import bash
from hisa.errors import EnvironmentFailed
from hisa.machine.patience import patience
from hisa.protocols import Environment, Task

__all__ = ["absent_flags", "needed_flags", "require_flags"]

_SECONDS = 60.0
"""For a search through 300 MB, 0.1 s for each name where they are in memory; and a slow disk."""
_NAME = re.compile(r"([A-Za-z0-9][A-Za-z0-9_-]{2,99})(?:@\d+)?")
"""A name, and the number of the choice that was made, as the browser writes them."""
_MOST = 50
BROWSERS = (
    "/usr/lib/chromium/chromium",
    "/usr/lib/chromium-browser/chromium-browser",
    "/snap/chromium/current/usr/lib/chromium-browser/chrome",
    "/opt/google/chrome/chrome",
)
"""Programs themselves, of Debian and Ubuntu; the commands for them are scripts."""
_LOOK = """
there=()
for file in BROWSERS; do [ -r "$file" ] && [ -x "$file" ] && there+=("$file"); done
[ ${#there[@]} = 0 ] && exit 3
for name in NAMES; do
    LC_ALL=C grep -aqF -e "$name" -- "${there[@]}" || { [ $? = 1 ] && echo "$name"; }
done
exit 0
"""
"""Runs in the machine. With several browsers, a name that one of them has counts as there."""


def needed_flags(task: Task) -> tuple[str, ...]:
    """Names of the experiments that are to be set in the end, each once."""
    return tuple(dict.fromkeys(_named(task.check)))


def _named(check: Mapping[str, Any] | None) -> Iterator[str]:
    for result, rule in zip(_listed(check, "result"), _listed(check, "expected"), strict=False):
        if not (isinstance(result, Mapping) and isinstance(rule, Mapping)):
            continue
        rules = rule.get("rules")
        if result.get("type") == "enabled_experiments" and isinstance(rules, Mapping):
            names = rules.get("names")
            for name in names if isinstance(names, list | tuple) else ():
                if found := _NAME.fullmatch(str(name)):
                    yield found[1]


def _listed(check: Mapping[str, Any] | None, key: str) -> Sequence[Any]:
    given = check.get(key) if check else None
    return given if isinstance(given, list | tuple) else (given,)


async def absent_flags(environment: Environment, names: Iterable[str]) -> list[str]:
    """Those that no browser of the machine has, by one command; none where it cannot tell."""
    asked = list(dict.fromkeys(names))[:_MOST]
    if not asked:
        return []
    line = bash(_LOOK.replace("NAMES", shlex.join(asked)).replace("BROWSERS", shlex.join(BROWSERS)))
    said = await environment.execute(line, timeout=patience(_SECONDS))
    told = said.output.split() if said.exit_code == 0 else []
    return [name for name in asked if name in told]


async def require_flags(task: Task, environment: Environment) -> None:
    """See that the browser has the experiments that are to be set.

    Raises:
        EnvironmentFailed: it lacks some; each is named.
    """
    if gone := await absent_flags(environment, needed_flags(task)):
        raise EnvironmentFailed(
            f"task {task.id!r} needs chrome://flags to have {', '.join(gone)}, which the browser of"
            f" {environment.name} does not have",
            fix="name a machine with a browser of the task's time (--env), or leave such tasks out:"
            " hisa bench run SUITE --only ready",
        )
