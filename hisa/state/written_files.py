"""Asks the machine which of the user's files were written since a moment."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from hisa.machine.patience import patience
from hisa.protocols import Environment

__all__ = ["NOTHING_KNOWN", "WrittenFiles", "WrittenPaths", "WrittenSince"]

_MOST_BYTES = 8000
"""Most bytes of the search's output. A file that was not written takes one byte, so this is also
the most files: an idle machine checks them within 50 ms, and few tasks have more in the home."""
_SECONDS = 1.0  # chosen by hand
_SPARE_SECONDS = 60.0
"""The search looks back so much further than asked for, because it starts some time later."""

_SEARCH = r"""cd && {{ timeout {limit:.1f} find . -mindepth 1 -name '.*' -prune -o \
-type f \( -newermt '{back} seconds ago' -printf '\0%T@ %p\0' -o -printf - \) 2>/dev/null
printf '\0end %d' $?; }} | head -c {most}; printf '\0'; date +%s.%N"""


@dataclass(frozen=True)
class WrittenPaths:
    """The files under the home folder that were written, as ``~/name``, the newest first.

    ``complete`` is False if not every file could be checked in time: a file that is not named may
    have been written too.
    """

    paths: tuple[str, ...] = ()
    complete: bool = False


NOTHING_KNOWN = WrittenPaths()

WrittenSince = Callable[[float], Awaitable[WrittenPaths]]
"""Returns the files written since a moment: seconds since the epoch, by the host's clock."""


class WrittenFiles:
    """Searches the home folder for files that were written, except hidden ones such as caches.

    Args:
        environment: the machine to search.
    """

    def __init__(self, environment: Environment) -> None:
        self._environment = environment

    async def since(self, began: float) -> WrittenPaths:
        """Returns the files written since ``began``, or `NOTHING_KNOWN` if that cannot be told.

        The machine's clock may differ from the host's, so files are compared by their age.

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
        # The machine read its clock some unknown milliseconds before its reply arrived, so a file
        # written that shortly before `began` counts too.
        return _read_search(result.output, time.time() - began)


def _read_search(printed: str, ago: float) -> WrittenPaths:
    """Returns the files that were at most ``ago`` seconds old at the end of the search."""
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
