"""Talks to a machine: HiSA's typed routes or the stock ones, by what the guest announces."""

from hisa.environments.transport.base import GuestClient, NoResponse, RawObservation, Transport
from hisa.environments.transport.connect import connect
from hisa.environments.transport.osworld_client import OSWorldTransport
from hisa.environments.transport.typed_client import HisaTransport

__all__ = [
    "GuestClient",
    "HisaTransport",
    "NoResponse",
    "OSWorldTransport",
    "RawObservation",
    "Transport",
    "connect",
]
