"""A connection to the accessibility bus that sends many calls at once and waits for all of them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any

from gi.repository import Gio, GLib

__all__ = ["Bus", "BusGone", "Call", "Limit", "has_session_bus"]

Call = tuple[str, str, str, str, Any]
"""Name on the bus, object path, interface, method, arguments (a GVariant or None)."""

_A11Y = "org.a11y.atspi"
_REGISTRY = f"{_A11Y}.Registry"
_MAX_IN_FLIGHT = 256


def has_session_bus() -> bool:
    """Whether one runs; asking for it without looking would start one and leave it behind."""
    if os.environ.get("DBUS_SESSION_BUS_ADDRESS"):
        return True
    return os.path.exists(os.path.join(os.environ.get("XDG_RUNTIME_DIR", "/nonexistent"), "bus"))


class Limit:
    """What ends a reading early, and whether something was left undone because of it.

    Args:
        seconds: how long from now.
        moved: says whether windows have come or gone, which ends the reading too.
    """

    def __init__(self, seconds: float, moved: Callable[[], bool] = lambda: False) -> None:
        self._end = time.monotonic() + seconds
        self._moved = moved
        self.ran_out = False
        self.moved = False

    @property
    def left(self) -> float:
        """Seconds; 0 when it is over."""
        return 0.0 if self.moved else max(0.0, self._end - time.monotonic())

    def part(self, share: float) -> Limit:
        """Returns a limit of its own of that share of the time left."""
        return Limit(share * self.left, self._moved)

    def check(self) -> None:
        """Look whether windows have come or gone."""
        self.moved = self.moved or self._moved()


class BusGone(Exception):
    """The accessibility bus does not answer."""


class Bus:
    """For one thread alone, which must be the one that made it.

    Raises:
        BusGone: there is no accessibility bus.
    """

    def __init__(self) -> None:
        self._context: Any = GLib.MainContext.new()
        self._context.push_thread_default()
        try:
            self._connection = self._connect()
        except GLib.Error as error:
            raise BusGone(error.message) from error

    def _connect(self) -> Any:
        if not has_session_bus():
            raise BusGone("there is no session bus")
        session = Gio.bus_get_sync(Gio.BusType.SESSION, None)
        where = ("org.a11y.Bus", "/org/a11y/bus", "org.a11y.Bus", "GetAddress")
        answer = session.call_sync(*where, None, None, Gio.DBusCallFlags.NONE, 5000, None)
        client = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT
        flags = client | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
        return Gio.DBusConnection.new_for_address_sync(answer.unpack()[0], flags, None, None)

    def gather(self, calls: Sequence[Call], limit: Limit) -> list[Any]:
        """Returns the answers in the order of the calls.

        None stands where a call failed, as one to an object that has gone, and where time was up;
        the second is said in ``limit.ran_out``.
        """
        answers: list[Any] = [None] * len(calls)
        waiting: set[int] = set()
        stop = Gio.Cancellable()
        limit.check()

        def done(connection: Any, result: Any, index: int) -> None:
            waiting.discard(index)
            try:
                answers[index] = connection.call_finish(result).unpack()
            except GLib.Error as error:
                limit.ran_out |= error.matches(Gio.io_error_quark(), Gio.IOErrorEnum.TIMED_OUT)

        for index, (name, path, interface, method, arguments) in enumerate(calls):
            while len(waiting) >= _MAX_IN_FLIGHT and limit.left > 0:
                self._context.iteration(True)
            left = int(1000 * limit.left)
            if left <= 0:
                limit.ran_out = True
                break
            waiting.add(index)
            self._connection.call(
                name,
                path,
                interface,
                method,
                arguments,
                None,
                Gio.DBusCallFlags.NONE,
                left,
                stop,
                done,
                index,
            )
        # Each call has its own time limit, so this ends.
        while waiting:
            self._context.iteration(True)
        return answers

    def applications(self, limit: Limit) -> list[tuple[str, str]]:
        """Name on the bus and root object of each running application.

        Raises:
            BusGone: the registry does not answer.
        """
        root = "/org/a11y/atspi/accessible/root"
        call: Call = (_REGISTRY, root, f"{_A11Y}.Accessible", "GetChildren", None)
        (answer,) = self.gather([call], limit)
        if answer is None:
            raise BusGone("the registry does not answer")
        return list(answer[0])
