"""Talks to a machine: HiSA's typed routes or the stock ones, by what the guest announces."""

from hisa.environments.transport.base import Guest, Look, Transport, Unanswered
from hisa.environments.transport.connect import connect
from hisa.environments.transport.osworld_client import StockTransport
from hisa.environments.transport.typed_client import HisaTransport

__all__ = [
    "Guest",
    "HisaTransport",
    "Look",
    "StockTransport",
    "Transport",
    "Unanswered",
    "connect",
]
