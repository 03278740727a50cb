"""A connection to the accessibility bus that sends many calls at once and waits for all of them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gi.repository import Gio, GLib

__all__ = ["Bus", "BusGone", "Call", "has_session_bus"]

Call = tuple[str, str, str, str, Any]
"""Name on the bus, object path, interface, method, arguments (a GVariant or None)."""

_A11Y = "org.a11y.atspi"
_REGISTRY = f"{_A11Y}.Registry"
_MAX_IN_FLIGHT = 256
_LISTENED = "object:children-changed"


def has_session_bus() -> bool:
    """Whether one runs; asking for it without looking would start one and leave it behind."""
    if os.environ.get("DBUS_SESSION_BUS_ADDRESS"):
        return True
    return os.path.exists(os.path.join(os.environ.get("XDG_RUNTIME_DIR", "/nonexistent"), "bus"))


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

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Applications keep a table of their elements only while somebody listens to changes.

        They fill it when the first listener comes and keep it up to date badly, so a listener that
        stays gets an incomplete one.

        Raises:
            BusGone: the registry does not answer.
        """
        self._registry("RegisterEvent", GLib.Variant("(sass)", (_LISTENED, [], "")))
        try:
            yield
        finally:
            self._registry("DeregisterEvent", GLib.Variant("(s)", (_LISTENED,)))

    def _registry(self, method: str, arguments: Any) -> None:
        where = (_REGISTRY, "/org/a11y/atspi/registry", _REGISTRY, method)
        try:
            self._connection.call_sync(*where, arguments, None, Gio.DBusCallFlags.NONE, 5000, None)
        except GLib.Error as error:
            raise BusGone(error.message) from error

    def gather(self, calls: Sequence[Call], seconds: float) -> list[Any]:
        """The answers in the order of the calls; None where one failed or time was up."""
        answers: list[Any] = [None] * len(calls)
        waiting: set[int] = set()
        deadline = time.monotonic() + seconds
        stop = Gio.Cancellable()

        def done(connection: Any, result: Any, index: int) -> None:
            waiting.discard(index)
            try:
                answers[index] = connection.call_finish(result).unpack()
            except GLib.Error:
                answers[index] = None

        for index, (name, path, interface, method, arguments) in enumerate(calls):
            while len(waiting) >= _MAX_IN_FLIGHT and time.monotonic() < deadline:
                self._context.iteration(True)
            left = int(1000 * (deadline - time.monotonic()))
            if left <= 0:
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

    def applications(self, seconds: float) -> list[tuple[str, str]]:
        """Name on the bus and root object of each running application."""
        root = "/org/a11y/atspi/accessible/root"
        call: Call = (_REGISTRY, root, f"{_A11Y}.Accessible", "GetChildren", None)
        (answer,) = self.gather([call], seconds)
        return list(answer[0]) if answer else []
