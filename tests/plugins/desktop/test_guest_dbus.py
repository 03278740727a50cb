"""The guest's own D-Bus, against a real bus."""

from __future__ import annotations

import contextlib
import shutil
import socket
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hisa.plugins.desktop.guest.bus import Bus, BusGone, Limit
from hisa.plugins.desktop.guest.dbus import Call, Connection, DBusError, arguments, unpack

pytestmark = [
    pytest.mark.skipif(
        not shutil.which("dbus-daemon"), reason="needs dbus-daemon: scripts/install-system.sh"
    ),
    pytest.mark.process,
]
BUS = "org.freedesktop.DBus"
PATH = "/org/freedesktop/DBus"
PROPERTIES = f"{BUS}.Properties"
NUMBERS = (1, 1, -2, 3, -4, 5, -6, 7, 0.5)
IDLE = Call(BUS, PATH, BUS, "ListNames")


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    address = f"unix:path={tmp_path}/bus"
    line = ["dbus-daemon", "--session", "--nofork", "--print-address", f"--address={address}"]
    with subprocess.Popen(line, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(address.encode())
        yield process
        process.kill()


@pytest.fixture
def address(daemon: subprocess.Popen[bytes], tmp_path: Path) -> str:
    return f"unix:path={tmp_path}/bus"


@pytest.fixture
def bus(address: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bus]:
    """A bus that tells its own address as that of the accessibility bus."""
    monkeypatch.setattr("hisa.plugins.desktop.guest.bus._accessibility_bus", lambda: address)
    bus = Bus()
    yield bus
    bus.close()


_PIECE = 7
"""Bytes; fewer than any message has."""


class _Relay:
    """Carries connections to a bus, whose messages then arrive in pieces, signals on their own."""

    def __init__(self, path: Path, bus: Path) -> None:
        self._bus = bus
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(path))
        self._listening.listen()
        self._sockets = [self._listening]
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    def close(self) -> None:
        for connection in self._sockets:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for connection in self._sockets:
            connection.close()

    def _start(self, work: Callable[..., None], *parameters: object) -> None:
        thread = threading.Thread(target=work, args=parameters)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                near, far = self._listening.accept()[0], socket.socket(socket.AF_UNIX)
                self._sockets += near, far
                far.connect(str(self._bus))
                # Few pieces fit at once: the next waits until these were taken.
                near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
                self._start(self._carry, near, far, 1 << 16)
                self._start(self._carry, far, near, _PIECE)

    def _carry(self, source: socket.socket, target: socket.socket, piece: int) -> None:
        with contextlib.suppress(OSError):  # closed
            while data := source.recv(piece):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)


@pytest.fixture
def slow_address(daemon: subprocess.Popen[bytes], tmp_path: Path) -> Iterator[str]:
    """The bus behind a relay."""
    relay = _Relay(tmp_path / "relay", tmp_path / "bus")
    yield f"unix:path={tmp_path}/relay"
    relay.close()


def test_calls_and_answers_of_a_real_bus(address: str) -> None:
    connection = Connection(f"tcp:host=localhost;unix:path=/nonexistent;{address}")
    own = connection.call(IDLE, 5.0)[0]
    assert BUS in own
    name = next(entry for entry in own if entry.startswith(":"))
    owner_query = Call(BUS, PATH, BUS, "GetNameOwner", arguments("s", BUS))
    assert connection.call(owner_query, 5.0) == (BUS,)
    name_request = Call(BUS, PATH, BUS, "RequestName", arguments("su", "a.name", 4))
    assert connection.call(name_request, 5.0) == (1,)
    properties = connection.call(Call(BUS, PATH, PROPERTIES, "GetAll", arguments("s", BUS)), 5.0)[0]
    assert isinstance(properties["Interfaces"], list)
    credentials = Call(BUS, PATH, BUS, "GetConnectionCredentials", arguments("s", name))
    assert isinstance(connection.call(credentials, 5.0)[0]["ProcessID"], int)
    with pytest.raises(DBusError, match="refuses NoSuch"):
        connection.call(Call(BUS, PATH, BUS, "NoSuch"), 5.0)
    connection.close()


def test_answers_that_come_in_pieces_are_awaited(
    slow_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hisa.plugins.desktop.guest.bus._accessibility_bus", lambda: slow_address)
    bus = Bus()
    limit = Limit(60.0)
    owner = Call(BUS, PATH, BUS, "GetNameOwner", arguments("s", BUS))
    assert bus.gather([owner] * 300, limit) == [(BUS,)] * 300
    assert not limit.ran_out
    bus.close()


def test_a_bus_that_only_sends_signals_does_not_answer(address: str) -> None:
    connection, other = Connection(address), Connection(address)
    match = Call(BUS, PATH, BUS, "AddMatch", arguments("s", "type='signal'"))
    assert connection.call(match, 5.0) == ()
    for number in range(3):  # each is a signal to the first
        parameters = arguments("su", f"a.name{number}", 4)
        assert other.call(Call(BUS, PATH, BUS, "RequestName", parameters), 5.0) == (1,)
    assert connection.receive(0.1) == []
    connection.close()
    other.close()


def test_dbus_replies_keep_the_order_of_their_calls(bus: Bus) -> None:
    names = [BUS, "no.such.name", BUS] * 700
    calls = [Call(BUS, PATH, BUS, "GetNameOwner", arguments("s", name)) for name in names]
    limit = Limit(60.0)
    assert bus.gather(calls, limit) == [(BUS,), None, (BUS,)] * 700
    assert not limit.ran_out


def test_an_answer_that_comes_too_late_is_none_of_the_next_reading(
    bus: Bus, daemon: subprocess.Popen[bytes]
) -> None:
    daemon.send_signal(19)  # stop
    limit = Limit(0.1)
    assert bus.gather([IDLE] * 3, limit) == [None] * 3
    assert limit.ran_out
    daemon.send_signal(18)  # go on
    owner = Call(BUS, PATH, BUS, "GetNameOwner", arguments("s", BUS))
    limit = Limit(60.0)
    assert bus.gather([owner], limit) == [(BUS,)]
    assert not limit.ran_out


def test_no_call_is_sent_when_windows_move(bus: Bus) -> None:
    limit = Limit(60.0, lambda: True)
    assert bus.gather([IDLE], limit) == [None]
    assert limit.moved


def test_a_bus_that_ends_is_gone(bus: Bus, daemon: subprocess.Popen[bytes]) -> None:
    daemon.kill()
    daemon.wait()
    with pytest.raises(BusGone):
        bus.gather([IDLE], Limit(5.0))


@pytest.mark.parametrize("wrong", ["", "tcp:host=localhost", "unix:path=/nonexistent"])
def test_an_address_where_nobody_answers(wrong: str) -> None:
    with pytest.raises(DBusError, match=wrong or "only unix sockets"):
        Connection(wrong)


@pytest.mark.parametrize(
    ("signature", "body", "values"),
    [
        ("au", ("I2I", 8, 1, 2), ([1, 2],)),
        ("ybnqiuxtd", ("B3xIhHiI4xqQd", 1, 1, -2, 3, -4, 5, -6, 7, 0.5), NUMBERS),
        ("(so)u", ("I2s2xI2s2xI", 1, b"a\0", 1, b"/\0", 9), (("a", "/"), 9)),
        ("a{sv}", ("I4xI2sB2s3xI", 16, 1, b"k\0", 1, b"i\0", 7), ({"k": 7},)),
        ("aa(i)", ("IIi", 0, 0, 0), ([],)),
        ("g", ("B3s", 2, b"ai\0"), ("ai",)),
    ],
)
def test_values_of_every_kind(
    signature: str, body: tuple[Any, ...], values: tuple[Any, ...]
) -> None:
    assert unpack(signature, struct.pack(f"<{body[0]}", *body[1:])) == values
