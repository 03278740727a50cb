"""Connects to any guest: to HiSA's own by typed routes, to a stock OSWorld one by stock routes."""

from __future__ import annotations

from hisa.environments.transport.base import GuestClient, Transport, guest_failure
from hisa.environments.transport.connect import ask_capabilities, typed_transport
from hisa.plugins.machines.guests.osworld_client import OSWorldTransport

__all__ = ["connect_any", "connect_stock"]


async def connect_any(client: GuestClient) -> Transport:
    """Returns the transport by typed routes if the guest has them, otherwise by stock routes.

    Raises:
        EnvironmentFailed: no guest answers there, or one of another protocol.
    """
    response = await ask_capabilities(client)
    if response.status_code == 200:
        return typed_transport(client, response)
    await _require_osworld(client)
    return OSWorldTransport(client)


async def connect_stock(client: GuestClient) -> Transport:
    """Returns the transport by stock routes, whatever the guest announces."""
    return OSWorldTransport(client)


async def _require_osworld(client: GuestClient) -> None:
    """Refuses anything but a guest on Linux.

    Raises:
        EnvironmentFailed: the message says what is there instead.
    """
    fix = "check the address: hisa doctor --env guest=http://HOST:PORT"
    response = await client.request("GET", "/platform", seconds=15.0)
    platform = response.text.strip()
    if response.status_code != 200 or not platform.isalpha():
        kind = response.headers.get("content-type", "no content type")
        server = response.headers.get("server", "an unnamed server")
        answer = f"{response.status_code}, {kind}, from {server}"
        raise guest_failure(
            client.where, f"no guest there: the response to /platform is {answer}", fix
        )
    if platform != "Linux":
        raise guest_failure(
            client.where, f"a guest on {platform[:40]}; HiSA drives guests on Linux", fix
        )
