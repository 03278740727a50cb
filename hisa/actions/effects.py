"""What a call can do that a person may want to be asked about first."""

from __future__ import annotations

from typing import Literal, get_args

__all__ = ["EFFECTS", "Effect"]

Effect = Literal["delete", "pay", "send", "install", "security", "leave"]
"""delete: something is gone for good, or moved to a bin; pay: money or an order; send: a message, a
post or an upload reaches others; install: a program or an extension comes or goes; security:
passwords, permissions, accounts, firewalls; leave: outside of the allowed sites or folders."""
EFFECTS: tuple[Effect, ...] = get_args(Effect)
