"""The environment of a remote machine: any guest that answers at an address."""

from __future__ import annotations

import asyncio
import os

from hisa.config import EnvironmentSettings, RemoteSettings
from hisa.environments.guest_environment import GuestEnvironment
from hisa.environments.kinds import EnvironmentKind, Note
from hisa.environments.transport import Connect, GuestClient, HisaTransport
from hisa.errors import EnvironmentFailed, OperatorError
from hisa.machine.probes import Probe
from hisa.plugins.machines.guests.address import Address, read_addresses
from hisa.plugins.machines.guests.any_guest import connect_any
from hisa.plugins.machines.guests.command import check_command, run_provider_command
from hisa.plugins.machines.guests.lease import Lease
from hisa.plugins.machines.guests.readiness import require_listening, wait_until_drawn
from hisa.protocols import Environment
from hisa.screen.geometry import Size
from hisa.screen.observation import DEFAULT_IMAGE_LIMIT

__all__ = ["GUEST", "RemoteEnvironment"]


class RemoteEnvironment(GuestEnvironment):
    """A guest at an address, HiSA's own or a stock OSWorld one, leased from a list of addresses.

    With a command that reverts the machine, it counts as thrown away after each task: it starts
    reverted, and `reset` reverts it if anything was done since. Without that command the machine is
    left as it is.

    Args:
        addresses: see `hisa.plugins.machines.guests.address.read_addresses`.
        provider: the commands that revert, start and stop the machine, and their limits.
        image_limit: the largest screenshot that models see, in pixels.
        token: bearer token; None: the variable HISA_GUEST_TOKEN.
        connect: chooses the transport for the guest.
        note: called with each operation on the machine, and with what is waited for.

    Raises:
        UsageError: not an address.
        ConfigError: a command cannot be read.
    """

    def __init__(
        self,
        addresses: str,
        provider: RemoteSettings | None = None,
        *,
        image_limit: Size = DEFAULT_IMAGE_LIMIT,
        token: str | None = None,
        connect: Connect = connect_any,
        note: Note = lambda _: None,
    ) -> None:
        super().__init__(image_limit)
        self.addresses = read_addresses(addresses)
        self._provider = provider or RemoteSettings()
        for operation in ("revert", "start", "stop"):
            check_command(operation, getattr(self._provider, operation))
        self._token = os.environ.get("HISA_GUEST_TOKEN", "") if token is None else token
        self._by = connect
        self._note = note
        self._lease: Lease | None = None

    @property
    def name(self) -> str:
        """The address of the leased guest; all addresses while none is leased."""
        if self._lease is not None:
            return self._lease.address.url
        return ",".join(address.url for address in self.addresses)

    @property
    def capabilities(self) -> frozenset[str]:
        """The abilities of the transport, and "throw_away" if the machine can be reverted."""
        reverts = {"throw_away"} if self._provider.revert else set()
        return super().capabilities | reverts

    async def _start(self) -> None:
        """Lease a guest, revert and start its machine if there are commands for it, and connect."""
        self._lease = await Lease.take(self.addresses)
        await self._bring_up(self._lease.address)

    async def _end(self) -> None:
        """Stop the machine if there is a command for it, and release it for others."""
        lease, self._lease = self._lease, None
        if lease is None:
            return
        try:
            await self._do("stop", lease.address)
        except OperatorError as error:
            self._note(str(error))  # a failed stop does not undo the run
        finally:
            lease.release()

    async def reset(self) -> None:
        """Reverts the machine if anything was done since; without a command, leaves it as it is."""
        if not self._provider.revert:
            self._note(f"{self.name} is left as it is: environment.remote.revert is not set")
        elif self._open is None or self._touched:
            if self._lease is None:
                raise EnvironmentFailed(
                    f"{self.name}: not started", fix="use it as `async with environment:`"
                )
            await self._close()
            await self._bring_up(self._lease.address)

    async def probe(self) -> list[Probe]:
        """Probes the guests of all addresses at once; reverts and starts nothing."""
        return await asyncio.gather(*map(self._probe, self.addresses))

    async def _probe(self, address: Address) -> Probe:
        guest = GuestClient(address.url, url=address.url, token=self._token)
        try:
            await require_listening(address)
            transport = await self._by(guest)
            look = await transport.look(elements=False, settle=0.0)
        except EnvironmentFailed as error:
            return Probe(address.url, False, str(error).removeprefix(f"{address.url}: "), error.fix)
        finally:
            await guest.close()
        stock = not isinstance(transport, HisaTransport)
        kind = "a stock OSWorld guest" if stock else "HiSA's own guest"
        can = ", ".join(sorted(transport.capabilities))
        fresh = "reset reverts it" if self._provider.revert else "reset leaves it as it is"
        size = f"{look.screen.width}x{look.screen.height}"
        return Probe(address.url, True, f"{kind}, screen {size}: {can}; {fresh}")

    async def _bring_up(self, address: Address) -> None:
        limit = self._provider
        reverted = await self._do("revert", address)
        started = await self._do("start", address)
        guest = GuestClient(
            address.url, url=address.url, token=self._token, patience=limit.patience
        )
        self._guest = guest
        if reverted or started:
            await wait_until_drawn(guest, seconds=limit.ready_seconds, note=self._note)
        else:
            await require_listening(address)
        await self._connect(guest, self._by)
        self._touched = False

    async def _do(self, operation: str, address: Address) -> bool:
        """Run the command of that operation, if there is one; returns whether there was."""
        template = getattr(self._provider, operation)
        if template:
            self._note(f"{operation} {address.name}")
            await run_provider_command(
                operation, template, address, seconds=self._provider.command_seconds
            )
        return bool(template)


def _open(
    value: str, *, settings: EnvironmentSettings, image_limit: Size, note: Note
) -> Environment:
    environment = RemoteEnvironment(value, settings.remote, image_limit=image_limit, note=note)
    return environment.with_settings(settings)


async def _probe(environment: Environment) -> list[Probe]:
    assert isinstance(environment, RemoteEnvironment)
    return await environment.probe()


GUEST = EnvironmentKind(_open, spellings=("guest=http://HOST:PORT",), probe=_probe)
