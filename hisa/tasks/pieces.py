"""The pieces that task files name: setup steps, getters and metrics, looked up by their names."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from hisa.errors import UsageError
from hisa.text.validation import explain

if TYPE_CHECKING:
    from hisa.tasks.task_context import Context

__all__ = ["GETTERS", "SETUP", "Declared", "Parameters", "Pieces", "Registry"]

T = TypeVar("T")
P = TypeVar("P", bound=BaseModel)
C = TypeVar("C", bound="Context")


class Registry(Generic[T]):
    """Entries by name.

    Args:
        kind: the kind of the entries, for messages: "setup step".
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._known: dict[str, T] = {}

    def add(self, name: str, entry: T) -> None:
        """Registers ``entry``; a name can be used only once."""
        if name in self._known:
            raise ValueError(f"{self.kind} {name!r} is defined twice")
        self._known[name] = entry

    def get(self, name: str) -> T | None:
        """Returns the entry, or None."""
        return self._known.get(name)

    @property
    def names(self) -> tuple[str, ...]:
        """All names, sorted."""
        return tuple(sorted(self._known))


class Parameters(BaseModel):
    """Parameters of a step or getter; keys that a benchmark adds later are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)


@dataclass(frozen=True)
class Declared:
    """A setup step or getter: its parameters, and the function that does it.

    A getter returns a value, a path of this machine, or None if the agent left nothing there.
    """

    model: type[BaseModel]
    run: Callable[[Any, Any], Awaitable[Any]]


class Pieces(Registry[Declared]):
    """Setup steps or getters; ``@pieces(name, model)`` registers a function as one."""

    def __call__(
        self, name: str, model: type[P]
    ) -> Callable[[Callable[[C, P], Awaitable[T]]], Callable[[C, P], Awaitable[T]]]:
        """Returns a decorator that registers a function under a name."""

        def keep(function: Callable[[C, P], Awaitable[T]]) -> Callable[[C, P], Awaitable[T]]:
            self.add(name, Declared(model, function))
            return function

        return keep

    def problem(self, name: str, raw: Mapping[str, Any]) -> str:
        """Returns what is wrong with a piece as a task has it; empty if it can be run."""
        known = self.get(name)
        if known is None:
            return f"no {self.kind} {name!r} here"
        try:
            known.model.model_validate(raw)
        except ValidationError as error:
            return f"{self.kind} {name}: {explain(error, known.model)}"
        return ""

    async def run(self, context: Context, name: str, raw: Mapping[str, Any]) -> Any:
        """Runs a piece with the parameters from a task file, and returns its result.

        Args:
            context: the task and its machine.
            name: the piece's name in task files.
            raw: the parameters as the task file has them, not validated yet.

        Raises:
            UsageError: unknown name or wrong parameters.
        """
        known = self.get(name)
        if known is None:
            raise UsageError(f"task {context.task.id!r}: no {self.kind} {name!r} here")
        try:
            params = known.model.model_validate(raw)
        except ValidationError as error:
            raise UsageError(
                f"task {context.task.id!r}: {name}: {explain(error, known.model)}"
            ) from error
        return await known.run(context, params)


SETUP = Pieces("setup step")
"""Every step type by its name in task files."""
GETTERS = Pieces("getter")
"""Every getter by its name in task files."""
