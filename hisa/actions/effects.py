"""Effects of a call that a person may want to confirm first."""

from __future__ import annotations

from typing import Literal, get_args

__all__ = ["EFFECTS", "Effect"]

Effect = Literal["delete", "pay", "send", "install", "security", "leave"]
"""delete: something is deleted for good or moved to a bin; pay: money or an order; send: a message,
a post or an upload reaches others; install: a program or an extension is added or removed;
security: passwords, permissions, accounts, firewalls; leave: outside the allowed sites or
folders."""
EFFECTS: tuple[Effect, ...] = get_args(Effect)
