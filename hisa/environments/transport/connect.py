"""Connects to HiSA's own guest by what it announces."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from hisa.environments.transport.base import GuestClient, HttpResponse, Transport, guest_failure
from hisa.environments.transport.typed_client import HisaTransport

__all__ = ["Connect", "ask_capabilities", "connect", "typed_transport"]

Connect = Callable[[GuestClient], Awaitable[Transport]]
"""Finds out how to talk to a guest."""
_PROTOCOL = 1


async def connect(client: GuestClient) -> Transport:
    """Returns the transport over the typed routes.

    Raises:
        EnvironmentFailed: no guest of HiSA there, or one of a newer protocol.
    """
    response = await ask_capabilities(client)
    if response.status_code != 200:
        raise guest_failure(
            client.where, f"no guest of HiSA there: {response.status_code} to /hisa/capabilities"
        )
    return typed_transport(client, response)


async def ask_capabilities(client: GuestClient) -> HttpResponse:
    """Asks a guest what it offers; only HiSA's own has an answer."""
    return await client.request("GET", "/hisa/capabilities", seconds=15.0)


def typed_transport(client: GuestClient, response: HttpResponse) -> HisaTransport:
    """Returns the transport for a guest that has said what it offers.

    Raises:
        EnvironmentFailed: that cannot be read, or it is of another protocol.
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
            f"the guest speaks protocol {protocol!r}, this client {_PROTOCOL}",
            "use the same release of HiSA on both sides",
        )
    return HisaTransport(client, announced)
