"""How a getter is declared: its name in task files, its configuration, what it gives.

A getter gives a value, a path of this machine, or None where the agent left nothing there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel

from hisa.tasks.apart import Exceeded, apart
from hisa.tasks.context import Context
from hisa.tasks.metrics.base import Unreadable
from hisa.tasks.registry import Registry

__all__ = ["GETTERS", "Getter", "getter", "read_apart"]

C = TypeVar("C", bound=BaseModel)


@dataclass(frozen=True)
class Getter:
    """A getter: its configuration, and the function that gets."""

    config: type[BaseModel]
    run: Callable[[Context, Any], Awaitable[Any]]


GETTERS: Registry[Getter] = Registry("getter")
"""Every getter by its name in task files."""


def getter(
    name: str, config: type[C]
) -> Callable[[Callable[[Context, C], Awaitable[Any]]], Callable[[Context, C], Awaitable[Any]]]:
    """A decorator that makes a function the getter ``name``."""

    def keep(
        function: Callable[[Context, C], Awaitable[Any]],
    ) -> Callable[[Context, C], Awaitable[Any]]:
        GETTERS.add(name, Getter(config, function))
        return function

    return keep


async def read_apart(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function that reads the agent's files gives, in a process of its own with limits.

    Raises:
        Unreadable: the file cannot be read, or takes more than it may.
        NotScored: the machine that scores is at fault.
    """
    try:
        return await apart(function, *arguments)
    except Exceeded as error:
        raise Unreadable(f"what was left {error}") from error
