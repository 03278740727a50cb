"""Which files of the user were written since a moment, asked of the machine itself."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from hisa.machine.patience import patience
from hisa.protocols import Environment

__all__ = ["NOTHING_KNOWN", "WrittenFiles", "WrittenPaths", "WrittenSince"]

_MOST_BYTES = 8000
"""Of what the search prints, a byte for each file that was not written: so many files at most.
They are looked at within 50 ms on an idle machine, and few homes of a task hold more."""
_SECONDS = 1.0  # chosen by hand
_SPARE_SECONDS = 60.0
"""The search looks back so much further than asked for, because it starts later."""

_SEARCH = r"""cd && {{ timeout {limit:.1f} find . -mindepth 1 -name '.*' -prune -o \
-type f \( -newermt '{back} seconds ago' -printf '\0%T@ %p\0' -o -printf - \) 2>/dev/null
printf '\0end %d' $?; }} | head -c {most}; printf '\0'; date +%s.%N"""


@dataclass(frozen=True)
class WrittenPaths:
    """Files under the home folder that were written, as ``~/name``, the newest first.

    ``complete`` is False where not every file could be looked at in time: nothing is said then of
    those that are not named.
    """

    paths: tuple[str, ...] = ()
    complete: bool = False


NOTHING_KNOWN = WrittenPaths()

WrittenSince = Callable[[float], Awaitable[WrittenPaths]]
"""The files that were written since a moment: seconds since the epoch, by our own clock."""


class WrittenFiles:
    """Searches the home folder for files that were written; hidden ones, as caches, are left out.

    Args:
        environment: is searched.
    """

    def __init__(self, environment: Environment) -> None:
        self._environment = environment

    async def since(self, began: float) -> WrittenPaths:
        """Returns the files that were written since ``began``; nothing known where it cannot tell.

        The machine's clock may be another: how long ago a file was written is what counts.

        Raises:
            EnvironmentFailed: the machine does not answer.
        """
        if "execute" not in self._environment.capabilities:
            return NOTHING_KNOWN
        back = round(max(0.0, time.time() - began) + _SPARE_SECONDS)
        limit = patience(_SECONDS)
        command = _SEARCH.format(limit=limit, back=back, most=_MOST_BYTES)
        result = await self._environment.execute(command, timeout=limit + patience(5.0))
        if result.exit_code != 0 or result.timed_out:
            return NOTHING_KNOWN
        # The machine read its clock before it answered: how long before, a few milliseconds, is
        # not known, and a file written so shortly before `began` counts too.
        return _read_search(result.output, time.time() - began)


def _read_search(printed: str, ago: float) -> WrittenPaths:
    """Returns what the search found of files not older than so many seconds at its end."""
    *parts, end, last = ["", *printed.split("\0")]  # the end mark, or a record that was cut off
    entries: list[tuple[float, str]] = []
    try:
        now = float(last)
        for part in parts:
            if part.strip("-"):
                when, _, path = part.partition(" ")
                entries.append((float(when), path))
    except ValueError:
        return NOTHING_KNOWN
    newest = sorted((pair for pair in entries if now - pair[0] <= ago), reverse=True)
    paths = tuple(f"~/{path.removeprefix('./')}" for _, path in newest)
    return WrittenPaths(paths, complete=end == "end 0")
