"""Connections to a model's server: proxies, certificates and headers, and errors in them."""

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
"""Most bytes of a response, once unpacked: a hundred times the longest reply of a model."""
_PER_TOKEN = 8
"""A stream takes some 300 bytes per token, so it may be this many times longer than a body."""
_SENT = ("Host", "Content-Length", "Content-Type", "X-Component", "X-Step")
"""Headers of a request that are sent besides those of `_headers`."""
_ACCOUNT = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}
_WAYS = ("http_proxy", "https_proxy", "all_proxy", "ssl_cert_file", "ssl_cert_dir")
"""Environment variables that affect how a server is reached, in lower case."""


def auth_headers(endpoint: Endpoint) -> dict[str, str]:
    """Returns the header with the key: Azure's "api-key" for its classic addresses, else a bearer.

    A token for Azure goes as a bearer too.
    """
    if "api-version=" in endpoint.url and endpoint.api_key.count(".") != 2:
        return {"api-key": endpoint.api_key}
    return {"Authorization": f"Bearer {endpoint.api_key}"}


def _headers(endpoint: Endpoint) -> dict[str, str]:
    """Returns the key and, for a public server, the account in the environment variables."""
    headers = auth_headers(endpoint) | {"Accept-Encoding": "identity"}
    if not endpoint.local:
        headers |= {name: os.environ[key] for name, key in _ACCOUNT.items() if os.environ.get(key)}
    return headers


def http_options(endpoint: Endpoint) -> dict[str, Any]:
    """Returns the options of httpx; a local server is reached without the environment's proxies.

    SSL_CERT_FILE and SSL_CERT_DIR apply to every server.
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
    """Turn errors of opening a client into one that names the environment variables at fault.

    Raises:
        ModelUnavailable: a proxy of an unsupported kind, or missing certificates.
    """
    try:
        yield
    except (ImportError, ValueError, OSError) as error:
        ways = [f"{k}={v}" for k, v in os.environ.items() if k.lower() in _WAYS and v]
        raise ModelUnavailable(
            f"{redact(endpoint.url)} cannot be reached with {redact(', '.join(ways))}: {error}",
            fix=f"correct or unset that variable; a SOCKS proxy needs {install_command('socks')}",
        ) from error


def open_client(endpoint: Endpoint, client: httpx.AsyncClient | None = None) -> httpx.AsyncClient:
    """Returns a client that sends only HiSA's headers and limits the size of responses.

    It follows no redirect: another server would get the key and the screen.

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
