"""Reads the addresses of guests, as written after ``--env guest=``."""

from __future__ import annotations

import re
from dataclasses import dataclass

import httpx

from hisa.errors import UsageError

__all__ = ["Address", "read_addresses"]

_PORT = 5000  # that of OSWorld's guest
_FIX = "--env guest=http://HOST:5000"
_OSWORLD = re.compile(r"([\w.-]+)(?::(\d{1,5})((?::\d{1,5}){3})?)?")


@dataclass(frozen=True, slots=True)
class Address:
    """A guest; ``name`` is the provider's name for the machine, by default its host."""

    url: str
    host: str
    port: int
    name: str


def read_addresses(text: str) -> tuple[Address, ...]:
    """Parses addresses that are separated by commas.

    Each is ``http://HOST:PORT``, ``HOST:PORT``, ``HOST`` (port 5000) or OSWorld's
    ``HOST:SERVER:CHROME:VNC:VLC``, of which only the server's port is used. ``NAME=`` before it is
    the provider's name for the machine.

    Raises:
        UsageError: not an address, or the same address twice.
    """
    addresses = tuple(_address(part.strip()) for part in text.split(","))
    urls = [address.url for address in addresses]
    for url in urls:
        if urls.count(url) > 1:
            raise UsageError(f"guest={text!r}: {url} is listed twice", fix=_FIX)
    return addresses


def _address(text: str) -> Address:
    name, _, place = text.rpartition("=")
    if "://" in name:
        name, place = "", text
    if short := _OSWORLD.fullmatch(place):
        place = f"http://{short[1]}:{short[2] or _PORT}"
    try:
        url = httpx.URL(place)
    except httpx.InvalidURL:
        url = httpx.URL("")
    if url.scheme not in {"http", "https"} or not url.host or url.userinfo or url.query:
        raise UsageError(f"guest={text!r}: not an address", fix=_FIX)
    port = url.port or (443 if url.scheme == "https" else 80)
    return Address(str(url).rstrip("/"), url.host, port, name or url.host)
