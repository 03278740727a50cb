"""Downloads what task files name, and nothing on networks that a stranger must not reach.

A task file is written by others: an address in it may lead to this machine, to its neighbours, or
to the address at which clouds hand out credentials. Each address is resolved, checked, and then
connected to as it was checked, and so is each one that it is redirected to.
"""

from __future__ import annotations

import asyncio
import functools
import ipaddress
import json
import re
import socket
import urllib.request
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote, urljoin, urlsplit

from hisa.errors import EnvironmentFailed, OperatorError, UsageError
from hisa.machine.patience import patience
from hisa.machine.storage import replace_file
from hisa.plugins.benchmarks.tasks.process_limits import MAX_DOWNLOAD

if TYPE_CHECKING:
    import httpx

__all__ = [
    "SETTING",
    "Heard",
    "discard",
    "download_to",
    "mirrored",
    "require_public_address",
    "size_of",
]

T = TypeVar("T")
Heard = Callable[[int, int | None], None]
"""Gets the bytes that are there, and all of them where that is known."""

SETTING = "tasks.allow_private_downloads"
_SECONDS = 300.0  # chosen by hand
_TRIES = 3  # chosen by hand
_REDIRECTS = 10  # chosen by hand
_PLAIN = {"Accept-Encoding": "identity"}
"""A packed body has other bytes than its length and ranges count."""
_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")
_PORTS = {"http": 80, "https": 443}
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True)
class _Target:
    """Where a request goes: an address that was checked, or a name that a proxy looks up."""

    url: str
    host: str
    address: str = ""


def mirrored(url: str, mirror: str) -> str:
    """Returns the address that is asked in place of another: ``MIRROR/HOST/PATH?QUERY``.

    Args:
        url: what a task file names.
        mirror: beginning of the mirror's addresses; empty: there is none.
    """
    return f"{mirror.rstrip('/')}/{url.partition('://')[2]}" if mirror else url


async def download_to(
    url: str, part: Path, allowed: Sequence[str] = (), heard: Heard = lambda done, total: None
) -> None:
    """Download the file at an address of the internet; goes on where an earlier try was cut.

    Args:
        url: http or https.
        part: where it is written; beside it ``PART.json`` remembers which version it is a part of.
            It is whole on return, and stays as a part otherwise.
        allowed: beginnings of addresses that may lie on a private network.
        heard: called with the bytes that are there, and with all of them where that is known.

    Raises:
        UsageError: it, or one that it is redirected to, lies there and is not allowed.
        EnvironmentFailed: it cannot be downloaded: the initial state or the expected file is
            out of reach.
    """
    import httpx

    problem: Exception | None = None
    for _ in range(_TRIES):
        begun = await asyncio.to_thread(_begun, part)
        receive = functools.partial(_receive, part=part, begun=begun, heard=heard)
        try:
            await _followed("GET", url, allowed, headers=begun.headers, use=receive)
        except httpx.HTTPStatusError as error:
            problem = error
            if error.response.status_code < 500:
                break
        except (httpx.HTTPError, OSError) as error:
            problem = error
        else:
            return
    raise EnvironmentFailed(
        f"{url}: cannot be downloaded: {problem}", fix="hisa bench prefetch SUITE, when online"
    ) from problem


async def size_of(url: str, allowed: Sequence[str] = ()) -> int | None:
    """Bytes of the file at an address, as its server says; None where it does not."""
    import httpx

    async def use(response: httpx.Response) -> int | None:
        response.raise_for_status()
        said = response.headers.get("content-length", "")
        return int(said) if said.isdigit() else None

    try:
        return await _followed("HEAD", url, allowed, headers=_PLAIN, use=use)
    except (httpx.HTTPError, OSError, OperatorError):
        return None


async def _followed(
    method: str,
    url: str,
    allowed: Sequence[str],
    *,
    headers: Mapping[str, str],
    use: Callable[[httpx.Response], Awaitable[T]],
) -> T:
    """Send a request, follow its redirects, and return what ``use`` makes of the response."""
    import httpx

    certificates = await asyncio.to_thread(httpx.create_ssl_context)
    for _ in range(_REDIRECTS):
        target = await _target(url, allowed)
        async with httpx.AsyncClient(
            timeout=patience(_SECONDS), verify=certificates, trust_env=not target.address
        ) as client:  # a checked address is connected to without any proxy
            response = await client.send(_request(client, method, target, headers), stream=True)
            try:
                if not response.is_redirect:
                    return await use(response)
                url = urljoin(url, str(response.headers["location"]))
            finally:
                await response.aclose()
    raise EnvironmentFailed(f"{url}: more than {_REDIRECTS} redirects")


def _request(
    client: httpx.AsyncClient, method: str, target: _Target, headers: Mapping[str, str]
) -> httpx.Request:
    import httpx

    url, extensions, sent = httpx.URL(target.url), {}, dict(headers)
    if target.address:
        sent["Host"] = url.netloc.decode("ascii").rpartition("@")[2]
        extensions = {"sni_hostname": target.host}
        url = url.copy_with(host=target.address)
    return client.build_request(method, url, headers=sent, extensions=extensions)


@dataclass(frozen=True)
class _Begun:
    """What an earlier try left, and the version of the file that it is of."""

    size: int = 0
    version: str = ""

    @property
    def headers(self) -> dict[str, str]:
        """Asks for the rest of the same version, or for all of another."""
        if not self.size or not self.version:
            return dict(_PLAIN)
        return {**_PLAIN, "Range": f"bytes={self.size}-", "If-Range": self.version}


def _notes(part: Path) -> Path:
    return part.with_name(f"{part.name}.json")


def _begun(part: Path) -> _Begun:
    try:
        version = json.loads(_notes(part).read_text("utf-8"))["version"]
        return _Begun(part.stat().st_size, version) if isinstance(version, str) else _Begun()
    except (OSError, ValueError, KeyError, TypeError):
        return _Begun()


def discard(part: Path) -> None:
    """Remove a part and its notes."""
    _notes(part).unlink(missing_ok=True)
    part.unlink(missing_ok=True)


async def _receive(response: httpx.Response, *, part: Path, begun: _Begun, heard: Heard) -> None:
    """Write a response's body to the part, behind what is there where it is the rest of that.

    Raises:
        OSError: it is shorter or longer than the server said, or not the rest that was asked for.
    """
    start, total = 0, _number(response.headers.get("content-length", ""))
    if response.status_code == 416:  # what is there is no part of what the server has
        await asyncio.to_thread(discard, part)
        raise OSError("the server has another file than before")
    response.raise_for_status()
    if response.status_code == 206:
        said = _RANGE.fullmatch(response.headers.get("content-range", ""))
        if said is None or int(said[1]) != begun.size:
            await asyncio.to_thread(discard, part)
            raise OSError("the server sent another part than was asked for")
        start, total = begun.size, _number(said[3])
    packed = response.headers.get("content-encoding", "identity") != "identity"
    total = None if packed else total
    await asyncio.to_thread(_begin, part, start, "" if packed else _version(response))
    size = await _written(response, part, start, lambda done: heard(done, total))
    if total is not None and size != total:
        if size > total:
            await asyncio.to_thread(discard, part)
        raise OSError(f"the server said {total} bytes, and sent {size}")


async def _written(
    response: httpx.Response, part: Path, start: int, heard: Callable[[int], None]
) -> int:
    """Append the body to the part; returns the part's size."""
    size = start
    file = await asyncio.to_thread(part.open, "ab")
    try:
        async for block in response.aiter_bytes():
            size += len(block)
            if size > MAX_DOWNLOAD:
                discard(part)
                raise EnvironmentFailed(f"{response.url}: larger than {MAX_DOWNLOAD} bytes")
            file.write(block)
            heard(size)
    finally:
        file.close()
    return size


def _begin(part: Path, start: int, version: str) -> None:
    """Make the part ready for what follows its first ``start`` bytes."""
    if start:
        return
    discard(part)
    part.touch(0o600)
    if version:
        replace_file(_notes(part), json.dumps({"version": version}).encode())


def _version(response: httpx.Response) -> str:
    """Returns the server's name of this version; empty: a later part may be of another one."""
    tag = response.headers.get("etag", "")
    return str(tag if tag and tag[:2] != "W/" else response.headers.get("last-modified", ""))


def _number(text: str) -> int | None:
    return int(text) if text.isdigit() else None


async def _target(url: str, allowed: Sequence[str]) -> _Target:
    """Returns the target of a request for an address.

    Raises:
        UsageError: not http or https, or it lies on a private network and is not allowed.
        OSError: the name cannot be looked up.
    """
    host, port = _place(url)
    require_public_address(url, allowed)
    if _proxied(url, host):
        return _Target(url, host)
    found = await asyncio.to_thread(socket.getaddrinfo, host, port, 0, socket.SOCK_STREAM)
    addresses = [str(entry[4][0]) for entry in found]
    if not _is_allowed(url, allowed):
        for address in addresses:
            _expect_public(url, host, ipaddress.ip_address(address.partition("%")[0]))
    return _Target(url, host, addresses[0])


def _proxied(url: str, host: str) -> bool:
    """Whether the environment names a proxy for an address; it looks names up by itself."""
    proxies = urllib.request.getproxies()
    named = proxies.get(urlsplit(url).scheme) or proxies.get("all")
    return bool(named) and not urllib.request.proxy_bypass(host)


def require_public_address(url: str, allowed: Sequence[str] = ()) -> None:
    """Refuse an address that names a private network by itself; nothing is looked up.

    Raises:
        UsageError: it does and is not allowed, or is no http or https address.
    """
    host, _ = _place(url)
    if _is_allowed(url, allowed):
        return
    if host.lower().rstrip(".").rpartition(".")[2] == "localhost":
        raise _refused(url, host, "this machine")
    try:
        address: Address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        try:
            address = ipaddress.IPv4Address(socket.inet_aton(host))  # 127.1, 0x7f000001, 017…
        except OSError:
            return
    _expect_public(url, host, address)


def _expect_public(url: str, host: str, address: Address) -> None:
    inner = _inside(address)
    if not inner.is_global or inner.is_multicast:
        raise _refused(url, host, str(address))


def _inside(address: Address) -> Address:
    """The IPv4 address that an IPv6 address leads to, where it does; else itself."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


def _refused(url: str, host: str, where: str) -> UsageError:
    beginning = urlsplit(url)._replace(path="/", query="", fragment="").geturl()
    return UsageError(
        f"{url[:200]!r} is not downloaded: {host!r} is {where}, which is not on the public internet"
        " and a task file is written by others",
        fix=f"if you trust the file: --set '{SETTING}=[\"{beginning}\"]'",
    )


def _place(url: str) -> tuple[str, int]:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise UsageError(f"{url[:200]!r} is not an address: {error}") from error
    if parts.scheme not in _PORTS or not host:
        raise UsageError(f"{url[:200]!r}: only http and https addresses are downloaded")
    return host, port or _PORTS[parts.scheme]


def _is_allowed(url: str, allowed: Sequence[str]) -> bool:
    """Whether an address begins with one of those, host and port being the same.

    One that climbs does not: it leads out of the folder with which it begins.
    """
    wanted = urlsplit(url)
    if ".." in re.split(r"[/\\]", unquote(wanted.path)):
        return False
    for one in allowed:
        parts = urlsplit(one)
        same = (parts.scheme, parts.netloc) == (wanted.scheme, wanted.netloc)
        if same and (wanted.path or "/").startswith(parts.path or "/"):
            return True
    return False
