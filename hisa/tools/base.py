"""A tool: a typed function and its docstring, described once and checked by its signature.

And what a sequence of calls asks before each later one.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from hisa.errors import DeveloperError, InvalidReply
from hisa.protocols import Environment, GroundedCall, MadeCall, Outcome
from hisa.screen.observation import Observation

__all__ = ["Guard", "Tool", "ToolContext"]


class Guard(Protocol):
    """Says whether a later call of a sequence still finds what it was planned for."""

    async def reference(self, planned: Observation) -> Observation:
        """Returns a look from before the first call, with elements where they can be had.

        Args:
            planned: the look that the sequence was planned on.

        Raises:
            EnvironmentFailed: the machine does not answer.
        """
        ...

    async def allow(
        self,
        call: GroundedCall,
        made: Sequence[MadeCall],
        *,
        looks: tuple[Observation, Observation, Observation],
    ) -> GroundedCall:
        """The call, with what must hold at the very moment of its act.

        Args:
            call: the next one.
            made: those that were made.
            looks: the look that the sequence was planned on, its `reference`, and that of now. The
                first call is held to its reference alone: its target was found on that.

        Raises:
            ScreenChanged: why it must not be made now.
            EnvironmentFailed: the machine does not answer.
        """
        ...


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a tool may use, besides its own arguments."""

    call: GroundedCall
    observation: Observation
    environment: Environment


class Tool:
    """A tool made of a function.

    The function's parameters become the input: with one parameter the planner may give a plain
    string, with more it gives an object. A parameter annotated `ToolContext` is filled in by HiSA.
    The function is sync or async and returns text, None or an `Outcome`.

    Args:
        function: with type hints and a docstring; its name is the tool's name.
        source: where it came from, for ``hisa tools ls``.

    Raises:
        DeveloperError: no docstring, or a parameter without a type.
    """

    def __init__(self, function: Callable[..., Any], *, source: str = "") -> None:
        self.name = function.__name__
        self.source = source
        self._function = function
        documentation = inspect.getdoc(function)
        if not documentation:
            raise DeveloperError(f"tool {self.name!r} has no docstring; it is what models read")
        self.documentation = documentation
        self._context_name, self._model = _read_signature(function)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """JSON schema of the input object."""
        return self._model.model_json_schema()

    @property
    def takes_text(self) -> bool:
        """Whether a plain string is a whole input."""
        return len(self._model.model_fields) == 1

    def describe(self) -> str:
        """Name, input and documentation, as the planner's prompt shows them."""
        if self.takes_text:
            kind = f"a string ({next(iter(self._model.model_fields))})"
        else:
            fields = {
                name: {k: v for k, v in value.items() if k != "title"}
                for name, value in self.parameters.get("properties", {}).items()
            }
            kind = f"an object with {json.dumps(fields)}"
        return f"### {self.name}\n{self.documentation}\n\nInput: {kind}."

    def arguments(self, value: str | Mapping[str, Any]) -> dict[str, Any]:
        """The checked arguments of an input.

        Raises:
            InvalidReply: what does not fit, by name.
        """
        given = self._from_text(value) if isinstance(value, str) else value
        try:
            checked = self._model.model_validate(given)
        except ValidationError as error:
            problems = "; ".join(
                f"{'.'.join(str(part) for part in item['loc'])}: {item['msg']}"
                for item in error.errors()
            )
            raise InvalidReply(f"input of {self.name!r} does not fit: {problems}") from error
        return {name: getattr(checked, name) for name in self._model.model_fields}

    def _from_text(self, text: str) -> Mapping[str, Any]:
        names = list(self._model.model_fields)
        if len(names) == 1:
            return {names[0]: text}
        if not names and not text.strip():
            return {}
        try:
            value = json.loads(text)
        except ValueError:
            value = None
        if isinstance(value, dict):
            return value
        raise InvalidReply(f"input of {self.name!r} must be an object with {names}, not a string")

    async def run(self, context: ToolContext) -> Outcome:
        """Call the function with the call's input."""
        arguments = self.arguments(context.call.input)
        if self._context_name:
            arguments[self._context_name] = context
        result = self._function(**arguments)
        if inspect.isawaitable(result):
            result = await result
        if isinstance(result, Outcome):
            return result
        return Outcome(ok=True, output="" if result is None else str(result))


def _read_signature(function: Callable[..., Any]) -> tuple[str, type[BaseModel]]:
    hints = get_type_hints(function, include_extras=True)
    context_name, fields = "", {}
    for name, parameter in inspect.signature(function).parameters.items():
        if name not in hints:
            raise DeveloperError(f"tool {function.__name__!r}: parameter {name!r} has no type")
        if hints[name] is ToolContext:
            context_name = name
            continue
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        fields[name] = (hints[name], default)
    model = create_model(
        f"{function.__name__}_input",
        __config__=ConfigDict(extra="forbid"),
        **cast(Any, fields),
    )
    return context_name, model
