"""The way to a model's server: proxies, certificates, headers; and what is wrong with them."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hisa.errors import ModelUnavailable
from hisa.machine.parts import install_command
from hisa.models.endpoint import Endpoint
from hisa.text.redact import redact

if TYPE_CHECKING:
    import httpx

__all__ = [
    "MOST_BYTES",
    "auth_headers",
    "connecting",
    "http_options",
    "open_client",
]

MOST_BYTES = 8 << 20
"""Of a response, once unpacked: a hundred times the longest answer that models give."""
_PER_TOKEN = 8
"""A stream takes some 300 bytes for a token, so it may be so many times longer than a body."""
_SENT = ("Host", "Content-Length", "Content-Type", "X-Component", "X-Step")
"""Headers of a request that go to the server besides those of `_headers`."""
_ACCOUNT = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}
_WAYS = ("http_proxy", "https_proxy", "all_proxy", "ssl_cert_file", "ssl_cert_dir")
"""Variables of the environment that say how a server is reached, in small letters."""


def auth_headers(endpoint: Endpoint) -> dict[str, str]:
    """The key, by Azure's name for it with its classic addresses; a token goes as elsewhere."""
    if "api-version=" in endpoint.url and endpoint.api_key.count(".") != 2:
        return {"api-key": endpoint.api_key}
    return {"Authorization": f"Bearer {endpoint.api_key}"}


def _headers(endpoint: Endpoint) -> dict[str, str]:
    """The key, and for a public server the account that the environment names."""
    headers = auth_headers(endpoint) | {"Accept-Encoding": "identity"}
    if not endpoint.local:
        headers |= {name: os.environ[key] for name, key in _ACCOUNT.items() if os.environ.get(key)}
    return headers


def http_options(endpoint: Endpoint) -> dict[str, Any]:
    """Returns how httpx connects: to a local server without the proxies of the environment.

    Certificates are those of SSL_CERT_FILE or SSL_CERT_DIR wherever the server is.
    """
    import httpx

    if not endpoint.local:
        return {"trust_env": True}
    if endpoint.url.startswith("https://"):
        return {"trust_env": False, "verify": httpx.create_ssl_context()}
    # Nothing is trusted over plain HTTP, and reading the certificates takes 20 ms.
    return {"trust_env": False, "verify": ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)}


@contextmanager
def connecting(endpoint: Endpoint) -> Iterator[None]:
    """Says what of the environment keeps a client from being opened.

    Raises:
        ModelUnavailable: a proxy of a kind that cannot be used, or certificates that are not there.
    """
    try:
        yield
    except (ImportError, ValueError, OSError) as error:
        ways = [f"{k}={v}" for k, v in os.environ.items() if k.lower() in _WAYS and v]
        raise ModelUnavailable(
            f"{redact(endpoint.url)} cannot be reached by {redact(', '.join(ways))}: {error}",
            fix=f"mend or unset that variable; a SOCKS proxy needs {install_command('socks')}",
        ) from error


def open_client(endpoint: Endpoint, client: httpx.AsyncClient | None = None) -> httpx.AsyncClient:
    """Returns a client that sends our headers alone and reads bounded answers.

    It follows no redirect: another server would get the key and what is on the screen.

    Raises:
        ModelUnavailable: see `connecting`.
    """
    import httpx

    if client is None:
        with connecting(endpoint):
            client = httpx.AsyncClient(**http_options(endpoint))

    async def replace_headers(request: httpx.Request) -> None:
        headers = {name: request.headers[name] for name in _SENT if name in request.headers}
        request.headers = httpx.Headers(headers | _headers(endpoint))

    client.event_hooks = {"request": [replace_headers], "response": [_bound]}
    return client


async def _bound(response: httpx.Response) -> None:
    """Unpack and count a response's body as it is read."""
    from hisa.models.bounded_body import BoundedBody

    is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
    most = MOST_BYTES * (_PER_TOKEN if is_stream else 1)
    encoding = response.headers.pop("content-encoding", "")
    response.stream = BoundedBody(response.stream, encoding, most=most, longest_line=MOST_BYTES)
