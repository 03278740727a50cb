"""The part of D-Bus that reading elements needs: many calls at once on one connection.

A reading is thousands of small calls. Through GLib each of them costs 0.12 ms of processor time in
this process, four times what the application spends on its reply; here it is 0.03 ms. Messages are
little-endian, as are all processors that HiSA supports.
"""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from typing import Any, NamedTuple
from urllib.parse import unquote

__all__ = [
    "NOTHING",
    "Arguments",
    "Call",
    "Connection",
    "DBusError",
    "Reply",
    "arguments",
    "unpack",
]

_TEXTS = b"so"
_CALL, _RETURN, _ERROR = 1, 2, 3
_PATH, _INTERFACE, _MEMBER, _REPLY_TO, _DESTINATION, _SIGNATURE = 1, 2, 3, 5, 6, 8
_FIXED = {"b": 4, "d": 8, "h": 4, "i": 4, "n": 2, "q": 2, "t": 8, "u": 4, "x": 8, "y": 1}
"""Types of a fixed size, which is also their alignment, in bytes."""
_FORMATS = {"b": "I", "d": "d", "h": "I", "i": "i", "n": "h", "q": "H", "t": "Q", "u": "I"}
_FORMATS |= {"x": "q", "y": "B"}
_ALIGNED = _FIXED | {"a": 4, "g": 1, "o": 4, "s": 4, "v": 1, "(": 8, "{": 8}
_RECEIVED = 1 << 18  # chosen by hand
_HELLO_SECONDS = 5.0  # chosen by hand


class DBusError(Exception):
    """The bus cannot be reached, or its connection has ended."""


class Arguments(NamedTuple):
    """The arguments of a call, packed for the bus."""

    signature: str
    body: bytes


def arguments(signature: str, *values: str | int) -> Arguments:
    """Packs values; supports only texts and 32-bit numbers (s, i, u)."""
    body = b""
    for kind, value in zip(signature, values, strict=True):
        body += b"\0" * (-len(body) % 4)
        if isinstance(value, str):
            text = value.encode()
            body += struct.pack("<I", len(text)) + text + b"\0"
        else:
            body += struct.pack(f"<{kind}" if kind == "i" else "<I", value)
    return Arguments(signature, body)


NOTHING = arguments("")
"""The arguments of a call without arguments."""


class Call(NamedTuple):
    """One call of a method."""

    name: str
    """The receiver's name on the bus."""
    path: str
    interface: str
    method: str
    arguments: Arguments = NOTHING


class Reply(NamedTuple):
    """The reply to the call with a number; ``values`` is None for an error."""

    number: int
    values: tuple[Any, ...] | None


class Connection:
    """A connection to a message bus; for one thread alone.

    Args:
        addresses: as in ``DBUS_SESSION_BUS_ADDRESS``; the first that answers is used.

    Raises:
        DBusError: none of them answers.
    """

    def __init__(self, addresses: str) -> None:
        self._number = 0
        self._received = bytearray()
        self._socket = _connect(addresses)
        try:
            self._socket.settimeout(_HELLO_SECONDS)
            self._authenticate()
            name = "org.freedesktop.DBus"
            self.call(Call(name, "/org/freedesktop/DBus", name, "Hello"), _HELLO_SECONDS)
        except (OSError, DBusError) as error:
            self.close()
            raise DBusError(f"{addresses}: {error}") from error

    def close(self) -> None:
        """Closes the connection."""
        self._socket.close()

    def _authenticate(self) -> None:
        user = str(os.getuid()).encode().hex()
        self._socket.sendall(b"\0AUTH EXTERNAL " + user.encode() + b"\r\n")
        answer = b""
        while not answer.endswith(b"\r\n"):
            byte = self._socket.recv(1)  # the bytes after the line are not for this method
            if not byte:
                raise DBusError("the bus hung up")
            answer += byte
        if not answer.startswith(b"OK "):
            raise DBusError(f"the bus refuses the login: {answer!r:.80}")
        self._socket.sendall(b"BEGIN\r\n")

    def send(self, calls: Iterable[Call], seconds: float) -> list[int]:
        """Sends calls; returns their numbers.

        Raises:
            DBusError: the bus did not accept them within ``seconds``.
        """
        numbers, messages = [], []
        for call in calls:
            self._number = self._number % 0xFFFFFFFF + 1
            numbers.append(self._number)
            messages.append(_message(self._number, call))
        try:
            self._socket.settimeout(max(seconds, 0.001))
            self._socket.sendall(b"".join(messages))
        except OSError as error:
            self.close()  # part of a message may have gone out
            raise DBusError(f"the bus does not accept calls: {error}") from error
        return numbers

    def receive(self, seconds: float) -> list[Reply]:
        """Returns the replies that arrive next; none if ``seconds`` pass without one.

        Signals and incomplete replies do not end the wait.

        Raises:
            DBusError: the connection has ended.
        """
        end = time.monotonic() + seconds
        while True:
            self._received += self._data(end - time.monotonic())
            messages = map(_reply, self._messages())
            replies = [reply for reply in messages if reply is not None]
            if replies or time.monotonic() >= end:
                return replies

    def _data(self, seconds: float) -> bytes:
        """Returns the bytes that arrive next; none if ``seconds`` pass without any."""
        try:
            self._socket.settimeout(max(seconds, 0.001))
            data = self._socket.recv(_RECEIVED)
        except TimeoutError:
            return b""
        except OSError as error:
            raise DBusError(f"the bus is gone: {error}") from error
        if not data:
            raise DBusError("the bus hung up")
        return data

    def _messages(self) -> Iterator[bytes]:
        start, buffer = 0, self._received
        while len(buffer) - start >= 16:
            body, _, fields = struct.unpack_from("<III", buffer, start + 4)
            end = start + 16 + (fields + 7 & ~7) + body
            if len(buffer) < end:
                break
            yield bytes(buffer[start:end])
            start = end
        del buffer[:start]

    def call(self, call: Call, seconds: float) -> tuple[Any, ...]:
        """Makes one call and returns the values of its reply.

        Raises:
            DBusError: the reply is an error, or did not arrive within ``seconds``.
        """
        end = time.monotonic() + seconds
        (number,) = self.send([call], seconds)
        while (left := end - time.monotonic()) > 0.0:
            for reply in self.receive(left):
                if reply.number == number:
                    if reply.values is None:
                        raise DBusError(f"{call.name} refuses {call.method}")
                    return reply.values
        raise DBusError(f"{call.name} does not answer {call.method}")


def _connect(addresses: str) -> socket.socket:
    refused = "only unix sockets are supported"
    for address in addresses.split(";"):
        kind, _, rest = address.partition(":")
        keys = dict(part.partition("=")[::2] for part in rest.split(","))
        path = f"\0{keys['abstract']}" if "abstract" in keys else keys.get("path", "")
        if kind != "unix" or not path:
            continue
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(unquote(path))
        except OSError as error:
            refused = str(error)
            connection.close()
        else:
            return connection
    raise DBusError(f"{addresses!r}: {refused}")


# ---------------------------------------------------------------- writing


def _field(code: int, kind: str, value: str) -> bytes:
    text = value.encode()
    size = bytes([len(text)]) if kind == "g" else struct.pack("<I", len(text))
    return bytes([code, 1, ord(kind), 0]) + size + text + b"\0"


def _pad_data(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 8)


@lru_cache(maxsize=1024)
def _common(name: str, interface: str, method: str, signature: str) -> tuple[bytes, int]:
    """Return the fields that calls of one method share, and their length without final padding."""
    fields = _pad_data(_field(_INTERFACE, "s", interface)) + _pad_data(_field(_MEMBER, "s", method))
    if signature:
        fields += _pad_data(_field(_SIGNATURE, "g", signature))
    fields += _field(_DESTINATION, "s", name)
    return _pad_data(fields), len(fields)


def _message(number: int, call: Call) -> bytes:
    signature, body = call.arguments
    common, length = _common(call.name, call.interface, call.method, signature)
    path = _pad_data(_field(_PATH, "o", call.path))
    head = struct.pack("<cBBBIII", b"l", _CALL, 0, 1, len(body), number, len(path) + length)
    return head + path + common + body


# ---------------------------------------------------------------- reading

_take_length = struct.Struct("<I").unpack_from
_Read = Callable[[bytes, int], tuple[Any, int]]
"""Reads a value at an offset; returns it and the offset after it."""


def _reply(message: bytes) -> Reply | None:
    """Returns the reply in a message; None for a signal or a call."""
    if message[1] not in {_RETURN, _ERROR}:
        return None
    number, signature, end = _header(message)
    values = None
    if message[1] == _RETURN:
        values = unpack(signature, message[end + 7 & ~7 :])
    return Reply(number, values)


def _header(message: bytes) -> tuple[int, str, int]:
    """Returns the number of the call, the body's signature, and the offset of the fields' end.

    The other fields, of which each reply has two, are texts that are not needed; unpacking them
    would be an eighth of a reading's cost in this process.
    """
    number, signature = 0, ""
    size = _number("u")
    length, place = size(message, 12)
    end = place + length
    while place < end:
        code, kind, place = message[place], message[place + 2], place + 4
        if code == _REPLY_TO:
            number, place = size(message, place)
        elif code == _SIGNATURE:
            signature, place = _signature(message, place)
        elif kind in _TEXTS:
            length, place = size(message, place)
            place += length + 1
        else:  # any other field: its signature, of one letter or more, gives its type
            _, place = _variant(message, place - 3)
        place += -place % 8
    return number, signature, end


def unpack(signature: str, body: bytes) -> tuple[Any, ...]:
    """Unpacks the values of a body; ``signature`` has their types in D-Bus' letters."""
    values, place = [], 0
    for read in _reader(signature):
        value, place = read(body, place)
        values.append(value)
    return tuple(values)


@lru_cache(maxsize=1024)
def _reader(signature: str) -> tuple[_Read, ...]:
    """Returns a function for each complete type of a signature."""
    readers, rest = [], signature
    while rest:
        read, rest = _first(rest)
        readers.append(read)
    return tuple(readers)


def _first(signature: str) -> tuple[_Read, str]:
    """Returns a function for the first complete type, and the signature after it."""
    kind, rest = signature[0], signature[1:]
    if kind in _FIXED:
        return _number(kind), rest
    if kind in "so":
        return _text, rest
    if kind == "g":
        return _signature, rest
    if kind == "v":
        return _variant, rest
    if kind == "a":
        read, after = _first(rest)
        return _array(read, _ALIGNED[rest[0]], mapping=rest[0] == "{"), after
    inner: list[_Read] = []
    while rest[0] not in ")}":
        read, rest = _first(rest)
        inner.append(read)
    return _structure(inner), rest[1:]


@cache
def _number(kind: str) -> _Read:
    take = struct.Struct(f"<{_FORMATS[kind]}").unpack_from
    size = _FIXED[kind]

    def read(data: bytes, place: int) -> tuple[Any, int]:
        place += -place % size
        return take(data, place)[0], place + size

    return read


def _text(data: bytes, place: int) -> tuple[Any, int]:
    place += -place % 4 + 4
    end = place + _take_length(data, place - 4)[0]
    return data[place:end].decode("utf-8", "replace"), end + 1


def _signature(data: bytes, place: int) -> tuple[Any, int]:
    end = place + 1 + data[place]
    return data[place + 1 : end].decode("ascii", "replace"), end + 1


def _variant(data: bytes, place: int) -> tuple[Any, int]:
    signature, place = _signature(data, place)
    return _reader(signature)[0](data, place)


def _array(read_one: _Read, alignment: int, *, mapping: bool) -> _Read:
    def read(data: bytes, place: int) -> tuple[Any, int]:
        place += -place % 4 + 4
        length = _take_length(data, place - 4)[0]
        place += -place % alignment
        end, values = place + length, []
        while place < end:
            value, place = read_one(data, place)
            values.append(value)
        return dict(values) if mapping else values, place

    return read


def _structure(inner: list[_Read]) -> _Read:
    def read(data: bytes, place: int) -> tuple[Any, int]:
        place += -place % 8
        values = []
        for read_one in inner:
            value, place = read_one(data, place)
            values.append(value)
        return tuple(values), place

    return read
