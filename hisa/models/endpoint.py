"""The address of a model's server, and its key."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from hisa.config import ModelSettings
from hisa.errors import ConfigError, ModelUnavailable
from hisa.machine.plugins import default_name
from hisa.text.redact import redact

__all__ = ["PUBLIC_URL", "Endpoint", "resolve"]

PUBLIC_URL = "https://api.openai.com/v1"


@dataclass(frozen=True)
class Endpoint:
    """An OpenAI-protocol server. ``url`` ends before ``/chat/completions``; a query may follow."""

    url: str
    api_key: str = field(default="none", repr=False)

    def address(self, path: str) -> str:
        """Returns the URL of a path of this server, with the query at its end.

        A URL that was copied with the path of chat completions, as Azure shows it, works too.
        """
        parts = urlsplit(self.url)
        base = parts.path.rstrip("/").removesuffix("/chat/completions")
        return parts._replace(path=f"{base}/{path}").geturl()

    @property
    def local(self) -> bool:
        """Whether the address is this machine or a private network."""
        return _is_local(urlsplit(self.url).hostname or "")


def _is_local(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "." not in host or host.endswith((".localhost", ".local", ".internal"))
    return address.is_loopback or address.is_private


def _check_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ConfigError(
            f"base_url {redact(url)!r}: must be http:// or https:// and a host",
            fix="--set models.planner.base_url=http://127.0.0.1:8000/v1",
        )
    return url.rstrip("/")


def resolve(settings: ModelSettings, environ: Mapping[str, str]) -> Endpoint:
    """Returns the endpoint of a role: the setting, else ``OPENAI_BASE_URL``, else the public one.

    A server on this machine or a private network needs no key.

    Raises:
        ConfigError: the address is not an HTTP address.
        ModelUnavailable: a public server has no key, or the key has impossible characters.
    """
    url = settings.base_url or environ.get("OPENAI_BASE_URL", "").strip()
    url = _check_url(url or PUBLIC_URL)
    key = environ.get(settings.api_key_env, "").strip()
    if key:
        if not (key.isascii() and key.isprintable()):
            raise ModelUnavailable(
                f"the key in {settings.api_key_env} has characters that no key can have",
                fix=f"export {settings.api_key_env}=… again, without line breaks or quotes",
            )
        return Endpoint(url, key)
    endpoint = Endpoint(url)
    if not endpoint.local:
        default = default_name("models")
        raise ModelUnavailable(
            f"model {settings.model!r} at {redact(url)}: no key in the environment variable "
            f"{settings.api_key_env}",
            fix=f"export {settings.api_key_env}=… (any text if the server needs no key)"
            + (f", or run with --model {default}" if default else ""),
        )
    return endpoint
