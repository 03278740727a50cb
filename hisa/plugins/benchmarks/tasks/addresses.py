"""When two addresses of the web lead to one page."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit

__all__ = ["same_address"]


def same_address(one: str | None, other: str | None) -> bool:
    """Whether two addresses lead to one page; www., a lone / and a missing http are nothing."""
    if one is None or other is None:
        return one is other
    return _plain(one) == _plain(other)


def _plain(address: str) -> str:
    try:
        parts = urlsplit(address)
    except ValueError:
        return address
    place = parts.netloc.lower().replace("www.", "")
    path = "" if parts.path == "/" else parts.path
    return urlunsplit((parts.scheme.lower() or "http", place, path, parts.query, parts.fragment))
