"""Connects to HiSA's own guest and reads which capabilities it announces."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from hisa.environments.transport.base import GuestClient, HttpResponse, Transport, guest_failure
from hisa.environments.transport.typed_client import HisaTransport

__all__ = ["Connect", "ask_capabilities", "connect", "typed_transport"]

Connect = Callable[[GuestClient], Awaitable[Transport]]
"""Chooses the transport for a guest."""
_PROTOCOL = 1


async def connect(client: GuestClient) -> Transport:
    """Returns the transport over the typed routes.

    Raises:
        EnvironmentFailed: no HiSA guest answers there, or one of another protocol.
    """
    response = await ask_capabilities(client)
    if response.status_code != 200:
        raise guest_failure(
            client.where, f"no HiSA guest there: HTTP {response.status_code} to /hisa/capabilities"
        )
    return typed_transport(client, response)


async def ask_capabilities(client: GuestClient) -> HttpResponse:
    """Asks a guest for its capabilities; only HiSA's own guest has this route."""
    return await client.request("GET", "/hisa/capabilities", seconds=15.0)


def typed_transport(client: GuestClient, response: HttpResponse) -> HisaTransport:
    """Returns the transport for a guest that has announced its capabilities.

    Raises:
        EnvironmentFailed: the announcement cannot be read, or names another protocol.
    """
    try:
        announcement = response.json()
        protocol, announced = announcement["protocol"], announcement["capabilities"]
    except (ValueError, KeyError, TypeError) as error:
        raise guest_failure(
            client.where, f"unreadable capabilities: {response.text[:200]}"
        ) from error
    if protocol != _PROTOCOL:
        raise guest_failure(
            client.where,
            f"the guest uses protocol {protocol!r}, this client {_PROTOCOL}",
            "use the same release of HiSA on both sides",
        )
    return HisaTransport(client, announced)
