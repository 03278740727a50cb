"""The accessibility bus: sends many calls at once, and waits for all their replies."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any

from .dbus import Call, Connection, DBusError

__all__ = ["Bus", "BusGone", "Limit", "has_session_bus"]

_A11Y = "org.a11y.atspi"
_REGISTRY = f"{_A11Y}.Registry"
_ADDRESS = Call("org.a11y.Bus", "/org/a11y/bus", "org.a11y.Bus", "GetAddress")
_ADDRESS_SECONDS = 5.0  # chosen by hand
_MAX_IN_FLIGHT = 256
"""Most calls that wait for their replies at once; chosen by hand."""
_REFILL = 128
"""Number of calls in flight at which more are sent: in one piece, and before an application has
none left to answer."""


def _session_bus() -> str:
    """Returns the address of the session bus; empty if none is known.

    Asking for a bus without this check would start one and leave it behind.
    """
    address = os.environ.get("DBUS_SESSION_BUS_ADDRESS", "")
    path = os.path.join(os.environ.get("XDG_RUNTIME_DIR", "/nonexistent"), "bus")
    return address or (f"unix:path={path}" if os.path.exists(path) else "")


def has_session_bus() -> bool:
    """Whether there is a session bus."""
    return bool(_session_bus())


class Limit:
    """What ends a reading early, and whether something was left out because of it.

    Args:
        seconds: the time limit, from now.
        moved: returns whether windows have opened or closed, which ends the reading too.
    """

    def __init__(self, seconds: float, moved: Callable[[], bool] = lambda: False) -> None:
        self._end = time.monotonic() + seconds
        self._moved = moved
        self.ran_out = False
        self.moved = False
        self.hidden = False
        """Whether elements that are not showing are read too."""

    @property
    def left(self) -> float:
        """Seconds left; 0 when the reading must end."""
        return 0.0 if self.moved else max(0.0, self._end - time.monotonic())

    def part(self, share: float) -> Limit:
        """Returns a new limit with a share of the time left, from 0 to 1."""
        part = Limit(share * self.left, self._moved)
        part.hidden = self.hidden
        return part

    def check(self) -> None:
        """Checks whether windows have opened or closed."""
        self.moved = self.moved or self._moved()


class BusGone(Exception):
    """The accessibility bus does not answer."""


class Bus:
    """A connection to the accessibility bus, for one thread alone.

    Raises:
        BusGone: there is no accessibility bus.
    """

    def __init__(self) -> None:
        try:
            self._connection = Connection(_accessibility_bus())
        except DBusError as error:
            raise BusGone(str(error)) from error
        self.toolkits: dict[str, str] = {}
        """The toolkit of each known application, by its name on the bus, which is never reused."""
        self.met: dict[object, bool] = {}
        """The last reading's answers of whether a click on a control meets its cover."""

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()

    def gather(self, calls: Sequence[Call], limit: Limit) -> list[Any]:
        """Returns the replies in the order of the calls.

        A reply is None if the call failed, as one to an object that is gone, or if time ran out,
        which also sets ``limit.ran_out``.

        Raises:
            BusGone: the connection has ended.
        """
        limit.check()
        answers: list[Any] = [None] * len(calls)
        waiting: dict[int, int] = {}
        sent = 0
        try:
            while waiting or sent < len(calls):
                if (left := limit.left) <= 0:
                    limit.ran_out = True
                    break
                if len(waiting) <= _REFILL:
                    more = range(sent, min(len(calls), sent + _MAX_IN_FLIGHT - len(waiting)))
                    numbers = self._connection.send([calls[index] for index in more], left)
                    waiting.update(zip(numbers, more, strict=True))
                    sent = more.stop
                for reply in self._connection.receive(left):
                    index = waiting.pop(reply.number, None)
                    if index is not None:  # otherwise it is a late reply for an earlier reading
                        answers[index] = reply.values
        except DBusError as error:
            raise BusGone(str(error)) from error
        return answers

    def applications(self, limit: Limit) -> list[tuple[str, str]]:
        """Returns name on the bus and root object of each running application.

        Raises:
            BusGone: the registry does not answer.
        """
        root = "/org/a11y/atspi/accessible/root"
        call = Call(_REGISTRY, root, f"{_A11Y}.Accessible", "GetChildren")
        (answer,) = self.gather([call], limit)
        if answer is None:
            raise BusGone("the registry does not answer")
        return list(answer[0])


def _accessibility_bus() -> str:
    """Ask the session bus for the address of the accessibility bus.

    Raises:
        DBusError: there is no session bus, or it knows no accessibility bus.
    """
    session = _session_bus()
    if not session:
        raise DBusError("there is no session bus")
    connection = Connection(session)
    try:
        return str(connection.call(_ADDRESS, _ADDRESS_SECONDS)[0])
    finally:
        connection.close()
