"""A tool: a typed function and its docstring, described once and checked by its signature."""

from __future__ import annotations

import inspect
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast, get_type_hints
from weakref import WeakKeyDictionary

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from hisa.errors import DeveloperError, InvalidReply
from hisa.protocols import Environment, GroundedCall, Outcome
from hisa.screen.observation import Observation
from hisa.tools.person import Person
from hisa.tools.traits import NO_NEEDS, NO_TRAITS, Needs, Traits, traits_of

__all__ = ["SERVED", "BaseTool", "Tool", "ToolContext", "example_inputs"]


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a tool may use besides its own arguments."""

    call: GroundedCall
    observation: Observation
    environment: Environment
    person: Person | None = None
    """The person who can be asked; None: nobody."""


SERVED = "mcp:"
"""The prefix of the ``source`` of a server's tool."""


class BaseTool(ABC):
    """A tool as the planner, the policy and the command line see it; wherever it runs.

    ``name`` is what a call names, ``documentation`` what models read: its first line says what the
    tool does. ``title`` is the application or subject it belongs to, ``source`` the package or
    server that brings it.
    """

    name: str
    documentation: str
    title: str = ""
    source: str = ""
    traits: Traits = NO_TRAITS
    kit: str = ""
    """The toolkit or server it belongs to; empty: none."""
    always: bool = False
    """Whether it is described in every prompt, as the built-ins are."""
    trusted: bool = False
    """Whether it runs in the run's event loop and never blocks it, as HiSA's own do."""
    uses_machine: bool = True
    """Whether it gets the machine; otherwise it only runs beside HiSA."""

    @property
    @abstractmethod
    def parameters(self) -> Mapping[str, Any]:
        """JSON schema of the input object."""

    @abstractmethod
    def arguments(self, value: str | Mapping[str, Any]) -> dict[str, Any]:
        """Check an input, and return its arguments.

        Raises:
            InvalidReply: the input does not fit; the error names the arguments.
        """

    @abstractmethod
    async def run(self, context: ToolContext) -> Outcome:
        """Run the tool with the call's input.

        Raises:
            EnvironmentFailed: the machine broke.
            Exception: anything that a plug-in raises.
        """

    @property
    def takes_text(self) -> bool:
        """Whether the input may be a plain string."""
        return len(self.parameters.get("properties", {})) == 1

    @property
    def summary(self) -> str:
        """The first line of its documentation."""
        return self.documentation.strip().split("\n", 1)[0]

    @property
    def examples(self) -> tuple[str, ...]:
        """The inputs under "Examples:" in its documentation, one per line; see `example_inputs`."""
        return example_inputs(self.documentation)

    def signature(self) -> str:
        """Returns name and arguments on one line: ``calc_read(cells, sheet="")``."""
        required = frozenset(self.parameters.get("required", ()))
        fields: Mapping[str, Any] = self.parameters.get("properties", {})
        arguments = (_argument(name, field, name in required) for name, field in fields.items())
        return f"{self.name}({', '.join(arguments)})"

    def describe(self) -> str:
        """Returns name, input and documentation as the planner's prompt shows them."""
        fields = self.parameters.get("properties", {})
        if self.takes_text:
            kind = f"a string ({next(iter(fields))})"
        else:
            described_fields = {
                name: {k: v for k, v in value.items() if k != "title"}
                for name, value in fields.items()
            }
            kind = f"an object with {json.dumps(described_fields)}"
        return f"### {self.name}\n{self.documentation}\nInput: {kind}."


class Tool(BaseTool):
    """A tool made of a function.

    The function's parameters become the input: with one parameter the planner may give a plain
    string, with more it gives an object. A parameter annotated `ToolContext` is filled in by HiSA.
    The function is sync or async and returns text, None or an `Outcome`.

    Args:
        function: with type hints and a docstring; its name is the tool's name.
        source: where it came from, for ``hisa tools ls``.
        kit: the toolkit it belongs to; the tool's name begins with it.
        title: what the toolkit is for.
        needs: what the whole toolkit needs; `hisa.tools.traits.tool` states more for one function.

    Raises:
        DeveloperError: no docstring, or a parameter without a type.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        source: str = "",
        kit: str = "",
        title: str = "",
        needs: Needs = NO_NEEDS,
    ) -> None:
        self.name = f"{kit}_{function.__name__}" if kit else function.__name__
        self.source, self.kit, self.title = source, kit, title
        self.traits = traits_of(function, needs)
        self.trusted = function.__module__.startswith("hisa.")
        self.always = function.__module__ == "hisa.tools.builtin"
        self._function = function
        documentation = inspect.getdoc(function)
        if not documentation:
            raise DeveloperError(f"tool {self.name!r} has no docstring; it is what models read")
        self.documentation = documentation
        self._input = _input_of(function)
        self.uses_machine = bool(self._input.context_name)
        if not self.trusted:
            _ = self._input.model  # types without a schema fail now, when the package is loaded

    @property
    def parameters(self) -> Mapping[str, Any]:
        """JSON schema of the input object, made once because every step's prompt uses it."""
        return self._input.schema

    def arguments(self, value: str | Mapping[str, Any]) -> dict[str, Any]:
        """Check an input, and return its arguments.

        Raises:
            InvalidReply: the input does not fit; the error names the arguments.
        """
        raw = self._from_text(value) if isinstance(value, str) else value
        try:
            checked = self._input.model.model_validate(raw)
        except ValidationError as error:
            problems = "; ".join(
                f"{'.'.join(str(part) for part in item['loc'])}: {item['msg']}"
                for item in error.errors()
            )
            raise InvalidReply(f"input of {self.name!r} does not fit: {problems}") from error
        return {name: getattr(checked, name) for name in self._input.fields}

    def _from_text(self, text: str) -> Mapping[str, Any]:
        names = list(self._input.fields)
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
        if self._input.context_name:
            arguments[self._input.context_name] = context
        result = self._function(**arguments)
        if inspect.isawaitable(result):
            result = await result
        if isinstance(result, Outcome):
            return result
        return Outcome(ok=True, output="" if result is None else str(result))


def example_inputs(documentation: str) -> tuple[str, ...]:
    """Returns the lines under "Examples:" in a docstring, up to the next line that is not indented.

    Each is a whole input: a JSON object, or the string itself if the tool takes one.
    """
    lines = iter(documentation.splitlines())
    examples = []
    for line in lines:
        if line.strip() in ("Examples:", "Example:"):
            for example in lines:
                if example.strip() and not example.startswith((" ", "\t")):
                    break
                if example.strip():
                    examples.append(example.strip())
    return tuple(examples)


_PLAIN = {"integer": "int", "number": "float", "boolean": "bool", "array": "list", "object": "dict"}


def _kind(field: Mapping[str, Any]) -> str:
    """Returns the allowed kinds of a value; empty if it is a text."""
    choices = field.get("enum", ())
    return "|".join(map(str, choices)) or _PLAIN.get(str(field.get("type", "")), "")


def _argument(name: str, field: Mapping[str, Any], required: bool) -> str:
    """Returns one argument of a signature: its kind, unless that is text, and its default."""
    ways = [way for way in field.get("anyOf", ()) if way.get("type") != "null"]
    several = len(ways) > 1
    kind = "|".join(filter(None, map(_kind, ways if several else [field])))
    shows_kind = several or "enum" in field or required or field.get("default") is None
    kind = f": {kind}" if kind and shows_kind else ""
    if required:
        return f"{name}{kind}"
    return f"{name}{kind}={json.dumps(field.get('default'))}".replace("null", "None")


class _Input:
    """The input of a function, read from its signature without the context.

    The model that checks it is made on first use: a run uses few of some hundred tools.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._name = f"{function.__name__}_input"
        self.context_name = ""
        self.fields: dict[str, tuple[Any, Any]] = {}
        hints = get_type_hints(function, include_extras=True)
        for name, parameter in inspect.signature(function).parameters.items():
            if name not in hints:
                raise DeveloperError(f"tool {function.__name__!r}: parameter {name!r} has no type")
            if hints[name] is ToolContext:
                self.context_name = name
                continue
            default = ... if parameter.default is inspect.Parameter.empty else parameter.default
            self.fields[name] = (hints[name], default)

    @cached_property
    def model(self) -> type[BaseModel]:
        return create_model(
            self._name,
            __config__=ConfigDict(extra="forbid", coerce_numbers_to_str=True),
            **cast(Any, self.fields),
        )

    @cached_property
    def schema(self) -> Mapping[str, Any]:
        return self.model.model_json_schema()


_inputs: WeakKeyDictionary[Callable[..., Any], _Input] = WeakKeyDictionary()
"""Cache by function, for as long as it lives: every run of a process has the same tools."""


def _input_of(function: Callable[..., Any]) -> _Input:
    if not inspect.isfunction(function):
        return _Input(function)
    if function not in _inputs:
        _inputs[function] = _Input(function)
    return _inputs[function]
