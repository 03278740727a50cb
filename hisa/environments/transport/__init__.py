"""Talks to a machine: HiSA's typed routes or the stock ones, by what the guest announces."""

from hisa.environments.transport.base import Guest, Look, Transport, Unanswered
from hisa.environments.transport.connect import connect
from hisa.environments.transport.stock import StockTransport
from hisa.environments.transport.typed import HisaTransport

__all__ = [
    "Guest",
    "HisaTransport",
    "Look",
    "StockTransport",
    "Transport",
    "Unanswered",
    "connect",
]
