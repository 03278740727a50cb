"""What somebody else's machines need around a guest: addresses, commands, leases, waiting."""

from hisa.environments.provider.address import Address, read_addresses
from hisa.environments.provider.command import carry_out, check_command
from hisa.environments.provider.lease import Lease
from hisa.environments.provider.ready import must_listen, until_drawn

__all__ = [
    "Address",
    "Lease",
    "carry_out",
    "check_command",
    "must_listen",
    "read_addresses",
    "until_drawn",
]
