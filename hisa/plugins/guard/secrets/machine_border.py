"""Puts a border around a machine that all parts of a run hold already: on the object itself."""

from __future__ import annotations

from typing import Any

from hisa.errors import ActionRefused
from hisa.plugins.guard.secrets.secret_environment import SecretEnvironment
from hisa.plugins.guard.secrets.secret_store import SecretStore
from hisa.protocols import Emit, Environment

__all__ = ["put_border", "remove_border", "require_border"]

_METHODS = (
    "observe",
    "look_everywhere",
    "hit_test",
    "act",
    "act_where_unchanged",
    "execute",
    "read_file",
    "write_file",
)
"""All by which a byte enters or leaves a machine."""


class _Inside:
    """A machine with the methods that it had before its border."""

    def __init__(self, machine: Environment) -> None:
        self._machine = machine
        self.replaced = {name: value for name, value in vars(machine).items() if name in _METHODS}
        for name in _METHODS:
            if hasattr(machine, name):
                setattr(self, name, getattr(machine, name))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._machine, name)


def require_border(environment: Environment) -> None:
    """Refuse a machine around which no border can be put any more.

    Raises:
        ActionRefused: its object's methods cannot be replaced.
    """
    name = "_hisa_border"
    try:
        setattr(environment, name, None)
        del vars(environment)[name]
    except (AttributeError, TypeError, KeyError):
        raise ActionRefused(
            "what is typed now could not be hidden: the class of the machine, "
            f"{type(environment).__name__}, lets none of its methods be replaced"
        ) from None


def put_border(environment: Environment, emit: Emit) -> SecretEnvironment:
    """Returns a border put around a machine; whoever holds the machine meets it from now on.

    Args:
        environment: as the parts of a run hold it.
        emit: takes a `Noted` where a picture cannot be read.

    Raises:
        ActionRefused: see `require_border`.
    """
    require_border(environment)
    inside: Any = _Inside(environment)
    border = SecretEnvironment(inside, SecretStore({}), emit=emit, live=True)
    for name in _METHODS:
        if hasattr(environment, name):
            setattr(environment, name, getattr(border, name))
    return border


def remove_border(environment: Environment, border: SecretEnvironment) -> None:
    """Give a machine its own methods back; does nothing to one whose border is another."""
    inside: Any = border.machine
    if isinstance(inside, _Inside):
        own = vars(environment)
        for name in _METHODS:
            own.pop(name, None)
        own.update(inside.replaced)
