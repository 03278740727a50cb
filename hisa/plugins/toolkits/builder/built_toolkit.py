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
from importlib.resources import files
from typing import Annotated, Any

from pydantic import Field

from hisa.errors import DeveloperError, ToolFailed
from hisa.machine.patience import patience
from hisa.plugins.toolkits.builder.build_records import (
    TYPES,
    Build,
    FunctionDescription,
    Parameter,
)
from hisa.plugins.toolkits.guest_call import call_guest
from hisa.protocols import Environment, Outcome
from hisa.text.prompt_text import ends, printable
from hisa.tools.base import ToolContext
from hisa.tools.toolkit import Toolkit
from hisa.tools.traits import Needs, tool

__all__ = ["DATA", "Answer", "built_toolkit", "call_program", "wrapper"]

DATA = "toolkit.json"
"""The file of a review folder, and of a package, that holds a `Build`."""
_CALL_SECONDS = 60.0
"""Time limit of one call of a program; as of HiSA's own guest programs."""
Function = Callable[..., Awaitable[Outcome]]


@dataclass(frozen=True)
class Answer:
    """What came of a call: a value, or why there is none.

    ``refused``, in the program's words: it cannot be done so; ``broke``: it has a defect.
    """

    value: Any = None
    refused: str = ""
    broke: str = ""


async def call_program(
    environment: Environment,
    code: str,
    function: str,
    given: Mapping[str, Any],
    *,
    seconds: float = 30.0,
) -> Answer:
    """Returns what came of a function of a program, which runs on the machine and nowhere else.

    ``given`` are its arguments, ``seconds`` a limit on an idle machine. Raises: EnvironmentFailed.
    """
    limit = patience(seconds)
    try:
        call = {"code": code, "given": dict(given), "limit": limit}
        answer = await call_guest(environment, "built_function", function, seconds=limit, **call)
        json.dumps(answer)
    except ToolFailed as error:
        return Answer(broke=printable(str(error)))
    except RecursionError:
        return Answer(broke="the answer is nested too deep")
    match answer:
        case {"value": value}:
            return Answer(value)
        case {"refused": str(why)} if why:
            return Answer(refused=ends(printable(why), 2000))
        case {"broke": str(why)}:
            return Answer(broke=ends(printable(why), 2000))
        case _:
            return Answer(broke="its answer is none")


def wrapper(described: FunctionDescription, code: str = "") -> Function:
    """Returns a function with the description's signature that has a program do the work."""
    name = described.name

    async def call(*, context: ToolContext, **given: Any) -> Outcome:
        answer = await call_program(context.environment, code, name, given, seconds=_CALL_SECONDS)
        if answer.refused or answer.broke:
            raise ToolFailed(answer.refused or f"{name} broke: {answer.broke}")
        value = answer.value
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return Outcome(ok=True, output=text)

    order = sorted(described.parameters, key=lambda parameter: not parameter.required)
    own = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=ToolContext)
    signature = inspect.Signature([*map(_signed, order), own])
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{described.summary.strip()}\n\nIt returns {described.returns.strip()}"
    call.__annotations__ = {p.name: p.annotation for p in signature.parameters.values()}
    setattr(call, "__signature__", signature)  # noqa: B010 - no attribute of functions, to mypy
    return tool(effects=described.effects, seconds=2 * _CALL_SECONDS)(call)


def _signed(parameter: Parameter) -> inspect.Parameter:
    kind = TYPES[parameter.type]
    return inspect.Parameter(
        parameter.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if parameter.required else None,
        annotation=Annotated[
            kind if parameter.required else kind | None, Field(description=parameter.description)
        ],
    )


def built_toolkit(package: str) -> Toolkit:
    """The toolkit of a package by its import name. Raises: DeveloperError for damaged data."""
    try:
        build = Build.model_validate_json(files(package).joinpath(DATA).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise DeveloperError(f"package {package!r}: {DATA} cannot be read: {error}") from error
    functions = tuple(wrapper(built.described, built.code) for built in build.functions)
    needs = Needs(frozenset({"execute"}), (build.app,))
    return Toolkit(build.kit, build.app, functions, needs)
