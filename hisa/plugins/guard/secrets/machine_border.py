"""Puts a border around a machine that the parts of a run already hold, on the object itself."""

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
"""All methods by which a byte enters or leaves a machine."""


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
    """Refuse a machine around which no border can be put while it is in use.

    Raises:
        ActionRefused: the methods of its object cannot be replaced.
    """
    name = "_hisa_border"
    try:
        setattr(environment, name, None)
        del vars(environment)[name]
    except (AttributeError, TypeError, KeyError):
        raise ActionRefused(
            "typed text could not be hidden: the methods of the machine's class, "
            f"{type(environment).__name__}, cannot be replaced"
        ) from None


def put_border(environment: Environment, emit: Emit) -> SecretEnvironment:
    """Puts a border around a machine and returns it; all who hold the machine now go through it.

    Args:
        environment: the machine as the parts of a run hold it.
        emit: takes a `Noted` if a picture cannot be read.

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
    """Give a machine its own methods back; does nothing if `put_border` did not make the border."""
    inside: Any = border.machine
    if isinstance(inside, _Inside):
        own = vars(environment)
        for name in _METHODS:
            own.pop(name, None)
        own.update(inside.replaced)
