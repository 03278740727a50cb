"""Somebody else's machine: any guest that answers at an address."""

from __future__ import annotations

import os

import httpx

from hisa.environments.client import GuestEnvironment
from hisa.environments.transport import Guest, connect
from hisa.errors import UsageError
from hisa.geometry import Size
from hisa.observation import DEFAULT_IMAGE_LIMIT

__all__ = ["RemoteEnvironment"]


class RemoteEnvironment(GuestEnvironment):
    """A guest at an address: HiSA's own or a stock OSWorld one.

    Args:
        url: ``http://HOST:PORT``.
        image_limit: the largest picture that models see.
        token: bearer token; None: the variable HISA_GUEST_TOKEN.
        stock: use the stock OSWorld routes whatever the guest announces.

    Raises:
        UsageError: not an address.
    """

    def __init__(
        self,
        url: str,
        *,
        image_limit: Size = DEFAULT_IMAGE_LIMIT,
        token: str | None = None,
        stock: bool = False,
    ) -> None:
        super().__init__(image_limit)
        address = httpx.URL(url)
        if address.scheme not in {"http", "https"} or not address.host:
            raise UsageError(f"guest={url!r}: not an address", fix="--env guest=http://HOST:5000")
        self._url = url.rstrip("/")
        self._token = os.environ.get("HISA_GUEST_TOKEN", "") if token is None else token
        self._stock = stock

    @property
    def name(self) -> str:
        """Its address."""
        return self._url

    @property
    def capabilities(self) -> frozenset[str]:
        """What the transport offers; whether the machine is thrown away is not known."""
        return self._transport.capabilities

    async def __aenter__(self) -> RemoteEnvironment:
        """Connect."""
        self._guest = Guest(self._url, url=self._url, token=self._token)
        try:
            self._open = await connect(self._guest, stock=self._stock)
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Disconnect; the machine stays as it is."""
        await self._close()

    async def reset(self) -> None:
        """Leaves the machine as it is: there is no way to start it afresh from here."""
