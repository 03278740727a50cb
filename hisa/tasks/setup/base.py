"""How a setup step is declared: its name in task files, its parameters, what it does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict

from hisa.tasks.context import Context
from hisa.tasks.registry import Registry

__all__ = ["SETUP", "Parameters", "Step", "step"]


class Parameters(BaseModel):
    """Parameters of a step or getter; keys that a benchmark adds later are let through."""

    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)


P = TypeVar("P", bound=BaseModel)


@dataclass(frozen=True)
class Step:
    """A step type: its parameters, and the function that does it."""

    parameters: type[BaseModel]
    run: Callable[[Context, Any], Awaitable[None]]


SETUP: Registry[Step] = Registry("setup step")
"""Every step type by its name in task files."""


def step(
    name: str, parameters: type[P]
) -> Callable[[Callable[[Context, P], Awaitable[None]]], Callable[[Context, P], Awaitable[None]]]:
    """A decorator that makes a function the step type ``name``."""

    def keep(
        function: Callable[[Context, P], Awaitable[None]],
    ) -> Callable[[Context, P], Awaitable[None]]:
        SETUP.add(name, Step(parameters, function))
        return function

    return keep
