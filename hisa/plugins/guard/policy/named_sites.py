"""The addresses that a call names, as a browser reads them, and whether a pattern matches them.

An address that two programs could read differently has no known host, so no list of allowed sites
contains it.
"""

from __future__ import annotations

import re
import socket
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from urllib.parse import unquote, urlsplit

from hisa.plugins.guard.policy.text_patterns import Match, literal_start, words

__all__ = ["NamedUrl", "is_site", "looks_like_address", "read_url", "url_match", "urls_in"]

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_WEB = frozenset(
    ("http", "https", "ws", "wss", "ftp", "ftps", "sftp", "ssh", "git", "rsync", "scp")
)
_ODD = re.compile(r"[\\\s\x00-\x20\x7f]")
_HOST = re.compile(r"[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?|\[[0-9a-f:.]+\]")
_NUMBER = re.compile(r"(0x[0-9a-f]*|[0-9]+)(\.(0x[0-9a-f]*|[0-9]+)){0,3}")
_IN_TEXT = re.compile(r"(?:[a-z][a-z0-9+.-]*)://[^\s'\"<>|]+", re.IGNORECASE)
_BARE = re.compile(
    r"(localhost|\[[0-9a-fA-F:]+\]|[^\s/@:?#\\.]+(\.[^\s/@:?#\\.]+)+\.?)(:\d{1,5})?([/?#]\S*)?",
    re.IGNORECASE,
)
_ENDING = re.compile(r"[a-z]{2,}|xn--[a-z0-9-]+|[^\x00-\x7f]+", re.IGNORECASE)
_FILES = words(
    "txt md csv tsv ods odt odp odg xlsx xls docx doc pptx ppt pdf png jpg jpeg gif svg "
    "html htm json xml yaml yml toml py sh js zip gz tar log ini cfg conf mp3 mp4"
)
"""Endings of file names; nobody types a host that ends so."""
_STARTS = ("view-source:", "feed:", "blob:", "filesystem:")
_NOTHING = re.compile(r"(about:(blank|newtab)|(chrome|edge|brave)://(newtab|new-tab-page)/?)?")


@dataclass(frozen=True, slots=True)
class NamedUrl:
    """An address; ``host`` is in ASCII and lower case, empty if it is not known."""

    text: str
    scheme: str
    host: str = ""
    port: int | None = None


def read_url(text: str) -> NamedUrl | None:
    """Reads an address, with or without its scheme; None for an empty page."""
    text = "".join(c for c in text.strip() if c not in "\t\r\n")
    for start in _STARTS:
        if text[: len(start)].lower() == start:
            return read_url(text[len(start) :])
    if _NOTHING.fullmatch(text.lower()):
        return None
    if not _has_scheme(text):
        text = f"http://{text}"
    scheme = text.partition(":")[0].lower()
    if scheme not in _WEB or _ODD.search(text):
        return NamedUrl(text, scheme)
    try:
        parts = urlsplit(text if "://" in text else text.replace(":", "://", 1))
        host, port = _plain_host(parts.hostname or ""), parts.port
    except ValueError:
        return NamedUrl(text, scheme)
    if not host:
        return NamedUrl(text, scheme)
    shown = host if port is None else f"{host}:{port}"
    rest = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return NamedUrl(f"{scheme}://{shown}{rest}", scheme, host, port)


def _has_scheme(text: str) -> bool:
    """Whether an address begins with a scheme, and not with a host and its port."""
    match = _SCHEME.match(text)
    if match is None:
        return False
    after = text[match.end() :]
    return "." not in match.group() and not re.match(r"\d{1,5}(/|$)", after)


def _plain_host(host: str) -> str:
    """A host as it is looked up: in ASCII, without a last dot; numbers as a dotted IPv4 address."""
    host = unicodedata.normalize("NFKC", unquote(host)).lower().rstrip(".")
    if not host.isascii():
        host = host.replace("\u3002", ".").encode("idna").decode("ascii")
    if _NUMBER.fullmatch(host):
        try:
            return socket.inet_ntoa(socket.inet_aton(host))
        except OSError:
            return ""
    return host if _HOST.fullmatch(host if ":" not in host else f"[{host}]") else ""


def looks_like_address(text: str) -> bool:
    """Whether a browser would take a typed text for an address, not for words to search for."""
    text = text.strip()
    if _has_scheme(text) and not re.search(r"\s", text):
        return text.partition(":")[0].lower() in _WEB | {
            "file",
            "chrome",
            "about",
            "javascript",
            "data",
            "view-source",
            "blob",
        }
    match = _BARE.fullmatch(text)
    if not match or not match[1]:
        return False
    host, last = match[1].rstrip("."), match[1].rstrip(".").rpartition(".")[2]
    if last.isdigit():
        return host.count(".") == 3 and _NUMBER.fullmatch(host) is not None
    return "." not in match[1] or (_ENDING.fullmatch(last) is not None and last not in _FILES)


def urls_in(text: str) -> tuple[NamedUrl, ...]:
    """Returns every address with a scheme in a text, each once."""
    urls = (read_url(match.rstrip(".,;)]}")) for match in _IN_TEXT.findall(text))
    return tuple(dict.fromkeys(url for url in urls if url is not None))


def is_site(url: NamedUrl, sites: Iterable[str]) -> bool:
    """Whether the host of an address is one of the sites, as ``example.org`` or ``*.example.org``.

    A site with a port means that port; one without means every port.
    """
    if not url.host or url.scheme not in _WEB:
        return False
    at = f"{url.host}:{url.port or {'http': 80, 'https': 443}.get(url.scheme, '')}"
    return any(fnmatchcase(at if _with_port(site) else url.host, _site(site)) for site in sites)


def _with_port(site: str) -> bool:
    return re.search(r":\d+$", site) is not None


def _site(site: str) -> str:
    host, colon, port = site.partition(":")
    try:
        plain = host if host.isascii() else host.encode("idna").decode("ascii")
    except UnicodeError:
        plain = host
    return plain.lower() + colon + port


def url_match(pattern: str, url: NamedUrl) -> Match:
    """Whether a pattern, which may leave out the scheme, matches an address."""
    pattern = _lower_host(pattern)
    if not url.host and url.scheme in _WEB:
        return Match.MAYBE
    spellings = (url.text, unquote(url.text))
    bare = tuple(text.partition("://")[2] for text in spellings)
    ports = tuple(text.replace(f":{url.port}", "", 1) for text in bare) if url.port else ()
    if any(fnmatchcase(text, pattern) for text in (*spellings, *bare, *ports)):
        return Match.YES
    if literal_start(pattern) == pattern and any(
        (text.rstrip("/") + "/").startswith(pattern.rstrip("/") + "/")
        for text in (*spellings, *bare, *ports)
    ):
        return Match.YES
    return Match.NO


def _lower_host(pattern: str) -> str:
    scheme, mark, rest = pattern.rpartition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme.lower()}{mark}{_site(host)}{slash}{path}"
