"""Tools whose work a program inside the machine does: the wrapper is ours, made from data.

The description gives name, arguments and documentation; nothing of a model's is imported or
executed on this side. An accepted package is this and a file of data::

    toolkit = built_toolkit("my_package")
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Annotated, Any

from pydantic import Field

from hisa.errors import DeveloperError, ToolFailed
from hisa.plugins.toolkits.builder.build_records import TYPES, FunctionDescription, Parameter
from hisa.plugins.toolkits.builder.guest_program import call_program
from hisa.protocols import Outcome
from hisa.tools.base import Tool, ToolContext
from hisa.tools.toolkit import Toolkit
from hisa.tools.traits import Needs
from hisa.tools.traits import tool as stated

__all__ = ["CALL_SECONDS", "DATA", "FORMAT", "built_toolkit", "program_name", "tool_of", "wrapper"]

CALL_SECONDS = 60.0
"""Time limit of one call of a program; as of HiSA's own guest programs."""
DATA = "toolkit.json"
"""The file of a package that holds the descriptions."""
FORMAT = 1
Function = Callable[..., Awaitable[Outcome]]
ReadProgram = Callable[[], str]


def program_name(function: str) -> str:
    """Returns the file name of a function's program; as a module it cannot be imported."""
    return f"{function}.guest.py"


def wrapper(
    described: FunctionDescription, program: ReadProgram, *, examples: tuple[str, ...] = ()
) -> Function:
    """Returns a function with the description's signature that has a program do the work.

    Args:
        described: what it takes and does.
        program: reads the program's source.
        examples: whole inputs, for the documentation.
    """
    function = partial(_called, described.name, program)
    call = _function_of(function)
    call.__name__ = call.__qualname__ = described.name
    call.__doc__ = _documentation(described, examples)
    call.__annotations__ = {each.name: _annotation(each) for each in described.parameters}
    call.__annotations__["context"] = ToolContext
    order = sorted(described.parameters, key=lambda each: not each.required)
    signature = [_signed(each, call.__annotations__[each.name]) for each in order]
    own = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=ToolContext)
    setattr(call, "__signature__", inspect.Signature([*signature, own]))  # noqa: B010 - no attribute of functions, to mypy
    return stated(effects=described.effects, reads=described.reads, seconds=2 * CALL_SECONDS)(call)


def _function_of(work: Callable[..., Awaitable[Outcome]]) -> Function:
    """Returns a new function that does it, whose attributes are its own."""

    async def call(*, context: ToolContext, **arguments: Any) -> Outcome:
        return await work(context, arguments)

    return call


async def _called(
    name: str, program: ReadProgram, context: ToolContext, arguments: Mapping[str, Any]
) -> Outcome:
    answer = await call_program(
        context.environment, program(), name, arguments, seconds=CALL_SECONDS
    )
    if answer.refused:
        raise ToolFailed(answer.refused)
    if answer.broke:
        raise ToolFailed(f"{name} broke: {answer.broke}")
    value = answer.value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return Outcome(ok=True, output=text)


def _annotation(parameter: Parameter) -> Any:
    kind = TYPES[parameter.type]
    if not parameter.required and parameter.default is None:
        kind = kind | None
    return Annotated[kind, Field(description=parameter.description)]


def _signed(parameter: Parameter, annotation: Any) -> inspect.Parameter:
    default = inspect.Parameter.empty if parameter.required else parameter.default
    return inspect.Parameter(
        parameter.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=annotation,
    )


def _documentation(described: FunctionDescription, examples: tuple[str, ...]) -> str:
    parts = [described.summary.strip(), described.details.strip()]
    parts.append(f"It returns {described.returns.strip().rstrip('.')}.")
    if examples:
        parts.append("\n".join(["Examples:", *(f"    {line}" for line in examples)]))
    return "\n\n".join(part for part in parts if part)


@dataclass(frozen=True)
class _Entry:
    described: FunctionDescription
    examples: tuple[str, ...]


def built_toolkit(package: str) -> Toolkit:
    """Returns the toolkit of an accepted package, from the data in it.

    Args:
        package: its import name.

    Raises:
        DeveloperError: its data cannot be read.
    """
    folder = files(package)
    try:
        data = json.loads(folder.joinpath(DATA).read_text("utf-8"))
        if data["format"] != FORMAT:
            raise ValueError(f"format {data['format']!r} is not known")
        entries = [
            _Entry(FunctionDescription.model_validate(each["described"]), tuple(each["examples"]))
            for each in data["functions"]
        ]
        name, title, apps = str(data["name"]), str(data["title"]), tuple(map(str, data["apps"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DeveloperError(f"package {package!r}: {DATA} cannot be read: {error}") from error
    functions = tuple(
        wrapper(each.described, _reader(folder, each.described.name), examples=each.examples)
        for each in entries
    )
    return Toolkit(name, title, functions, Needs(frozenset({"execute"}), apps))


def _reader(folder: Traversable, function: str) -> ReadProgram:
    path = folder.joinpath("programs", program_name(function))
    return partial(path.read_text, "utf-8")


def tool_of(described: FunctionDescription, *, kit: str, title: str) -> Tool:
    """Returns the tool of a description, whose program is not there yet; for checking inputs."""
    return Tool(wrapper(described, lambda: ""), kit=kit, title=title)
