"""Talks to a machine by the typed routes of HiSA's guest."""

from hisa.environments.transport.base import GuestClient, NoResponse, RawObservation, Transport
from hisa.environments.transport.connect import Connect, connect
from hisa.environments.transport.typed_client import HisaTransport

__all__ = [
    "Connect",
    "GuestClient",
    "HisaTransport",
    "NoResponse",
    "RawObservation",
    "Transport",
    "connect",
]
