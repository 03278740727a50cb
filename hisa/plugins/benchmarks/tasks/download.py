"""Downloads what task files name, but nothing from networks that a stranger must not reach.

A task file is written by others: an address in it may lead to this machine, to its neighbours, or
to the address at which clouds hand out credentials. Each address is resolved and checked, and the
connection goes to the address that was checked. The same holds for each redirect.
"""

from __future__ import annotations

import asyncio
import functools
import ipaddress
import os
import re
import socket
import urllib.request
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urljoin, urlsplit

from hisa.errors import EnvironmentFailed, UsageError
from hisa.machine.patience import patience
from hisa.plugins.benchmarks.tasks.process_limits import MAX_DOWNLOAD

if TYPE_CHECKING:
    import httpx

__all__ = [
    "SETTING",
    "download_to",
    "require_public_address",
]

SETTING = "tasks.allow_private_downloads"
_SECONDS = 300.0  # chosen by hand
_TRIES = 3  # chosen by hand
_REDIRECTS = 10  # chosen by hand
_PLAIN = {"Accept-Encoding": "identity"}
"""Asks for a plain body: a compressed one would not have the length that the server states."""
_PORTS = {"http": 80, "https": 443}
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True)
class _Target:
    """Where a request goes: an address that was checked, or a name that a proxy looks up."""

    url: str
    host: str
    address: str = ""


async def download_to(url: str, part: Path, allowed: Sequence[str] = ()) -> None:
    """Download the file at an address of the internet.

    Args:
        url: an http or https address.
        part: the file to write; it is complete on return.
        allowed: beginnings of addresses that may be used although they are on a private network.

    Raises:
        UsageError: the address, or one that it redirects to, is private and not allowed.
        EnvironmentFailed: the download failed: the initial state or the expected file is out of
            reach.
    """
    import httpx

    problem: Exception | None = None
    for _ in range(_TRIES):
        try:
            await _follow_redirects(url, allowed, use=functools.partial(_receive, part=part))
        except httpx.HTTPStatusError as error:
            problem = error
            if error.response.status_code < 500:
                break
        except (httpx.HTTPError, OSError) as error:
            problem = error
        else:
            return
    raise EnvironmentFailed(
        f"{url}: cannot be downloaded: {problem}",
        fix="hisa bench prefetch SUITE, once you are online",
    ) from problem


async def _follow_redirects(
    url: str, allowed: Sequence[str], *, use: Callable[[httpx.Response], Awaitable[None]]
) -> None:
    """Ask for an address, follow its redirects, and give the response to ``use``."""
    import httpx

    certificates = await asyncio.to_thread(httpx.create_ssl_context)
    for _ in range(_REDIRECTS):
        target = await _resolve_target(url, allowed)
        async with httpx.AsyncClient(
            timeout=patience(_SECONDS), verify=certificates, trust_env=not target.address
        ) as client:  # a checked address is connected to without any proxy
            response = await client.send(_request(client, target), stream=True)
            try:
                if not response.is_redirect:
                    await use(response)
                    return
                url = urljoin(url, str(response.headers["location"]))
            finally:
                await response.aclose()
    raise EnvironmentFailed(f"{url}: more than {_REDIRECTS} redirects")


def _request(client: httpx.AsyncClient, target: _Target) -> httpx.Request:
    import httpx

    url, extensions, headers = httpx.URL(target.url), {}, dict(_PLAIN)
    if target.address:
        headers["Host"] = url.netloc.decode("ascii").rpartition("@")[2]
        extensions = {"sni_hostname": target.host}
        url = url.copy_with(host=target.address)
    return client.build_request("GET", url, headers=headers, extensions=extensions)


async def _receive(response: httpx.Response, *, part: Path) -> None:
    """Write a response's body to the part.

    Raises:
        OSError: the body is shorter or longer than the server stated.
        EnvironmentFailed: the body is larger than a download may be.
    """
    response.raise_for_status()
    size, packed = 0, response.headers.get("content-encoding", "identity") != "identity"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    with os.fdopen(await asyncio.to_thread(os.open, part, flags, 0o600), "wb") as file:
        async for block in response.aiter_bytes():
            size += len(block)
            if size > MAX_DOWNLOAD:
                raise EnvironmentFailed(f"{response.url}: larger than {MAX_DOWNLOAD} bytes")
            file.write(block)
    total = "" if packed else response.headers.get("content-length", "")
    if total.isdigit() and size != int(total):
        raise OSError(f"the server announced {total} bytes and sent {size}")


async def _resolve_target(url: str, allowed: Sequence[str]) -> _Target:
    """Returns the target of a request for an address.

    Raises:
        UsageError: not http or https, or on a private network and not allowed.
        OSError: the name cannot be looked up.
    """
    host, port = _host_and_port(url)
    require_public_address(url, allowed)
    if _uses_proxy(url, host):
        return _Target(url, host)
    address_infos = await asyncio.to_thread(socket.getaddrinfo, host, port, 0, socket.SOCK_STREAM)
    addresses = [str(entry[4][0]) for entry in address_infos]
    if not _is_allowed(url, allowed):
        for address in addresses:
            _expect_public(url, host, ipaddress.ip_address(address.partition("%")[0]))
    return _Target(url, host, addresses[0])


def _uses_proxy(url: str, host: str) -> bool:
    """Whether the environment sets a proxy for an address; a proxy looks names up by itself."""
    proxies = urllib.request.getproxies()
    proxy = proxies.get(urlsplit(url).scheme) or proxies.get("all")
    return bool(proxy) and not urllib.request.proxy_bypass(host)


def require_public_address(url: str, allowed: Sequence[str] = ()) -> None:
    """Refuse an address that shows without a look-up that it is on a private network.

    Raises:
        UsageError: it is private and not allowed, or not an http or https address.
    """
    host, _ = _host_and_port(url)
    if _is_allowed(url, allowed):
        return
    if host.lower().rstrip(".").rpartition(".")[2] == "localhost":
        raise _build_refusal(url, host, "this machine")
    try:
        address: Address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        try:
            address = ipaddress.IPv4Address(socket.inet_aton(host))  # 127.1, 0x7f000001, 017…
        except OSError:
            return
    _expect_public(url, host, address)


def _expect_public(url: str, host: str, address: Address) -> None:
    inner = _inner_ipv4(address)
    if not inner.is_global or inner.is_multicast:
        raise _build_refusal(url, host, str(address))


def _inner_ipv4(address: Address) -> Address:
    """Returns the IPv4 address that an IPv6 address leads to, if any; else the address itself."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


def _build_refusal(url: str, host: str, where: str) -> UsageError:
    beginning = urlsplit(url)._replace(path="/", query="", fragment="").geturl()
    return UsageError(
        f"{url[:200]!r} is not downloaded: {host!r} is {where}, which is not on the public "
        "internet, and a task file is written by others",
        fix=f"if you trust the file: --set '{SETTING}=[\"{beginning}\"]'",
    )


def _host_and_port(url: str) -> tuple[str, int]:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise UsageError(f"{url[:200]!r} is not an address: {error}") from error
    if parts.scheme not in _PORTS or not host:
        raise UsageError(f"{url[:200]!r}: only http and https addresses are downloaded")
    return host, port or _PORTS[parts.scheme]


def _is_allowed(url: str, allowed: Sequence[str]) -> bool:
    """Whether an address begins with one of those, with the same host and port.

    An address with ``..`` never does: it leads out of the folder that it begins with.
    """
    requested = urlsplit(url)
    if ".." in re.split(r"[/\\]", unquote(requested.path)):
        return False
    for beginning in allowed:
        parts = urlsplit(beginning)
        same = (parts.scheme, parts.netloc) == (requested.scheme, requested.netloc)
        if same and (requested.path or "/").startswith(parts.path or "/"):
            return True
    return False
